// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/xnnpack/runtime.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include "engine/base/format.h"

namespace kinglet::engine::xnn {
namespace {

std::unexpected<Error> refused(std::string_view step, xnn_status status) {
  return fail(ErrorCode::kInternal, format_text("XNNPACK fails to {} (status {})", step, static_cast<int>(status)));
}

// XNNPACK's names say "Convolution (NHWC, F32) GEMM", "Copy (NC, X32)", "Mean (ND, F32)".
bool same_kind(std::string_view operator_name, std::string_view kind) {
  const auto lower = [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); };
  return std::ranges::search(operator_name, kind, {}, lower, lower).begin() != operator_name.end();
}

}  // namespace

Result<Runtime> Runtime::create(SubgraphBuilder::Built built, PackedWeights& weights, pthreadpool_t pool,
                                const Options& options) {
  Runtime runtime;
  runtime.kept_data_ = std::move(built.kept_data);
  runtime.externals_ = std::move(built.externals);
  runtime.nodes_ = std::move(built.nodes);
  runtime.timed_ = options.time_nodes;
  runtime.packing_ = std::make_unique<Packing>(weights, std::move(built.filters));
  // A daemon waits for frames between runs: workers sleep then instead of spinning. Between two steps of a run they
  // would be woken again at once, which costs more than the pause is long.
  std::uint32_t flags = pool != nullptr && options.is_last ? XNN_FLAG_YIELD_WORKERS : 0;
  if (options.time_nodes) flags |= XNN_FLAG_BASIC_PROFILING;
  xnn_runtime_t made = nullptr;
  xnn_status status =
      xnn_create_runtime_v4(built.subgraph.get(), runtime.packing_->provider(), nullptr, pool, flags, &made);
  if (status != xnn_status_success) return refused("make a runtime", status);
  runtime.runtime_.reset(made);
  if (!runtime.packing_->in_turn()) {
    return fail(ErrorCode::kInternal, "XNNPACK packs weights that it has not asked for");
  }
  runtime.packing_->end();
  built.packed_data.clear();
  built.subgraph.reset();

  for (const ExternalValue& external : runtime.externals_) {
    if (external.is_output) continue;
    status = xnn_reshape_external_value(made, external.xnn_id, external.dims.size(), external.dims.data());
    if (status != xnn_status_success) return refused("take the input's shape", status);
  }
  status = xnn_reshape_runtime(made);
  if (status != xnn_status_success) return refused("plan its memory", status);
  KINGLET_TRY(runtime.check_shapes());
  return runtime;
}

Result<void> Runtime::check_shapes() const {
  for (const ExternalValue& external : externals_) {
    std::array<std::size_t, XNN_MAX_TENSOR_DIMS> dims{};
    std::size_t rank = 0;
    const xnn_status status = xnn_get_external_value_shape(runtime_.get(), external.xnn_id, &rank, dims.data());
    if (status != xnn_status_success) return refused("tell a shape", status);
    const std::span<const std::size_t> found(dims.data(), std::min(rank, dims.size()));
    if (!std::ranges::equal(found, external.dims)) {
      return fail(ErrorCode::kInternal, format_text("XNNPACK works out {} where {} was expected", dims_text(found),
                                                    dims_text(external.dims)));
    }
  }
  return {};
}

Result<void> Runtime::bind(std::span<void* const> pointers) {
  // XNNPACK aborts when one is missing.
  if (pointers.size() != externals_.size() || std::ranges::find(pointers, nullptr) != pointers.end()) {
    return fail(ErrorCode::kInternal, format_text("{} pointers for {} values", pointers.size(), externals_.size()));
  }
  std::vector<xnn_external_value> values;
  values.reserve(pointers.size());
  for (std::size_t i = 0; i < pointers.size(); ++i) values.push_back({externals_[i].xnn_id, pointers[i]});
  const xnn_status status = xnn_setup_runtime_v2(runtime_.get(), values.size(), values.data());
  bound_ = status == xnn_status_success;
  if (!bound_) return refused("take the buffers", status);
  return {};
}

Result<void> Runtime::invoke() {
  if (!bound_) return fail(ErrorCode::kInternal, "a runtime without buffers was run");
  const xnn_status status = xnn_invoke_runtime(runtime_.get());
  if (status != xnn_status_success) return refused("run", status);
  return {};
}

Result<std::vector<OperatorTime>> Runtime::profile() const {
  std::vector<OperatorTime> times;
  if (!timed_ || !bound_) return times;
  const auto query = [&](xnn_profile_info what, std::size_t size, void* to, std::size_t* needed) {
    return xnn_get_runtime_profiling_info(runtime_.get(), what, size, to, needed);
  };
  std::size_t count = 0;
  std::size_t size = 0;
  xnn_status status = query(xnn_profile_info_num_operators, sizeof count, &count, &size);
  if (status != xnn_status_success) return refused("count its operators", status);

  status = query(xnn_profile_info_operator_name, 0, nullptr, &size);
  // Asking for the size is answered with either of two complaints, by version.
  if (status != xnn_status_out_of_memory && status != xnn_status_reallocation_required && status != xnn_status_success)
    return refused("name its operators", status);
  std::vector<char> names(size + 1);
  status = query(xnn_profile_info_operator_name, size, names.data(), &size);
  if (status != xnn_status_success) return refused("name its operators", status);

  std::vector<std::uint64_t> microseconds(count);
  status =
      query(xnn_profile_info_operator_timing, microseconds.size() * sizeof(std::uint64_t), microseconds.data(), &size);
  if (status != xnn_status_success) return refused("time its operators", status);

  const char* name = names.data();
  const char* end = names.data() + names.size() - 1;
  for (std::size_t i = 0; i < count && name < end; ++i) {
    times.push_back({.name = name, .microseconds = static_cast<double>(microseconds[i])});
    name += std::strlen(name) + 1;
  }
  return times;
}

std::vector<std::pair<NodeId, double>> times_by_node(std::span<const DefinedNode> nodes,
                                                     std::span<const OperatorTime> times) {
  std::vector<std::pair<NodeId, double>> out;
  if (times.size() == nodes.size()) {  // nothing was fused or dropped
    for (std::size_t i = 0; i < nodes.size(); ++i) out.emplace_back(nodes[i].node, times[i].microseconds);
    return out;
  }
  std::size_t next = 0;
  for (const OperatorTime& time : times) {
    std::size_t at = next;
    while (at < nodes.size() && !same_kind(time.name, nodes[at].kind)) ++at;
    if (at < nodes.size()) {
      next = at + 1;
      out.emplace_back(nodes[at].node, time.microseconds);
    } else if (!out.empty()) {
      out.back().second += time.microseconds;
    } else if (!nodes.empty()) {
      out.emplace_back(nodes.front().node, time.microseconds);
    }
  }
  return out;
}

}  // namespace kinglet::engine::xnn
