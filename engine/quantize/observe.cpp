// SPDX-License-Identifier: Apache-2.0
#include "engine/quantize/observe.h"

#include <algorithm>
#include <cmath>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/session.h"

namespace kinglet::engine {
namespace {

// The values in the order of the session's outputs.
struct Watched {
  Session session;
  std::vector<ValueId> values;
};

Result<Watched> watch(const Graph& graph, const std::map<ValueId, std::size_t>& values) {
  Graph copy = graph;
  std::vector<ValueId> outputs = copy.outputs();
  for (const auto& [value, group] : values) {
    if (copy.is_input(value) || copy.is_output(value)) continue;
    copy.add_output(value);
    outputs.push_back(value);
  }
  return Watched{.session = KINGLET_TRY(Session::create(std::move(copy), {})), .values = std::move(outputs)};
}

// f(value, its numbers on this sample)
template <typename F>
Result<void> on_each(Watched& watched, const Graph& graph, const std::map<ValueId, std::size_t>& values,
                     const Samples& samples, const Progress& progress, std::string_view what, F f) {
  for (std::size_t i = 0; i < samples.count; ++i) {
    progress(what, i, samples.count);
    const Tensor input = KINGLET_TRY(samples.input(i));
    KINGLET_TRY(watched.session.set_input(0, input));
    KINGLET_TRY(watched.session.run());
    if (const ValueId first = graph.inputs().front().value; values.contains(first)) KINGLET_TRY(f(i, first, input));
    for (std::size_t output = 0; output < watched.values.size(); ++output) {
      if (!values.contains(watched.values[output])) continue;
      KINGLET_TRY(f(i, watched.values[output], watched.session.get_output(output)));
    }
  }
  return {};
}

Result<void> widen(Distribution& range, const Tensor& tensor, const std::string& name, std::size_t sample) {
  for (const float x : tensor.data<float>()) {
    if (!std::isfinite(x)) {
      return fail(ErrorCode::kBadData, format_text("holds {} on picture {}", x, sample + 1), printable(name),
                  "a model with such numbers cannot be quantised: look at the picture and at the weights");
    }
    range.min = std::min(range.min, x);
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
  Watched watched = KINGLET_TRY(watch(graph, values));
  Observation out{.groups = std::vector<Distribution>(groups), .channel_means = {}};
  KINGLET_TRY(on_each(watched, graph, values, samples, progress, "ranges",
                      [&](std::size_t sample, ValueId value, const Tensor& tensor) -> Result<void> {
                        add_channels(out.channel_means[value], tensor);
                        return widen(out.groups[values.at(value)], tensor, graph.value(value).name, sample);
                      }));
  for (auto& [value, means] : out.channel_means) {
    for (double& mean : means) mean /= static_cast<double>(samples.count);
  }
  KINGLET_TRY(on_each(watched, graph, values, samples, progress, "distributions",
                      [&](std::size_t /*sample*/, ValueId value, const Tensor& tensor) -> Result<void> {
                        count(out.groups[values.at(value)], tensor);
                        return {};
                      }));
  return out;
}

}  // namespace kinglet::engine
