# SPDX-License-Identifier: Apache-2.0
"""What was measured before: kept.jsonl, a line a figure. A time is a ratio, kept with its spread and with what the
processor can do: it is compared with what the same kind of processor measured, or not at all. What an emulated core takes
is the same everywhere. A figure tells the commit and the day it was measured at: rows that nobody measures anew stay."""
import json
import subprocess
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path

KEPT = Path(__file__).resolve().parent / "kept.jsonl"
# Of two threads: whether their cores share a cache. What is measured with the one is not compared with the other.
PLACES = ["near", "far"]
# What x86-64 and ARM tell that decides which kernels run.
TELLING = ["avx2", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8", "asimd", "asimdhp", "asimddp", "i8mm"]


@dataclass(frozen=True)
class Emulated:
    """Of an emulated core: the same on every machine that measures it."""
    model: str
    core: str
    build: str
    amount: float
    commit: str = ""  # of kinglet; with a + of a tree that had more than that; empty: before it was kept
    day: str = ""

    @property
    def key(self):
        return (self.KIND, self.model, self.core, self.build)

    @property
    def asked(self):
        return self.key

    @property
    def title(self):
        return f"{self.model} on {self.core}"

    def worse_than(self, before):
        if self.amount <= before.amount * (1 + self.TOLERANCE):
            return None
        return (f"{self.title}: {self.amount:.{self.DIGITS}f} {self.UNIT}, kept are {before.amount:.{self.DIGITS}f} "
                f"({self.amount / before.amount - 1:+.1%})")


class Count(Emulated):
    """Instructions: they repeat to a few dozen, and a percent is a change of the code."""
    KIND, FIELD, UNIT, DIGITS, TOLERANCE = "count", "millions", "M instructions", 2, 0.01


class Memory(Emulated):
    """What comes from memory, by a model of caches: where memory lies differs a little from build to build."""
    KIND, FIELD, UNIT, DIGITS, TOLERANCE = "memory", "megabytes", "MB from memory", 1, 0.03


@dataclass(frozen=True)
class Time:
    model: str
    features: str
    threads: int
    peer: str
    ratio: float  # kinglet's time by the peer's: the median of the rounds
    spread: float  # half of what lies between the first and the last quarter of the rounds
    ms: float
    cores: str = ""  # of several threads: near or far from each other, or moved meanwhile; empty: before this was kept
    commit: str = ""
    day: str = ""

    @property
    def key(self):
        return (*self.asked, self.cores)

    @property
    def asked(self):
        """Who measures does not choose where the cores are."""
        return ("time", self.model, self.features, self.threads, self.peer)

    @property
    def title(self):
        return f"{self.model}, {self.threads} thread(s){', cores ' + self.cores if self.cores else ''}, beside {self.peer}"

    def worse_than(self, before):
        if self.ratio - self.spread <= before.ratio + before.spread:
            return None
        return (f"{self.title}: {self.ratio:.2f} ± {self.spread:.2f}, "
                f"kept is {before.ratio:.2f} ± {before.spread:.2f} on such a processor ({self.features})")


def features(cpuinfo=Path("/proc/cpuinfo")):
    for line in cpuinfo.read_text(encoding="utf-8").splitlines():
        if line.lower().startswith(("flags", "features")):
            there = set(line.split(":", 1)[1].split())
            return " ".join(name for name in TELLING if name in there) or "none of them"
    return "unknown"


KINDS = {"count": Count, "memory": Memory, "time": Time}


def read(path):
    if not path.exists():
        return {}
    figures = [figure_of(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    return {figure.key: figure for figure in figures}


def figure_of(line):
    kind = KINDS[line.pop("kind")]
    if issubclass(kind, Emulated):
        line["amount"] = line.pop(kind.FIELD)
    return kind(**line)


def line_of(figure):
    named = {figure.FIELD if name == "amount" else name: value for name, value in asdict(figure).items() if value != ""}
    return json.dumps({"kind": figure.key[0]} | named, ensure_ascii=False)


def write(path, kept):
    lines = [line_of(figure) for _, figure in sorted(kept.items(), key=lambda one: str(one[0]))]
    unfinished = path.with_suffix(".new")
    unfinished.write_text("\n".join(lines) + "\n", encoding="utf-8")
    unfinished.rename(path)


def commit_of(tree, *written):
    """Of what is checked out, short; with a + where files differ from it other than those that are written here."""
    def git(*words):
        return subprocess.run(["git", "-C", str(tree), *words], capture_output=True, text=True, check=True).stdout.strip()
    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", *[f":(exclude){path}" for path in written])
        return git("rev-parse", "--short=8", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def stamped(figures, commit):
    """To be kept."""
    return [replace(figure, commit=commit, day=date.today().isoformat()) for figure in figures]


def merged(kept, figures):
    """With these in place of what was kept of the same, and of times of which nobody knows where the cores were."""
    told = {figure.asked for figure in figures if isinstance(figure, Time) and figure.cores in PLACES}
    left = {key: figure for key, figure in kept.items() if figure.asked not in told or figure.cores in PLACES}
    return left | {figure.key: figure for figure in figures}


def compare(kept, figures):
    """Lines that tell what got worse, and how many figures had one to be compared with."""
    pairs = [(figure, kept[figure.key]) for figure in figures if figure.key in kept]
    return [line for figure, before in pairs if (line := figure.worse_than(before))], len(pairs)


def lacking(kept, figures):
    """What is kept and was not measured."""
    measured = {figure.asked for figure in figures}
    return [figure for figure in kept.values() if figure.asked not in measured]
