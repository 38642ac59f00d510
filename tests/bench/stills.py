#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Photographs of 1920x1080 as fast as the model? Prints what docs/benchmarks.md shows under "A photograph in fewer pixels".

  stills.py --bin build/bench/bin [--rounds 5] [--seconds 4] [--size 1920x1080] [--propose whole]

In turn: the model alone (`kinglet bench`), a folder of JPEGs as source (images:FOLDER?fps=max), the same posted to
/api/v1/classify by two clients; images a second each, one thread for the model. --peak FILE: what a kingletd holds at most
whose folder has this one photograph, after --seconds."""
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


def model_alone(options, module):
    command = [str(options.bin / "kinglet"), "bench", str(options.model or module.BIRD), "--threads", "1", "--runs", "200",
               "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["images_per_second"]


def posted(daemon, pictures, seconds):
    counts = [0, 0]
    end = time.monotonic() + seconds

    def post(client):
        connection = http.client.HTTPConnection(*daemon.url)
        while time.monotonic() < end:
            connection.request("POST", "/api/v1/classify", pictures[counts[client] % len(pictures)], {"Content-Type": "image/jpeg"})
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


def start(options, module, *sets):
    model = [f"model.path={options.model}"] if options.model else module.bird_sets(options.folder)
    return module.Daemon("--for", "24h", sets=[*model, "inference.threads=1", "gate.max_fps=1000",
                                               f'look.propose="{options.propose}"', *sets])


def peak(options, module):
    folder = Path(options.folder) / "one"
    folder.mkdir()
    (folder / options.peak.name).write_bytes(options.peak.read_bytes())
    with start(options, module, f"source=images:{folder}?fps=10") as daemon:
        daemon.first_prediction()
        time.sleep(options.seconds)
        status = dict(line.split(":", 1) for line in Path(f"/proc/{daemon.process.pid}/status").read_text().splitlines())
    print(f"{options.peak.name}, {options.propose}: at most {int(status['VmHWM'].split()[0]) / 1000:.0f} MB")


def main():
    it = parts.parser(__doc__)
    it.add_argument("--rounds", type=int, default=5)
    it.add_argument("--seconds", type=float, default=4)
    it.add_argument("--size", default="1920x1080")
    it.add_argument("--propose", default="whole")
    it.add_argument("--peak", type=Path)
    options = it.parse_args()
    module = parts.support(options)
    with tempfile.TemporaryDirectory() as options.folder:
        if options.peak:
            return peak(options, module)
        parts.say_machine()
        folder = Path(options.folder) / "pictures"
        folder.mkdir()
        pictures = make_folder(options, module, folder)
        rates = {"the model alone": [], "images:": [], "posted": []}
        with start(options, module, f"source=images:{folder}?fps=max") as source, \
                start(options, module, "source=demo:?fps=1", "source.size=320x240") as desk:
            source.first_prediction()
            desk.first_prediction()
            for _ in range(options.rounds):
                source.process.send_signal(signal.SIGSTOP)  # it would go on decoding
                rates["the model alone"].append(model_alone(options, module))
                rates["posted"].append(posted(desk, pictures, options.seconds))
                source.process.send_signal(signal.SIGCONT)
                stopped_at = images(source)
                source.until(lambda: images(source) > stopped_at + 50, "a source that gives pictures again")
                begun, before = time.monotonic(), images(source)
                time.sleep(options.seconds)
                after = images(source)
                rates["images:"].append((after - before) / (time.monotonic() - begun))
        alone = rates["the model alone"]
        for name, found in rates.items():
            shares = [a / b for a, b in zip(found, alone)]
            print(f"{name}: {statistics.median(found):.1f} a second, {statistics.median(shares):.2f} of the model "
                  f"({min(shares):.2f} to {max(shares):.2f})")


if __name__ == "__main__":
    main()
