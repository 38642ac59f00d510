// SPDX-License-Identifier: Apache-2.0
// Well-formed files that ask for too much, or for what an operator cannot do.
#include "tests/contract/hostile/hostile_rows.h"
#include "tests/contract/hostile/model_writer.h"

namespace kinglet::engine::testing {
namespace {

// y = Conv(x, w) for x float [1,3,8,8]; its attributes may follow.
ModelWriter conv(const Ints& weight) {
  ModelWriter model;
  model.input("x", {1, 3, 8, 8}).floats("w", weight).output("y").node("Conv", {"x", "w"}, {"y"});
  return model;
}

const HostileRow kNetworks[] = {
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

std::span<const HostileRow> hostile_networks() { return kNetworks; }

}  // namespace kinglet::engine::testing
