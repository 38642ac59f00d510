#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From exec to a program's first line of output, and the peak memory of the whole process, over several runs with a
warm page cache. Usage: first_result.py [RUNS] COMMAND...   (kinglet classify MODEL PHOTO --threads 1 ...)"""
import os
import statistics
import sys
import time


def run(command):
    """(ms to the first byte, ms of processor time, MB at the peak)"""
    reader, writer = os.pipe()
    start = time.perf_counter()
    child = os.posix_spawnp(command[0], command, os.environ,
                            file_actions=[(os.POSIX_SPAWN_DUP2, writer, 1), (os.POSIX_SPAWN_CLOSE, reader),
                                          (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)])
    os.close(writer)
    first = os.read(reader, 1)
    took = time.perf_counter() - start
    while os.read(reader, 65536):
        pass
    os.close(reader)
    _, status, usage = os.wait4(child, 0)
    if status != 0 or not first:
        sys.exit(f"{command[0]} ends with {status}")
    return took * 1000, (usage.ru_utime + usage.ru_stime) * 1000, usage.ru_maxrss * 1024 / 1e6


def main():
    words = sys.argv[1:]
    runs = int(words.pop(0)) if words and words[0].isdigit() else 20
    if not words:
        sys.exit(__doc__)
    run(words)  # warms the page cache
    wall, processor, memory = zip(*(run(words) for _ in range(runs)))
    print(f"{runs} runs: first line after {min(wall):.1f} ms at least, {statistics.median(wall):.1f} ms in the median; "
          f"processor time {min(processor):.1f} ms at least, {statistics.median(processor):.1f} ms in the median; "
          f"peak memory {max(memory):.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
