// SPDX-License-Identifier: Apache-2.0
// Why: the scale and zero point of int8 for numbers of a known distribution: a wide range rounds coarsely, a narrow one
// cuts off.
#pragma once

#include <optional>
#include <string_view>

#include "engine/graph/quantization.h"
#include "engine/quantize/calibration/observe.h"

namespace kinglet::engine {

enum class RangeMethod : std::uint8_t {
  kMinMax,      // nothing is cut off
  kPercentile,  // 1 of 100,000 numbers at each end may be
  kEntropy,     // the distribution changes least (Kullback-Leibler divergence of the histogram)
  kMse,         // the least mean square error
  kAuto,        // of these the one with the least mean square error
};
[[nodiscard]] std::string_view to_string(RangeMethod method);
[[nodiscard]] std::optional<RangeMethod> range_method(std::string_view name);

// A range that holds 0.
struct Range {
  double min = 0;
  double max = 0;
};

// The range of the method; that of min and max for an empty distribution.
[[nodiscard]] Range choose_range(const Distribution& of, RangeMethod method);

// int8, 0 exactly representable: (max - min) / 255 a step. An empty range gives steps of 1, which 0 alone needs.
[[nodiscard]] LinearQuantization levels_of(const Range& range);

// Mean of the squares of what rounding and cutting off change: behind HardSwish where that is all that reads them.
[[nodiscard]] double mean_square_error(const Distribution& of, const Range& range);

}  // namespace kinglet::engine
