// SPDX-License-Identifier: Apache-2.0
// The file is put together by hand from serialised pieces, so that protobuf never holds a weight: fields of one message
// may stand in any order (protobuf encoding, "Order"), so the initializers follow the rest of the graph.
#include "engine/onnx/save.h"

#include <onnx/onnx.pb.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "engine/base/format.h"
#include "engine/onnx/external_data.h"
#include "engine/onnx/tensor_proto.h"

namespace kinglet::engine {
namespace {

// Field numbers of onnx.proto, all of wire type 2 (length-delimited).
constexpr std::uint8_t kModelGraph = 7;
constexpr std::uint8_t kGraphInitializer = 5;
constexpr std::uint8_t kTensorRawData = 9;

// The file as views, in order: small pieces are owned here, numbers stay in their tensors.
class Pieces {
 public:
  void add(std::string text) {
    if (text.empty()) return;
    size_ += text.size();
    views_.push_back(owned_.emplace_back(std::move(text)));
  }
  void view(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    size_ += bytes.size();
    views_.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] const std::vector<std::string_view>& views() const { return views_; }

 private:
  std::deque<std::string> owned_;
  std::vector<std::string_view> views_;
  std::uint64_t size_ = 0;
};

// Tag and length of a length-delimited field (protobuf encoding: varints of seven bits, low first).
std::string field_header(std::uint8_t field, std::uint64_t length) {
  std::string out(1, static_cast<char>(field << 3U | 2U));
  for (; length >= 0x80; length >>= 7U) out += static_cast<char>((length & 0x7FU) | 0x80U);
  return out + static_cast<char>(length);
}

void write_type(const Value& value, const std::vector<std::string>& dim_names, ::onnx::ValueInfoProto& info) {
  info.set_name(value.name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx_format::onnx_type(value.type));
  if (!value.shape) return;
  auto& shape = *type.mutable_shape();
  for (std::size_t i = 0; i < value.shape->size(); ++i) {
    auto& dim = *shape.add_dim();
    if ((*value.shape)[i] != kUnknownDim) {
      dim.set_dim_value((*value.shape)[i]);
    } else if (i < dim_names.size() && !dim_names[i].empty()) {
      dim.set_dim_param(dim_names[i]);
    }
  }
}

void write_tensor_head(const Tensor& tensor, ::onnx::TensorProto& proto) {
  for (const Dim dim : tensor.shape()) proto.add_dims(dim);
  proto.set_data_type(onnx_format::onnx_type(tensor.type()));
}

struct AttributeWriter {
  ::onnx::AttributeProto& proto;

  void operator()(std::int64_t value) const {
    proto.set_type(::onnx::AttributeProto::INT);
    proto.set_i(value);
  }
  void operator()(float value) const {
    proto.set_type(::onnx::AttributeProto::FLOAT);
    proto.set_f(value);
  }
  void operator()(const std::string& value) const {
    proto.set_type(::onnx::AttributeProto::STRING);
    proto.set_s(value);
  }
  void operator()(const std::vector<std::int64_t>& values) const {
    proto.set_type(::onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) proto.add_ints(value);
  }
  void operator()(const std::vector<float>& values) const {
    proto.set_type(::onnx::AttributeProto::FLOATS);
    for (const float value : values) proto.add_floats(value);
  }
  void operator()(const std::vector<std::string>& values) const {
    proto.set_type(::onnx::AttributeProto::STRINGS);
    for (const std::string& value : values) proto.add_strings(value);
  }
  void operator()(const Tensor& tensor) const {
    proto.set_type(::onnx::AttributeProto::TENSOR);
    write_tensor_head(tensor, *proto.mutable_t());
    proto.mutable_t()->set_raw_data(tensor.bytes().data(), tensor.byte_count());
  }
};

// Names of a node's values; absent ones at the end are not written.
template <typename Add>
void write_names(const Graph& graph, std::span<const ValueId> ids, Add add) {
  while (!ids.empty() && ids.back() == kNoValue) ids = ids.first(ids.size() - 1);
  for (const ValueId id : ids) add(id == kNoValue ? std::string() : graph.value(id).name);
}

void write_node(const Graph& graph, const Node& node, std::int64_t opset, ::onnx::NodeProto& proto) {
  write_names(graph, node.inputs, [&](std::string name) { proto.add_input(std::move(name)); });
  write_names(graph, node.outputs, [&](std::string name) { proto.add_output(std::move(name)); });
  proto.set_name(node.name);
  proto.set_op_type(node.op_type);
  if (!node.domain.empty()) proto.set_domain(node.domain);
  for (const auto& [name, value] : node.attributes) {
    auto& attribute = *proto.add_attribute();
    attribute.set_name(name);
    std::visit(AttributeWriter{attribute}, value);
  }
  // From opset 18 on an equal split says into how many.
  const bool equal_split = node.op_type == "Split" && (node.inputs.size() < 2 || node.inputs[1] == kNoValue);
  if (opset >= 18 && equal_split && node.attributes.find("num_outputs") == nullptr) {
    auto& attribute = *proto.add_attribute();
    attribute.set_name("num_outputs");
    AttributeWriter{attribute}(static_cast<std::int64_t>(node.outputs.size()));
  }
}

std::string model_head(const Graph& graph, std::int64_t opset) {
  ::onnx::ModelProto model;
  model.set_ir_version(opset >= 21 ? 10 : opset >= 19 ? 9 : 8);
  model.set_producer_name("kinglet");
  auto& import = *model.add_opset_import();
  import.set_domain("");
  import.set_version(opset);
  std::vector<std::string> domains;
  for (const NodeId id : graph.nodes()) {
    const std::string& domain = graph.node(id).domain;
    if (domain.empty() || std::ranges::find(domains, domain) != domains.end()) continue;
    domains.push_back(domain);
    auto& other = *model.add_opset_import();
    other.set_domain(domain);
    other.set_version(1);
  }
  for (const auto& [key, value] : graph.metadata.properties) {
    auto& property = *model.add_metadata_props();
    property.set_key(key);
    property.set_value(value);
  }
  return model.SerializeAsString();
}

std::string graph_without_weights(const Graph& graph, std::int64_t opset) {
  ::onnx::GraphProto proto;
  proto.set_name(graph.metadata.graph_name.empty() ? "model" : graph.metadata.graph_name);
  for (const NodeId id : graph.nodes()) write_node(graph, graph.node(id), opset, *proto.add_node());
  for (const GraphInput& input : graph.inputs()) {
    write_type(graph.value(input.value), input.dim_names, *proto.add_input());
  }
  for (const ValueId output : graph.outputs()) write_type(graph.value(output), {}, *proto.add_output());
  return proto.SerializeAsString();
}

// The numbers lie in a file beside the model, from `data.size()` on.
void add_external(const Value& value, const std::string& file, Pieces& pieces, Pieces& data) {
  ::onnx::TensorProto proto;
  write_tensor_head(*value.constant, proto);
  proto.set_name(value.name);
  const std::uint64_t start = onnx_format::beside_offset(data.size());
  onnx_format::set_external(proto, file, start, value.constant->byte_count());
  data.add(std::string(static_cast<std::size_t>(start - data.size()), '\0'));
  data.view(value.constant->bytes());
  const std::string head = proto.SerializeAsString();
  pieces.add(field_header(kGraphInitializer, head.size()) + head);
}

void add_initializer(const Value& value, Pieces& pieces) {
  ::onnx::TensorProto proto;
  write_tensor_head(*value.constant, proto);
  proto.set_name(value.name);
  const std::string head = proto.SerializeAsString();
  const std::string raw_header = field_header(kTensorRawData, value.constant->byte_count());
  pieces.add(field_header(kGraphInitializer, head.size() + raw_header.size() + value.constant->byte_count()) + head +
             raw_header);
  pieces.view(value.constant->bytes());
}

// Everything before the graph's fields, and those; views stay valid as long as the graph and this.
struct File {
  std::string head;
  Pieces body;
  Pieces data;  // what lies beside the model

  [[nodiscard]] std::uint64_t size() const { return head.size() + body.size(); }

  [[nodiscard]] std::vector<std::string_view> views() const {
    std::vector<std::string_view> out{head};
    out.insert(out.end(), body.views().begin(), body.views().end());
    return out;
  }
};

// Large weights go into the file `beside`; empty: none do.
File to_file(const Graph& graph, std::int64_t opset, const std::string& beside) {
  File file;
  file.body.add(graph_without_weights(graph, opset));
  for (const ValueId id : graph.values()) {
    const Value& value = graph.value(id);
    const bool read = !graph.consumers(id).empty() || graph.is_output(id);
    if (!value.constant || !read) continue;
    if (!beside.empty() && value.constant->byte_count() >= onnx_format::kBesideFrom) {
      add_external(value, beside, file.body, file.data);
    } else {
      add_initializer(value, file.body);
    }
  }
  file.head = model_head(graph, opset) + field_header(kModelGraph, file.body.size());
  return file;
}

Result<void> save_beside(const Graph& graph, const std::filesystem::path& path, Overwrite overwrite) {
  std::filesystem::path data = path;
  data += ".data";
  const File file = to_file(graph, opset_to_write(graph), data.filename().string());
  // A model without its data is worse than data without its model.
  if (overwrite == Overwrite::kRefuse && std::filesystem::exists(path)) {
    return fail(ErrorCode::kCannotCreate, "the file exists already", path.string(), "add --force to replace it");
  }
  KINGLET_TRY(write_file(data, file.data.views(), overwrite));
  return write_file(path, file.views(), overwrite);
}

}  // namespace

Result<void> save_model(const Graph& graph, const std::filesystem::path& path, Overwrite overwrite,
                        std::uint64_t most_bytes) {
  const File file = to_file(graph, opset_to_write(graph), {});
  if (file.size() > most_bytes) return save_beside(graph, path, overwrite);
  return write_file(path, file.views(), overwrite);
}

Result<std::string> to_onnx_bytes(const Graph& graph) { return to_onnx_bytes(graph, opset_to_write(graph)); }

Result<std::string> to_onnx_bytes(const Graph& graph, std::int64_t opset) {
  const File file = to_file(graph, opset, {});
  if (file.size() > kMaxMessage) {
    return fail(ErrorCode::kBadData,
                format_text("the model has {} bytes, one ONNX file holds at most {}", file.size(), kMaxMessage), {},
                "name an output file: large weights are written beside it");
  }
  std::string bytes;
  bytes.reserve(file.size());
  for (const std::string_view view : file.views()) bytes += view;
  return bytes;
}

}  // namespace kinglet::engine
