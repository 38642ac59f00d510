#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes torchvision's classifiers one after the other, runs each in kinglet (as it is, and after `kinglet optimize`) and
in ONNX Runtime without optimisation, compares the answers and deletes the files again. What is done is kept in
tests/zoo/results.jsonl with the commit it was done at, so that a run may be broken off and taken up again.

  zoo.py --kinglet PROGRAM [--results FILE] [--work FOLDER] [--set NAME] [--again] [MODEL...]   runs what is missing
  zoo.py --results FILE --write docs/zoo.md                                                     makes the page

Sets: subset (a minute, a model of each kind), all (every architecture, opset 17), variants (twelve architectures:
opsets 11, 13, 17 and 20, folded and raw, batch fixed and free). FILES may be given in place of models: any .onnx."""
import argparse
import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

TWELVE = ["resnet18", "mobilenet_v2", "mobilenet_v3_large", "efficientnet_b0", "shufflenet_v2_x1_0", "densenet121",
          "inception_v3", "regnet_y_400mf", "convnext_tiny", "vit_b_16", "swin_t", "maxvit_t"]
# Small pictures where the network takes them: all the kinds of nodes, less of each.
# Of those that libonnx-testdata has whole (densenet121, googlenet, squeezenet ...) none: LightClassifiers runs them.
SUBSET = [("shufflenet_v2_x0_5", 11, "raw-free", 64), ("mobilenet_v3_small", 13, "folded", 64),
          ("resnet18", 17, "fresh", 64), ("efficientnet_b0", 20, "raw", 64), ("regnet_y_400mf", 13, "raw", 64),
          ("convnext_tiny", 17, "folded", 64), ("swin_t", 17, "folded", 64)]
# Makers and oldest opsets: what the exporter says it cannot write.
OLDEST_OPSET = {"vit": 14, "maxvit": 12, "swin": 11}
TRANSFORMERS = ("vit", "swin", "maxvit")


class Skipped(Exception):
    """Nothing was tried: a program or package is not there."""


@dataclass(frozen=True)
class Spec:
    name: str
    opset: int = 17
    variant: str = "folded"  # words joined by "-": folded, raw, free, fresh
    side: int = 0
    file: Path | None = None

    @property
    def key(self):
        if self.file:
            return self.name
        return f"{self.name}-{self.opset}-{self.variant}" + (f"-{self.side}" if self.side else "")



def oldest_opset(name):
    return next((opset for start, opset in OLDEST_OPSET.items() if name.startswith(start)), 7)


def wanted(options):
    for name in options.models:
        path = Path(name)
        if path.suffix == ".onnx" or path.is_dir():
            for file in sorted(path.rglob("*.onnx")) if path.is_dir() else [path]:
                yield Spec(f"{file.parent.name}/{file.stem}", file=file)
        else:
            yield Spec(name, options.opset, options.variant, options.side)
    if options.models:
        return
    if options.set == "subset":
        for name, opset, variant, side in SUBSET:
            yield Spec(name, opset, variant, side)
    if options.set in ("all", "both"):
        for name in by_size():
            yield Spec(name)
    if options.set in ("variants", "both"):
        for name in TWELVE:
            for opset in (11, 13, 17, 20):
                for variant in ("folded", "raw", "free", "raw-free"):
                    if opset >= oldest_opset(name) and (opset, variant) != (17, "folded"):
                        yield Spec(name, opset, variant)


def by_size():
    """All architectures, those of few weights first: the long ones come last."""
    listed = call([sys.executable, HERE / "export.py", "list"]).split()
    heavy = ["vit_h_14", "regnet_y_128gf", "vit_l_16", "vit_l_32", "convnext_large", "regnet_y_32gf", "wide_resnet101_2",
             "vgg19", "vgg19_bn", "vgg16", "vgg16_bn", "vgg13", "vgg13_bn", "vgg11", "vgg11_bn", "efficientnet_v2_l",
             "regnet_x_32gf", "convnext_base", "swin_v2_b", "swin_b", "vit_b_32", "resnext101_64x4d", "resnext101_32x8d",
             "regnet_y_16gf", "wide_resnet50_2", "efficientnet_b7"]
    heavy.reverse()
    return sorted(listed, key=lambda name: (heavy.index(name) + 1 if name in heavy else 0, name))


def call(command, timeout=1800):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode == 77:
        raise Skipped(done.stdout.strip())
    if done.returncode != 0:
        words = [line for line in (done.stderr or done.stdout).strip().splitlines() if line]
        end = f"killed by signal {-done.returncode}" if done.returncode < 0 else f"ends with {done.returncode}"
        raise RuntimeError(f"{Path(str(command[0])).name} {command[1]} {end}: {' '.join(words[-2:])[:400]}")
    return done.stdout


class Trial:
    """One model through all programs. Facts go into self.row; a fault ends it with row["fault"]."""

    def __init__(self, kinglet, spec, folder, seconds):
        self.kinglet, self.spec, self.folder, self.seconds = kinglet, spec, folder, seconds
        self.limit = 1e-3 if spec.name.startswith(TRANSFORMERS) else 1e-4
        self.row = {"key": spec.key, "name": spec.name, "opset": spec.opset, "variant": spec.variant, "side": spec.side}

    def run(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        start = time.monotonic()
        try:
            self.make()
            self.facts()
            self.answers()
            if self.seconds > 0:
                self.times()
        except (RuntimeError, subprocess.TimeoutExpired, ValueError) as error:
            self.row["fault"] = str(error).replace(f"{self.folder}/", "")
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.row["seconds"] = round(time.monotonic() - start, 1)
        return self.row

    def ort(self, *arguments):
        return json.loads(call([sys.executable, HERE / "ort.py", *arguments]))

    def tool(self, *arguments):
        return json.loads(call([self.kinglet, *arguments, "--json"]))

    def make(self):
        import numpy
        words = self.spec.variant.split("-")
        if self.spec.file:
            self.model = self.spec.file
        else:
            flags = {"raw": "--raw", "free": "--free-batch", "fresh": "--fresh"}
            call([sys.executable, HERE / "export.py", "write", self.spec.name, "--to", self.folder, "--opset",
                  self.spec.opset, "--side", self.spec.side, *[flags[word] for word in words if word in flags]])
            self.model = self.folder / f"{self.spec.name}.onnx"
        self.row["bytes"] = sum(file.stat().st_size for file in self.folder.iterdir()) or self.model.stat().st_size
        self.inspected = self.tool("inspect", self.model, "--shapes")
        if "QuantizeLinear" in self.inspected["operators"]:
            self.limit = 5e-2  # levels of 8 bits: one that lies half way may be the next one
        shape = [1 if not isinstance(size, int) or size < 1 else size for size in self.inspected["inputs"][0]["shape"]]
        self.given = self.folder / "given.npy"
        numpy.save(self.given, numpy.random.default_rng(3).standard_normal(shape, dtype=numpy.float32))

    def facts(self):
        plan = self.inspected["plan"]
        if not plan["possible"]:
            raise RuntimeError(plan["reason"])
        self.row |= {"steps": plan["nodes_after_passes"], "segments": plan["segments"],
                     "transposes": plan["transposes"], "mac_ratio": plan["xnnpack_mac_ratio"],
                     "macs": plan["macs"], "fallbacks": plan["fallback_nodes"][:20]}
        counted = self.ort("nodes", self.model) if self.row["bytes"] < 1_500_000_000 else {}
        self.row |= {"nodes": counted.get("file", plan["nodes_in_file"]), "ort_basic": counted.get("basic")}

    def answers(self):
        optimized = self.folder / "optimized.onnx"
        report = self.tool("optimize", self.model, "-o", optimized, "--no-proof")
        self.row["optimized_nodes"] = report["after"]["nodes"]
        truth, faults = self.folder / "truth.npy", []
        self.ort("answer", self.model, self.given, truth)
        runs = {"straight": self.model, "optimized": optimized}
        for title, model in runs.items():
            answer = self.folder / f"{title}.npy"
            call([self.kinglet, "run", model, "--input", self.given, "--output", answer])
            faults += self.compare(title, answer, truth)
        answer = self.folder / "ort_optimized.npy"
        self.ort("answer", optimized, self.given, answer)
        faults += self.compare("ort_optimized", answer, truth)
        if faults and not (self.only_far(faults) and self.as_near_as_ort(truth)):
            raise RuntimeError("; ".join(faults))

    @staticmethod
    def only_far(faults):
        return all(": error " in fault and "inf" not in fault for fault in faults)

    def as_near_as_ort(self, ort):
        """Deep networks of random weights make rounding large: then float64 judges. Ours may be up to twice as far from
        it as ONNX Runtime's answer is."""
        import numpy
        if self.spec.file:
            return False
        exact = self.folder / "float64.npy"
        call([sys.executable, HERE / "export.py", "truth", self.spec.name, "--given", self.given, "--to", exact, "--side",
              self.spec.side, *(["--fresh"] if "fresh" in self.spec.variant else [])])
        right = numpy.load(exact)
        scale = max(1.0, float(numpy.abs(right).max()))
        far = {title: float(numpy.abs(numpy.load(self.folder / f"{name}.npy") - right).max()) / scale
               for title, name in {"ort": "truth", "straight": "straight", "optimized": "optimized"}.items()}
        self.row["from_float64"] = far
        return max(far["straight"], far["optimized"]) <= 2 * far["ort"]

    def compare(self, title, answer, truth):
        import numpy
        found, right = numpy.load(answer), numpy.load(truth)
        if found.shape != right.shape:
            return [f"{title}: shape {found.shape}, expected {right.shape}"]
        scale = max(1.0, float(numpy.abs(right).max()))
        error = float(numpy.abs(found - right).max()) / scale if numpy.isfinite(found).all() else float("inf")
        self.row[f"error_{title}"] = error
        same = bool((found.reshape(len(found), -1).argmax(1) == right.reshape(len(right), -1).argmax(1)).all())
        faults = [] if error <= self.limit else [f"{title}: error {error:.3g}, allowed {self.limit:g}"]
        return faults + ([] if same else [f"{title}: another first class"])

    def times(self):
        ours, theirs = [], []
        for _ in range(2):  # in turn, the least of all: other work on the machine hits both
            report = self.tool("bench", self.model, "--threads", "1", "--seconds", self.seconds / 2)
            ours.append(report["latency_ms"]["min"])
            theirs.append(self.ort("time", self.model, self.given, str(self.seconds / 2))["ms"])
        self.row |= {"ms": min(ours), "ort_ms": min(theirs), "load_ms": report["load_ms"],
                     "peak_bytes": report["memory"]["peak_bytes"],
                     "allocations": report.get("allocations_per_run")}


# --- Results and the page --------------------------------------------------------------------------------------------

def read_results(path):
    if not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {row["key"]: row for row in rows}


def read_figures():
    figures, goals = {}, {}
    for line in (HERE / "figures.tsv").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        name, opset, variant, optimizer, simplified, goal = line.split("\t")
        figures[name, int(opset), variant] = (optimizer, simplified)
        if goal != "-":
            goals[name] = int(goal)
    return figures, goals


def too_many_steps(row, goals):
    goal = goals.get(row["name"])
    return [f"{row['steps']} steps, the goal is {goal}"] if goal and row["steps"] > goal else []


def judge(row, figures, goals):
    """What is not as it should be, in words."""
    if "fault" in row:
        return [row["fault"]]
    faults = []
    if row.get("ort_basic") and row["optimized_nodes"] > row["ort_basic"]:
        faults.append(f"{row['optimized_nodes']} nodes in the file, ONNX Runtime BASIC has {row['ort_basic']}")
    simplified = figures.get((row["name"], row["opset"], row["variant"]), ("-", "-"))[1]
    if simplified != "-" and row["optimized_nodes"] > int(simplified):
        faults.append(f"{row['optimized_nodes']} nodes in the file, onnxsim has {simplified}")
    faults += too_many_steps(row, goals)
    if "from_float64" in row:
        far = row["from_float64"]
        faults.append(f"float32 rounds beyond the limit: {far['straight']:.1e} from float64, ONNX Runtime {far['ort']:.1e}")
    if row["fallbacks"]:
        faults.append(f"evaluated, with no kernel: {'; '.join(row['fallbacks'][:2])}")
    return faults


COLUMNS = ["model", "opset", "export", "nodes", "ours", "ORT BASIC", "onnxoptimizer", "onnxsim", "steps", "goal",
           "segments", "transposes", "XNNPACK's MACs", "largest error", "ms", "ms ORT", "ratio"]


def cells(row, figures, goals):
    optimizer, simplified = figures.get((row["name"], row["opset"], row["variant"]), ("-", "-"))
    def number(key, form="{}"):
        return form.format(row[key]) if row.get(key) is not None else "-"
    errors = [row[key] for key in row if key.startswith("error_")]
    ratio = f"{row['ms'] / row['ort_ms']:.2f}" if row.get("ms") else "-"
    return [row["name"] + (f" ({row['side']})" if row.get("side") else ""), str(row["opset"]), row["variant"],
            number("nodes"), number("optimized_nodes"), number("ort_basic"), optimizer, simplified, number("steps"),
            str(goals.get(row["name"], "-")), number("segments"), number("transposes"), number("mac_ratio", "{:.1%}"),
            f"{max(errors):.1e}" if errors else "-", number("ms", "{:.2f}"), number("ort_ms", "{:.2f}"), ratio]


def table(rows, figures, goals):
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + " --- |" * len(COLUMNS)]
    lines += ["| " + " | ".join(cells(row, figures, goals)) + " |" for row in rows]
    return "\n".join(lines)


def page(results, figures, goals):
    order = sorted(results.values(), key=lambda row: (row["variant"] != "folded" or row["opset"] != 17, row["key"]))
    plain = [row for row in order if (row["opset"], row["variant"], row["side"]) == (17, "folded", 0) and "/" not in row["key"]]
    files = [row for row in order if "/" in row["key"]]
    other = [row for row in order if row not in plain and row not in files]
    right = [row for row in order if "fault" not in row]
    wrong = [f"- {row['key']}: {row['fault']}" for row in order if "fault" in row]
    noted = [f"- {row['key']}: {'; '.join(found)}" for row in right if (found := judge(row, figures, goals))]
    text = (HERE / "page.md").read_text(encoding="utf-8")
    names = {row["name"] for row in order if "/" not in row["key"]}
    commits = Counter(row["commit"] for row in order).most_common()
    for mark, part in {"COUNT": f"{len(right)} of {len(order)}", "NAMES": str(len(names)), "COMMITS": ", ".join(f"{commit} ({rows})" for commit, rows in commits),
                       "PLAIN": table(plain, figures, goals),
                       "VARIANTS": table(other, figures, goals), "FILES": table(files, figures, goals),
                       "WRONG": "\n".join(wrong) or "None.", "NOTED": "\n".join(noted) or "None."}.items():
        text = text.replace(f"@{mark}@", part)
    return text


def show(row, figures, goals):
    faults = judge(row, figures, goals)
    told = "  ".join(f"{name} {cell}" for name, cell in zip(COLUMNS[3:], cells(row, figures, goals)[3:]) if cell != "-")
    print(f"{row['key']}: {told}" + "".join(f"\n    {fault}" for fault in faults), flush=True)


def commit_of_this_tree():
    try:
        return call(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"]).strip()
    except (OSError, RuntimeError):
        return "unknown"


def run_all(options, figures, goals):
    results = {} if options.again else read_results(options.results)
    options.results.parent.mkdir(parents=True, exist_ok=True)
    failed, commit = 0, commit_of_this_tree()
    for spec in wanted(options):
        row = results.get(spec.key)
        if row is None or "fault" in row:
            row = {"commit": commit} | Trial(options.kinglet.resolve(), spec, options.work / spec.key.replace("/", "_"), options.seconds).run()
            results[spec.key] = row
            options.results.write_text("".join(json.dumps(kept) + "\n" for kept in results.values()), encoding="utf-8")
        show(row, figures, goals)
        failed += bool("fault" in row or (judge(row, figures, goals) if options.strict else too_many_steps(row, goals)))
    print(f"{failed} failed")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--kinglet", type=Path)
    parser.add_argument("--results", type=Path, default=HERE / "results.jsonl")
    parser.add_argument("--work", type=Path, default=ROOT / "build/zoo/work")
    parser.add_argument("--set", choices=["subset", "all", "variants", "both"], default="both")
    parser.add_argument("--opset", type=int, default=17)
    parser.add_argument("--variant", default="folded")
    parser.add_argument("--side", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=2, help="how long each program is timed; 0: not at all")
    parser.add_argument("--again", action="store_true", help="forget earlier results")
    parser.add_argument("--strict", action="store_true", help="more nodes than others have and nodes without a kernel fail, too")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the page of the results there are")
    options = parser.parse_args()
    figures, goals = read_figures()
    if options.write:
        options.write.write_text(page(read_results(options.results), figures, goals), encoding="utf-8")
        return 0
    if not options.kinglet:
        parser.error("--kinglet is missing")
    try:
        return run_all(options, figures, goals)
    except (Skipped, ModuleNotFoundError) as reason:
        print(reason if isinstance(reason, Skipped) else f"skipped: python3-numpy is needed ({reason})")
        return 77


if __name__ == "__main__":
    sys.exit(main())
