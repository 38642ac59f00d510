// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/bare_subgraph.h"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

namespace kinglet::bench {
namespace {

using engine::Graph;
using engine::Node;
using engine::Shape;
using engine::ValueId;

constexpr float kNoMin = -std::numeric_limits<float>::infinity(), kNoMax = std::numeric_limits<float>::infinity();

void must(xnn_status status, const std::string& what) {
  if (status != xnn_status_success) throw std::runtime_error(what + ": status " + std::to_string(status));
}

std::vector<std::size_t> nhwc(const Shape& shape) {
  std::vector<std::size_t> dims(shape.begin(), shape.end());
  if (dims.size() == 4) dims = {dims[0], dims[2], dims[3], dims[1]};
  return dims;
}

std::size_t count(const Shape& shape) {
  std::size_t out = 1;
  for (const std::int64_t dim : shape) out *= static_cast<std::size_t>(dim);
  return out;
}

// [O,I,h,w] -> [O,h,w,I], or [C,1,h,w] -> [1,h,w,C].
std::vector<float> channels_last(const engine::Tensor& tensor, bool depthwise) {
  const Shape& s = tensor.shape();
  const auto from = tensor.data<float>();
  std::vector<float> to(from.size());
  const auto outputs = static_cast<std::size_t>(s[0]), inputs = static_cast<std::size_t>(s[1]);
  const std::size_t taps = from.size() / (outputs * inputs);
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t i = 0; i < inputs; ++i) {
      for (std::size_t t = 0; t < taps; ++t) {
        to[depthwise ? t * outputs + o : (o * taps + t) * inputs + i] = from[(o * inputs + i) * taps + t];
      }
    }
  }
  return to;
}

bool folded_into_reader(const Graph& graph, const Node& node) {
  if (node.op_type == "Clip" || node.op_type == "Relu") {
    const auto producer = graph.value(node.inputs[0]).producer;
    if (producer == engine::kNoNode) return false;
    const std::string& maker = graph.node(producer).op_type;
    return maker == "Conv" || maker == "Add";
  }
  return false;
}

}  // namespace

BareSubgraph::BareSubgraph(const Graph& graph, int threads) {
  must(xnn_initialize(nullptr), "initialize");
  if (threads > 1) pool_ = pthreadpool_create(static_cast<std::size_t>(threads));
  must(xnn_create_subgraph(2, 0, &subgraph_), "create subgraph");
  graph_input_ = graph.inputs().front().value;
  graph_output_ = graph.outputs().front();
  for (const engine::NodeId id : graph.nodes()) {
    if (!folded_into_reader(graph, graph.node(id))) add_node(graph, graph.node(id));
  }
  must(xnn_create_runtime_v4(subgraph_, nullptr, nullptr, pool_, pool_ ? XNN_FLAG_YIELD_WORKERS : 0, &runtime_),
       "create runtime");
  constexpr std::size_t kSlack = 16;
  input_.resize(count(*graph.value(graph_input_).shape) + kSlack);
  output_.resize(count(*graph.value(graph_output_).shape) + kSlack);
  const std::array externals{xnn_external_value{0, input_.data()}, xnn_external_value{1, output_.data()}};
  must(xnn_reshape_runtime(runtime_), "reshape");
  must(xnn_setup_runtime_v2(runtime_, externals.size(), externals.data()), "setup");
  input_.resize(input_.size() - kSlack);
  output_.resize(output_.size() - kSlack);
}

BareSubgraph::~BareSubgraph() {
  xnn_delete_runtime(runtime_);
  xnn_delete_subgraph(subgraph_);
  pthreadpool_destroy(pool_);
}

void BareSubgraph::run() { must(xnn_invoke_runtime(runtime_), "invoke"); }

std::uint32_t BareSubgraph::value(const Graph& graph, ValueId id) {
  const auto index = static_cast<std::size_t>(id);
  if (index >= ids_.size()) ids_.resize(index + 1, XNN_INVALID_VALUE_ID);
  if (ids_[index] != XNN_INVALID_VALUE_ID) return ids_[index];
  const auto dims = nhwc(*graph.value(id).shape);
  std::uint32_t external = XNN_INVALID_VALUE_ID, flags = 0;
  if (id == graph_input_) external = 0, flags = XNN_VALUE_FLAG_EXTERNAL_INPUT;
  if (id == graph_output_) external = 1, flags = XNN_VALUE_FLAG_EXTERNAL_OUTPUT;
  must(xnn_define_tensor_value(subgraph_, xnn_datatype_fp32, dims.size(), dims.data(), nullptr, external, flags,
                               &ids_[index]),
       graph.value(id).name);
  return ids_[index];
}

std::uint32_t BareSubgraph::weights(std::vector<float> numbers, const std::vector<std::size_t>& dims) {
  numbers.reserve(numbers.size() + XNN_EXTRA_BYTES);
  weights_.push_back(std::move(numbers));
  std::uint32_t id = 0;
  must(xnn_define_tensor_value(subgraph_, xnn_datatype_fp32, dims.size(), dims.data(), weights_.back().data(),
                               XNN_INVALID_VALUE_ID, 0, &id),
       "weights");
  return id;
}

// The range of a Clip or Relu that alone reads the node's result; it then writes that one's result.
void BareSubgraph::clip_of(const Graph& graph, const Node& node, float& min, float& max, ValueId& output) {
  output = node.outputs[0];
  const auto& readers = graph.consumers(output);
  if (readers.size() != 1 || !folded_into_reader(graph, graph.node(readers.front()))) return;
  const Node& clip = graph.node(readers.front());
  output = clip.outputs[0];
  if (clip.op_type == "Relu") {
    min = 0;
    return;
  }
  min = graph.constant(clip.inputs[1])->data<float>()[0];
  max = graph.constant(clip.inputs[2])->data<float>()[0];
}

void BareSubgraph::add_conv(const Graph& graph, const Node& node) {
  const engine::Tensor& filter = *graph.constant(node.inputs[1]);
  const Shape& s = filter.shape();
  const auto u32 = [](std::int64_t number) { return static_cast<std::uint32_t>(number); };
  const auto groups = node.attributes.get_int("group", 1);
  const bool depthwise = groups > 1 && s[1] == 1;
  const auto pads = node.attributes.get_ints("pads", {0, 0, 0, 0});
  const auto strides = node.attributes.get_ints("strides", {1, 1});
  float min = kNoMin, max = kNoMax;
  ValueId result{};
  clip_of(graph, node, min, max, result);
  const auto kh = u32(s[2]), kw = u32(s[3]);
  const auto channels = static_cast<std::size_t>(s[0]);
  const std::vector<std::size_t> dims =
      depthwise ? std::vector<std::size_t>{1, kh, kw, channels} : std::vector<std::size_t>{channels, kh, kw, u32(s[1])};
  const std::uint32_t w = weights(channels_last(filter, depthwise), dims);
  std::uint32_t bias = XNN_INVALID_VALUE_ID;
  if (node.inputs.size() > 2) {
    const auto numbers = graph.constant(node.inputs[2])->data<float>();
    bias = weights({numbers.begin(), numbers.end()}, {channels});
  }
  const std::uint32_t input = value(graph, node.inputs[0]);
  const std::uint32_t output = value(graph, result);
  if (depthwise) {
    must(xnn_define_depthwise_convolution_2d(subgraph_, u32(pads[0]), u32(pads[3]), u32(pads[2]), u32(pads[1]), kh, kw,
                                             u32(strides[0]), u32(strides[1]), 1, 1, u32(s[0] / groups),
                                             static_cast<std::size_t>(groups), min, max, input, w, bias, output, 0),
         node.name);
  } else {
    must(xnn_define_convolution_2d(subgraph_, u32(pads[0]), u32(pads[3]), u32(pads[2]), u32(pads[1]), kh, kw,
                                   u32(strides[0]), u32(strides[1]), 1, 1, u32(groups), u32(s[1]),
                                   channels / static_cast<std::size_t>(groups), min, max, input, w, bias, output, 0),
         node.name);
  }
}

void BareSubgraph::add_dense(const Graph& graph, const Node& node, bool out_in) {
  const engine::Tensor& filter = *graph.constant(node.inputs[1]);
  const auto numbers = filter.data<float>();
  const std::uint32_t w = weights({numbers.begin(), numbers.end()}, nhwc(filter.shape()));
  std::uint32_t bias = XNN_INVALID_VALUE_ID;
  if (node.inputs.size() > 2) {
    const auto added = graph.constant(node.inputs[2])->data<float>();
    bias = weights({added.begin(), added.end()}, {added.size()});
  }
  must(xnn_define_fully_connected(subgraph_, kNoMin, kNoMax, value(graph, node.inputs[0]), w, bias,
                                  value(graph, node.outputs[0]), out_in ? 0 : XNN_FLAG_TRANSPOSE_WEIGHTS),
       node.name);
}

void BareSubgraph::add_unary(const Graph& graph, const Node& node, xnn_unary_operator type, xnn_unary_params params) {
  must(xnn_define_unary(subgraph_, type, &params, value(graph, node.inputs[0]), value(graph, node.outputs[0]), 0),
       node.name);
}

void BareSubgraph::add_clip(const Graph& graph, const Node& node) {
  xnn_unary_params params{};
  params.clamp = {.min = 0, .max = kNoMax};
  if (node.op_type == "Clip") {
    params.clamp = {.min = graph.constant(node.inputs[1])->data<float>()[0],
                    .max = graph.constant(node.inputs[2])->data<float>()[0]};
  }
  add_unary(graph, node, xnn_unary_clamp, params);
}

// XNNPACK has none: a product, and a sum that is clipped as it is written.
void BareSubgraph::add_hard_sigmoid(const Graph& graph, const Node& node) {
  const auto dims = nhwc(*graph.value(node.outputs[0]).shape);
  std::uint32_t product = 0;
  must(xnn_define_tensor_value(subgraph_, xnn_datatype_fp32, dims.size(), dims.data(), nullptr, XNN_INVALID_VALUE_ID, 0,
                               &product),
       node.name);
  must(xnn_define_binary(subgraph_, xnn_binary_multiply, nullptr, value(graph, node.inputs[0]),
                         weights({node.attributes.get_float("alpha", 0.2F)}, {1}), product, 0),
       node.name);
  constexpr xnn_binary_params kShare{0, 1};
  must(xnn_define_binary(subgraph_, xnn_binary_add, &kShare, product,
                         weights({node.attributes.get_float("beta", 0.5F)}, {1}), value(graph, node.outputs[0]), 0),
       node.name);
}

void BareSubgraph::add_binary(const Graph& graph, const Node& node) {
  float min = kNoMin, max = kNoMax;
  ValueId result = node.outputs[0];
  if (node.op_type == "Add") clip_of(graph, node, min, max, result);
  const xnn_binary_params range{min, max};
  must(xnn_define_binary(subgraph_, node.op_type == "Add" ? xnn_binary_add : xnn_binary_multiply, &range,
                         value(graph, node.inputs[0]), value(graph, node.inputs[1]), value(graph, result), 0),
       node.name);
}

void BareSubgraph::add_max_pool(const Graph& graph, const Node& node) {
  const auto u32 = [](std::int64_t number) { return static_cast<std::uint32_t>(number); };
  const auto pads = node.attributes.get_ints("pads", {0, 0, 0, 0});
  const auto kernel = node.attributes.get_ints("kernel_shape", {});
  const auto strides = node.attributes.get_ints("strides", {1, 1});
  must(xnn_define_max_pooling_2d(subgraph_, u32(pads[0]), u32(pads[3]), u32(pads[2]), u32(pads[1]), u32(kernel[0]),
                                 u32(kernel[1]), u32(strides[0]), u32(strides[1]), 1, 1, kNoMin, kNoMax,
                                 value(graph, node.inputs[0]), value(graph, node.outputs[0]), 0),
       node.name);
}

// Two images, by channels.
void BareSubgraph::add_concat(const Graph& graph, const Node& node) {
  if (node.inputs.size() != 2 || node.attributes.get_int("axis", 0) != 1) {
    throw std::runtime_error(node.name + ": no bare form of this Concat");
  }
  must(xnn_define_concatenate2(subgraph_, 3, value(graph, node.inputs[0]), value(graph, node.inputs[1]),
                               value(graph, node.outputs[0]), 0),
       node.name);
}

void BareSubgraph::add_reshape(const Graph& graph, const Node& node) {
  const auto dims = nhwc(*graph.value(node.outputs[0]).shape);
  must(xnn_define_static_reshape(subgraph_, dims.size(), dims.data(), value(graph, node.inputs[0]),
                                 value(graph, node.outputs[0]), 0),
       node.name);
}

void BareSubgraph::add_mean(const Graph& graph, const Node& node) {
  constexpr std::array<std::size_t, 2> kAxes{1, 2};
  must(xnn_define_static_reduce(subgraph_, xnn_reduce_mean, kAxes.size(), kAxes.data(), value(graph, node.inputs[0]),
                                value(graph, node.outputs[0]), XNN_FLAG_KEEP_DIMS),
       node.name);
}

void BareSubgraph::add_node(const Graph& graph, const Node& node) {
  const std::string& type = node.op_type;
  if (type == "Conv") return add_conv(graph, node);
  if (type == "Gemm") return add_dense(graph, node, node.attributes.get_int("transB", 0) != 0);
  if (type == "MatMul") return add_dense(graph, node, false);
  if (type == "Add" || type == "Mul") return add_binary(graph, node);
  if (type == "Clip" || type == "Relu") return add_clip(graph, node);
  if (type == "Sigmoid") return add_unary(graph, node, xnn_unary_sigmoid);
  if (type == "HardSwish") return add_unary(graph, node, xnn_unary_hardswish);
  if (type == "HardSigmoid") return add_hard_sigmoid(graph, node);
  if (type == "MaxPool") return add_max_pool(graph, node);
  if (type == "GlobalAveragePool") return add_mean(graph, node);
  if (type == "Concat") return add_concat(graph, node);
  if (type == "Flatten" || type == "Squeeze") return add_reshape(graph, node);
  if (type != "Softmax") throw std::runtime_error("no bare form of " + type);
  must(xnn_define_softmax(subgraph_, value(graph, node.inputs[0]), value(graph, node.outputs[0]), 0), node.name);
}

}  // namespace kinglet::bench
