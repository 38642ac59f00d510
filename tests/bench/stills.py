#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Photographs of 1920x1080 as fast as the model? Prints what docs/benchmarks.md shows under "A photograph in fewer pixels".

  stills.py --bin build/bench/bin [--before FOLDER] [--rounds 5] [--seconds 4] [--size 1920x1080] [--propose whole]

In turn: the model alone (`kinglet bench`), a folder of JPEGs as source (images:FOLDER?fps=max), the same posted to
/api/v1/classify by two clients with a connection each as long as it is kept, and with one for each picture; images a second,
one thread for the model. --before: another build of kinglet and kingletd, in turn with this one. --peak FILE: what a kingletd holds at most
whose folder has this one photograph, after --seconds."""
import contextlib
import http.client
import io
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "http"))
import parts
from PIL import Image

PHOTOS = ["franklins_gull.jpg", "mute_swans.jpg", "red_winged_blackbird.jpg", "great_egret.jpg"]


def make_folder(options, module, folder):
    width, height = map(int, options.size.split("x"))
    for name in PHOTOS:
        out = io.BytesIO()
        picture = Image.open(module.CORPUS / "photos" / name).convert("RGB").resize((width, height), Image.BICUBIC)
        picture.save(out, "JPEG", quality=90)
        (folder / name).write_bytes(out.getvalue())
    return [(folder / name).read_bytes() for name in PHOTOS]


def model_alone(options, module, folder):
    command = [str(folder / "kinglet"), "bench", str(options.model or module.BIRD), "--threads", "1", "--runs", "200",
               "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["images_per_second"]


def posted(daemon, pictures, seconds, headers):
    counts = [0, 0]
    end = time.monotonic() + seconds

    def post(client):
        connection = http.client.HTTPConnection(*daemon.url)
        while time.monotonic() < end:
            connection.request("POST", "/api/v1/classify", pictures[counts[client] % len(pictures)], {"Content-Type": "image/jpeg"} | headers)
            reply = connection.getresponse()
            reply.read()
            counts[client] += reply.status == 200
        connection.close()

    clients = [threading.Thread(target=post, args=(i,)) for i in range(len(counts))]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    return sum(counts) / seconds


def images(daemon):
    return daemon.ask("/api/v1/stats").json()["images"]["total"]


def start(options, module, *sets, program=None):
    model = [f"model.path={options.model}"] if options.model else module.bird_sets(options.folder)
    return module.Daemon("--for", "24h", sets=[*model, "inference.threads=1", "gate.max_fps=1000",
                                               f'look.propose="{options.propose}"', *sets],
                         program=program or module.KINGLETD)


def peak(options, module):
    folder = Path(options.folder) / "one"
    folder.mkdir()
    (folder / options.peak.name).write_bytes(options.peak.read_bytes())
    with start(options, module, f"source=images:{folder}?fps=10") as daemon:
        daemon.first_prediction()
        time.sleep(options.seconds)
        status = dict(line.split(":", 1) for line in Path(f"/proc/{daemon.process.pid}/status").read_text().splitlines())
    print(f"{options.peak.name}, {options.propose}: at most {int(status['VmHWM'].split()[0]) / 1000:.0f} MB")


class Build:
    def __init__(self, options, module, folder, pictures, running):
        self.options, self.module, self.folder, self.rates = options, module, folder, {}
        program = folder / "kingletd"
        self.source = running.enter_context(start(options, module, f"source=images:{pictures}?fps=max", program=program))
        self.desk = running.enter_context(start(options, module, "source=demo:?fps=1", "source.size=320x240", program=program))
        self.source.first_prediction()
        self.desk.first_prediction()
        self.source.process.send_signal(signal.SIGSTOP)  # it would go on decoding
        running.callback(self.source.process.send_signal, signal.SIGCONT)

    def round(self, pictures):
        seconds, source = self.options.seconds, self.source
        self.add("the model alone", model_alone(self.options, self.module, self.folder))
        self.add("posted", posted(self.desk, pictures, seconds, {}))
        self.add("posted, a connection each", posted(self.desk, pictures, seconds, {"Connection": "close"}))
        source.process.send_signal(signal.SIGCONT)
        stopped_at = images(source)
        source.until(lambda: images(source) > stopped_at + 50, "a source that gives pictures again")
        begun, before = time.monotonic(), images(source)
        time.sleep(seconds)
        self.add("images:", (images(source) - before) / (time.monotonic() - begun))
        source.process.send_signal(signal.SIGSTOP)

    def add(self, name, rate):
        self.rates.setdefault(name, []).append(rate)

    def say(self, title):
        for name, found in self.rates.items():
            shares = [a / b for a, b in zip(found, self.rates["the model alone"])]
            print(f"{title}{name}: {statistics.median(found):.1f} a second, {statistics.median(shares):.2f} of the model "
                  f"({min(shares):.2f} to {max(shares):.2f})")


def main():
    it = parts.parser(__doc__)
    it.add_argument("--before", type=Path)
    it.add_argument("--rounds", type=int, default=5)
    it.add_argument("--seconds", type=float, default=4)
    it.add_argument("--size", default="1920x1080")
    it.add_argument("--propose", default="whole")
    it.add_argument("--peak", type=Path)
    options = it.parse_args()
    module = parts.support(options)
    with tempfile.TemporaryDirectory() as options.folder, contextlib.ExitStack() as running:
        if options.peak:
            return peak(options, module)
        parts.say_machine()
        folder = Path(options.folder) / "pictures"
        folder.mkdir()
        pictures = make_folder(options, module, folder)
        folders = {"": options.bin} | ({"before: ": options.before} if options.before else {})
        builds = {title: Build(options, module, path.resolve(), folder, running) for title, path in folders.items()}
        for _ in range(options.rounds):
            for build in builds.values():
                build.round(pictures)
        for title, build in builds.items():
            build.say(title)


if __name__ == "__main__":
    main()
