#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators that ONNX's own cases leave out (float32 Einsum, CumSum, LpNormalization, GlobalLpPool, old forms, and all
of com.microsoft): ONNX Runtime with its optimisation off computes the answers, kinglet must give the same. The cases
are written as folders of ONNX's test suite. Usage: check_operators.py KINGLET"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnx.reference  # before onnxruntime: both bring the same schemas
    import onnxruntime
    from onnx import helper, numpy_helper
except ImportError as missing:
    print(f"skipped: python3-onnx and python3-onnxruntime are needed ({missing})")
    sys.exit(77)

RANDOM = np.random.default_rng(20241108)
MICROSOFT = "com.microsoft"
CASES = []


def f32(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def u8(*shape):
    return RANDOM.integers(0, 256, shape).astype(np.uint8)


def i8(*shape):
    return RANDOM.integers(-128, 128, shape).astype(np.int8)


def weights_beside(kind):
    """Makers of weights. Beside uint8 of 7 bits: with AVX2 alone ONNX Runtime adds two of their products in 16 bits, which
    cut what is larger."""
    return (lambda *shape: i8(*shape) // 2) if kind is u8 else i8


def i32(*shape):
    return RANDOM.integers(-2000, 2000, shape).astype(np.int32)


def scale(value):
    return np.array(value, dtype=np.float32)


def zero(value, kind=np.uint8):
    return np.array(value, dtype=kind)


def case(name, op, inputs, *, outputs=1, opset=17, domain="", constants=(), answers=None, pair=False, added=False,
         **attributes):
    """inputs: arrays, None where absent; those of `constants` (indices) are stored in the model. `answers` stand for
    ONNX Runtime's where it has lost the form. pair: its DequantizeLinear follows; added: the last input is added."""
    CASES.append(dict(name=name, op=op, inputs=inputs, outputs=outputs, opset=opset, domain=domain,
                      constants=constants, attributes=attributes, answers=answers, pair=pair, added=added))


def fused(name, op, inputs, **more):
    case(name, op, inputs, domain=MICROSOFT, **more)


# --- ONNX's own, which its suite has in float64 only or not at all ---
for equation, shapes in {
    "ij,jk->ik": [(3, 4), (4, 5)], "bij,bjk->bik": [(2, 3, 4), (2, 4, 5)], "bhid,bhjd->bhij": [(2, 3, 4, 5), (2, 3, 6, 5)],
    "bhij,bhjd->bhid": [(2, 3, 4, 6), (2, 3, 6, 5)], "...ij,...jk->...ik": [(2, 3, 4), (2, 4, 5)], "ii->i": [(4, 4)],
    "ij->ji": [(3, 4)], "ijk->j": [(2, 3, 4)], "i,j->ij": [(3,), (4,)], "ij,ij->": [(3, 4), (3, 4)],
    "ab,bc,cd->ad": [(2, 3), (3, 4), (4, 5)], "bchw,cd->bdhw": [(2, 3, 4, 4), (3, 5)], "ij,jk": [(3, 4), (4, 5)],
    "b t h, h o -> b t o": [(2, 3, 4), (4, 5)],
}.items():
    case(f"einsum_{len(CASES)}", "Einsum", [f32(*shape) for shape in shapes], equation=equation)
for axis in (0, 1, -1):
    for exclusive in (0, 1):
        for reverse in (0, 1):
            case(f"cumsum_{axis}_{exclusive}_{reverse}", "CumSum", [f32(2, 3, 4), np.array(axis, dtype=np.int64)],
                 exclusive=exclusive, reverse=reverse)
case("cumsum_int32", "CumSum", [i32(5, 6), np.array(1, dtype=np.int32)])
for p in (1, 2):
    case(f"lp_normalization_{p}", "LpNormalization", [f32(2, 3, 4)], axis=1, p=p)
    case(f"global_lp_pool_{p}", "GlobalLpPool", [f32(2, 3, 5, 4)], p=p)
case("lp_normalization_of_zeros", "LpNormalization", [np.zeros((2, 3), np.float32)])
case("global_lp_pool_default", "GlobalLpPool", [f32(1, 2, 3)])
case("range_float", "Range", [scale(1), scale(10.5), scale(0.75)], constants=(0, 1, 2))
case("range_down", "Range", [np.array(v, dtype=np.int64) for v in (7, -8, -3)], constants=(0, 1, 2))
case("topk_old", "TopK", [f32(3, 7)], outputs=2, opset=8, k=3)
case("topk_equal", "TopK", [np.array([[2, 1, 2, 2, 3, 1]], np.float32), np.array([4])], outputs=2, constants=(1,))
case("topk_int", "TopK", [i32(4, 9, 2), np.array([5])], outputs=2, constants=(1,), axis=1, largest=0)


def over_each_other(batches, boxes):
    """Corners the wrong way round, around four places, so that many cover each other."""
    middle = RANDOM.integers(0, 4, (batches, boxes, 1)) * 10 + RANDOM.standard_normal((batches, boxes, 2))
    size = RANDOM.uniform(1, 6, (batches, boxes, 2))
    return np.concatenate([middle - size, middle + size], 2)[:, :, [2, 1, 0, 3]].astype(np.float32)


def limit(value):
    return np.array([value], np.int64)


SOME = over_each_other(2, 60)
OF_THREE = RANDOM.uniform(0, 1, (2, 3, 60)).astype(np.float32)
case("nms_of_classes", "NonMaxSuppression", [SOME, OF_THREE, limit(60), scale([0.4]), scale([0.2])])
case("nms_limited", "NonMaxSuppression", [SOME, OF_THREE, limit(2), scale([0.4]), scale([0.5])], constants=(2, 3, 4))
case("nms_of_every_score", "NonMaxSuppression", [SOME, OF_THREE - 0.5, limit(60), scale([0.3])])
case("nms_of_no_overlap", "NonMaxSuppression", [SOME, OF_THREE, limit(60)])
case("nms_by_middle", "NonMaxSuppression",
     [np.concatenate([SOME[:, :, :2], np.abs(SOME[:, :, 2:])], 2), OF_THREE, limit(60), scale([0.5])], center_point_box=1)
case("nms_of_equal_scores", "NonMaxSuppression",
     [over_each_other(1, 40), np.round(RANDOM.uniform(0, 1, (1, 2, 40)) * 4).astype(np.float32), limit(9), scale([0.5])])
case("nms_of_nothing", "NonMaxSuppression", [SOME, OF_THREE, limit(60), scale([0.4]), scale([2])])
case("nms_without_a_limit", "NonMaxSuppression", [SOME, OF_THREE], opset=11)
case("trilu", "Trilu", [f32(2, 4, 5), np.array(-1)], constants=(1,), upper=0)
case("eye_like", "EyeLike", [f32(3, 5)], k=2, dtype=6)
case("resize_old_up", "Resize", [f32(1, 2, 3, 4), np.array([1, 1, 2, 3], np.float32)], opset=10, constants=(1,))
case("resize_old_down", "Resize", [f32(1, 2, 6, 8), np.array([1, 1, 0.5, 0.5], np.float32)], opset=10, constants=(1,))
case("resize_old_linear", "Resize", [f32(1, 2, 3, 4), np.array([1, 1, 2, 2], np.float32)], opset=10, constants=(1,),
     mode="linear")
case("upsample_attribute", "Upsample", [f32(1, 2, 3, 4)], opset=7, scales=[1.0, 1.0, 2.0, 2.0], mode="nearest")
for mode in ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"):
    for kind in ("nearest", "linear", "cubic"):
        case(f"resize_{mode}_{kind}", "Resize",
             [f32(1, 2, 5, 7), None, None, np.array([1, 2, 8, 3], np.int64)], constants=(3,), opset=18, mode=kind,
             coordinate_transformation_mode=mode)
case("resize_uint8", "Resize", [u8(1, 3, 6, 6), None, None, np.array([1, 3, 12, 12])], constants=(3,), mode="nearest",
     coordinate_transformation_mode="asymmetric", nearest_mode="floor")
case("dynamic_quantize", "DynamicQuantizeLinear", [f32(4, 5)], outputs=3, opset=13)
case("dynamic_quantize_zeros", "DynamicQuantizeLinear", [np.zeros((4, 5), np.float32)], outputs=3, opset=13)
case("dynamic_quantize_positive", "DynamicQuantizeLinear", [np.abs(f32(4, 5)) + 2], outputs=3, opset=13)

# --- Forms of old opsets ---
X = f32(2, 3, 4, 5)
case("old_slice", "Slice", [X], opset=7, starts=[0, 1], ends=[2, -1], axes=[1, 3])
case("old_clip", "Clip", [X], opset=7, min=-0.5, max=0.25)
case("old_clip_one_bound", "Clip", [X], opset=7, min=-0.5)
case("old_squeeze", "Squeeze", [f32(1, 3, 1, 2)], opset=7, axes=[0, 2])
case("old_unsqueeze", "Unsqueeze", [f32(3, 2)], opset=7, axes=[0, 3])
case("old_pad", "Pad", [X], opset=7, pads=[0, 0, 1, 2, 0, 0, 2, 1], value=1.5)
case("old_pad_reflect", "Pad", [X], opset=7, pads=[0, 0, 1, 2, 0, 0, 2, 1], mode="reflect")
case("old_split", "Split", [X], opset=7, outputs=2, axis=1, split=[1, 2])
case("old_split_equal", "Split", [X], opset=7, outputs=2, axis=2)
for op in ("ReduceMean", "ReduceSum", "ReduceL2", "ReduceMax", "ReduceLogSumExp"):
    case(f"old_{op}", op, [X], opset=7, axes=[1, -1], keepdims=0)
case("old_dropout", "Dropout", [X], opset=7, ratio=0.7)
for op in ("Softmax", "LogSoftmax", "Hardmax"):
    case(f"old_{op}", op, [X], opset=7, axis=2)
case("old_batch_normalization", "BatchNormalization", [X, f32(3), f32(3), f32(3), np.abs(f32(3)) + 0.5], opset=7,
     constants=(1, 2, 3, 4))
case("old_gemm", "Gemm", [f32(3, 4), f32(4, 5), f32(5)], opset=7, constants=(1, 2))
case("old_upsample_input", "Upsample", [X, np.array([1, 1, 2, 3], np.float32)], opset=9, constants=(1,), mode="linear")
case("old_max_pool", "MaxPool", [X], opset=7, kernel_shape=[2, 2], auto_pad="SAME_LOWER")
case("old_argmax", "ArgMax", [X], opset=7, axis=-1 + 4, keepdims=0)
case("old_tile", "Tile", [f32(2, 3), np.array(4.0, np.float32), np.array(1.0, np.float32)], opset=1, constants=(1, 2),
     answers=lambda x, *_: [np.tile(x, (1, 4))])
case("old_cast", "Cast", [X], opset=1, to="INT32", answers=lambda x: [x.astype(np.int32)])
case("old_concat", "Concat", [f32(2, 3), f32(2, 4)], opset=1, answers=lambda a, b: [np.concatenate([a, b], axis=1)])
case("old_lp_pool", "LpPool", [f32(1, 1, 2, 2)], opset=1, kernel_shape=[2, 2], p=2.0,
     answers=lambda x: [np.sqrt((x * x).sum()).reshape(1, 1, 1, 1)])
case("old_global_lp_pool", "GlobalLpPool", [f32(1, 2, 3)], opset=1, p=1.0,
     answers=lambda x: [np.abs(x).sum(axis=2, keepdims=True)])
case("old_pad_paddings", "Pad", [f32(2, 3)], opset=1, paddings=[0, 1, 0, 2], answers=lambda x: [np.pad(x, ((0, 0), (1, 2)))])
case("old_add_axis", "Add", [X, f32(3)], opset=6, broadcast=1, axis=1, answers=lambda x, y: [x + y.reshape(3, 1, 1)])
case("old_upsample_scales", "Upsample", [f32(1, 1, 2, 2)], opset=1, height_scale=2.0, width_scale=3.0, mode="nearest",
     answers=lambda x: [x.repeat(2, axis=2).repeat(3, axis=3)])
case("old_reshape", "Reshape", [f32(2, 3, 4)], opset=1, shape=[0, -1], answers=lambda x: [x.reshape(2, 12)])
case("old_prelu", "PRelu", [X, f32(3)], opset=6, constants=(1,),
     answers=lambda x, a: [np.where(x < 0, x * a.reshape(3, 1, 1), x)])

# --- Products of 8-bit numbers ---
case("conv_integer", "ConvInteger", [u8(1, 4, 6, 6), u8(6, 2, 3, 3), zero(12), zero(3)], constants=(1, 2, 3), opset=13,
     group=2, pads=[1, 1, 1, 1], strides=[2, 1])
for kind in (u8, i8):
    of = kind(1).dtype.type
    name = np.dtype(of).name
    weights = weights_beside(kind)
    case(f"qlinear_conv_{name}", "QLinearConv",
         [kind(1, 4, 7, 7), scale(0.02), zero(12, of), weights(6, 4, 3, 3),
          np.abs(f32(6)) * np.float32(0.01) + np.float32(0.001), np.zeros(6, np.int8), scale(0.11), zero(7, of),
          i32(6)],
         constants=tuple(range(1, 9)), opset=13, pads=[1, 1, 1, 1])
    case(f"qlinear_conv_depthwise_{name}", "QLinearConv",
         [kind(2, 6, 7, 7), scale(0.02), zero(12, of), weights(6, 1, 3, 3), scale(0.013), zero(0, np.int8), scale(0.05),
          zero(7, of)], constants=tuple(range(1, 8)), opset=13, group=6, dilations=[2, 2])
    case(f"matmul_integer_{name}_weight", "MatMulInteger", [u8(3, 7), kind(7, 5) // 2, zero(9), zero(3, of)], opset=13,
         constants=(1, 2, 3))
    case(f"qlinear_matmul_{name}", "QLinearMatMul",
         [kind(2, 5, 9), scale(0.013), zero(5, of), weights(9, 6), scale(0.021), zero(0, np.int8), scale(0.17),
          zero(3, of)], opset=13, constants=tuple(range(1, 8)))
    case(f"qlinear_matmul_columns_{name}", "QLinearMatMul",
         [kind(5, 9), scale(0.013), zero(5, of), weights(9, 6), np.abs(f32(6)) * np.float32(0.02), np.zeros(6, np.int8),
          scale(0.17), zero(3, of)], opset=13, constants=tuple(range(1, 8)))
    for trans in (0, 1):
        for c in (None, i32(6)):
            fused(f"qgemm_{name}_{trans}_{c is None}", "QGemm",
                  [kind(4, 9), scale(0.013), zero(5, of), weights(*((6, 9) if trans else (9, 6))), scale(0.021),
                   zero(0, np.int8), c, scale(0.17), zero(3, of)], constants=tuple(range(1, 9)), transB=trans)
weights = weights_beside(u8)
fused("qgemm_float", "QGemm", [u8(4, 9), scale(0.013), zero(5), weights(9, 6), np.abs(f32(6)) * np.float32(0.02),
                               np.zeros(6, np.int8), i32(6)], constants=tuple(range(1, 7)), alpha=0.5)
fused("matmul_integer_to_float", "MatMulIntegerToFloat",
      [u8(3, 8), weights(8, 5), scale(0.02), np.abs(f32(5)) * np.float32(0.02), zero(100), None, f32(5)],
      constants=(1, 2, 3, 4, 6))
fused("matmul_integer_to_float_plain", "MatMulIntegerToFloat", [u8(2, 3, 8), u8(8, 5), scale(0.02), scale(0.03),
                                                                zero(100), zero(99)], constants=(1, 2, 3, 4, 5))
fused("dynamic_quantize_matmul", "DynamicQuantizeMatMul", [f32(3, 8), weights(8, 5), scale(0.02), zero(0, np.int8), f32(5)],
      constants=(1, 2, 3, 4))
fused("dynamic_quantize_matmul_columns", "DynamicQuantizeMatMul",
      [f32(3, 8), weights(8, 5), np.abs(f32(5)) * np.float32(0.02)], constants=(1, 2))

# --- Element by element, pools and joins of 8-bit tensors ---
for kind in (u8, i8):
    of = kind(1).dtype.type
    name = np.dtype(of).name
    for op in ("QLinearAdd", "QLinearMul"):
        fused(f"{op}_{name}", op, [kind(2, 3, 400), scale(0.02), zero(12, of), kind(2, 3, 400), scale(0.031), zero(3, of),
                                   scale(0.04), zero(20, of)], constants=(1, 2, 4, 5, 6, 7))
        fused(f"{op}_{name}_broadcast", op, [kind(2, 3, 400), scale(0.5), zero(12, of), kind(3, 1), scale(0.25), zero(3, of),
                                             scale(1.0), zero(21, of)], constants=(1, 2, 3, 4, 5, 6, 7))
    every = np.arange(np.iinfo(of).min, np.iinfo(of).max + 1).astype(of).reshape(2, 128)
    fused(f"qlinear_sigmoid_{name}", "QLinearSigmoid", [every, scale(0.05), zero(10, of), scale(1 / 256), zero(0, of)],
          constants=(1, 2, 3, 4))
    fused(f"qlinear_leaky_relu_{name}", "QLinearLeakyRelu", [every, scale(0.05), zero(10, of), scale(0.04), zero(30, of)],
          constants=(1, 2, 3, 4), alpha=0.1)
    fused(f"qlinear_softmax_{name}", "QLinearSoftmax",
          [kind(2, 3, 10), scale(0.03), zero(10, of), scale(1 / 256), zero(np.iinfo(of).min, of)], constants=(1, 2, 3, 4),
          axis=-1, opset_=13)
    fused(f"qlinear_softmax_flat_{name}", "QLinearSoftmax",
          [kind(2, 3, 10), scale(0.03), zero(10, of), scale(1 / 256), zero(np.iinfo(of).min, of)], constants=(1, 2, 3, 4),
          axis=1, opset_=12)
    fused(f"qlinear_global_pool_{name}", "QLinearGlobalAveragePool",
          [kind(2, 5, 6, 7), scale(0.03), zero(10, of), scale(0.021), zero(4, of)], constants=(1, 2, 3, 4))
    fused(f"qlinear_global_pool_last_{name}", "QLinearGlobalAveragePool",
          [kind(2, 6, 7, 5), scale(0.03), zero(10, of), scale(0.021), zero(4, of)], constants=(1, 2, 3, 4),
          channels_last=1)
    fused(f"qlinear_pool_{name}", "QLinearAveragePool",
          [kind(1, 3, 8, 9), scale(0.03), zero(10, of), scale(0.021), zero(4, of)], constants=(1, 2, 3, 4),
          kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    fused(f"qlinear_concat_{name}", "QLinearConcat",
          [scale(0.03), zero(10, of), kind(2, 3, 4), scale(0.021), zero(4, of), kind(2, 5, 4), scale(0.03), zero(10, of)],
          constants=(0, 1, 3, 4, 6, 7), axis=1)
fused("microsoft_quantize", "QuantizeLinear", [f32(3, 4), scale(0.02), zero(100)], constants=(1, 2))
fused("microsoft_dequantize", "DequantizeLinear", [i8(3, 4), np.abs(f32(4)), np.zeros(4, np.int8)], constants=(1, 2),
      axis=1)

# --- 16-bit activations: rounding as a pair, and constants ---
for levels in (np.uint16, np.int16):
    for domain, opset in ((MICROSOFT, 17), ("", 21)):
        case(f"round_to_{np.dtype(levels).name}_{opset}", "QuantizeLinear",
             [f32(3, 400) * 3, scale(0.0001), zero(np.iinfo(levels).max - 30000, levels)], constants=(1, 2), opset=opset,
             domain=domain, pair=True)
        case(f"dequantize_{np.dtype(levels).name}_{opset}", "DequantizeLinear",
             [RANDOM.integers(np.iinfo(levels).min, np.iinfo(levels).max, (3, 4)).astype(levels), np.abs(f32(4)),
              np.array([1, 2, 3, 4], levels), f32(3, 4)], constants=(0, 1, 2), opset=opset, domain=domain, added=True,
             axis=1)

# --- Fused float operators ---
for activation, parameters in {"Relu": None, "Sigmoid": None, "Tanh": None, "LeakyRelu": [0.2], "Clip": [-0.5, 0.75],
                               "HardSigmoid": [0.3, 0.4]}.items():
    more = {"activation_params": parameters} if parameters else {}
    fused(f"fused_conv_{activation}", "FusedConv", [f32(1, 3, 6, 6), f32(4, 3, 3, 3), f32(4)], constants=(1, 2),
          activation=activation, pads=[1, 1, 1, 1], **more)
fused("fused_conv_sum", "FusedConv", [f32(1, 3, 6, 6), f32(4, 3, 1, 1), f32(4), f32(1, 4, 6, 6)], constants=(1, 2),
      activation="Relu")
fused("fused_gemm_relu", "FusedGemm", [f32(3, 4), f32(5, 4), f32(5)], constants=(1, 2), activation="Relu", transB=1,
      alpha=0.5, beta=2.0)
fused("fused_gemm_leaky", "FusedGemm", [f32(3, 4), f32(4, 5), f32(5)], constants=(1, 2), activation="LeakyRelu",
      activation_alpha=0.3)
for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
    fused(f"fused_matmul_{a}{b}", "FusedMatMul", [f32(2, *((4, 3) if a else (3, 4))), f32(2, *((5, 4) if b else (4, 5)))],
          transA=a, transB=b, alpha=0.125)
fused("fused_matmul_plain", "FusedMatMul", [f32(2, 3, 4), f32(4, 5)])
fused("microsoft_gelu", "Gelu", [np.clip(f32(3, 50), -2, 2)])
fused("bias_gelu", "BiasGelu", [np.clip(f32(3, 50), -2, 2), f32(50)])
fused("fast_gelu", "FastGelu", [np.clip(f32(3, 50), -2, 2)])
fused("fast_gelu_bias", "FastGelu", [np.clip(f32(3, 50), -2, 2), f32(50)])
fused("quick_gelu", "QuickGelu", [np.clip(f32(3, 50), -2, 2)])
fused("quick_gelu_silu", "QuickGelu", [np.clip(f32(3, 50), -2, 2)], alpha=1.0)
fused("skip_layer_norm", "SkipLayerNormalization", [f32(2, 3, 8), f32(2, 3, 8), f32(8), f32(8)], constants=(2, 3),
      epsilon=1e-5)
fused("skip_layer_norm_sum", "SkipLayerNormalization", [f32(2, 3, 8), f32(2, 3, 8), f32(8), f32(8), f32(8)],
      constants=(2, 3, 4), outputs=(0, 3))


def model_of(given):
    names, graph_inputs, initializers = [], [], []
    for index, array in enumerate(given["inputs"]):
        names.append("" if array is None else f"x{index}")
        if array is None:
            continue
        if index in given["constants"]:
            initializers.append(numpy_helper.from_array(array, names[-1]))
        else:
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            graph_inputs.append(helper.make_tensor_value_info(names[-1], kind, array.shape))
    wanted = given["outputs"] if isinstance(given["outputs"], tuple) else tuple(range(given["outputs"]))
    outputs = [f"y{i}" if i in wanted else "" for i in range(max(wanted) + 1)]
    attributes = {name.rstrip("_"): value for name, value in given["attributes"].items()}
    taken, inner = names[:-1] if given["added"] else names, given["pair"] or given["added"]
    nodes = [helper.make_node(given["op"], taken, ["inner"] if inner else outputs, name="node", domain=given["domain"],
                              **attributes)]
    if given["pair"]:
        nodes.append(helper.make_node("DequantizeLinear", ["inner", *names[1:]], outputs, domain=given["domain"]))
    if given["added"]:
        nodes.append(helper.make_node("Add", ["inner", names[-1]], outputs))
    graph = helper.make_graph(nodes, given["name"], graph_inputs, [onnx.ValueInfoProto(name=o) for o in outputs if o],
                              initializers)
    opsets = [helper.make_opsetid("", given["opset"])]
    if given["domain"]:
        opsets.append(helper.make_opsetid(given["domain"], 1))
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def write_case(given, folder):
    """The model as kinglet gets it, the inputs that are not stored in it, and ONNX Runtime's answers."""
    model = model_of(given)
    feeds = {f"x{i}": array for i, array in enumerate(given["inputs"])
             if array is not None and i not in given["constants"]}
    answers = given["answers"](*given["inputs"]) if given["answers"] else run(model, feeds)
    data = folder / "node" / given["name"] / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model, data.parent / "model.onnx")
    for role, arrays in (("input", feeds.values()), ("output", answers)):
        for index, array in enumerate(arrays):
            proto = numpy_helper.from_array(np.asarray(array))
            (data / f"{role}_{index}.pb").write_bytes(proto.SerializeToString())


def run(model, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def main():
    with tempfile.TemporaryDirectory() as name:
        for given in CASES:
            try:
                write_case(given, Path(name))
            except Exception as error:  # a case that ONNX Runtime cannot judge has no place here
                print(f"FAILED {given['name']}: ONNX Runtime does not run it: {error}")
        done = subprocess.run([sys.argv[1], "verify", "--suite", name, "--json"], capture_output=True, text=True,
                              check=False)
        if not done.stdout:
            print(done.stderr)
            return 1
        report = json.loads(done.stdout)
        for failure in report["failures"]:
            print(f"FAILED {failure['name']}: {failure['reason']}")
        if report["out_of_scope"]:
            print(f"FAILED: {report['out_of_scope']} cases are refused")
            print(subprocess.run([sys.argv[1], "verify", "--suite", name, "-v"], capture_output=True, text=True,
                                 check=False).stderr)
        print(f"{len(CASES)} cases, {report['passed']} as ONNX Runtime has them")
        return 0 if report["passed"] == len(CASES) else 1


if __name__ == "__main__":
    sys.exit(main())
