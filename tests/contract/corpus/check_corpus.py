#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the corpus' models with `kinglet run` and with ONNX Runtime on the same inputs: the corpus' reference tensors
and seeded noise, at one and two threads. fp32 answers agree to 1e-4, 8-bit ones to what the corpus' README allows.
Usage: check_corpus.py KINGLET"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# Debian's onnxruntime complains on stderr of schemas that it registers twice.
stderr = os.dup(2)
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
try:
    import numpy as np
    import onnxruntime
except ImportError as missing:
    print(f"skipped: python3-numpy and python3-onnxruntime are needed ({missing})")
    sys.exit(77)
finally:
    os.dup2(stderr, 2)

CORPUS = Path(os.environ.get("KINGLET_CORPUS", Path(__file__).resolve().parents[4] / "shared" / "corpus"))
LIMIT_FP32 = 1e-4
LIMIT_QDQ = 0.1  # and the same class where the best leads by this much:
FIRM_LEAD = 0.2


def inputs_of(name, shape):
    """(photo, tensor): the model's own references, else the fp32 bird model's, which has the same size."""
    folder = CORPUS / "reference" / (name if not name.endswith("_qdq") else "bird_mobilenetv2_fp32")
    for path in sorted(folder.glob("*.input.npy")):
        tensor = np.load(path)
        if name.startswith("imagenet_mobilenetv2"):  # another recipe: mean 127, deviation 127.5
            tensor = ((tensor * 128 + 1) / 127.5).astype(np.float32)
        yield path.name.split(".")[0], tensor
    yield "noise", np.random.default_rng(20241108).uniform(-1, 1, shape).astype(np.float32)


def difference(name, found, expected):
    """None when the answers agree."""
    if found.shape != expected.shape or not np.isfinite(found).all():
        return f"shape {found.shape} or a number that is not finite"
    largest = float(np.abs(found - expected).max())
    quantised = name.endswith("_qdq")
    if largest > (LIMIT_QDQ if quantised else LIMIT_FP32):
        return f"differs by {largest:.3g}"
    best = np.sort(expected.ravel())[::-1]
    if (not quantised or best[0] - best[1] >= FIRM_LEAD) and found.argmax() != expected.argmax():
        return f"class {found.argmax()}, ONNX Runtime says {expected.argmax()}"
    return None


def check(kinglet, path, folder):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    # Else it adds two products in 16 bits where there is AVX2 alone, which cut what is larger.
    options.add_session_config_entry("session.x64quantprecision", "1")
    peer = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    border = peer.get_inputs()[0]
    shape = [size if isinstance(size, int) else 1 for size in border.shape]
    faults, largest, count = [], 0.0, 0
    for photo, tensor in inputs_of(path.stem, shape):
        expected = peer.run(None, {border.name: tensor})[0]
        np.save(folder / "in.npy", tensor)
        for threads in ("1", "2"):
            subprocess.run([kinglet, "run", str(path), "--input", str(folder / "in.npy"), "--output",
                            str(folder / "out.npy"), "--force", "--threads", threads], check=True)
            found = np.load(folder / "out.npy")
            fault = difference(path.stem, found, expected)
            if fault:
                faults.append(f"{path.stem}, {photo}, {threads} threads: {fault}")
            else:
                largest = max(largest, float(np.abs(found - expected).max()))
            count += 1
    print(f"{path.stem}: {count} answers, largest difference {largest:.2g}", flush=True)
    return faults


def main():
    models = sorted((CORPUS / "models").glob("*.onnx"))
    if not models:
        print("skipped: no corpus of models (../shared/corpus or KINGLET_CORPUS)")
        return 77
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        for path in models:
            faults += check(sys.argv[1], path, Path(folder))
    for fault in faults:
        print(f"FAULT {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
