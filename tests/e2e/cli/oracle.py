# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime as the judge of what the tool writes; a test that imports this is skipped where it is not installed."""
import os
import sys

# The two share one libonnx and say so in a thousand lines on stderr.
kept, silent = os.dup(2), os.open(os.devnull, os.O_WRONLY)
os.dup2(silent, 2)
try:
    import onnx
    import onnx.reference  # before onnxruntime
    import numpy as np
    import onnxruntime as ort
except ImportError as missing:
    print(f"skipped: python3-onnx and python3-onnxruntime are needed ({missing})")
    sys.exit(77)
finally:
    os.dup2(kept, 2)
    os.close(kept)
    os.close(silent)

from onnx import TensorProto, helper, numpy_helper

NEWEST = 21  # that ONNX Runtime 1.21 knows completely


def run(path, inputs):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs)))


def random_inputs(path, seed=7, batch=2):
    rng = np.random.default_rng(seed)
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return {i.name: rng.standard_normal([d if isinstance(d, int) else batch for d in i.shape]).astype(np.float32)
            for i in session.get_inputs()}


def check_same(test, expected, actual, tolerance=1e-4):
    test.assertEqual(sorted(expected), sorted(actual))
    for name, value in expected.items():
        limit = tolerance * max(1.0, float(np.abs(value).max()))
        np.testing.assert_allclose(actual[name], value, rtol=0, atol=limit, err_msg=name)


def check_file(path):
    """ONNX's own checker, with strict shape inference."""
    onnx.checker.check_model(str(path), full_check=True)


def floats(name, shape, seed):
    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32) * 0.3
    return numpy_helper.from_array(values, name)


def tensor(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def save(path, nodes, inputs, outputs, weights=(), opset=17, **more):
    graph = helper.make_graph(nodes, "test", inputs, outputs, list(weights), **more)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], producer_name="oracle",
                              ir_version={9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 14: 7}.get(opset, 8 if opset < 19 else 9))
    onnx.save(model, str(path))
    return path


def classifier(path, batch=1, opset=17):
    """Conv, ReLU, pooling, Flatten, Gemm, Softmax, and an Identity; names of every kind."""
    nodes = [helper.make_node("Conv", ["image", "w1", "b1"], ["c1"], "conv1", pads=[1, 1, 1, 1], doc_string="trace"),
             helper.make_node("Relu", ["c1"], ["r1"], "relu1"),
             helper.make_node("GlobalAveragePool", ["r1"], ["features"], "pool"),
             helper.make_node("Flatten", ["features"], ["flat"], "flatten"),
             helper.make_node("Gemm", ["flat", "w2", "b2"], ["logits"], "fc", transB=1),
             helper.make_node("Identity", ["logits"], ["kept"]),
             helper.make_node("Softmax", ["kept"], ["scores"], "softmax", axis=1)]
    weights = [floats("w1", [8, 3, 3, 3], 1), floats("b1", [8], 2), floats("w2", [5, 8], 3), floats("b2", [5], 4)]
    return save(path, nodes, [tensor("image", [batch, 3, 8, 8])], [tensor("scores", [batch, 5])], weights, opset,
                value_info=[tensor("features", [batch, 8, 1, 1])])
