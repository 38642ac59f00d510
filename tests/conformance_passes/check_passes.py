#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Optimises small hand-made models, and the corpus where it is, and runs original and result in ONNX Runtime with its
own optimisation off: same shapes, same numbers, NaN included. Usage: check_passes.py OPTIMIZE_ONNX [MODEL...]"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnx.reference  # before onnxruntime: both bring the same schemas
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"skipped: python3-onnx and python3-onnxruntime are needed ({missing})")
    sys.exit(77)

RANDOM = np.random.default_rng(20240229)
CASES = []


def weight(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def numbers(*values, kind=np.float32):
    return np.array(values, dtype=kind)


def ints(*values):
    return np.array(values, dtype=np.int64)


def case(name, opset, nodes, constants, *, keep=(), gone=(), x=(1, 3, 8, 8), outputs=("y",), refused=False,
         overridable=(), graph_inputs=None):
    """keep and gone: operators that must still be there or must not be there any more."""
    CASES.append(dict(name=name, opset=opset, nodes=nodes, constants=constants, keep=keep, gone=gone, x=x,
                      outputs=outputs, refused=refused, overridable=overridable, graph_inputs=graph_inputs))


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(","), outputs.split(","), **attributes)


def model_of(given):
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, given["x"])]
    for name in given["overridable"]:
        inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, given["constants"][name].shape))
    outputs = [onnx.ValueInfoProto(name=name) for name in given["outputs"]]
    graph = helper.make_graph(given["nodes"], "case", inputs, outputs,
                              [numpy_helper.from_array(value, name) for name, value in given["constants"].items()])
    opset = given["opset"]
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    inferred = onnx.shape_inference.infer_shapes(model)
    known = {value.name: value for value in inferred.graph.value_info}
    for index, output in enumerate(model.graph.output):
        if not output.HasField("type"):
            found = known.get(output.name) or inferred.graph.output[index]
            model.graph.output[index].CopyFrom(found)
    for output in model.graph.output:
        if not output.HasField("type"):
            output.type.tensor_type.elem_type = TensorProto.FLOAT
    return model


CONV = dict(w=weight(4, 3, 3, 3))
POOL = dict(kernel_shape=[3, 3], strides=[2, 2])
PAD = ints(0, 0, 1, 1, 0, 0, 1, 1)
BN = dict(s=weight(4), b=weight(4), m=weight(4), v=np.abs(weight(4)) + 0.5)

# --- Rewrites that today's tools get wrong -------------------------------------------------------------------------
case("pad_zero_maxpool", 17, [node("Pad", "x,p", "a"), node("MaxPool", "a", "y", **POOL)], dict(p=PAD), keep=["Pad"])
case("pad_zero_averagepool_ceil", 17, [node("Pad", "x,p", "a"), node("AveragePool", "a", "y", ceil_mode=1, **POOL)],
     dict(p=PAD), keep=["Pad"])
case("pad_zero_averagepool_own_pads", 17,
     [node("Pad", "x,p", "a"), node("AveragePool", "a", "y", pads=[1, 1, 1, 1], count_include_pad=0, **POOL)],
     dict(p=PAD), keep=["Pad"])
case("pad_zero_averagepool_same_upper", 17,
     [node("Pad", "x,p", "a"), node("AveragePool", "a", "y", auto_pad="SAME_UPPER", **POOL)], dict(p=PAD), keep=["Pad"])
case("pad_one_conv_opset10", 10,
     [node("Pad", "x", "a", pads=[0, 0, 1, 1, 0, 0, 1, 1], value=1.0), node("Conv", "a,w", "y")], CONV, keep=["Pad"])
case("pad_three_axes_conv_opset18", 18,
     [node("Pad", "x,p,,axes", "a"), node("Conv", "a,w", "y")],
     dict(p=ints(0, 1, 1, 1, 1, 1), axes=ints(1, 2, 3), w=weight(4, 4, 3, 3)), keep=["Pad"])
case("reshape_reshape_with_zero", 17, [node("Reshape", "x,s", "a"), node("Reshape", "a,t", "y")],
     dict(s=ints(8, 24), t=ints(0, 2, 12)))
case("three_matmuls", 17,
     [node("MatMul", "x,w", "a"), node("MatMul", "x,v", "b"), node("MatMul", "x,u", "c"), node("Add", "b,c", "y")],
     dict(w=weight(8, 4), v=weight(8, 4), u=weight(8, 4)), x=(2, 8), outputs=("y", "a"))
case("two_random_normals", 17,
     [node("RandomNormal", "", "a", shape=[2], seed=1.0), node("RandomNormal", "", "b", shape=[2], seed=1.0),
      node("Add", "a,b", "c"), node("Relu", "x", "y")], {}, outputs=("y", "c"), refused=True)
case("sqrt_softmax", 17, [node("Sqrt", "x", "a"), node("Softmax", "a", "y", axis=1)], {}, keep=["Sqrt"])
case("sqrt_argmax", 17, [node("Sqrt", "x", "a"), node("ArgMax", "a", "y", axis=1)], {}, keep=["Sqrt", "ArgMax"])

# --- Conditions everybody gets right ---------------------------------------------------------------------------------
for op in ("Add", "Mul"):
    case(f"{op.lower()}_along_the_width", 17, [node("Conv", "x,w", "a"), node(op, "a,k", "y")],
         dict(k=weight(4), **CONV), x=(1, 3, 6, 6), keep=[op])
    case(f"{op.lower()}_per_channel", 17, [node("Conv", "x,w", "a"), node(op, "a,k", "y")],
         dict(k=weight(4, 1, 1), **CONV), gone=[op])
case("bn_two_users", 17, [node("Conv", "x,w", "a"), node("BatchNormalization", "a,s,b,m,v", "c"),
                          node("Add", "a,c", "y")], CONV | BN, keep=["BatchNormalization"])
case("bn_conv_is_output", 17, [node("Conv", "x,w", "a"), node("BatchNormalization", "a,s,b,m,v", "y")], CONV | BN,
     outputs=("y", "a"), keep=["BatchNormalization"])
case("bn_before_padded_conv", 17,
     [node("BatchNormalization", "x,s,b,m,v", "a"), node("Conv", "a,w", "y", pads=[1, 1, 1, 1])],
     dict(s=weight(3), b=weight(3), m=weight(3), v=np.abs(weight(3)) + 0.5, w=weight(4, 3, 3, 3)),
     keep=["BatchNormalization"])
case("bn_shared_weight", 17,
     [node("Conv", "x,w", "a"), node("BatchNormalization", "a,s,b,m,v", "c"), node("Conv", "x,w", "d"),
      node("Add", "c,d", "y")], CONV | BN, gone=["BatchNormalization"])
for opset in (7, 9, 14, 15):
    case(f"bn_opset{opset}", opset, [node("Conv", "x,w", "a", pads=[1, 1, 1, 1]),
                                     node("BatchNormalization", "a,s,b,m,v", "y", epsilon=1e-3)],
         CONV | BN, gone=["BatchNormalization"])
case("mul_larger_ones", 17, [node("Mul", "x,k", "y")], dict(k=np.ones((2, 3, 8, 8), np.float32)), keep=["Mul"])
case("concat_axes", 17, [node("Concat", "x,x", "a", axis=-3), node("Concat", "x,x", "b", axis=1),
                         node("Add", "a,b", "y")], {})
for name, first, second in (("relu_clip", None, (-1, 0.5)), ("clip_relu", (-1, 0.5), None),
                            ("clip_clip", (-1, 0.25), (-0.5, 2)), ("clip_apart", (-2, -1), (1, 2)),
                            ("relu_negative_clip", None, (-2, -1)), ("clip_min_above_max", (1, -1), None)):
    def clamp(bounds, source, target, constants):
        if bounds is None:
            return node("Relu", source, target)
        constants |= {f"{target}lo": np.float32(bounds[0]), f"{target}hi": np.float32(bounds[1])}
        return node("Clip", f"{source},{target}lo,{target}hi", target)
    constants = {}
    case(name, 17, [clamp(first, "x", "a", constants), clamp(second, "a", "y", constants)], constants)
case("clip_opset6", 6, [node("Clip", "x", "a", min=-1.0, max=0.5), node("Relu", "a", "y")], {})
case("dropout_mask_used", 17, [node("Dropout", "x", "y,m"), node("Not", "m", "n")], {}, outputs=("y", "n"),
     keep=["Dropout"])
case("dropout_opset7", 7, [node("Dropout", "x", "a", ratio=0.3), node("Relu", "a", "y")], {}, gone=["Dropout"])
case("cast_int_and_back", 17, [node("Cast", "x", "a", to=TensorProto.INT64), node("Cast", "a", "y",
                                                                                to=TensorProto.FLOAT)], {})
case("initializer_is_input", 17, [node("Neg", "k", "a"), node("Add", "x,a", "y")], dict(k=weight(3, 1, 1)),
     overridable=["k"])
case("slice_of_slice", 17, [node("Slice", "x,a,b,ax", "c"), node("Slice", "c,d,e,ax", "y")],
     dict(a=ints(1), b=ints(7), ax=ints(2), d=ints(-3), e=ints(100)))
case("pad_reflect", 17, [node("Pad", "x,p", "a", mode="reflect"), node("Conv", "a,w", "y")], dict(p=PAD, **CONV),
     keep=["Pad"])
case("pad_negative", 17, [node("Pad", "x,p", "a"), node("Conv", "a,w", "y")],
     dict(p=ints(0, 0, -1, 0, 0, 0, 0, -1), **CONV), keep=["Pad"])

# --- Rewrites that apply -----------------------------------------------------------------------------------------------
case("pad_asymmetric_conv", 17, [node("Pad", "x,p", "a"), node("Conv", "a,w", "y", strides=[2, 2])],
     dict(p=ints(0, 0, 0, 0, 0, 0, 1, 1), **CONV), gone=["Pad"])
case("pad_conv_opset9", 9, [node("Pad", "x", "a", pads=[0, 0, 2, 1, 0, 0, 1, 0]), node("Conv", "a,w", "y")], CONV,
     gone=["Pad"])
case("pad_relu_maxpool", 17, [node("Relu", "x", "r"), node("Pad", "r,p", "a"), node("MaxPool", "a", "y", **POOL)],
     dict(p=PAD), gone=["Pad"])
case("pad_infinite_maxpool", 17, [node("Pad", "x,p,i", "a"), node("MaxPool", "a", "y", **POOL)],
     dict(p=PAD, i=np.float32(-np.inf)), gone=["Pad"])
case("pad_averagepool", 17, [node("Pad", "x,p", "a"), node("AveragePool", "a", "y", **POOL)], dict(p=PAD), gone=["Pad"])
case("matmul_add", 17, [node("MatMul", "x,w", "a"), node("Add", "k,a", "y")], dict(w=weight(8, 4), k=weight(4)),
     x=(2, 8), gone=["MatMul"])
case("gemm_bn", 15, [node("Gemm", "x,w,k", "a", transB=1, beta=0.5), node("BatchNormalization", "a,s,b,m,v", "y")],
     dict(w=weight(4, 8), k=weight(1, 4)) | BN, x=(2, 8), gone=["BatchNormalization"])
case("squeeze_unsqueeze_flatten", 12, [node("GlobalAveragePool", "x", "a"), node("Squeeze", "a", "b", axes=[2, 3]),
                                       node("Unsqueeze", "b", "c", axes=[1]), node("Flatten", "c", "y")], {})
case("transposes", 17, [node("Transpose", "x", "a", perm=[0, 2, 3, 1]), node("Relu", "a", "b"),
                        node("Transpose", "b", "c", perm=[0, 3, 1, 2]), node("Transpose", "c", "y", perm=[1, 0, 3, 2])],
     {})
case("shape_arithmetic", 13,
     [node("Shape", "x", "s"), node("Gather", "s,one", "c", axis=0), node("Unsqueeze", "c,zero", "u"),
      node("Concat", "u,rest", "t", axis=0), node("Reshape", "x,t", "y")],
     dict(one=np.int64(1), zero=ints(0), rest=ints(-1)), gone=["Shape", "Gather", "Concat"])
case("identity_of_initializer", 17, [node("Identity", "k", "j"), node("Conv", "x,w,k", "a"), node("Conv", "x,u,j", "b"),
                                     node("Add", "a,b", "y")], dict(k=weight(4), u=weight(4, 3, 3, 3), **CONV),
     gone=["Identity"])
case("equal_branches", 17, [node("Conv", "x,w", "a"), node("Conv", "x,u", "b"), node("Relu", "a", "c"),
                            node("Relu", "b", "d"), node("Concat", "c,d", "y", axis=1)], dict(u=CONV["w"].copy(), **CONV))
case("identity_to_output", 17, [node("Relu", "x", "a"), node("Identity", "a", "y"), node("Identity", "a", "z")], {},
     outputs=("y", "z"))
case("input_to_output", 17, [node("Identity", "x", "y")], {}, keep=["Identity"])
case("constant_to_output", 17, [node("Identity", "k", "y"), node("Relu", "x", "z")], dict(k=weight(3)),
     outputs=("y", "z"))


# --- Shapes that only the run knows -------------------------------------------------------------------------------------
SHUFFLE = [node("Shape", "x", "s"), node("Gather", "s,i0", "n", axis=0), node("Gather", "s,i1", "c", axis=0),
           node("Div", "c,two", "d"), node("Unsqueeze", "n,zero", "un"), node("Unsqueeze", "d,zero", "ud"),
           node("Concat", "un,g,ud,hw", "t", axis=0), node("Reshape", "x,t", "a"),
           node("Transpose", "a", "b", perm=[0, 2, 1, 3, 4]), node("Concat", "un,m,hw", "u", axis=0),
           node("Reshape", "b,u", "y")]
SHUFFLE_NUMBERS = dict(i0=np.int64(0), i1=np.int64(1), two=np.int64(2), zero=ints(0), g=ints(2), hw=ints(6, 6),
                       m=ints(-1))
case("shuffle_of_a_free_batch", 17, SHUFFLE, SHUFFLE_NUMBERS, x=("N", 4, 6, 6), gone=["Shape", "Gather", "Concat", "Div"])
case("flatten_of_free_sizes", 17, [node("Shape", "x", "s"), node("Slice", "s,zero,one", "n"),
                                   node("Concat", "n,c,m", "t", axis=0), node("Reshape", "x,t", "y")],
     dict(zero=ints(0), one=ints(1), c=ints(4), m=ints(-1)), x=("N", 4, "H", 6), gone=["Shape", "Slice", "Concat"])
case("sides_change_places", 17, [node("Shape", "x", "s"), node("Slice", "s,two,three", "h"), node("Slice", "s,zero,one", "n"),
                                 node("Concat", "h,n,m", "t", axis=0), node("Reshape", "x,t", "y")],
     dict(zero=ints(0), one=ints(1), two=ints(2), three=ints(3), m=ints(-1)), x=("N", 4, "H", 6), keep=["Shape"])

# --- Chains that have an operator ---------------------------------------------------------------------------------------
GELU = [node("Div", "x,r", "a"), node("Erf", "a", "b"), node("Add", "b,one", "c"), node("Mul", "x,c", "d"),
        node("Mul", "d,half", "y")]
GELU_NUMBERS = dict(r=np.float32(np.sqrt(2)), one=np.float32(1), half=np.float32(0.5))
case("gelu_opset20", 20, GELU, GELU_NUMBERS, gone=["Erf"])
case("gelu_opset17", 17, GELU, GELU_NUMBERS, keep=["Erf"])
case("gelu_of_other_constant", 20, GELU, GELU_NUMBERS | dict(r=np.float32(1.4)), keep=["Erf"])
case("gelu_in_four_axes", 20, GELU, GELU_NUMBERS | dict(half=np.full((1, 1, 1, 1, 1), 0.5, np.float32)), keep=["Erf"])


def layer_norm(axis):
    return [node("ReduceMean", "x", "m", axes=[axis]), node("Sub", "x,m", "d"), node("Pow", "d,two", "q"),
            node("ReduceMean", "q", "v", axes=[axis]), node("Add", "v,e", "w"), node("Sqrt", "w", "r"),
            node("Div", "d,r", "n"), node("Mul", "n,g", "k"), node("Add", "k,b", "y")]


LAYER_NORM = dict(two=np.float32(2), e=np.float32(1e-5), g=weight(8), b=weight(8))
case("layer_norm_opset17", 17, layer_norm(-1), LAYER_NORM, gone=["Sqrt", "Pow"])
# Axes of ReduceMean are an input since opset 18, which is how kinglet writes them: the result may be opset 17 then.
case("layer_norm_opset13", 13, layer_norm(-1), LAYER_NORM, gone=["Sqrt"])
case("layer_norm_along_the_height", 17, layer_norm(2), LAYER_NORM, keep=["Sqrt"])
for opset, after in ((13, {"keep": ["HardSigmoid"]}), (14, {"gone": ["HardSigmoid"]})):
    case(f"hard_swish_opset{opset}", opset, [node("HardSigmoid", "x", "a", alpha=1 / 6, beta=0.5), node("Mul", "x,a", "y")],
         {}, **after)
RANGE = dict(three=np.float32(3), lo=np.float32(0), six=np.float32(6))
case("hard_swish_of_clip", 17, [node("Add", "x,three", "a"), node("Clip", "a,lo,six", "b"), node("Mul", "x,b", "c"),
                                node("Div", "c,six", "y")], RANGE, gone=["Clip", "Add"])
case("hard_sigmoid_of_clip", 13, [node("Add", "x,three", "a"), node("Clip", "a,lo,six", "b"), node("Div", "b,six", "y")],
     RANGE, gone=["Clip", "Div"])
case("hard_sigmoid_times_another", 17, [node("HardSigmoid", "x", "a", alpha=1 / 6, beta=0.5), node("Neg", "x", "n"),
                                        node("Mul", "n,a", "y")], {}, keep=["HardSigmoid"])
case("silu_stays_in_files", 17, [node("Sigmoid", "x", "a"), node("Mul", "x,a", "y")], {}, keep=["Sigmoid", "Mul"])
case("mean_of_a_picture", 17, [node("ReduceMean", "x", "y", axes=[-1, 2])], {}, gone=["ReduceMean"])
case("mean_of_channels_too", 17, [node("ReduceMean", "x", "y", axes=[1, 2, 3])], {}, keep=["ReduceMean"])
case("mean_and_unsqueeze", 17, [node("ReduceMean", "x", "a", axes=[2, 3], keepdims=0), node("Unsqueeze", "a,t", "y")],
     dict(t=ints(-1, -2)), gone=["Unsqueeze"])
case("max_and_squeeze", 17, [node("ReduceMax", "x", "a", axes=[1]), node("Squeeze", "a,t", "y")], dict(t=ints(1)),
     gone=["Squeeze"])
case("einsum_is_a_product", 17, [node("Einsum", "x,x", "y", equation="b c i j, b c j k -> b c i k")], {}, gone=["Einsum"])
case("einsum_of_a_transposed", 17, [node("Einsum", "x,x", "y", equation="bcid,bcjd->bcij")], {}, keep=["Einsum"])
case("einsum_that_sums_twice", 17, [node("Einsum", "x,x", "y", equation="bcij,bcij->bc")], {}, keep=["Einsum"])

# --- Constants in front of and behind a convolution ----------------------------------------------------------------------
IN = dict(s=weight(3), b=weight(3), m=weight(3), v=np.abs(weight(3)) + 0.5)
case("bn_before_conv", 17, [node("BatchNormalization", "x,s,b,m,v", "a"), node("Conv", "a,w", "y")], CONV | IN,
     gone=["BatchNormalization"])
case("picture_normalised_before_conv", 17, [node("Sub", "x,m", "a"), node("Div", "a,d", "c"), node("Conv", "c,w", "y")],
     dict(m=weight(3, 1, 1), d=np.abs(weight(3, 1, 1)) + 0.5, **CONV), gone=["Sub", "Div"])
case("factor_before_padded_conv", 17, [node("Mul", "x,k", "a"), node("Conv", "a,w", "y", pads=[1, 1, 1, 1])],
     dict(k=weight(1, 3, 1, 1), **CONV), gone=["Mul"])
case("summand_before_padded_conv", 17, [node("Add", "x,k", "a"), node("Conv", "a,w", "y", pads=[1, 1, 1, 1])],
     dict(k=weight(1, 3, 1, 1), **CONV), keep=["Add"])
case("factor_along_the_width_before_conv", 17, [node("Mul", "x,k", "a"), node("Conv", "a,w", "y")],
     dict(k=weight(3), **CONV), x=(1, 3, 6, 3), keep=["Mul"])
case("factor_before_grouped_conv", 17, [node("Mul", "x,k", "a"), node("Conv", "a,w", "y", group=2)],
     dict(k=weight(4, 1, 1), w=weight(6, 2, 3, 3)), x=(2, 4, 6, 6), gone=["Mul"])
for op, after in (("Relu", {"gone": ["Mul"]}), ("LeakyRelu", {"gone": ["Mul"]}), ("Sigmoid", {"keep": ["Mul"]}),
                  ("HardSwish", {"keep": ["Mul"]}), ("Elu", {"keep": ["Mul"]})):
    case(f"factor_through_{op.lower()}", 17, [node("Conv", "x,w", "a"), node(op, "a", "b"), node("Mul", "b,k", "y")],
         dict(k=np.abs(weight(4, 1, 1)) + 0.1, **CONV), **after)
case("factor_through_maxpool", 17, [node("Conv", "x,w", "a"), node("MaxPool", "a", "b", **POOL), node("Div", "b,k", "y")],
     dict(k=np.float32(3), **CONV), gone=["Div"])
case("negative_factor_through_maxpool", 17, [node("Conv", "x,w", "a"), node("MaxPool", "a", "b", **POOL),
                                             node("Mul", "b,k", "y")], dict(k=np.float32(-3), **CONV), keep=["Mul"])
case("factors_merge", 17, [node("Mul", "x,a", "c"), node("Div", "c,b", "y")], dict(a=weight(3, 1, 1), b=np.float32(4)),
     gone=["Div"])
case("factors_that_vanish", 17, [node("Mul", "x,a", "c"), node("Mul", "c,a", "y")], dict(a=np.float32(1e-30)))

# --- Moving ----------------------------------------------------------------------------------------------------------------
case("concat_of_concat", 17, [node("Concat", "x,x", "a", axis=-3), node("Concat", "a,x", "y", axis=1)], {})
case("concat_of_concat_along_others", 17, [node("Concat", "x,x", "a", axis=2), node("Concat", "a,a", "y", axis=1)], {})
case("slice_backwards_of_slice", 17, [node("Slice", "x,a,b,ax", "c"), node("Slice", "c,m,e,ax,m", "y")],
     dict(a=ints(1), b=ints(7), ax=ints(2), m=ints(-1), e=ints(-100)))
case("slice_with_steps_of_slice", 17, [node("Slice", "x,a,b,ax,two", "c"), node("Slice", "c,a,b,ax,two", "y")],
     dict(a=ints(1), b=ints(100), ax=ints(3), two=ints(2)))
case("slice_of_slice_on_two_axes", 17, [node("Slice", "x,a,b,h", "c"), node("Slice", "c,a,b,w", "y")],
     dict(a=ints(-5), b=ints(-1), h=ints(2), w=ints(-1)))
case("transposed_gemm", 17, [node("Transpose", "x", "a", perm=[1, 0]), node("Gemm", "a,w,k", "y", transA=0)],
     dict(w=weight(2, 4), k=weight(4)), x=(2, 8), gone=["Transpose"])
QUANTISED = [node("QuantizeLinear", "x,s,z", "q"), node("DequantizeLinear", "q,s,z", "a"),
             node("QuantizeLinear", "a,t,u", "r"), node("DequantizeLinear", "r,t,u", "y")]
case("quantised_twice_alike", 13, QUANTISED, dict(s=np.float32(0.1), z=np.int8(3), t=np.float32(0.1), u=np.int8(3)))
case("quantised_twice_otherwise", 13, QUANTISED, dict(s=np.float32(0.1), z=np.int8(3), t=np.float32(0.15), u=np.int8(3)))
case("quantised_pool", 13, [node("QuantizeLinear", "x,s,z", "q"), node("DequantizeLinear", "q,s,z", "a"),
                            node("MaxPool", "a", "b", pads=[1, 1, 1, 1], **POOL), node("QuantizeLinear", "b,s,z", "r"),
                            node("DequantizeLinear", "r,s,z", "y")], dict(s=np.float32(0.1), z=np.uint8(100)))
case("quantised_concat_of_two_scales", 13,
     [node("QuantizeLinear", "x,s,z", "q"), node("DequantizeLinear", "q,s,z", "a"), node("QuantizeLinear", "x,t,z", "r"),
      node("DequantizeLinear", "r,t,z", "b"), node("Concat", "a,b", "c", axis=1), node("QuantizeLinear", "c,s,z", "u"),
      node("DequantizeLinear", "u,s,z", "y")], dict(s=np.float32(0.1), t=np.float32(0.05), z=np.uint8(100)))
case("scales_of_attention", 17, [node("Mul", "x,c", "q"), node("Transpose", "x", "t", perm=[0, 1, 3, 2]),
                                 node("Mul", "t,c", "k"), node("MatMul", "q,k", "y")], dict(c=np.float32(0.5)))
case("quantised_to_another_type", 13, QUANTISED, dict(s=np.float32(0.1), z=np.int8(3), t=np.float32(0.1), u=np.uint8(3)))


# --- Running -----------------------------------------------------------------------------------------------------------
def session(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def made_inputs(runner, free_side):
    random = np.random.default_rng(7)
    for kind in ("normal", "large negative", "zeros"):
        feeds = {}
        for wanted in runner.get_inputs():
            shape = [d if isinstance(d, int) and d > 0 else (1 if i == 0 else free_side) for i, d in enumerate(wanted.shape)]
            normal = random.standard_normal(shape)
            data = {"normal": normal, "large negative": -20 - 10 * np.abs(normal), "zeros": normal * 0}[kind]
            dtype = {"tensor(float)": np.float32, "tensor(uint8)": np.uint8, "tensor(int8)": np.int8}[wanted.type]
            feeds[wanted.name] = (np.abs(data) * 40 % 255 if dtype == np.uint8 else data).astype(dtype)
        yield kind, feeds


def compare(before, after, free_side=224):
    """Nothing when all is the same, else what differs."""
    first, second = session(before), session(after)
    names = [o.name for o in first.get_outputs()]
    if [o.name for o in second.get_outputs()] != names:
        return f"outputs are {[o.name for o in second.get_outputs()]} in place of {names}"
    keep = {i.name for i in second.get_inputs()}
    for kind, feeds in made_inputs(first, free_side):
        wanted = first.run(None, feeds)
        given = second.run(None, {name: value for name, value in feeds.items() if name in keep})
        for name, a, b in zip(names, wanted, given):
            if a.shape != b.shape or a.dtype != b.dtype:
                return f"{name} on {kind}: {b.dtype}{b.shape} in place of {a.dtype}{a.shape}"
            if a.dtype != np.float32:
                if not np.array_equal(a, b):
                    return f"{name} on {kind}: other numbers"
                continue
            finite = np.abs(a[np.isfinite(a)])
            limit = 1e-4 * max(1.0, float(finite.max()) if finite.size else 0.0)
            if not np.allclose(a, b, rtol=0, atol=limit, equal_nan=True):
                return f"{name} on {kind}: off by {np.nanmax(np.abs(a - b)):.3g}, allowed {limit:.3g}"
    return None


def optimize(program, before, after):
    return subprocess.run([program, str(before), str(after)], capture_output=True, text=True, check=False)


def check_again(program, after, folder):
    """A second run finds nothing more, and writes the same bytes."""
    again = folder / "again.onnx"
    done = optimize(program, after, again)
    if done.returncode != 0:
        return f"a second time: {done.stderr.strip()}"
    return None if again.read_bytes() == after.read_bytes() else "a second run changes the file"


def check_case(program, given, folder):
    before, after = folder / f"{given['name']}.onnx", folder / f"{given['name']}.out.onnx"
    onnx.save(model_of(given), before)
    done = optimize(program, before, after)
    if given["refused"]:
        return None if done.returncode in (65, 69) and not after.exists() else "should have been refused"
    if done.returncode != 0:
        return done.stderr.strip()
    result = onnx.load(after)
    onnx.checker.check_model(result, full_check=True)
    operators = {n.op_type for n in result.graph.node}
    for op in given["keep"]:
        if op not in operators:
            return f"{op} is gone"
    for op in given["gone"]:
        if op in operators:
            return f"{op} is still there"
    return compare(before, after, free_side=5) or check_again(program, after, folder)


def check_model(program, path, folder):
    after = folder / (path.stem + ".out.onnx")
    done = optimize(program, path, after)
    print(f"{path.name}: {done.stdout.strip()}\n{done.stderr}", end="")
    if done.returncode != 0:
        return done.stderr.strip()
    onnx.checker.check_model(str(after), full_check=True)
    return compare(path, after) or check_again(program, after, folder)


def tell(found, what):
    """`found`: titles with their fault, or None. The exit code."""
    faults = [(title, fault) for title, fault in found if fault]
    for title, fault in faults:
        print(f"FAILED {title}: {fault}")
    print(f"{what}, {len(faults)} failed")
    return 1 if faults else 0


def main():
    program, models = sys.argv[1], [Path(m) for m in sys.argv[2:]]
    corpus = Path(os.environ.get("KINGLET_CORPUS", Path(__file__).parents[2] / ".." / "shared" / "corpus")) / "models"
    if not models and corpus.exists():
        models = sorted(corpus.glob("*.onnx"))
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        checks = [(c["name"], check_case, c) for c in CASES] + [(m.name, check_model, m) for m in models]
        for title, check, subject in checks:
            try:
                found.append((title, check(program, subject, folder)))
            except Exception as error:  # any failure of the runtime is a fault of the file it was given
                found.append((title, f"{type(error).__name__}: {error}"))
    return tell(found, f"{len(CASES)} cases and {len(models)} models")


if __name__ == "__main__":
    sys.exit(main())
