#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What kingletd takes with the drawn scene: memory while it looks, and the processor's time of each thread while it looks
and while it is paused. A state folder that nobody had before, nobody who watches."""
import re
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "http"))
import parts


def memory(pid):
    """MB (10^6 bytes, as `kinglet bench` tells) by name: the peak and what is resident, of the process itself and of files, of
    which others may share pages."""
    status = Path(f"/proc/{pid}/status").read_text()
    pss = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return {name: int(re.search(rf"^{name}:\s+(\d+) kB$", status + pss, re.MULTILINE)[1]) * 1024 / 1e6  # the kernel's kB are KiB
            for name in ("VmHWM", "VmRSS", "RssAnon", "RssFile", "Pss")}


def processor(pid):
    """Seconds that each thread has run."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        name = (task / "comm").read_text().strip()
        found[name] = found.get(name, 0) + int((task / "schedstat").read_text().split()[0]) / 1e9
    return found


def shares(pid, seconds):
    """Of a core, in percent, by thread, the most first."""
    before, begun = processor(pid), time.monotonic()
    time.sleep(seconds)
    after, taken = processor(pid), time.monotonic() - begun
    found = {name: 100 * (after[name] - before.get(name, 0)) / taken for name in after}
    return dict(sorted(found.items(), key=lambda one: -one[1]))


def told(found):
    most = ", ".join(f"{name} {share:.3f}" for name, share in list(found.items())[:8])
    return f"{sum(found.values()):.3f} % of a core ({most})"


def main():
    parser = parts.parser(__doc__)
    parser.add_argument("--size", action="append", help="of the scene, may be repeated; default: 640x480 and 1280x720")
    parser.add_argument("--threads", type=int, default=1, help="of inference (default: 1)")
    parser.add_argument("--seconds", type=float, default=40, help="until memory is read")
    parser.add_argument("--paused", type=float, default=30, help="seconds of each measurement of time; 0: none")
    parser.add_argument("--rest", type=float, default=5, help="seconds from the pause to its measurement (a stream's program ends after 20)")
    parser.add_argument("--set", action="append", default=[], help="a setting, may be repeated")
    options = parser.parse_args()
    support = parts.support(options)
    for size in options.size or ["640x480", "1280x720"]:
        with tempfile.TemporaryDirectory() as folder:
            model = [f"model.path={options.model}"] if options.model else support.bird_sets(folder)
            with support.Daemon(sets=[*model, "source=demo:", f"source.size={size}", f"inference.threads={options.threads}",
                                      f"store.path={folder}/state", *options.set]) as daemon:
                pid = daemon.process.pid
                time.sleep(options.seconds)
                print(f"{size}:", ", ".join(f"{name} {value:.1f}" for name, value in memory(pid).items()), "MB")
                if options.paused == 0:
                    continue
                print("  looking:", told(shares(pid, options.paused)))
                daemon.ask("/api/v1/control/pause", "POST", headers=daemon.claim())
                time.sleep(options.rest)
                print("  paused:", told(shares(pid, options.paused)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
