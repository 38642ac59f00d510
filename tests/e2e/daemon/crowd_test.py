# SPDX-License-Identifier: Apache-2.0
"""Somebody is always served: what many slow connections do to everybody else."""
import statistics
import threading
import time

import home_network
from home_network import HERE, HERE_TOO, PHONE, STRANGER
from support import Daemon, ScratchFolder, main

home_network.enter()

SWIFT = 5   # seconds, of most: a slow thread gives way after one
LATE = 60   # on a busy machine some take longer, and none so long
HALF = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-A: "
SLOW_BODY = (b"POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             b"Content-Length: 1000000\r\n\r\n{")
GREEDY = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Flood:
    """Connections that drip, and come again when they were sent away."""

    def __init__(self, port, sources, count, begin):
        self.port, self.sources, self.count, self.begin = port, sources, count, begin
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.full = threading.Event()

    def _open(self, number):
        one = home_network.connect(self.sources[number % len(self.sources)], self.port)
        one.setblocking(False)
        try:
            one.send(self.begin)
        except OSError:
            pass
        return one

    def _run(self):
        crowd = [self._open(i) for i in range(self.count)]
        self.full.set()
        while not self.stop.wait(0.1):
            for number, one in enumerate(crowd):
                try:
                    one.send(b"b")
                except BlockingIOError:
                    pass
                except OSError:
                    one.close()
                    crowd[number] = self._open(number)
        for one in crowd:
            one.close()

    def __enter__(self):
        self.thread.start()
        self.full.wait()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


class Crowd(ScratchFolder):
    def setUp(self):
        super().setUp()
        self.daemon = Daemon(sets=["http.listen=[::]:0", "source=demo:1", f"store.path={self.folder}/state"])
        self.addCleanup(self.daemon.stop)
        self.port = self.daemon.url[1]

    def ask(self, source, *arguments, **named):
        return home_network.ask(source, self.port, *arguments, **named)

    def assert_served(self, source, path="/livez", times=10, **named):
        taken = []
        for _ in range(times):
            begin = time.monotonic()
            reply = self.ask(source, path, **named)
            self.assertEqual(reply.status, 200, reply.body)
            taken.append(time.monotonic() - begin)
        print(f"{self.id().split('.')[-1]}: {source} {path}", *(f"{one:.2f}" for one in taken))
        self.assertLess(statistics.median(taken), SWIFT, taken)
        self.assertLess(max(taken), LATE, taken)

    def owner(self):
        return self.daemon.claim()

    def assert_everybody_is_served(self, flood, phone=PHONE):
        owner = self.owner()
        with flood:
            self.assert_served(HERE)
            self.assert_served(phone, "/api/v1/stats", times=5)
            self.assert_served(STRANGER, "/api/v1/config", times=3, headers=owner)
            self.assert_served(STRANGER, "/api/v1/config", times=3, headers=owner)

    def test_one_address_with_many_half_requests_keeps_nobody_else_out(self):
        with Flood(self.port, [HERE], 300, HALF):
            self.assert_served(HERE_TOO)
            self.assert_served(PHONE, "/api/v1/stats")

    def test_two_hundred_slow_heads_from_two_addresses(self):
        greedy = ["192.168.77.41", "192.168.77.42"]
        home_network.settle(greedy)
        self.assert_everybody_is_served(Flood(self.port, greedy, 200, HALF))

    def test_two_hundred_slow_bodies_from_two_addresses(self):
        greedy = ["192.168.77.43", "192.168.77.44"]
        home_network.settle(greedy)
        self.assert_everybody_is_served(Flood(self.port, greedy, 200, SLOW_BODY))

    def test_sixty_addresses_of_one_network(self):
        greedy = [f"2001:db8:77::{i:x}" for i in range(0x100, 0x100 + 60)]
        home_network.settle(greedy)
        self.assert_everybody_is_served(Flood(self.port, greedy, 240, HALF))

    def test_many_strangers_together(self):
        greedy = [f"203.0.113.{i}" for i in range(20, 80)]
        home_network.settle(greedy)
        owner = self.owner()
        # From an address that nobody knows an owner is one of sixty strangers.
        self.assert_served(STRANGER, "/api/v1/config", times=1, headers=owner)
        with Flood(self.port, greedy, 180, HALF):
            self.assert_served(HERE)
            self.assert_served(PHONE, "/api/v1/stats", times=5)
            self.assert_served(STRANGER, "/api/v1/config", times=5, headers=owner)

    def test_who_does_not_read_the_answers(self):
        greedy = ["192.168.77.45", "192.168.77.46"]
        home_network.settle(greedy)
        owner = self.owner()
        with Flood(self.port, greedy, 100, GREEDY * 20):
            self.assert_served(HERE)
            self.assert_served(PHONE, "/api/v1/stats", times=5)
            self.assert_served(STRANGER, "/api/v1/config", times=3, headers=owner)


if __name__ == "__main__":
    main()
