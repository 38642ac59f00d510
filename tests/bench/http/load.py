#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kingletd under load while its model runs, beside a bare handler of the HTTP library that answers a constant of the
same size. Prints what docs/benchmarks.md shows under "The API under load".

  load.py --bin build/bench/bin [--parts speed,images,crowd,memory] [--rounds 8] [--seconds 5] [--minutes 60]

speed: 1,000 requests a second, in turn to each of predictions/latest, stats and the bare twins of both; the times run
from when a request was due. images: images a second without and with that load, in pairs, in turn which is first.
crowd: 10,000 connections from 127.0.0.1 that want nothing, while a client at 127.0.0.2 asks 50 times a second.
memory: mixed traffic for --minutes, connections broken off among it, and what the process holds."""
import contextlib
import json
import random
import resource
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

import parts

LATEST = "/api/v1/predictions/latest"
STATS = "/api/v1/stats"
GOAL_RATIO, GOAL_LOSS, RATE = 2, 3, 1000
MIXED = [LATEST, STATS, "/", "/api/v1/visits", "/api/v1/species", "/api/v1/days", "/api/v1/predictions?limit=100",
         "/api/v1/model", "/api/v1/doctor", "/metrics", "/snapshot.jpg", "/healthz", "/api/v1/openapi.json", "/api/v1/cameras", "/nothing"]


class Bare:
    """bare_handler with the bytes of one of kingletd's answers."""

    def __init__(self, options, body):
        self.file = tempfile.NamedTemporaryFile()
        self.file.write(body)
        self.file.flush()
        self.process = subprocess.Popen([str(options.bin / "bare_handler"), self.file.name], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.address = "127.0.0.1:" + self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()  # with a crowd before it, it would take long to end by itself
        self.process.wait()
        self.file.close()


def milliseconds(results, name):
    return statistics.median(result["latency_ms"][name] for result in results)


def print_speed(rows):
    print("| asked | p50 ms | p99 ms | p99.9 ms | max ms | answered | failed | p99 of the bare one's |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, results in rows.items():
        cells = [f"{milliseconds(results, key):.3f}" for key in ("p50", "p99", "p99_9")]
        cells.append(f"{max(result['latency_ms']['max'] for result in results):.2f}")
        cells.append(str(sum(result["answered"] for result in results)))
        cells.append(str(sum(sum(parts.problems(result).values()) for result in results)))
        twin = rows.get("bare, as large as " + name)
        ratio = ""
        if twin:
            ratios = [a["latency_ms"]["p99"] / b["latency_ms"]["p99"] for a, b in zip(results, twin)]
            ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}; goal {GOAL_RATIO})"
        print(f"| {name} | " + " | ".join(cells) + f" | {ratio} |", flush=True)
    for name, results in rows.items():
        for result in results:
            if parts.problems(result):
                print(f"{name}: {parts.problems(result)}")


def speed(options, running):
    with contextlib.ExitStack() as stack:
        targets = {}
        for path in (LATEST, STATS):
            bare = stack.enter_context(Bare(options, running.daemon.ask(path).body))
            targets[path] = (running.address, path)
            targets["bare, as large as " + path] = (bare.address, path)
        rows = {name: [] for name in targets}
        for turn in range(options.rounds):
            names = list(targets) if turn % 2 == 0 else list(reversed(targets))
            for name in names:
                address, path = targets[name]
                rows[name].append(parts.ask_at_rate(options, address, [path], rate=RATE, seconds=options.seconds))
        print_speed(rows)


def images(options, running):
    """What the requests cost the model; beside it what they cost when the bare handler answers them, so that what is the
    client's and the machine's is seen."""
    failed = []

    def load(address, paths):
        result = parts.ask_at_rate(options, address, paths, rate=RATE, seconds=options.seconds)
        failed.append(parts.problems(result))

    with Bare(options, running.daemon.ask(LATEST).body) as bare:
        ways = {"none": lambda: time.sleep(options.seconds), "kingletd": lambda: load(running.address, [LATEST, STATS]),
                "bare": lambda: load(bare.address, ["/"])}
        found = {name: [] for name in ways}
        for turn in range(options.rounds):
            names = list(ways)[turn % 3:] + list(ways)[:turn % 3]
            for name in names:
                found[name].append(running.images_per_second(ways[name]))
    print(f"images a second: {statistics.median(found['none']):.1f} without requests")
    for name in ("kingletd", "bare"):
        median, least, most = parts.loss(list(zip(found["none"], found[name])))
        print(f"{RATE} requests a second answered by {name}: {statistics.median(found[name]):.1f}; lost in the median of "
              f"{options.rounds} rounds {median:.1f} % ({least:.1f} to {most:.1f}; goal {GOAL_LOSS})")
    print(f"failed requests: {sum(sum(it.values()) for it in failed)}", flush=True)


def press(options, address, mode):
    """The answers that 127.0.0.2 gets meanwhile."""
    crowd = subprocess.Popen([sys.executable, str(parts.ROOT / "tests/bench/http/crowd.py"), address, "--mode", mode,
                              "--count", str(options.connections), "--seconds", str(options.seconds + 6)],
                             stdout=subprocess.PIPE, text=True)
    time.sleep(3)  # until they are there
    result = parts.ask_at_rate(options, address, ["/livez", LATEST], rate=50, seconds=options.seconds, from_="127.0.0.2")
    return result, json.loads(crowd.communicate()[0])


def crowd(options, running):
    print(f"| {options.connections} connections | server | answered of {50 * options.seconds:.0f} | p50 ms | p99 ms | "
          "max ms | opened, closed by it |\n| --- | --- | --- | --- | --- | --- | --- |")
    body = running.daemon.ask(LATEST).body
    for mode in ("idle", "silent", "dripping"):
        for name in ("kingletd", "bare"):
            with contextlib.nullcontext(running) if name == "kingletd" else Bare(options, body) as server:
                result, held = press(options, server.address, mode)
            times = result["latency_ms"]
            cells = [f"{times[key]:.2f}" if times else "-" for key in ("p50", "p99", "max")]
            print(f"| {mode} | {name} | {result['answered']} | " + " | ".join(cells) +
                  f" | {held['opened']}, {held['closed_by_the_server']} |", flush=True)
            if parts.problems(result):
                print(f"{mode}, {name}: {parts.problems(result)}")


def misbehave(url, end):
    """Streams that are left in the middle, requests that are half, bodies that do not come: as phones do."""
    dice = random.Random(1)
    picture = (parts.ROOT / "docs" / "page.png").read_bytes()
    host = "HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    head = f"POST /api/v1/classify {host}Content-Type: image/png\r\nContent-Length: {len(picture)}\r\n\r\n".encode()
    said = [f"GET /stream.mjpg {host}\r\n".encode(), f"GET /api/v1/events {host}\r\n".encode(),
            b"GET /api/v1/stats HTTP/1.1\r\nHo", head + picture, head + picture[:5000], b"\x16\x03\x01 nonsense\r\n\r\n"]
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(url, timeout=5) as connection:
            connection.sendall(dice.choice(said))
            connection.settimeout(dice.uniform(0.01, 1))
            with contextlib.suppress(TimeoutError):
                connection.recv(65536)
            if dice.random() < 0.5:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
        time.sleep(0.05)


def memory(options, running):
    seconds = options.minutes * 60
    end = time.monotonic() + seconds
    threads = [threading.Thread(target=misbehave, args=(running.daemon.url, end)) for _ in range(2)]
    for thread in threads:
        thread.start()
    client = subprocess.Popen(parts.client_command(options, running.address, MIXED, rate=100, seconds=seconds,
                                                   abort_every=7), stdout=subprocess.PIPE, text=True)
    samples = []
    start = time.monotonic()
    while time.monotonic() < end:
        time.sleep(min(10, seconds / 24))
        samples.append((time.monotonic() - start, *running.memory()))
    for thread in threads:
        thread.join()
    result = json.loads(client.communicate()[0])
    print("| after | resident kB | of it not files |\n| --- | --- | --- |")
    for at in samples[::max(1, len(samples) // 12)] + samples[-1:]:
        print(f"| {at[0] / 60:.1f} min | {at[1]} | {at[2]} |")
    quarter = len(samples) // 4
    before = statistics.median(at[2] for at in samples[quarter:2 * quarter])
    after = statistics.median(at[2] for at in samples[-quarter:])
    print(f"median of the last quarter {after - before:+.0f} kB against that of the second; {result['answered']} answers, "
          f"{result['aborted']} broken off, statuses {result['statuses']}, failures {result['failures']}", flush=True)


def main():
    parser = parts.parser(__doc__)
    parser.add_argument("--parts", default="speed,images,crowd,memory")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=5, help="of each turn")
    parser.add_argument("--minutes", type=float, default=2, help="of mixed traffic")
    parser.add_argument("--connections", type=int, default=10000)
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    todo = {"speed": speed, "images": images, "crowd": crowd, "memory": memory}
    wanted = options.parts.split(",")
    if unknown := set(wanted) - set(todo):
        parser.error(f"--parts: {', '.join(sorted(unknown))}: known are {', '.join(todo)}")
    parts.say_machine()
    with parts.Inferring(options) as running:
        # The bare handler takes every connection of the crowd; kingletd began with the limit of this machine.
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        for name in wanted:
            todo[name](options, running)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


if __name__ == "__main__":
    main()
