// SPDX-License-Identifier: Apache-2.0
#include "engine/quantize/calibration/observe.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/passes/rewrite.h"
#include "engine/quantize/calibration/watch.h"

namespace kinglet::engine {
namespace {

bool only_hard_swish_reads(const Graph& graph, ValueId value) {
  const std::vector<NodeId>& readers = graph.consumers(value);
  return !readers.empty() && !graph.is_output(value) &&
         std::ranges::all_of(readers, [&](NodeId id) { return is_op(graph.node(id), "HardSwish"); });
}

std::vector<Distribution> empty_groups(const Graph& graph, const std::map<ValueId, std::size_t>& values,
                                       std::size_t groups) {
  std::vector<Distribution> out(groups, Distribution{.behind_is_hard_swish = true});
  for (const auto& [value, group] : values) {
    if (!only_hard_swish_reads(graph, value)) out[group].behind_is_hard_swish = false;
  }
  return out;
}

Result<void> widen(Distribution& range, const Tensor& tensor, const std::string& name, std::size_t sample) {
  const float least = range.behind_is_hard_swish ? -3 : std::numeric_limits<float>::lowest();
  for (const float x : tensor.data<float>()) {
    if (!std::isfinite(x)) {
      return fail(ErrorCode::kBadData, format_text("holds {} on picture {}", x, sample + 1), printable(name),
                  "a model with such numbers cannot be quantised: look at the picture and at the weights");
    }
    range.min = std::min(range.min, std::max(x, least));
    range.max = std::max(range.max, x);
  }
  return {};
}

void count(Distribution& into, const Tensor& tensor) {
  if (!(into.max > into.min)) return;
  into.counts.resize(Distribution::kBins);
  const double factor = 1 / into.width();
  for (const float x : tensor.data<float>()) {
    const auto bin = static_cast<std::size_t>(std::max(0.0, (static_cast<double>(x) - into.min) * factor));
    ++into.counts[std::min(bin, Distribution::kBins - 1)];
  }
}

void add_channels(std::vector<double>& sums, const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  if (shape.empty()) return;
  const std::size_t axis = shape.size() < 3 ? shape.size() - 1 : 1;
  const auto channels = static_cast<std::size_t>(shape[axis]);
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  sums.resize(channels);
  const auto from = tensor.data<float>();
  const double share = static_cast<double>(channels) / static_cast<double>(std::max<std::size_t>(1, from.size()));
  for (std::size_t i = 0; i < from.size(); ++i) sums[i / inner % channels] += share * from[i];
}

}  // namespace

Result<Observation> observe(const Graph& graph, const std::map<ValueId, std::size_t>& values, std::size_t groups,
                            const Samples& samples, const Progress& progress) {
  if (samples.count == 0) return fail(ErrorCode::kBadData, "there are no pictures to calibrate with");
  std::set<ValueId> watched;
  for (const auto& [value, group] : values) watched.insert(value);
  Watch watch = KINGLET_TRY(Watch::create(graph, watched));
  Observation out{.groups = empty_groups(graph, values, groups), .channel_means = {}};
  KINGLET_TRY(watch.each(samples, progress, "ranges",
                         [&](std::size_t sample, ValueId value, const Tensor& tensor) -> Result<void> {
                           add_channels(out.channel_means[value], tensor);
                           return widen(out.groups[values.at(value)], tensor, graph.value(value).name, sample);
                         }));
  for (auto& [value, means] : out.channel_means) {
    for (double& mean : means) mean /= static_cast<double>(samples.count);
  }
  KINGLET_TRY(watch.each(samples, progress, "distributions",
                         [&](std::size_t /*sample*/, ValueId value, const Tensor& tensor) -> Result<void> {
                           count(out.groups[values.at(value)], tensor);
                           return {};
                         }));
  return out;
}

}  // namespace kinglet::engine
