# SPDX-License-Identifier: Apache-2.0
"""Small files that end-to-end tests make themselves: pictures, and ONNX models with just enough of protobuf to write right
and wrong ones. Standard library only."""
import struct
import zlib


# A picture as a PNG of one colour.
def png(width=8, height=8, color=(90, 120, 60)):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(color) * width for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value if isinstance(value, bytes) else value.encode()
    return varint(number << 3 | 2) + varint(len(data)) + data


def value_info(name, shape, kind=1):
    dims = b"".join(field(1, field(1, size)) for size in shape)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, dims)))


FLOAT, UINT8, INT8, INT64 = 1, 2, 3, 7
PACKED = {FLOAT: "<f", UINT8: "<B", INT8: "<b", INT64: "<q"}


def constant(name, shape, fill=0.01, kind=FLOAT):
    count = 1
    for size in shape:
        count *= size
    numbers = fill if isinstance(fill, list) else [fill] * count
    return (b"".join(field(1, size) for size in shape) + field(2, kind) + field(8, name)
            + field(9, b"".join(struct.pack(PACKED[kind], number) for number in numbers)))


# A weight whose numbers lie in a file beside the model.
def beside(name, shape, file):
    entry = field(1, "location") + field(2, file)
    return (b"".join(field(1, size) for size in shape) + field(2, FLOAT) + field(8, name) + field(13, entry) + field(14, 1))


# An attribute is an integer or a list of them.
def attribute(name, value):
    if isinstance(value, list):
        return field(5, field(1, name) + b"".join(field(8, number) for number in value) + field(20, 7))
    return field(5, field(1, name) + field(3, value) + field(20, 2))


def node(operator, inputs, outputs, name, **integers):
    attributes = b"".join(attribute(key, value) for key, value in integers.items())
    return (b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(3, name)
            + field(4, operator) + attributes)


def model(nodes, inputs, outputs, constants=(), opset=13):
    graph = (b"".join(field(1, n) for n in nodes) + field(2, "test") + b"".join(field(5, c) for c in constants)
             + b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs))
    return field(1, 8) + field(2, "test") + field(7, graph) + field(8, field(1, "") + field(2, opset))


# The mean of each channel (of the input as it is), flat as "flat", and then what `nodes` make of it: outputs are
# (name, shape, type).
def means_and_then(nodes, outputs, constants=(), size=16):
    start = [node("GlobalAveragePool", ["image"], ["means"], "pool"), node("Flatten", ["means"], ["flat"], "flatten")]
    return model(start + nodes, [value_info("image", [1, 3, size, size])],
                 [value_info(name, shape, kind) for name, shape, kind in outputs], constants)


# A convolution followed by a batch normalisation and an identity: work for the passes.
def reducible():
    nodes = [node("Conv", ["image", "w"], ["a"], "conv"),
             node("BatchNormalization", ["a", "s", "b", "m", "v"], ["c"], "norm"), node("Identity", ["c"], ["y"], "same")]
    numbers = [constant("w", [4, 3, 3, 3], 0.1), constant("s", [4], 2.0), constant("b", [4], 0.5),
               constant("m", [4], 0.1), constant("v", [4], 1.0)]
    return model(nodes, [value_info("image", [1, 3, 8, 8])], [value_info("y", [1, 4, 6, 6])], numbers)


# A classifier whose three scores are the mean of each channel. `kind` is the input's type: an integer one is
# dequantised by the model; `quantised` puts the same steps into a model of floats.
def channel_means(kind, scale, zero_point, quantised=None, size=16, output=FLOAT):
    steps = [constant("scale", [], scale), constant("zero", [], zero_point, quantised or kind)]
    nodes = []
    last = "image"
    if quantised:
        nodes.append(node("QuantizeLinear", ["image", "scale", "zero"], ["q"], "quantize"))
        last = "q"
    if quantised or kind != FLOAT:
        nodes.append(node("DequantizeLinear", [last, "scale", "zero"], ["x"], "dequantize"))
        last = "x"
    nodes += [node("GlobalAveragePool", [last], ["means"], "pool"), node("Flatten", ["means"], ["flat"], "flatten")]
    if output != FLOAT:
        steps += [constant("out_scale", [], 1 / 64), constant("out_zero", [], 3, output)]
        nodes.append(node("QuantizeLinear", ["flat", "out_scale", "out_zero"], ["scores"], "quantize_scores"))
    else:
        nodes.append(node("Identity", ["flat"], ["scores"], "scores"))
    return model(nodes, [value_info("image", [1, 3, size, size], kind)], [value_info("scores", [1, 3], output)], steps)


# A classifier of 64 pixels whose weights, 192 numbers a class, lie in a file beside it.
def heavy(classes, file):
    nodes = [node("Flatten", ["image"], ["flat"], "flatten"), node("MatMul", ["flat", "w"], ["scores"], "matmul")]
    return model(nodes, [value_info("image", [1, 3, 8, 8])], [value_info("scores", [1, classes])],
                 [beside("w", [192, classes], file)])


# An 8-bit LeakyRelu between scales so far apart that XNNPACK has no numbers for it.
def outgrown_relu():
    nodes = [node("DequantizeLinear", ["image", "in", "zero"], ["x"], "dequantize"),
             node("LeakyRelu", ["x"], ["a"], "relu"), node("QuantizeLinear", ["a", "out", "zero"], ["scores"], "quantize")]
    numbers = [constant("in", [], 300.0), constant("out", [], 1.0), constant("zero", [], 0, UINT8)]
    return model(nodes, [value_info("image", [1, 3, 4, 4], UINT8)], [value_info("scores", [1, 3, 4, 4], UINT8)], numbers)
