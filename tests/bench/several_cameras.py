#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three cameras and one model: what docs/benchmarks.md shows under "Cameras whose turns are unequal".

  several_cameras.py --bin build/bench/bin [--seconds 20] [--rounds 3]

One floods, with six parts in each frame; one gives sixty frames a second with one part, which is less than half of the time; the third
is a lone bird at five frames a second. All parts cost about the same, so that looks a second are shares of the time."""
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "http"))
import parts

SIX = [[column / 3, row / 2, 1 / 3, 1 / 2] for row in range(2) for column in range(3)]
WHOLE = [[0, 0, 1, 1]]
CAMERAS = [("six_parts", "demo:1?fps=240", SIX), ("one_part", "demo:2?fps=60", WHOLE), ("lone", "demo:3?fps=5", WHOLE)]


def settings(folder, model):
    """Of the first camera the settings of all speak."""
    tables = "".join(f'[[source]]\nname = "{name}"\nspec = "{spec}"\nsize = "320x240"\n' + (f"fixed = {fixed}\n" if i else "")
                     for i, (name, spec, fixed) in enumerate(CAMERAS))
    file = Path(folder) / "kinglet.toml"
    file.write_text(tables)
    return ["--config", str(file), "--for", "24h"], [
        *model, "inference.threads=1", "gate.motion=false", "gate.max_fps=1000", "look.budget=0", "look.regions=6", 'look.propose="fixed"',
        f"look.fixed={CAMERAS[0][2]}", f"store.path={folder}/state"]


def main():
    it = parts.parser(__doc__)
    it.add_argument("--seconds", type=float, default=20)
    it.add_argument("--rounds", type=int, default=3)
    options = it.parse_args()
    module = parts.support(options)
    with tempfile.TemporaryDirectory() as folder:
        model = [f"model.path={options.model}"] if options.model else module.bird_sets(folder)
        flags, sets = settings(folder, model)
        with module.Daemon(*flags, sets=sets) as daemon:
            def cameras():
                return {camera["source"]: camera for camera in daemon.ask("/api/v1/stats").json()["cameras"]}

            daemon.until(lambda: all(camera["inferences"]["total"] > 20 for camera in cameras().values()), "looks of each camera")
            for _ in range(options.rounds):
                begun, before = time.monotonic(), cameras()
                time.sleep(options.seconds)
                after, taken = cameras(), time.monotonic() - begun
                looks = {name: after[name]["inferences"]["total"] - before[name]["inferences"]["total"] for name in after}
                print("; ".join(f"{name}: {count / taken:.1f} looks a second, {count / sum(looks.values()):.3f}, latency p50 "
                                f"{after[name]['latency_ms']['p50']:.0f} ms, p99 {after[name]['latency_ms']['p99']:.0f} ms"
                                for name, count in looks.items()))


if __name__ == "__main__":
    main()
