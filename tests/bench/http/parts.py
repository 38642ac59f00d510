# SPDX-License-Identifier: Apache-2.0
"""What load.py and streams.py share: a kingletd that infers all the time, the client with a fixed rate, rounds."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def parser(text):
    it = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    it.add_argument("--bin", required=True, type=Path, help="folder of kingletd, rate_client and bare_handler")
    it.add_argument("--model", type=Path, help="ONNX file with its labels and recipe beside it; default: the corpus's bird")
    return it


def support(options):
    """The module of the end-to-end tests that starts kingletd: it reads where that is when it is loaded."""
    os.environ["KINGLETD"] = str(options.bin.resolve() / "kingletd")
    os.environ["SOURCE_FOLDER"] = str(ROOT)
    sys.path.insert(0, str(ROOT / "tests" / "e2e" / "daemon"))
    import support as module
    return module


class Inferring:
    """kingletd, one thread busy with the model all the time: every frame is looked at, and more come than it can take."""

    def __init__(self, options, *sets):
        module = support(options)
        self.folder = tempfile.TemporaryDirectory()
        model = [f"model.path={options.model}"] if options.model else module.bird_sets(self.folder.name)
        self.daemon = module.Daemon("--for", "24h", sets=[
            *model, "source=demo:?fps=240", "source.size=320x240", "gate.motion=false", "gate.max_fps=1000",
            "inference.threads=1", *sets])
        self.address = "{}:{}".format(*self.daemon.url)
        self.daemon.first_prediction()
        time.sleep(3)  # the first images are slower

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.daemon.stop()
        self.folder.cleanup()

    def images(self):
        return self.daemon.ask("/api/v1/stats").json()["images"]["total"]

    def images_per_second(self, during):
        """While `during` runs."""
        start, before = time.monotonic(), self.images()
        during()
        return (self.images() - before) / (time.monotonic() - start)

    def memory(self):
        """Resident and anonymous kB: files that are mapped come and go."""
        status = Path(f"/proc/{self.daemon.process.pid}/status").read_text()
        values = dict(line.split(":", 1) for line in status.splitlines())
        return int(values["VmRSS"].split()[0]), int(values["RssAnon"].split()[0])


def client_command(options, address, paths, **flags):
    command = [str(options.bin / "rate_client"), address, *paths]
    for name, value in flags.items():
        command += [f"--{name.rstrip('_').replace('_', '-')}", str(value)]
    return command


def ask_at_rate(options, address, paths, **flags):
    done = subprocess.run(client_command(options, address, paths, **flags), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"rate_client ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def problems(result):
    """Answers that are none, by what went wrong."""
    wrong = {f"status {status}": count for status, count in result["statuses"].items() if status not in ("200", "204")}
    return {**wrong, **result["failures"]}


def loss(pairs):
    """Of (quiet, with load): the median over the pairs of what is lost, in per cent, and the least and most."""
    lost = [100 * (1 - loaded / quiet) for quiet, loaded in pairs]
    return statistics.median(lost), min(lost), max(lost)


def say_machine():
    load = os.getloadavg()
    print(f"machine: {os.cpu_count()} processors, load {load[0]:.1f} {load[1]:.1f} {load[2]:.1f} before the run", flush=True)
