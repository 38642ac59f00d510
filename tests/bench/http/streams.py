#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs kingletd that every place for streams is taken while its model runs and 50 more clients ask for one.
Prints what docs/benchmarks.md shows under "All streams taken".

  streams.py --bin build/bench/bin [--seconds 600] [--turn 20] [--without 20] [--rate 20]

Turns with all streams and turns without any come in pairs, in turn which is first, until the streams were on for
--seconds. With streams: 8 readers of events (visits, predictions, statistics) and 4 watchers of pictures from six
addresses that read all they get, 50 clients of other addresses that ask for a stream every second, and one that asks
for /healthz --rate times a second."""
import collections
import contextlib
import http.client
import selectors
import socket
import statistics
import threading
import time

import parts

GOAL_LOSS, GOAL_HEALTH_MS = 2, 100
EVENTS = "/api/v1/events?types=visit,prediction,stats,camera,model"
PICTURES = "/stream.mjpg"
# At most 3 of each kind for one address.
TAKEN = [(EVENTS, "127.0.0.2")] * 3 + [(EVENTS, "127.0.0.3")] * 3 + [(EVENTS, "127.0.0.4")] * 2 + \
        [(PICTURES, "127.0.0.5")] * 3 + [(PICTURES, "127.0.0.6")]
MORE = 50


class Readers:
    """The streams that are taken: everything is read, nothing is kept."""

    def __init__(self, url):
        self.selector = selectors.DefaultSelector()
        self.bytes, self.lost = collections.Counter(), 0
        for path, source in TAKEN:
            connection = socket.create_connection(url, timeout=10, source_address=(source, 0))
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            head = connection.recv(65536)
            if not head.startswith(b"HTTP/1.1 200"):
                raise SystemExit(f"no place for {path} of {source}: {head[:200]}")
            connection.setblocking(False)
            self.selector.register(connection, selectors.EVENT_READ, path)
        self.thread = threading.Thread(target=self.read)
        self.running = True
        self.thread.start()

    def read(self):
        buffer = bytearray(1 << 20)
        while self.running:
            for key, _ in self.selector.select(0.1):
                count = 0
                with contextlib.suppress(ConnectionError):
                    count = key.fileobj.recv_into(buffer)
                self.bytes[key.data] += count
                if count == 0:
                    self.lost += 1
                    self.selector.unregister(key.fileobj)

    def close(self):
        self.running = False
        self.thread.join()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()


class Refused:
    """50 who come too late and ask again every second."""

    def __init__(self, url):
        self.url, self.running, self.answers, self.impolite = url, True, collections.Counter(), []
        self.thread = threading.Thread(target=self.ask)
        self.thread.start()

    def ask(self):
        number = 0
        start = time.monotonic()
        while self.running:
            path, source = (EVENTS, PICTURES)[number % 2], f"127.0.1.{1 + number % MORE}"
            connection = http.client.HTTPConnection(*self.url, timeout=5, source_address=(source, 0))
            try:
                connection.request("GET", path)
                response = connection.getresponse()
                body = response.read1(4096)
                self.answers[response.status] += 1
                if response.status != 503 or not response.headers["Retry-After"] or b"too-many-streams" not in body:
                    self.impolite.append((source, response.status, body[:100]))
            except OSError as error:
                self.answers[type(error).__name__] += 1
                self.impolite.append((source, str(error)))
            finally:
                connection.close()
            number += 1
            time.sleep(max(0, start + number / MORE - time.monotonic()))

    def close(self):
        self.running = False
        self.thread.join()


class Turns:
    def __init__(self, options, running):
        self.options, self.running = options, running
        self.pairs, self.health, self.answers = [], [], collections.Counter()
        self.impolite, self.lost, self.bytes = [], 0, collections.Counter()

    def quiet(self):
        return self.running.images_per_second(lambda: time.sleep(self.options.without or self.options.turn))

    def ask_for_health(self):
        self.health.append(parts.ask_at_rate(self.options, self.running.address, ["/healthz"], rate=self.options.rate,
                                             seconds=self.options.turn, from_="127.0.0.1", connections=4))

    def taken(self):
        url = self.running.daemon.url
        readers = Readers(url)
        refused = Refused(url)
        figure = self.running.images_per_second(self.ask_for_health)
        streams = self.running.daemon.ask("/api/v1/stats").json()["streams"]
        refused.close()
        readers.close()
        if streams != {"sse": 8, "mjpeg": 4}:
            raise SystemExit(f"not all places were taken: {streams}")
        self.answers += refused.answers
        self.impolite += refused.impolite
        self.lost += readers.lost
        self.bytes += readers.bytes
        time.sleep(1)  # until the places are free again
        return figure

    def run(self):
        for turn in range(max(1, round(self.options.seconds / self.options.turn))):
            if turn % 2:
                loaded, quiet = self.taken(), self.quiet()
            else:
                quiet, loaded = self.quiet(), self.taken()
            self.pairs.append((quiet, loaded))

    def report(self):
        median, least, most = parts.loss(self.pairs)
        seconds = len(self.pairs) * self.options.turn
        print(f"images a second: {statistics.median(q for q, _ in self.pairs):.1f} without streams, "
              f"{statistics.median(l for _, l in self.pairs):.1f} with all of them for {seconds:.0f} s; lost in the median of "
              f"{len(self.pairs)} pairs {median:.1f} % ({least:.1f} to {most:.1f}; goal {GOAL_LOSS})")
        print(f"read: {self.bytes[EVENTS] / seconds / 1e3:.0f} kB/s of events, {self.bytes[PICTURES] / seconds / 1e6:.2f} MB/s "
              f"of pictures; {self.lost} of the taken streams were lost")
        print(f"the {MORE} others were answered {dict(self.answers)}; not politely refused: {len(self.impolite)} "
              f"{self.impolite[:3] or ''}")
        answered = sum(result["answered"] for result in self.health)
        failed = sum(sum(parts.problems(result).values()) for result in self.health)
        worst = {name: max(result["latency_ms"][name] for result in self.health) for name in ("p99", "max")}
        p99 = statistics.median(result["latency_ms"]["p99"] for result in self.health)
        print(f"/healthz: {answered} answers, {failed} failures, p99 {p99:.2f} ms in the median of the turns, {worst['p99']:.2f} in "
              f"the worst (goal {GOAL_HEALTH_MS}), longest {worst['max']:.2f} ms", flush=True)


def main():
    parser = parts.parser(__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="with all streams taken")
    parser.add_argument("--turn", type=float, default=20)
    parser.add_argument("--without", type=float, help="seconds of a turn without streams (default: as with them)")
    parser.add_argument("--rate", type=float, default=20, help="of /healthz")
    options = parser.parse_args()
    parts.say_machine()
    with parts.Inferring(options) as running:
        turns = Turns(options, running)
        turns.run()
        turns.report()


if __name__ == "__main__":
    main()
