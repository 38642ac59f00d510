// SPDX-License-Identifier: Apache-2.0
#include "engine/quantize/qdq.h"

#include <cmath>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/ops/op.h"
#include "engine/passes/rewrite.h"
#include "engine/quantize/weights/weights.h"

namespace kinglet::engine {
namespace {

class Writer {
 public:
  Writer(const Graph& graph, const QuantizationScheme& scheme, const Observation& observed, const QdqOptions& options)
      : graph_(graph), scheme_(scheme), observed_(observed), options_(options) {
    for (std::size_t group = 0; group < scheme.groups; ++group) {
      levels_.push_back(levels_of(choose_range(observed.groups[group], options.method)));
    }
  }

  Result<Graph> write() {
    for (const NodeId id : scheme_.layers) {
      if (const auto done = quantize_layer(id); !done) {
        return std::unexpected(with_context(done.error(), format_text("node \"{}\"", printable(graph_.node(id).name))));
      }
    }
    for (const auto& [value, group] : scheme_.values) round_value(value, levels_[group]);
    KINGLET_CHECK(graph_.sort());
    KINGLET_TRY(infer_shapes(graph_));
    return std::move(graph_);
  }

 private:
  // Everything that read the value reads its rounded form. A graph output keeps its name and becomes that form.
  void round_value(ValueId value, const LinearQuantization& levels) {
    const std::string name = graph_.value(value).name;
    const auto shape = graph_.value(value).shape;
    const std::vector<NodeId> readers = graph_.consumers(value);
    const ValueId scale = graph_.add_constant(name + "_scale", Tensor::of<float>({}, {levels.scale}));
    const ValueId zero = graph_.add_constant(
        name + "_zero_point", Tensor::of<std::int8_t>({}, {static_cast<std::int8_t>(levels.zero_point)}));
    const ValueId quantized = graph_.add_value(name + "_quantized", DataType::kI8, shape);
    const ValueId real = graph_.add_value(name + "_dequantized", DataType::kF32, shape);
    add_node("QuantizeLinear", name + "_QuantizeLinear", {value, scale, zero}, quantized);
    add_node("DequantizeLinear", name + "_DequantizeLinear", {quantized, scale, zero}, real);
    for (const NodeId reader : readers) {
      for (std::size_t i = 0; i < graph_.node(reader).inputs.size(); ++i) {
        if (graph_.node(reader).inputs[i] == value) graph_.set_input(reader, i, real);
      }
    }
    if (graph_.is_output(value)) graph_.take_output(value, real);
  }

  void add_node(std::string op_type, std::string name, std::vector<ValueId> inputs, ValueId output,
                Attributes attributes = {}) {
    graph_.add_node({.op_type = std::move(op_type),
                     .domain = {},
                     .name = std::move(name),
                     .inputs = std::move(inputs),
                     .outputs = {output},
                     .attributes = std::move(attributes)});
  }

  double scale_of(ValueId value) const {
    const auto found = scheme_.values.find(value);
    return found == scheme_.values.end() ? 0 : static_cast<double>(levels_[found->second].scale);
  }

  Result<void> quantize_layer(NodeId id) {
    const WeightView view = *layer_of(graph_, id);
    const Tensor weight = *graph_.constant(graph_.node(id).inputs[1]);
    const std::vector<float> numbers = by_channel(weight, view);
    const auto bias = bias_of(graph_, id, view.channels);
    if (!bias) return fail(ErrorCode::kBadData, "the bias is computed, or is not one number a channel");
    const ValueId input = graph_.node(id).inputs[0];
    const WeightOptions weight_options{.per_channel = options_.per_channel,
                                       .input_scale = scale_of(input),
                                       .output_scale = scale_of(result_of(graph_, id))};
    QuantizedWeights found = KINGLET_TRY(quantize_weights(numbers, *bias, view, weight_options));
    if (options_.rounding != nullptr) options_.rounding->improve(id, numbers, view, found);
    if (options_.correct_bias) {
      KINGLET_TRY(set_bias(found, corrected_bias(id, view, numbers, *bias, found), weight_options));
    }
    put_weight(id, view, weight, found);
    const bool moved = std::ranges::any_of(found.bias, [](std::int32_t level) { return level != 0; });
    if ((has_input(graph_.node(id), 2) || moved) && graph_.node(id).op_type != "MatMul")
      put_bias(id, found, scale_of(input));
    return {};
  }

  // E[W x] - E[levels x] by channel, from the means of the inputs: borders of convolutions count as inner pixels.
  std::vector<float> corrected_bias(NodeId id, const WeightView& view, const std::vector<float>& numbers,
                                    const std::vector<float>& bias, const QuantizedWeights& found) const {
    std::vector<float> out = bias;
    if (graph_.node(id).op_type == "MatMul") return out;
    const auto means = observed_.channel_means.find(graph_.node(id).inputs[0]);
    if (means == observed_.channel_means.end() || means->second.empty()) return out;
    const Shape& shape = graph_.constant(graph_.node(id).inputs[1])->shape();
    const bool convolution = graph_.node(id).op_type == "Conv";
    const std::size_t window = convolution ? static_cast<std::size_t>(shape[2] * shape[3]) : 1;
    const std::size_t inputs = view.inner / window;  // of a group
    const std::size_t groups = std::max<std::size_t>(1, means->second.size() / inputs);
    const std::size_t each = std::max<std::size_t>(1, view.channels / groups);
    for (std::size_t c = 0; c < view.channels; ++c) {
      double shift = 0;
      for (std::size_t i = 0; i < view.inner; ++i) {
        const std::size_t at = c * view.inner + i;
        const double mean = means->second[(c / each * inputs + i / window) % means->second.size()];
        shift += (static_cast<double>(numbers[at]) - static_cast<double>(found.levels[at]) * found.scales[c]) * mean;
      }
      out[c] = static_cast<float>(bias[c] + shift);
    }
    return out;
  }

  void put_weight(NodeId id, const WeightView& view, const Tensor& weight, const QuantizedWeights& found) {
    std::vector<float> levels(found.levels.begin(), found.levels.end());
    const Tensor ordered = from_channels(weight, view, levels);
    Tensor bytes(DataType::kI8, weight.shape());
    std::ranges::transform(ordered.data<float>(), bytes.mutable_data<std::int8_t>().begin(),
                           [](float level) { return static_cast<std::int8_t>(level); });
    const bool one = !options_.per_channel;
    const Shape shape(one ? 0 : 1, static_cast<Dim>(view.channels));
    const std::span<const float> scales = std::span(found.scales).first(one ? 1 : view.channels);
    Attributes attributes;
    if (!one) attributes.set("axis", static_cast<std::int64_t>(view.axis));
    const std::string name = graph_.value(graph_.node(id).inputs[1]).name;
    put(id, 1, name, std::move(bytes), Tensor::of<float>(shape, scales), Tensor(DataType::kI8, shape),
        std::move(attributes));
  }

  void put_bias(NodeId id, const QuantizedWeights& found, double input_scale) {
    const auto channels = static_cast<Dim>(found.bias.size());
    std::vector<float> scales;
    for (const float scale : found.scales) scales.push_back(static_cast<float>(scale * input_scale));
    const bool one = !options_.per_channel;
    const Shape shape(one ? 0U : 1U, channels);
    Attributes attributes;
    if (!one) attributes.set("axis", std::int64_t{0});
    const bool named = has_input(graph_.node(id), 2);
    const std::string name = named ? graph_.value(graph_.node(id).inputs[2]).name : graph_.node(id).name + "_bias";
    const std::span<const float> shown = std::span(scales).first(one ? 1 : scales.size());
    put(id, 2, name, Tensor::of<std::int32_t>({channels}, std::span(found.bias)), Tensor::of<float>(shape, shown),
        Tensor(DataType::kI32, shape), std::move(attributes));
  }

  void put(NodeId id, std::size_t index, const std::string& name, Tensor levels, Tensor scale, Tensor zero,
           Attributes attributes) {
    const Shape shape = levels.shape();
    const ValueId from = graph_.add_constant(name + "_quantized", std::move(levels));
    const ValueId scales = graph_.add_constant(name + "_scale", std::move(scale));
    const ValueId zeros = graph_.add_constant(name + "_zero_point", std::move(zero));
    const ValueId real = graph_.add_value(name + "_dequantized", DataType::kF32, shape);
    add_node("DequantizeLinear", name + "_DequantizeLinear", {from, scales, zeros}, real, std::move(attributes));
    if (graph_.node(id).inputs.size() <= index) graph_.resize_inputs(id, index + 1);
    const ValueId before = graph_.node(id).inputs[index];
    graph_.set_input(id, index, real);
    if (before != kNoValue && graph_.consumers(before).empty() && !graph_.is_output(before))
      graph_.remove_value(before);
  }

  Graph graph_;
  const QuantizationScheme& scheme_;
  const Observation& observed_;
  const QdqOptions& options_;
  std::vector<LinearQuantization> levels_;
};

}  // namespace

Result<Graph> to_qdq(const Graph& graph, const QuantizationScheme& scheme, const Observation& observed,
                     const QdqOptions& options) {
  return Writer(graph, scheme, observed, options).write();
}

}  // namespace kinglet::engine
