// SPDX-License-Identifier: Apache-2.0
// Why: what numbers the values of a graph take on real pictures: range, distribution, mean of each channel.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "engine/base/error.h"
#include "engine/graph/graph.h"
#include "engine/quantize/calibration/samples.h"

namespace kinglet::engine {

// Of all numbers of one or more values. Where HardSwish alone reads them, those below -3 count as -3: all are 0 behind
// it (ONNX, HardSwish).
struct Distribution {
  static constexpr std::size_t kBins = 2048;
  float min = 0;                      // at most 0
  float max = 0;                      // at least 0
  bool behind_is_hard_swish = false;  // alone, of all the values
  std::vector<std::uint64_t> counts;  // kBins of equal width from min to max; empty when all numbers are 0
  [[nodiscard]] double width() const { return (static_cast<double>(max) - min) / kBins; }
  [[nodiscard]] double center(std::size_t bin) const { return min + (static_cast<double>(bin) + 0.5) * width(); }
};

struct Observation {
  std::vector<Distribution> groups;  // by number of the group
  std::map<ValueId, std::vector<double>>
      channel_means;  // of each value, by index along axis 1 (the last, below rank 3)
};

// Runs the graph on every sample twice: for the ranges, then for the distributions. kBadData names the value that holds
// NaN or infinity on a sample, and the sample by number.
[[nodiscard]] Result<Observation> observe(const Graph& graph, const std::map<ValueId, std::size_t>& values,
                                          std::size_t groups, const Samples& samples, const Progress& progress);

}  // namespace kinglet::engine
