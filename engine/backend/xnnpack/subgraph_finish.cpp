// SPDX-License-Identifier: Apache-2.0
// Why: a subgraph whose nodes are all known is told to XNNPACK.
#include "engine/backend/xnnpack/subgraph_builder.h"
#include "engine/base/format.h"

namespace kinglet::engine::xnn {

Result<void> SubgraphBuilder::finish() {
  KINGLET_TRY(fill_outputs());
  return define_all();
}

Result<void> SubgraphBuilder::fill_outputs() {
  for (const auto& [id, target] : external_outputs_) {
    if (record(target).made) continue;
    const auto found = operands_.find({id, layouts_->of(id)});
    if (found == operands_.end()) {
      return fail(ErrorCode::kInternal, format_text("no node makes output \"{}\"", graph_->value(id).name));
    }
    KINGLET_TRY(change_layout(found->second, layouts_->of(id), target, border_layout(*graph_, *layouts_, id)));
  }
  return {};
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
  if (record.external) {
    external = externals_[*record.external].xnn_id;
    flags = externals_[*record.external].is_output ? XNN_VALUE_FLAG_EXTERNAL_OUTPUT : XNN_VALUE_FLAG_EXTERNAL_INPUT;
  }
  switch (record.type) {
    case xnn_datatype_fp32:
      return xnn_define_tensor_value(subgraph_.get(), record.type, rank, dims, record.data, external, flags, id);
    case xnn_datatype_qdint8:
      return xnn_define_dynamically_quantized_tensor_value(subgraph_.get(), record.type, rank, 1, dims, external, flags,
                                                           id);
    case xnn_datatype_qcint8:
    case xnn_datatype_qcint32:
      return xnn_define_channelwise_quantized_tensor_value(subgraph_.get(), record.type,
                                                           record.channel_scales.data<float>().data(), rank,
                                                           record.channel_axis, dims, record.data, external, flags, id);
    default:
      return xnn_define_quantized_tensor_value(subgraph_.get(), record.type, record.quantization.zero_point,
                                               record.quantization.scale, rank, dims, record.data, external, flags, id);
  }
}

}  // namespace kinglet::engine::xnn
