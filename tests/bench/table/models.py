# SPDX-License-Identifier: Apache-2.0
"""The models of the kept table, a row each: where its file comes from, and which form of it ONNX Runtime gets. What has
to be made is made once, in a folder of the build."""
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
ROOT = BENCH.parent.parent


class Missing(Exception):
    """A model that cannot be had here, with what it would need."""


class NotHere(Missing):
    """Because this machine has no corpus, or nothing that counts: no fault of what is measured."""


class Broken(Exception):
    """kinglet failed on a model that is there."""


@dataclass(frozen=True)
class Row:
    name: str
    # tree: FILE below models/; corpus: FILE of the corpus; network: NAME of networks.py; torchvision: NAME of zoo/export.py;
    # int8: the name of another row, which `kinglet quantize` makes into 8 bits.
    source: str
    file: str
    # Counted in every run of the tests: cheap, and of different kinds.
    small: bool = False
    # Its weights are more than a board's caches hold: what it brings from memory is kept.
    large: bool = False
    # In float16, where a processor computes with it.
    half: bool = False


MODELS = [
    Row("demo", "tree", "demo/kinglet-demo.onnx", small=True),
    Row("flowers MobileNetV2 0.35", "corpus", "flowers_mobilenetv2_035_128_fp32_bn.onnx", small=True),
    Row("ImageNet MobileNetV1 0.5", "corpus", "imagenet_mobilenetv1_050_160_fp32.onnx", small=True),
    Row("bird MobileNetV2", "corpus", "bird_mobilenetv2_fp32.onnx", large=True),
    Row("bird MobileNetV2 float16", "corpus", "bird_mobilenetv2_fp32.onnx", half=True),
    Row("bird MobileNetV2 int8", "int8", "bird MobileNetV2", large=True),
    Row("bird MobileNetV2 u8 QDQ", "corpus", "bird_mobilenetv2_u8_qdq.onnx"),
    Row("ImageNet MobileNetV2 s8 QDQ", "corpus", "imagenet_mobilenetv2_s8_qdq.onnx"),
    Row("SqueezeNet 1.1", "network", "squeezenet", large=True),
    Row("EfficientNet-B0", "network", "efficientnet_b0", large=True),
    Row("EfficientNet-B0 float16", "network", "efficientnet_b0", half=True),
    Row("ResNet-18", "network", "resnet18", large=True),
    Row("ResNet-18 float16", "network", "resnet18", large=True, half=True),
    Row("ResNet-18 int8", "int8", "ResNet-18", large=True),
    Row("ResNet-50", "network", "resnet50", large=True),
    Row("ResNet-50 float16", "network", "resnet50", large=True, half=True),
    Row("ResNet-50 int8", "int8", "ResNet-50", large=True),
    Row("MobileNetV3-L", "torchvision", "mobilenet_v3_large"),
    Row("RegNetY-400MF", "torchvision", "regnet_y_400mf"),
    Row("ConvNeXt-T", "torchvision", "convnext_tiny"),
    Row("ViT-B/32", "torchvision", "vit_b_32"),
]


def named(names):
    known = {row.name: row for row in MODELS}
    for name in names:
        if name not in known:
            raise Missing(f'no row is called "{name}": one of {", ".join(known)}')
    return [known[name] for name in names]


def corpus():
    return Path(os.environ.get("KINGLET_CORPUS", ROOT.parent / "shared" / "corpus"))


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines() or ["nothing"]
        raise (Broken if command[0] == "kinglet" else Missing)(f"{Path(str(command[0])).name} {Path(str(command[1])).name} ends with {done.returncode}: {said[-1]}")


class Maker:
    def __init__(self, folder):
        self.folder = folder

    def ours(self, row):
        """The file that kinglet runs."""
        if row.source in ("tree", "corpus"):
            path = (ROOT / "models" if row.source == "tree" else corpus() / "models") / row.file
            if not path.exists():
                raise (Missing if row.source == "tree" or corpus().exists() else NotHere)(f"{path} is missing")
            return path
        return self.made(row.file if row.source != "int8" else f"{row.file} int8", lambda to: self.write(row, to))

    def theirs(self, row):
        """The file that ONNX Runtime runs: of 8 bits its own form, which it runs fastest on x86-64."""
        if row.source != "int8":
            return self.ours(row)
        plain = self.ours(*named([row.file]))
        return self.made(f"{row.file} uint8", lambda to: run(sys.executable, BENCH / "quantize" / "uint8.py", plain, to))

    def made(self, name, write):
        path = self.folder / f"{name.replace(' ', '_').replace('/', '_')}.onnx"
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_name(f"unfinished_{path.name}")
            write(unfinished)
            unfinished.rename(path)
        return path

    def write(self, row, to):
        if row.source == "network":
            run(sys.executable, BENCH / "networks.py", row.file, to)
        elif row.source == "int8":
            pictures = corpus() / "photos"
            if not pictures.exists():
                raise (Missing if corpus().exists() else NotHere)(f"{pictures} is missing, whose photographs 8 bits are measured by")
            run("kinglet", "quantize", self.ours(*named([row.file])), "-o", to, "--images", pictures)
        else:
            folder = self.folder / "export"
            run(sys.executable, ROOT / "tests" / "zoo" / "export.py", "write", row.file, "--to", folder)
            shutil.move(folder / f"{row.file}.onnx", to)
