#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds many connections from one address to a server and wants nothing: the crowd of load.py, a process of its own so
that its work is not the asking client's. A connection that the server closes is opened again.

  crowd.py ADDRESS:PORT --mode idle|silent|dripping --count 10000 --seconds 20

idle says nothing, silent sends half a request, dripping sends a byte of one every second. Prints a JSON object."""
import argparse
import collections
import json
import resource
import selectors
import socket
import time

IP_BIND_ADDRESS_NO_PORT = 24  # linux/in.h
HALF = b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Wait: "


class Crowd:
    def __init__(self, options):
        host, port = options.server.rsplit(":", 1)
        self.options, self.server = options, (host, int(port))
        self.selector = selectors.EpollSelector()
        self.sent = {}  # bytes of the request, by connection
        self.opened = self.closed = self.most = 0

    def open(self):
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        connection.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)  # connections of before hold no port
        connection.bind((self.options.source, 0))
        connection.connect_ex(self.server)
        self.selector.register(connection, selectors.EVENT_READ | selectors.EVENT_WRITE)
        self.sent[connection] = None  # not connected yet
        self.opened += 1

    def close(self, connection):
        self.selector.unregister(connection)
        del self.sent[connection]
        connection.close()
        self.closed += 1

    def say(self, connection):
        try:
            if self.options.mode == "silent":
                connection.send(HALF)
            elif self.options.mode == "dripping":
                at = self.sent[connection] or 0
                connection.send(HALF[at:at + 1] if at < len(HALF) else b"x")
                self.sent[connection] = at + 1
        except OSError:
            self.close(connection)

    def turn(self):
        for key, events in self.selector.select(0.02):
            connection = key.fileobj
            try:
                if events & selectors.EVENT_READ and not connection.recv(4096):
                    raise ConnectionResetError
            except OSError:
                self.close(connection)
                continue
            if self.sent[connection] is None:
                self.selector.modify(connection, selectors.EVENT_READ)
                self.sent[connection] = 0
                self.say(connection)

    def run(self):
        end = time.monotonic() + self.options.seconds
        reopen_from, reopened = time.monotonic(), 0
        drips = collections.deque()
        for _ in range(self.options.count):
            self.open()
            if self.opened % 100 == 0:
                self.turn()
        next_drip = time.monotonic()
        while time.monotonic() < end:
            self.turn()
            self.most = max(self.most, sum(1 for at in self.sent.values() if at is not None))
            allowed = int((time.monotonic() - reopen_from) * self.options.reopen) - reopened
            for _ in range(max(0, min(allowed, self.options.count - len(self.sent)))):
                self.open()
                reopened += 1
            if self.options.mode == "dripping":
                if not drips and time.monotonic() >= next_drip:
                    drips.extend(connection for connection, at in self.sent.items() if at is not None)
                    next_drip = time.monotonic() + 1
                for _ in range(min(len(drips), 500)):
                    connection = drips.popleft()
                    if connection in self.sent:
                        self.say(connection)
        return {"opened": self.opened, "closed_by_the_server": self.closed, "most_at_once": self.most}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server")
    parser.add_argument("--mode", choices=["idle", "silent", "dripping"], required=True)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--source", default="127.0.0.1")
    parser.add_argument("--reopen", type=float, default=500, help="at most so many a second")
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard < options.count + 50:
        parser.error(f"this process may open {hard} files: raise the limit (ulimit -Hn) above {options.count + 50}")
    print(json.dumps(Crowd(options).run()))


if __name__ == "__main__":
    main()
