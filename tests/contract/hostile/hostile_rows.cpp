// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/hostile/hostile_rows.h"

#include "tests/contract/hostile/model_writer.h"

namespace kinglet::engine::testing {
namespace {

// y = Relu(x), x float [1,4].
ModelWriter relu(std::int64_t opset = 17) {
  ModelWriter model(opset);
  model.input("x", {1, 4}).node("Relu", {"x"}, {"y"}).output("y");
  return model;
}

// y = Conv(x, w) for x float [1,3,8,8]; its attributes may follow.
ModelWriter conv(const Ints& weight) {
  ModelWriter model;
  model.input("x", {1, 3, 8, 8}).floats("w", weight).output("y").node("Conv", {"x", "w"}, {"y"});
  return model;
}

void add_external(ModelWriter& model, const std::string& name, const std::string& location, const std::string& offset,
                  const Ints& dims) {
  ::onnx::TensorProto& weight = model.weight(name, ::onnx::TensorProto::FLOAT, dims);
  weight.set_data_location(::onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : {std::pair{"location", location}, std::pair{"offset", offset}}) {
    auto& entry = *weight.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
}

ModelWriter external(const std::string& location, const std::string& offset, const Ints& dims) {
  ModelWriter model = relu();
  add_external(model, "w", location, offset, dims);
  return model;
}

const HostileRow kRows[] = {
    {"an empty file", [] { return std::string(); }, "is empty, expected an ONNX model"},
    {"text", [] { return std::string("PK not a model, but a few words of text\n"); },
     "is not an ONNX model: a field of a kind ONNX does not use at byte 5"},
    {"a length beyond the end of the file", [] { return std::string("\x3a\xff\xff\xff\xff\x0f", 6); },
     "is not an ONNX model: a field longer than what holds it at byte 6"},
    {"no graph",
     [] {
       ModelWriter m;
       m.model().clear_graph();
       return m.bytes();
     },
     "is not an ONNX model: it holds no graph"},
    {"no operator set",
     [] {
       ModelWriter m = relu();
       m.model().clear_opset_import();
       return m.bytes();
     },
     "names no operator set"},
    {"an operator set of the future", [] { return relu(99).bytes(); }, "uses operator set 99, kinglet knows 1 to 22"},
    {"a value made twice", [] { return relu().node("Relu", {"x"}, {"y"}).bytes(); },
     "node \"y\" (Relu): value \"y\" is made twice"},
    {"a weight made twice", [] { return relu().floats("w", {1}).floats("w", {1}).bytes(); },
     "initializer \"w\" is made twice"},
    {"an input that nothing makes", [] { return relu().node("Relu", {"nobody"}, {"z"}).bytes(); },
     "node \"z\" (Relu): reads \"nobody\", which nothing makes"},
    {"an output that nothing makes", [] { return relu().output("nobody").bytes(); },
     "output \"nobody\": nothing makes it"},
    {"an output listed twice", [] { return relu().output("y").bytes(); }, "output \"y\": is listed twice"},
    {"a cycle of three",
     [] { return relu().node("Relu", {"c"}, {"a"}).node("Relu", {"a"}, {"b"}).node("Relu", {"b"}, {"c"}).bytes(); },
     "node \"a\" (Relu): needs its own result: its nodes form a cycle"},
    {"an operator nobody knows", [] { return relu().node("Frobnicate", {"x"}, {"z"}).bytes(); },
     "1 node with operators kinglet does not run: Frobnicate at \"z\""},
    {"a name of two lines", [] { return relu().node("Relu", {"x"}, {"two\nlines"}).bytes(); },
     "node \"two?lines\" (Relu): value \"two?lines\" has a control character in its name"},
    {"a weight with too few numbers", [] { return relu().floats("w", {1000}, 16).bytes(); },
     "tensor \"w\": has 16 bytes of data, its shape is [1000] of FLOAT"},
    {"a weight with a negative dimension", [] { return relu().floats("w", {-1}, 0).bytes(); },
     "tensor \"w\": has a dimension of -1"},
    {"a weight whose size overflows", [] { return relu().floats("w", {1LL << 32, 1LL << 32, 4}, 16).bytes(); },
     "tensor \"w\": the dimensions [4294967296,4294967296,4] make no tensor of at most 2 GiB"},
    {"a weight of 65 dimensions", [] { return relu().floats("w", Ints(65, 1)).bytes(); },
     "tensor \"w\": has 65 dimensions, the limit is 16"},
    {"a weight of a type out of scope",
     [] {
       ModelWriter m = relu();
       m.weight("w", ::onnx::TensorProto::COMPLEX64, {1}).set_raw_data("12345678");
       return m.bytes();
     },
     "tensor \"w\": holds COMPLEX64 (is complex, for sound), which kinglet does not compute with"},
    {"external data with an absolute path", [] { return external("/etc/passwd", "0", {4}).bytes(); },
     "tensor \"w\": external data is named \"/etc/passwd\", expected a plain file name beside the model"},
    {"external data above the folder", [] { return external("../data.bin", "0", {4}).bytes(); },
     "tensor \"w\": external data is named \"../data.bin\", expected a plain file name beside the model"},
    {"external data in another folder", [] { return external("inner/data.bin", "0", {4}).bytes(); },
     "tensor \"w\": external data is named \"inner/data.bin\", expected a plain file name beside the model"},
    {"external data behind a link", [] { return external("link.bin", "0", {4}).bytes(); },
     "tensor \"w\": FOLDER/link.bin: is a link, not a plain file"},
    {"external data that is a folder", [] { return external("inner", "0", {4}).bytes(); },
     "tensor \"w\": FOLDER/inner: is a folder, not a file"},
    {"external data that is a pipe", [] { return external("pipe.bin", "0", {4}).bytes(); },
     "tensor \"w\": FOLDER/pipe.bin: is not a regular file"},
    {"external data that is not there", [] { return external("nothing.bin", "0", {4}).bytes(); },
     "tensor \"w\": FOLDER/nothing.bin: cannot open the file: No such file or directory"},
    {"external data beyond the end", [] { return external("data.bin", "1048570", {4}).bytes(); },
     "tensor \"w\": external data: 16 bytes from 1048570 on are not in FOLDER/data.bin, which has 1048576"},
    {"external data at an offset that overflows",
     [] { return external("data.bin", "18446744073709551608", {4}).bytes(); },
     "tensor \"w\": external data: 16 bytes from 18446744073709551608 on are not in FOLDER/data.bin, which has "
     "1048576"},
    {"external data at no number", [] { return external("data.bin", "-1", {4}).bytes(); },
     "tensor \"w\": external data: offset is \"-1\", expected a number"},
    {"one piece of external data a thousand times",
     [] {
       ModelWriter m = relu();
       for (int i = 0; i < 1000; ++i) add_external(m, "w" + std::to_string(i), "data.bin", "0", {1 << 18});
       return m.bytes();
     },
     "runs"},
    {"overlapping pieces of external data",
     [] {
       ModelWriter m = relu();
       for (int i = 0; i < 1000; ++i) {
         add_external(m, "w" + std::to_string(i), "data.bin", std::to_string(4 * i), {(1 << 18) - 1000});
       }
       return m.bytes();
     },
     "tensor \"w1\": external data: its 1044576 bytes overlap those of other weights in FOLDER/data.bin"},
    {"an attribute of another kind", [] { return relu().node("Softmax", {"x"}, {"z"}).with("axis", Ints{1}).bytes(); },
     "node \"z\" (Softmax): attribute axis is of kind 7, the operator has kind 2"},
    {"an axis out of range", [] { return relu().node("Softmax", {"x"}, {"z"}).with("axis", 7).bytes(); },
     "node \"z\" (Softmax): axis 7 does not exist in a tensor of 2 dimensions"},
    {"a million empty nodes",
     [] {
       ModelWriter m = relu();
       for (int i = 0; i < 1'000'000; ++i) m.graph().add_node();
       return m.bytes();
     },
     "has 1000001 nodes, the limit is 65536"},
    {"a million names of values",
     [] {
       ModelWriter m = relu();
       m.node("Concat", Names(1'000'000, "x"), {"z"}).with("axis", 0);
       return m.bytes();
     },
     "node \"z\" (Concat): has 1000000 inputs, the limit is 4096"},
    {"ten thousand attributes",
     [] {
       ModelWriter m = relu();
       for (int i = 0; i < 10'000; ++i) m.with("a" + std::to_string(i), i);
       return m.bytes();
     },
     "node \"y\" (Relu): has 10000 attributes, the limit is 64"},
    {"a thousand inputs",
     [] {
       ModelWriter m = relu();
       for (int i = 0; i < 1000; ++i) m.input("x" + std::to_string(i), {1});
       return m.bytes();
     },
     "has more than 256 inputs"},
    {"an input of a million dimensions", [] { return relu().input("big", Ints(1'000'000, 1)).bytes(); },
     "is not an ONNX model: an input or output described by 4000022 bytes at byte 50"},
    {"an input of forty dimensions",
     [] { return ModelWriter().input("x", Ints(40, 1)).node("Relu", {"x"}, {"y"}).output("y").bytes(); },
     "node \"y\" (Relu): its output would have the shape "
     "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1], more than 2147483648 bytes or "
     "16 dimensions"},
    {"a million value infos",
     [] {
       ModelWriter m = relu();
       for (int i = 0; i < 1'000'000; ++i) m.graph().add_value_info();
       return m.bytes();
     },
     "runs"},
    {"sub-graphs in sub-graphs",
     [] {
       ModelWriter m = relu();
       ::onnx::GraphProto* inner =
           m.node("If", {"x"}, {"z"}).attribute("then_branch", ::onnx::AttributeProto::GRAPH).mutable_g();
       for (int i = 0; i < 5000; ++i) {
         ::onnx::NodeProto& node = *inner->add_node();
         node.set_op_type("If");
         inner = node.add_attribute()->mutable_g();
       }
       return m.bytes();
     },
     "is not an ONNX model: sub-graphs nest too deeply at byte 301"},
    {"twenty thousand nodes in a row",
     [] {
       ModelWriter m = ModelWriter().input("v0", {1, 8});
       for (int i = 0; i < 20'000; ++i) m.node("Sigmoid", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
       return m.output("v20000").bytes();
     },
     "runs"},
    {"an input of a trillion numbers",
     [] { return ModelWriter().input("x", {1, 3, 1 << 20, 1 << 20}).node("Relu", {"x"}, {"y"}).output("y").bytes(); },
     "node \"y\" (Relu): its output would have the shape [1,3,1048576,1048576], more than 2147483648 bytes or 16 "
     "dimensions"},
    {"an input of a gigabyte",
     [] { return ModelWriter().input("x", {1, 3, 10000, 10000}).node("Relu", {"x"}, {"y"}).output("y").bytes(); },
     "node \"y\" (Relu): asks for most of 2289 MiB: 0 MiB of weights, 0 MiB packed, 2289 MiB of values, 0 MiB of "
     "windows; the limit is 192 MiB"},
    {"ConstantOfShape of two gigabytes",
     [] {
       return relu()
           .ints("s", {1 << 14, 1 << 15})
           .node("ConstantOfShape", {"s"}, {"c"})
           .node("Add", {"c", "w"}, {"z"})
           .floats("w", {1})
           .output("z")
           .bytes();
     },
     "node \"z\" (Add): asks for most of 4096 MiB: 0 MiB of weights, 0 MiB packed, 4096 MiB of values, 0 MiB of "
     "windows; the limit is 192 MiB"},
    {"ConstantOfShape of nine exabytes",
     [] { return relu().ints("s", {1LL << 31, 1LL << 31}).node("ConstantOfShape", {"s"}, {"c"}).output("c").bytes(); },
     "node \"c\" (ConstantOfShape): its output would have the shape [2147483648,2147483648], more than 2147483648 "
     "bytes or 16 dimensions"},
    {"ConstantOfShape of a negative size",
     [] { return relu().ints("s", {-4}).node("ConstantOfShape", {"s"}, {"c"}).output("c").bytes(); },
     "node \"c\" (ConstantOfShape): the shape holds -4"},
    {"a thousand constants of four megabytes",
     [] {
       ModelWriter m = relu().ints("s", {1 << 20});
       std::string sum = "x0";
       m.floats("x0", {1});
       for (int i = 1; i <= 1000; ++i) {
         const std::string number = std::to_string(i);
         m.node("ConstantOfShape", {"s"}, {"c" + number}).node("Add", {sum, "c" + number}, {"x" + number});
         sum = "x" + number;
       }
       return m.output(sum).bytes();
     },
     "runs"},
    {"Expand to two gigabytes",
     [] {
       return relu()
           .ints("s", {1 << 14, 1 << 13, 4})
           .node("Expand", {"y", "s"}, {"e"})
           .node("ReduceMax", {"e"}, {"z"})
           .output("z")
           .bytes();
     },
     "node \"e\" (Expand): asks for most of 2048 MiB: 0 MiB of weights, 0 MiB packed, 2048 MiB of values, 0 MiB of "
     "windows; the limit is 192 MiB"},
    {"Tile to more than fits",
     [] { return relu().ints("s", {1LL << 31, 1LL << 31}).node("Tile", {"y", "s"}, {"z"}).output("z").bytes(); },
     "node \"z\" (Tile): its output would have the shape [2147483648,8589934592], more than 2147483648 bytes or 16 "
     "dimensions"},
    {"Tile that doubles forty times",
     [] {
       ModelWriter m = relu().ints("s", {1, 2});
       for (int i = 0; i < 40; ++i)
         m.node("Tile", {i == 0 ? "y" : "t" + std::to_string(i), "s"}, {"t" + std::to_string(i + 1)});
       return m.output("t40").bytes();
     },
     "node \"t28\" (Tile): its output would have the shape [1,1073741824], more than 2147483648 bytes or 16 "
     "dimensions"},
    {"OneHot of a billion",
     [] {
       return relu()
           .ints("i", {1, 2})
           .ints("depth", {1 << 29})
           .ints("values", {0, 1})
           .node("OneHot", {"i", "depth", "values"}, {"z"})
           .output("z")
           .bytes();
     },
     "node \"z\" (OneHot): its output would have the shape [2,536870912], more than 2147483648 bytes or 16 dimensions"},
    {"Pad by a billion",
     [] { return relu().ints("p", {0, 1LL << 40, 0, 0}).node("Pad", {"y", "p"}, {"z"}).output("z").bytes(); },
     "node \"z\" (Pad): pads holds 1099511627776"},
    {"Pad below nothing",
     [] { return relu().ints("p", {0, -3, 0, -3}).node("Pad", {"y", "p"}, {"z"}).output("z").bytes(); },
     "node \"z\" (Pad): cuts more than there is of [1,4]"},
    {"Slice with a step of nothing",
     [] {
       return relu()
           .ints("a", {0})
           .ints("b", {1})
           .ints("c", {0})
           .node("Slice", {"y", "a", "b", "", "c"}, {"z"})
           .output("z")
           .bytes();
     },
     "node \"z\" (Slice): a step is 0"},
    {"Reshape to two open sizes",
     [] { return relu().ints("s", {-1, -1}).node("Reshape", {"y", "s"}, {"z"}).output("z").bytes(); },
     "node \"z\" (Reshape): the shape has two -1"},
    {"Transpose by no permutation",
     [] { return relu().node("Transpose", {"y"}, {"z"}).with("perm", Ints{0, 0}).output("z").bytes(); },
     "node \"z\" (Transpose): perm [0,0] is not an order of 2 axes"},
    {"Gather beyond the end",
     [] {
       return relu()
           .floats("w", {4})
           .ints("i", {9})
           .node("Gather", {"w", "i"}, {"g"})
           .node("Add", {"y", "g"}, {"z"})
           .output("z")
           .bytes();
     },
     "pass fold_constants: node \"g\" (Gather): index 9 lies outside an axis of 4"},
    {"Conv with channels that do not fit", [] { return conv({4, 5, 3, 3}).bytes(); },
     "node \"y\" (Conv): the input [1,3,8,8] has 3 channels, the weight [4,5,3,3] expects 5 (group 1)"},
    {"Conv with a kernel larger than the input", [] { return conv({4, 3, 64, 64}).bytes(); },
     "node \"y\" (Conv): the kernel [64,64] does not fit into the padded input [1,3,8,8]"},
    {"Conv with a stride of nothing", [] { return conv({4, 3, 3, 3}).with("strides", Ints{0, 1}).bytes(); },
     "node \"y\" (Conv): attribute strides holds 0"},
    {"Conv with an endless dilation", [] { return conv({4, 3, 3, 3}).with("dilations", Ints{1LL << 62, 1}).bytes(); },
     "node \"y\" (Conv): attribute dilations holds 4611686018427387904"},
    {"Conv with pads of sixteen million",
     [] { return conv({1, 3, 1, 1}).with("pads", Ints{1 << 24, 1 << 24, 1 << 24, 1 << 24}).bytes(); },
     "node \"y\" (Conv): its output would have the shape [1,1,33554440,33554440], more than 2147483648 bytes or 16 "
     "dimensions"},
    {"Conv with negative pads", [] { return conv({4, 3, 3, 3}).with("pads", Ints{-1, 0, 0, 0}).bytes(); },
     "node \"y\" (Conv): attribute pads holds -1"},
    {"Conv with no groups", [] { return conv({4, 3, 3, 3}).with("group", 0).bytes(); },
     "node \"y\" (Conv): attribute group is 0, expected 1 to 2147483648"},
    {"Conv with a weight of no numbers", [] { return conv({0, 3, 3, 3}).bytes(); }, "runs"},
    {"Conv whose windows take gigabytes",
     [] {
       return ModelWriter()
           .input("x", {1, 1, 4096, 1})
           .floats("w", {1, 1, 2048, 1})
           .node("Conv", {"x", "w"}, {"y"})
           .with("pads", Ints{1 << 20, 0, 1 << 20, 0})
           .output("y")
           .bytes();
     },
     "node \"y\" (Conv): asks for most of 32808 MiB: 0 MiB of weights, 0 MiB packed, 8 MiB of values, 32800 MiB of "
     "windows; the limit is 192 MiB"},
    {"a bias of another length",
     [] {
       ModelWriter m = conv({4, 3, 3, 3}).floats("b", {5});
       m.graph().mutable_node(0)->add_input("b");
       return m.bytes();
     },
     "node \"y\" (Conv): the bias has 5 numbers for 4 output channels"},
    {"MaxPool of an endless window over one number",
     [] {
       return ModelWriter()
           .floats("w", {1, 1, 1, 1})
           .node("MaxPool", {"w"}, {"z"})
           .with("kernel_shape", Ints{1 << 24, 1 << 24})
           .with("pads", Ints{1 << 23, 1 << 23, 1 << 23, 1 << 23})
           .output("z")
           .bytes();
     },
     "node \"z\" (MaxPool): asks for most of 8589934592 MiB: 0 MiB of weights, 0 MiB packed, 0 MiB of values, "
     "8589934592 MiB of windows; the limit is 192 MiB"},
    {"AveragePool that lies in its padding",
     [] {
       return ModelWriter()
           .input("x", {1, 1, 2, 2})
           .node("AveragePool", {"x"}, {"y"})
           .with("kernel_shape", Ints{2, 2})
           .with("pads", Ints{9, 9, 9, 9})
           .output("y")
           .bytes();
     },
     "runs"},
    {"products of large constants",
     [] {
       ModelWriter m = relu().ints("s", {3000, 3000}).node("ConstantOfShape", {"s"}, {"c"});
       m.node("MatMul", {"c", "c"}, {"p0"});
       for (int i = 0; i < 50; ++i) m.node("MatMul", {"p" + std::to_string(i), "c"}, {"p" + std::to_string(i + 1)});
       return m.output("p50").bytes();
     },
     "node \"p0\" (MatMul): asks for most of 1888 MiB: 34 MiB of weights, 1785 MiB packed, 69 MiB of values, 0 MiB of "
     "windows; the limit is 192 MiB"},
    {"runs of quadrillions of steps",
     [] {
       ModelWriter m = ModelWriter().input("p0", {1800, 1800});
       for (int i = 0; i < 2000; ++i) {
         const std::string number = std::to_string(i);
         m.node("MatMul", {"p" + number, "p" + number}, {"p" + std::to_string(i + 1)});
       }
       return m.output("p2000").bytes();
     },
     "node \"p1\" (MatMul): asks for most of 1.2e+13 steps a run, the limit is 8e+12"},
    {"concatenated shapes that differ",
     [] { return relu().floats("w", {2, 5}).node("Concat", {"y", "w"}, {"z"}).with("axis", 1).output("z").bytes(); },
     "node \"z\" (Concat): cannot join [1,4] and [2,5] on axis 1"},
    {"Concat of itself forty times",
     [] {
       ModelWriter m = relu();
       for (int i = 0; i < 40; ++i) {
         const std::string from = i == 0 ? "y" : "t" + std::to_string(i);
         m.node("Concat", {from, from}, {"t" + std::to_string(i + 1)}).with("axis", 1);
       }
       return m.output("t40").bytes();
     },
     "node \"t28\" (Concat): its output would have the shape [1,1073741824], more than 2147483648 bytes or 16 "
     "dimensions"},
    {"Split into other sizes",
     [] { return relu().ints("s", {3, 3}).node("Split", {"y", "s"}, {"a", "b"}).with("axis", 1).output("a").bytes(); },
     "node \"a\" (Split): split [3,3] into 2 outputs of 4"},
    {"DepthToSpace by nothing",
     [] {
       return ModelWriter()
           .input("x", {1, 4, 2, 2})
           .node("DepthToSpace", {"x"}, {"y"})
           .with("blocksize", 0)
           .output("y")
           .bytes();
     },
     "node \"y\" (DepthToSpace): attribute blocksize is 0, expected 1 to 32768"},
    {"LRN over nothing",
     [] {
       return ModelWriter().input("x", {1, 4, 2, 2}).node("LRN", {"x"}, {"y"}).with("size", 0).output("y").bytes();
     },
     "node \"y\" (LRN): attribute size is 0, expected 1 to 2147483648"},
    {"Clip from above to below",
     [] { return relu().floats("lo", {}).floats("hi", {}).node("Clip", {"y", "lo", "hi"}, {"z"}).output("z").bytes(); },
     "runs"},
    {"a scale of zero",
     [] {
       ModelWriter m = relu().floats("s", {});
       m.weight("zp", ::onnx::TensorProto::UINT8, {}).add_int32_data(0);
       return m.node("QuantizeLinear", {"y", "s", "zp"}, {"q"})
           .node("DequantizeLinear", {"q", "s", "zp"}, {"z"})
           .output("z")
           .bytes();
     },
     "runs"},
    {"two hundred large values that run by evaluate",
     [] {
       ModelWriter m = ModelWriter().input("v0", {1, 3, 1000, 1000});
       for (int i = 0; i < 200; ++i) m.node("Sin", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
       return m.output("v200").bytes();
     },
     "node \"v17\" (Sin): up to here, operators that XNNPACK does not run keep 195 MiB of their inputs, the limit is "
     "192 MiB"},
    {"two hundred large values that run in XNNPACK",
     [] {
       ModelWriter m = ModelWriter().input("v0", {1, 3, 1000, 1000});
       for (int i = 0; i < 200; ++i) m.node("Sigmoid", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
       return m.output("v200").bytes();
     },
     "runs"},
    {"two hundred large outputs",
     [] {
       ModelWriter m = ModelWriter().input("x", {1, 3, 1000, 1000});
       for (int i = 0; i < 200; ++i)
         m.node("Sigmoid", {"x"}, {"v" + std::to_string(i)}).output("v" + std::to_string(i));
       return m.bytes();
     },
     "node \"v0\" (Sigmoid): asks for most of 2300 MiB: 0 MiB of weights, 0 MiB packed, 2300 MiB of values, 0 MiB of "
     "windows; the limit is 192 MiB"},
    {"values that fall back and come again ten thousand times",
     [] {
       ModelWriter m = ModelWriter().input("v0", {1, 8});
       for (int i = 0; i < 10'000; ++i) {
         m.node(i % 2 == 0 ? "Sin" : "Sigmoid", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
       }
       return m.output("v10000").bytes();
     },
     "runs"},
    {"one value read by ten thousand nodes",
     [] {
       ModelWriter m = relu();
       for (int i = 0; i < 10'000; ++i) m.node("Identity", {"y"}, {"v" + std::to_string(i)});
       return m.output("v9999").bytes();
     },
     "runs"},
    {"Range to a billion",
     [] {
       ModelWriter m = relu();
       for (const auto& [name, value] : {std::pair{"from", 0}, std::pair{"to", 1'000'000'000}, std::pair{"step", 1}}) {
         m.weight(name, ::onnx::TensorProto::INT64, {}).add_int64_data(value);
       }
       return m.node("Range", {"from", "to", "step"}, {"r"}).node("ReduceMax", {"r"}, {"z"}).output("z").bytes();
     },
     "node \"r\" (Range): its output would have the shape [1000000000], more than 2147483648 bytes or 16 dimensions"},
    {"Resize by a million",
     [] {
       ModelWriter m = ModelWriter().input("x", {1, 1, 2, 2});
       ::onnx::TensorProto& scales = m.weight("s", ::onnx::TensorProto::FLOAT, {4});
       for (const float scale : {1.0F, 1.0F, 1e6F, 1e6F}) scales.add_float_data(scale);
       return m.node("Resize", {"x", "", "s"}, {"y"}).output("y").bytes();
     },
     "node \"y\" (Resize): its output would have the shape [1,1,2000000,2000000], more than 2147483648 bytes or 16 "
     "dimensions"},
    {"a Resize window of millions",
     [] {
       ModelWriter m = ModelWriter().input("x", {1, 1, 2, 1 << 22});
       m.ints("s", {1, 1, 2, 1});
       return m.node("Resize", {"x", "", "", "s"}, {"y"})
           .with("mode", "cubic")
           .with("antialias", 1)
           .output("y")
           .bytes();
     },
     "runs"},
    {"an Einsum over everything",
     [] {
       return ModelWriter()
           .input("a", {64, 64, 64})
           .input("b", {64, 64, 64})
           .node("Einsum", {"a", "b"}, {"y"})
           .with("equation", "ijk,lmn->")
           .output("y")
           .bytes();
     },
     "runs"},
    {"TopK of a billion",
     [] { return relu().ints("k", {1 << 30}).node("TopK", {"y", "k"}, {"z", "i"}).output("z").bytes(); },
     "node \"z\" (TopK): k is 1073741824, axis 1 of [1,4] has fewer numbers"},
    {"ten branches of branches of branches",
     [] {
       ModelWriter m = relu();
       m.weight("yes", ::onnx::TensorProto::BOOL, {}).add_int32_data(1);
       for (int i = 0; i < 10; ++i) {
         m.node("If", {"yes"}, {"z" + std::to_string(i)});
         ::onnx::GraphProto* branch = m.attribute("then_branch", ::onnx::AttributeProto::GRAPH).mutable_g();
         for (int depth = 0; depth < 10; ++depth) {
           branch->add_output()->set_name("b");
           ::onnx::NodeProto& node = *branch->add_node();
           node.set_op_type("If");
           node.add_input("yes");
           node.add_output("b");
           ::onnx::AttributeProto& inner = *node.add_attribute();
           inner.set_name("then_branch");
           inner.set_type(::onnx::AttributeProto::GRAPH);
           branch = inner.mutable_g();
         }
         branch->add_output()->set_name("y");
       }
       return m.bytes();
     },
     "5 nodes with operators kinglet does not run: If (holds sub-graphs, and the data decides which runs) at "
     "\"z5/branch56/b/branch57/b/branch58/b/branch59/b/branch60/b/br...\", \"z6\", \"z7\", \"z8\", \"z9\""},
};

}  // namespace

std::span<const HostileRow> hostile_rows() { return kRows; }

}  // namespace kinglet::engine::testing
