// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/xnnpack/subgraph_builder.h"

#include <algorithm>

#include "engine/base/format.h"
#include "engine/graph/float16.h"
#include "engine/graph/fused_clip.h"

namespace kinglet::engine::xnn {
namespace {

Dims to_dims(const Shape& shape) { return {shape.begin(), shape.end()}; }

// XNNPACK's rank-0 tensors are avoided: a scalar is one element.
Dims at_least_one(const Dims& dims) { return dims.empty() ? Dims{1} : dims; }

Shape widen(const Shape& shape, std::size_t rank) {
  Shape wide(rank - std::min(rank, shape.size()), 1);
  wide.insert(wide.end(), shape.begin(), shape.end());
  return wide;
}

Result<Tensor> one_for_each(std::span<const float> scales, std::size_t channels) {
  Tensor out(DataType::kF32, {static_cast<Dim>(channels)});
  if (scales.size() != 1 && scales.size() != channels) {
    return fail(ErrorCode::kBadData, format_text("{} scales for {} channels", scales.size(), channels));
  }
  const auto to = out.mutable_data<float>();
  for (std::size_t i = 0; i < channels; ++i) {
    to[i] = scales[scales.size() == 1 ? 0 : i];
    KINGLET_TRY(check_quantization({.scale = to[i]}, true));
  }
  return out;
}

Tensor reordered(const Tensor& tensor, const Shape& shape, Layout layout) {
  if (layout == Layout::kLogical || layout_neutral(shape)) return tensor;
  Tensor out(tensor.type(), physical_shape(shape, layout));
  copy_layout(shape, byte_size(tensor.type()), tensor.bytes(), Layout::kLogical, out.mutable_bytes(), layout);
  return out;
}

Tensor as_halves(const Tensor& numbers) {
  Tensor out(DataType::kF16, numbers.shape());
  std::ranges::transform(numbers.data<float>(), out.mutable_data<Half>().begin(), to_half);
  return out;
}

}  // namespace

Result<SubgraphBuilder> SubgraphBuilder::create(const Graph& graph, const Layouts& layouts, const LevelRules& rules,
                                                std::span<const ValueId> inputs, std::span<const ValueId> outputs,
                                                const std::set<ValueId>& halves) {
  if (const xnn_status status = xnn_initialize(nullptr); status != xnn_status_success) {
    return fail(ErrorCode::kUnavailable,
                format_text("XNNPACK does not run on this processor (status {})", static_cast<int>(status)));
  }
  SubgraphBuilder builder(graph, layouts, rules, false);
  const auto add = [&](ValueId id, bool is_output) {
    builder.floats_ = halves.contains(id) ? Floats::kHalf : Floats::kSingle;
    return builder.add_external(id, is_output);
  };
  for (const ValueId id : inputs) KINGLET_TRY(add(id, false));
  for (const ValueId id : outputs) KINGLET_TRY(add(id, true));
  builder.floats_ = Floats::kSingle;
  return builder;
}

SubgraphBuilder SubgraphBuilder::probe(const Graph& graph, const Layouts& layouts, const LevelRules& rules) {
  return SubgraphBuilder(graph, layouts, rules, true);
}

// --- Around each `lower` ---------------------------------------------------------------------------------------------

void SubgraphBuilder::begin_node(NodeId id, Floats floats) {
  node_ = id;
  floats_ = floats;
  const FusedClip clip = fused_clip(graph_->node(id));
  clip_ = {.min = clip.min, .max = clip.max};
  clip_pair_.reset();
  if (!probe_) return;
  // A probe asks about each node alone: what a refused node left behind must not reach the next.
  records_.clear();
  operands_.clear();
  widened_.clear();
  nodes_.clear();
  definitions_.clear();
}

Range SubgraphBuilder::take_clip() { return std::exchange(clip_, Range{}); }

Result<void> SubgraphBuilder::end_node() {
  if (clip_pair_) KINGLET_TRY(clamp(clip_, clip_pair_->first, clip_pair_->second));
  clip_pair_.reset();
  node_ = kNoNode;
  floats_ = Floats::kSingle;
  return {};
}

NodeId SubgraphBuilder::unread() const {
  for (std::uint32_t index = 0; index < records_.size(); ++index) {
    const Record& record = records_[index];
    const auto is_this = [&](const auto& external) { return external.second.index == index; };
    if (!record.writer || record.whole || record.reads > 0 || std::ranges::any_of(external_outputs_, is_this)) continue;
    return nodes_[*record.writer].node;
  }
  return kNoNode;
}

SubgraphBuilder::Built SubgraphBuilder::take() {
  Built built{.subgraph = std::move(subgraph_),
              .externals = std::move(externals_),
              .nodes = std::move(nodes_),
              .filters = {},
              .packed_data = {},
              .kept_data = {},
              .transposes = transposes_};
  share_out_numbers(built);
  records_.clear();
  return built;
}

void SubgraphBuilder::share_out_numbers(Built& built) const {
  for (const Record& record : records_) {
    if (!record.is_static) continue;
    const bool is_half = record.floats == Floats::kHalf && record.type == xnn_datatype_fp32;
    const std::size_t bytes = record.numbers.byte_count() / (is_half ? 2 : 1);
    auto& keeper = record.lifetime == Lifetime::kForever ? built.kept_data : built.packed_data;
    if (record.is_late()) {
      built.filters.insert(built.filters.end(), record.layers, {.numbers = record.numbers, .least_bytes = bytes});
    } else {
      keeper.push_back(record.numbers);
    }
    if (record.channel_scales.element_count() > 0) built.packed_data.push_back(record.channel_scales);
  }
}

// --- Operands --------------------------------------------------------------------------------------------------------

Result<SubgraphBuilder::Record> SubgraphBuilder::describe(ValueId id, Layout layout) const {
  const Value& value = graph_->value(id);
  if (!value.shape || !is_static(*value.shape)) {
    return fail(ErrorCode::kBadData, format_text("\"{}\" has no fixed shape", value.name));
  }
  Record record;
  record.dims = at_least_one(to_dims(physical_shape(*value.shape, layout)));
  KINGLET_TRY(check_dims(record.dims));
  switch (value.type) {
    case DataType::kF32:
      record.type = floats_ == Floats::kHalf ? xnn_datatype_fp16 : xnn_datatype_fp32;
      return record;
    case DataType::kI8:
    case DataType::kU8: {
      const bool is_signed = value.type == DataType::kI8;
      record.type = is_signed ? xnn_datatype_qint8 : xnn_datatype_quint8;
      const auto found = quantization_of(*graph_, id, *rules_);
      if (!found) {
        return fail(ErrorCode::kBadData, format_text("8-bit value \"{}\" has no constant scalar scale", value.name));
      }
      record.quantization = *found;
      KINGLET_TRY(check_quantization(record.quantization, is_signed));
      return record;
    }
    default:
      return fail(ErrorCode::kBadData,
                  format_text("\"{}\" is {}, which XNNPACK does not take", value.name, to_string(value.type)));
  }
}

Result<Operand> SubgraphBuilder::add_record(Record record) {
  KINGLET_TRY(check_dims(record.dims));
  record.owner = node_;
  records_.push_back(std::move(record));
  return Operand{static_cast<std::uint32_t>(records_.size() - 1)};
}

Result<void> SubgraphBuilder::add_external(ValueId id, bool is_output) {
  const Layout layout = border_layout(*graph_, *layouts_, id);
  Record made = KINGLET_TRY(describe(id, layout));
  made.made = !is_output;
  made.external = externals_.size();
  externals_.push_back({.value = id,
                        .xnn_id = static_cast<std::uint32_t>(externals_.size()),
                        .dims = made.dims,
                        .is_output = is_output,
                        .over = {}});
  const Operand operand = KINGLET_TRY(add_record(std::move(made)));
  if (is_output) {
    external_outputs_.emplace(id, operand);
  } else {
    operands_.emplace(key_of(id, layout), operand);
  }
  return {};
}

SubgraphBuilder::Key SubgraphBuilder::key_of(ValueId id, Layout layout) const {
  const bool half = floats_ == Floats::kHalf && graph_->value(id).type == DataType::kF32;
  return {.value = id, .layout = layout, .half = half};
}

Result<Operand> SubgraphBuilder::input(ValueId id, Layout layout) {
  const auto known = operands_.find(key_of(id, layout));
  if (known != operands_.end()) return known->second;
  const Value& value = graph_->value(id);
  if (layout == Layout::kNhwc && (!value.shape || value.shape->size() != 4)) {
    return fail(ErrorCode::kBadData, format_text("\"{}\" is no image of 4 dimensions", value.name));
  }
  return value.constant ? constant_input(id, layout, *value.shape) : computed_input(id, layout);
}

Result<Operand> SubgraphBuilder::constant_input(ValueId id, Layout layout, const Shape& shape) {
  const Tensor& tensor = *graph_->value(id).constant;
  if (tensor.type() != DataType::kF32) {
    return fail(ErrorCode::kBadData,
                format_text("constant \"{}\" is {}", graph_->value(id).name, to_string(tensor.type())));
  }
  const Tensor data = probe_ ? tensor : reordered(tensor, shape, layout);
  const Operand operand =
      KINGLET_TRY(constant(data, at_least_one(to_dims(physical_shape(shape, layout))), Lifetime::kForever));
  operands_.emplace(key_of(id, layout), operand);
  return operand;
}

// The value as it is there, if not as `wanted`: rather in another layout than as other floats.
std::optional<std::pair<SubgraphBuilder::Key, Operand>> SubgraphBuilder::find_other(const Key& wanted) const {
  const Layout other = wanted.layout == Layout::kNhwc ? Layout::kLogical : Layout::kNhwc;
  for (const Key& key : {Key{wanted.value, other, wanted.half}, Key{wanted.value, wanted.layout, !wanted.half},
                         Key{wanted.value, other, !wanted.half}}) {
    if (const auto found = operands_.find(key); found != operands_.end()) return *found;
  }
  return std::nullopt;
}

Result<Operand> SubgraphBuilder::computed_input(ValueId id, Layout layout) {
  auto source = find_other(key_of(id, layout));
  if (!source) {
    if (!probe_) {
      return fail(ErrorCode::kInternal, format_text("\"{}\" is read before it is made", graph_->value(id).name));
    }
    const Layout home = layouts_->of(id);
    Record outside = KINGLET_TRY(describe(id, home));
    outside.made = true;
    source = *operands_.emplace(key_of(id, home), KINGLET_TRY(add_record(std::move(outside)))).first;
    if (home == layout) return source->second;
  }
  Record target = KINGLET_TRY(describe(id, layout));
  const Operand operand = KINGLET_TRY(add_record(std::move(target)));
  KINGLET_TRY(carry(source->second, source->first.layout, operand, layout));
  operands_.emplace(key_of(id, layout), operand);
  return operand;
}

Result<void> SubgraphBuilder::carry(Operand from, Layout from_layout, Operand to, Layout to_layout) {
  if (record(from).type == record(to).type) return change_layout(from, from_layout, to, to_layout);
  if (from_layout == to_layout) return convert(from, to);
  const Operand converted = KINGLET_TRY(temporary_like(to, Dims(dims(from))));
  KINGLET_TRY(convert(from, converted));
  return change_layout(converted, from_layout, to, to_layout);
}

Result<void> SubgraphBuilder::change_layout(Operand from, Layout from_layout, Operand to, Layout to_layout) {
  if (from_layout == to_layout) return reshape(from, to);
  const Dims& dims = this->dims(from);
  const bool to_nhwc = to_layout == Layout::kNhwc;
  const std::size_t channels = to_nhwc ? dims.at(1) : dims.at(3);
  const std::size_t pixels = to_nhwc ? dims.at(2) * dims.at(3) : dims.at(1) * dims.at(2);
  if (channels == 1 || pixels == 1) return reshape(from, to);
  ++transposes_;
  return transpose(to_nhwc ? Dims{0, 2, 3, 1} : Dims{0, 3, 1, 2}, from, to);
}

Result<Operand> SubgraphBuilder::input_in_logical_order(ValueId id) {
  const Value& value = graph_->value(id);
  if (!value.constant && value.shape && layout_neutral(*value.shape)) return input(id, layouts_->of(id));
  return input(id, Layout::kLogical);
}

Result<Operand> SubgraphBuilder::input_for_broadcast(ValueId id, Layout layout, std::size_t rank) {
  const Value& value = graph_->value(id);
  if (!value.shape || !is_static(*value.shape)) {
    return fail(ErrorCode::kBadData, format_text("\"{}\" has no fixed shape", value.name));
  }
  const bool one_element = element_count(*value.shape) == 1;
  if (layout == Layout::kLogical || (one_element && value.shape->size() != 4)) return input(id, Layout::kLogical);
  if (rank != 4 || value.shape->size() > 4)
    return fail(ErrorCode::kBadData, "broadcast of an image to more than 4 dimensions");
  if (value.shape->size() == 4) return input(id, layout);
  const Key key = key_of(id, layout);
  if (const auto known = widened_.find(key); known != widened_.end()) return known->second;

  const Shape wide = widen(*value.shape, rank);
  const Dims target_dims = to_dims(physical_shape(wide, layout));
  Operand operand;
  if (value.constant) {
    if (value.type != DataType::kF32) return fail(ErrorCode::kBadData, "a constant that is not float");
    const Tensor data = probe_ ? *value.constant : reordered(value.constant->reshaped(wide), wide, layout);
    operand = KINGLET_TRY(constant(data, target_dims, Lifetime::kForever));
  } else {
    const Operand narrow = KINGLET_TRY(input(id, Layout::kLogical));
    const Operand logical = KINGLET_TRY(temporary_like(narrow, to_dims(wide)));
    operand = KINGLET_TRY(temporary_like(narrow, target_dims));
    KINGLET_TRY(reshape(narrow, logical));
    KINGLET_TRY(change_layout(logical, Layout::kLogical, operand, layout));
  }
  widened_.emplace(key, operand);
  return operand;
}

Result<Operand> SubgraphBuilder::output(ValueId id) {
  const Layout layout = layouts_->of(id);
  Operand operand;
  const auto external = external_outputs_.find(id);
  const bool lies_outside = external != external_outputs_.end() && border_layout(*graph_, *layouts_, id) == layout;
  if (lies_outside && key_of(id, layout).half == (record(external->second).type == xnn_datatype_fp16)) {
    operand = external->second;
  } else {
    Record made = KINGLET_TRY(describe(id, layout));
    operand = KINGLET_TRY(add_record(std::move(made)));
  }
  operands_[key_of(id, layout)] = operand;
  if (clip_.open()) return operand;
  if (clip_pair_) return fail(ErrorCode::kBadData, "a clip over several outputs");
  const Operand before = KINGLET_TRY(temporary_like(operand, Dims(dims(operand))));
  clip_pair_ = {before, operand};
  return before;
}

Result<Operand> SubgraphBuilder::temporary(const Dims& dims) {
  Record made{.type = floats_ == Floats::kHalf ? xnn_datatype_fp16 : xnn_datatype_fp32, .dims = dims};
  return add_record(std::move(made));
}

Result<Operand> SubgraphBuilder::temporary_like(Operand other, const Dims& dims) {
  Record made{.type = record(other).type, .quantization = record(other).quantization, .dims = dims};
  return add_record(std::move(made));
}

Result<Operand> SubgraphBuilder::constant(const Tensor& numbers, Dims dims, Lifetime lifetime) {
  if (numbers.type() != DataType::kF32) return fail(ErrorCode::kBadData, "static data that is not float");
  Record made;
  made.dims = std::move(dims);
  if (floats_ == Floats::kSingle) return add_static(std::move(made), numbers, lifetime);
  KINGLET_TRY(check_halves(numbers));
  // Layers are given f32 and pack it as float16.
  if (lifetime == Lifetime::kUntilPacked) return add_static(std::move(made), numbers, lifetime);
  made.type = xnn_datatype_fp16;
  return add_static(std::move(made), probe_ ? numbers : as_halves(numbers), lifetime);
}

Result<Operand> SubgraphBuilder::add_static(Record record, const Tensor& numbers, Lifetime lifetime) {
  std::size_t count = 1;
  KINGLET_TRY(check_dims(record.dims));
  for (const std::size_t dim : record.dims) count *= dim;
  if (count != static_cast<std::size_t>(numbers.element_count())) {
    return fail(ErrorCode::kBadData,
                format_text("static data of {} elements for {}", numbers.element_count(), dims_text(record.dims)));
  }
  if (!probe_) {
    // The buffer is shared, not copied: it has the readable bytes behind its end that XNNPACK needs.
    record.numbers = numbers;
    record.lifetime = lifetime;
    record.floats = floats_;
  }
  record.made = record.is_static = true;
  return add_record(std::move(record));
}

Result<Operand> SubgraphBuilder::scalar(float value) {
  return constant(Tensor::of<float>({1}, {value}), {1}, Lifetime::kForever);
}

Result<Operand> SubgraphBuilder::quantized_filter(const Tensor& numbers, const Dims& dims,
                                                  std::span<const float> scales, std::int32_t zero_point,
                                                  std::size_t channel_axis) {
  if (numbers.type() == DataType::kU8) {
    if (scales.size() != 1) return fail(ErrorCode::kBadData, "u8 weights with several scales");
    Record made{
        .type = xnn_datatype_quint8, .quantization = {.scale = scales[0], .zero_point = zero_point}, .dims = dims};
    KINGLET_TRY(check_quantization(made.quantization, false));
    return add_static(std::move(made), numbers, Lifetime::kUntilPacked);
  }
  if (numbers.type() != DataType::kI8 || zero_point != 0)
    return fail(ErrorCode::kBadData, "weights that are not i8 around 0");
  Record made{.type = xnn_datatype_qcint8, .channel_axis = channel_axis, .dims = dims};
  made.channel_scales = KINGLET_TRY(one_for_each(scales, dims.at(channel_axis)));
  return add_static(std::move(made), numbers, Lifetime::kUntilPacked);
}

Result<Operand> SubgraphBuilder::quantized_bias(const Tensor& levels, std::span<const float> scales, Operand filter) {
  if (levels.type() != DataType::kI32) return fail(ErrorCode::kBadData, "a bias that is not i32");
  Record made{.type = xnn_datatype_qint32, .dims = {static_cast<std::size_t>(levels.element_count())}};
  if (record(filter).type == xnn_datatype_qcint8) {
    made.type = xnn_datatype_qcint32;
    made.channel_scales = KINGLET_TRY(one_for_each(scales, made.dims[0]));
  } else {
    made.quantization.scale = scales[0];
  }
  return add_static(std::move(made), levels, Lifetime::kUntilPacked);
}

Result<Operand> SubgraphBuilder::dynamically_quantized(const Dims& dims) {
  return add_record({.type = xnn_datatype_qdint8, .dims = dims});
}

// --- Nodes -----------------------------------------------------------------------------------------------------------

// What XNNPACK does not look at: that each input is made before it is read, and each output is made once.
Result<void> SubgraphBuilder::define(const NodeKind& kind, std::span<const Operand> inputs, Operand output, Call call) {
  for (const Operand input : inputs) {
    if (!record(input).made)
      return fail(ErrorCode::kBadData, format_text("{} reads a value that no node made", kind.name));
  }
  if (record(output).made) return fail(ErrorCode::kBadData, format_text("{} writes a value that exists", kind.name));
  const std::size_t at = nodes_.size();
  for (const Operand input : inputs) {
    for (std::optional<Operand> one = input; one; one = record(*one).whole) {
      records_[one->index].last = at;
      ++records_[one->index].reads;
    }
  }
  for (std::optional<Operand> one = output; one; one = record(*one).whole) {
    Record& written = records_[one->index];
    if (!written.made) written.writer = written.first = at;
    written.made = true;
    written.last = at;
  }
  nodes_.push_back({.node = node_, .kind = kind.name});
  definitions_.push_back(
      {.kind = kind, .inputs = {inputs.begin(), inputs.end()}, .output = output, .call = std::move(call), .layer = {}});
  return {};
}

}  // namespace kinglet::engine::xnn
