#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What clips take from the model: kingletd with the drawn scene and as many frames as the model can answer, on all cores,
without clips, with small ones and with those that it makes by default, in turns. Prints for each the median of inferences
a second, its share of that without clips (median and range of the rounds), and what the thread of clips takes of a core."""
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "http"))
import parts

WAYS = {"none": ["store.clips=0s"], "small": ["store.clip_width=640", "store.clip_fps=5"], "by default": []}


def processor(pid):
    """Seconds of the thread that makes pictures of clips."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() == "clips":
            return int((task / "schedstat").read_text().split()[0]) / 1e9
    return 0


def measured(options, support, sets):
    """Inferences a second, and the thread's share of a core in percent."""
    with tempfile.TemporaryDirectory() as folder:
        model = [f"model.path={options.model}"] if options.model else support.bird_sets(folder)
        with support.Daemon(sets=[*model, f"source=demo:?fps={options.fps}", f"source.size={options.size}",
                                  f"inference.threads={options.threads}", "gate.motion=false", "gate.max_fps=1000",
                                  "look.budget=0", "store.write_budget=10GiB", f"store.path={folder}/state",
                                  *sets]) as daemon:
            seen = lambda: (daemon.ask("/api/v1/stats").json()["inferences"]["total"], processor(daemon.process.pid),
                            time.monotonic())
            time.sleep(3)
            before = seen()
            time.sleep(options.seconds)
            after = seen()
    taken = after[2] - before[2]
    return (after[0] - before[0]) / taken, 100 * (after[1] - before[1]) / taken


def main():
    parser = parts.parser(__doc__)
    parser.add_argument("--size", default="1280x720")
    parser.add_argument("--fps", type=int, default=240)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8)
    options = parser.parse_args()
    support = parts.support(options)
    rounds = {way: [] for way in WAYS}
    for number in range(options.rounds):
        order = list(WAYS) if number % 2 == 0 else list(reversed(WAYS))
        for way in order:
            rounds[way].append(measured(options, support, WAYS[way]))
    for way, found in rounds.items():
        shares = sorted(one[0] / none[0] for one, none in zip(found, rounds["none"]))
        print(f"{way}: {statistics.median(one[0] for one in found):.1f} inferences a second, {statistics.median(shares):.3f} "
              f"({shares[0]:.3f} to {shares[-1]:.3f}), clips {statistics.median(one[1] for one in found):.2f} % of a core")
    return 0


if __name__ == "__main__":
    sys.exit(main())
