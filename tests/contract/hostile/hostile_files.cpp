// SPDX-License-Identifier: Apache-2.0
// What is wrong with the file before any operator is looked at.
#include "tests/contract/hostile/hostile_rows.h"
#include "tests/contract/hostile/model_writer.h"

namespace kinglet::engine::testing {
namespace {

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

const HostileRow kFiles[] = {
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
     "tensor \"w\": FOLDER/link.bin: is a link that leads away from its model"},
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
};

}  // namespace

std::span<const HostileRow> hostile_files() { return kFiles; }

}  // namespace kinglet::engine::testing
