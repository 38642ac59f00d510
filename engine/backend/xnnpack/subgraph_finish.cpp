// SPDX-License-Identifier: Apache-2.0
// Why: a subgraph whose nodes are all known is told to XNNPACK. XNNPACK's own plan of memory (20241108) never puts a
// value before the first one that is alive with it, so that a chain of equal values climbs: nearly every value becomes
// an external one here, for which the caller has the memory. Left to XNNPACK are those that it joins away and rows that
// are quantised at each run, whose scales lie behind them.
#include <algorithm>
#include <functional>
#include <numeric>

#include "engine/backend/xnnpack/subgraph_builder.h"
#include "engine/base/format.h"
#include "engine/graph/data_type.h"

namespace kinglet::engine::xnn {
std::size_t SubgraphBuilder::bytes_of(const Record& record) const {
  const std::size_t each = record.type == xnn_datatype_fp32   ? sizeof(float)
                           : record.type == xnn_datatype_fp16 ? sizeof(Half)
                                                              : 1;
  return std::accumulate(record.dims.begin(), record.dims.end(), each, std::multiplies{});
}

Result<void> SubgraphBuilder::finish() {
  KINGLET_TRY(fill_outputs());
  KINGLET_TRY(cut_into_bands());
  find_joined();
  place_values();
  return define_all();
}

Result<void> SubgraphBuilder::fill_outputs() {
  for (const auto& [id, target] : external_outputs_) {
    if (record(target).made) continue;
    const bool half = record(target).type == xnn_datatype_fp16;
    const Key home{.value = id, .layout = layouts_->of(id), .half = half};
    auto found = operands_.find(home);
    if (found == operands_.end()) found = operands_.find({.value = id, .layout = home.layout, .half = !half});
    if (found == operands_.end()) {
      return fail(ErrorCode::kInternal, format_text("no node makes output \"{}\"", graph_->value(id).name));
    }
    KINGLET_TRY(carry(found->second, home.layout, target, border_layout(*graph_, *layouts_, id)));
  }
  return {};
}

// XNNPACK lets a layer or a clamp do the clamp behind it, and a convolution the padding before it, where nothing else
// reads the value between. That value is never written; what is written or read in its place is so at the other node.
// An external value keeps XNNPACK from that. It may decline for reasons of its own: the value then lies in its memory.
void SubgraphBuilder::find_joined() {
  using Join = NodeKind::Join;
  const auto joins = [&](const Record& between) { return between.writer && !between.external && between.reads == 1; };
  for (const Definition& node : definitions_) {
    Record& input = records_[node.inputs[0].index];
    Record& output = records_[node.output.index];
    if (node.kind.join == Join::kClamp && joins(input) &&
        (input.clips_itself || definitions_[*input.writer].kind.join == Join::kClamp)) {
      input.joined = true;
      output.first = input.first;
    }
    if (node.kind.join == Join::kPad && joins(output) && definitions_[output.last].kind.join == Join::kConvolution) {
      output.joined = true;
      input.last = std::max(input.last, output.last);
    }
  }
}

void SubgraphBuilder::place_values() {
  for (Record& record : records_) {
    const bool is_ours = (record.writer || record.whole) && !record.joined && record.type != xnn_datatype_qdint8;
    if (!record.external && is_ours) {
      record.external = externals_.size();
      externals_.push_back({.xnn_id = static_cast<std::uint32_t>(externals_.size()),
                            .dims = record.dims,
                            .is_output = record.writer.has_value(),
                            .over = {},
                            .part_of = {}});
    }
  }
  for (const Record& record : records_) {
    if (!record.external) continue;
    ExternalValue& external = externals_[*record.external];
    external.bytes = bytes_of(record);
    external.offset = record.offset;
    if (record.whole) external.part_of = this->record(*record.whole).external;
    external.first = record.first;
    external.last = record.last;
    if (record.writer) external.over = may_lie_over(*record.writer);
  }
}

std::vector<std::size_t> SubgraphBuilder::may_lie_over(std::size_t node) const {
  const Definition& definition = definitions_[node];
  const Record& output = record(definition.output);
  std::vector<std::size_t> over;
  if (!definition.kind.writes_over || output.first != node) return over;
  for (const Operand operand : definition.inputs) {
    const Record& input = record(operand);
    const bool fits = bytes_of(input) == bytes_of(output);
    if (input.external && input.last == node && fits) over.push_back(*input.external);
  }
  return over;
}

Result<void> SubgraphBuilder::define_all() {
  xnn_subgraph_t made = nullptr;
  const auto count = static_cast<std::uint32_t>(externals_.size());
  if (const xnn_status status = xnn_create_subgraph(count, 0, &made); status != xnn_status_success) {
    return fail(ErrorCode::kInternal, format_text("XNNPACK makes no subgraph (status {})", static_cast<int>(status)));
  }
  subgraph_.reset(made);
  Ids ids;
  for (const Record& record : records_) {
    node_ = record.owner;
    const xnn_status status = define_value(record, &ids.of_records.emplace_back());
    if (status != xnn_status_success) {
      return fail(ErrorCode::kInternal, format_text("XNNPACK refuses a tensor of {} (status {})",
                                                    dims_text(record.dims), static_cast<int>(status)));
    }
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    node_ = nodes_[i].node;
    const xnn_status status = definitions_[i].call(made, ids);
    if (status != xnn_status_success) {
      return fail(ErrorCode::kInternal, format_text("XNNPACK refuses {} {} (status {})", nodes_[i].kind,
                                                    dims_text(dims(definitions_[i].output)), static_cast<int>(status)));
    }
  }
  node_ = kNoNode;
  return {};
}

xnn_status SubgraphBuilder::define_value(const Record& record, std::uint32_t* id) const {
  const std::size_t rank = record.dims.size();
  const std::size_t* dims = record.dims.data();
  std::uint32_t external = XNN_INVALID_VALUE_ID, flags = 0;
  const void* data = record.is_late() ? record.numbers.place() : record.numbers.bytes().data();
  if (record.external) {
    external = externals_[*record.external].xnn_id;
    // What is written part by part, no node of XNNPACK's writes.
    const bool is_written = record.writer && &this->record(definitions_[*record.writer].output) == &record;
    flags = is_written ? XNN_VALUE_FLAG_EXTERNAL_OUTPUT : XNN_VALUE_FLAG_EXTERNAL_INPUT;
  }
  switch (record.type) {
    case xnn_datatype_fp32:
    case xnn_datatype_fp16:
      return xnn_define_tensor_value(subgraph_.get(), record.type, rank, dims, data, external, flags, id);
    case xnn_datatype_qdint8:
      return xnn_define_dynamically_quantized_tensor_value(subgraph_.get(), record.type, rank, 1, dims, external, flags,
                                                           id);
    case xnn_datatype_qcint8:
    case xnn_datatype_qcint32:
      return xnn_define_channelwise_quantized_tensor_value(subgraph_.get(), record.type,
                                                           record.channel_scales.data<float>().data(), rank,
                                                           record.channel_axis, dims, data, external, flags, id);
    default:
      return xnn_define_quantized_tensor_value(subgraph_.get(), record.type, record.quantization.zero_point,
                                               record.quantization.scale, rank, dims, data, external, flags, id);
  }
}

}  // namespace kinglet::engine::xnn
