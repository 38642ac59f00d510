// SPDX-License-Identifier: Apache-2.0
#include "engine/quantize/weights/weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/format.h"

namespace kinglet::engine {
namespace {

constexpr double kMostLevel = 127;
constexpr double kMostBias = 0x1p30;        // half of int32: the products have the other half
constexpr double kAimedBias = 0x1p29;       // of a scale that is made for the bias alone
constexpr double kLeastFactor = 0x1.1p-32;  // what XNNPACK can round by, with room for float32
constexpr auto kLeastScale = static_cast<double>(std::numeric_limits<float>::min());

double largest(std::span<const float> numbers) {
  double most = 0;
  for (const float x : numbers) most = std::max(most, std::abs(static_cast<double>(x)));
  return most;
}

// The smallest scale that holds the weights, the bias and the rounding.
double scale_for(double most, double bias, const WeightOptions& options) {
  double scale = std::max(most / kMostLevel, kLeastScale);
  scale = std::max(scale, std::abs(bias) / (kAimedBias * options.input_scale));
  if (options.output_scale > 0) scale = std::max(scale, kLeastFactor * options.output_scale / options.input_scale);
  return scale;
}

}  // namespace

Result<QuantizedWeights> quantize_weights(std::span<const float> weights, std::span<const float> bias,
                                          const WeightView& view, const WeightOptions& options) {
  const auto finite = [](float x) { return std::isfinite(x); };
  if (!std::ranges::all_of(weights, finite) || !std::ranges::all_of(bias, finite)) {
    return fail(ErrorCode::kBadData, "weights or bias hold NaN or infinity");
  }
  QuantizedWeights out{.scales = std::vector<float>(view.channels),
                       .levels = std::vector<std::int8_t>(weights.size()),
                       .bias = std::vector<std::int32_t>(view.channels)};
  double widest = 0;
  for (std::size_t c = 0; c < view.channels; ++c) {
    const double scale = scale_for(largest(weights.subspan(c * view.inner, view.inner)), bias[c], options);
    out.scales[c] = static_cast<float>(scale);
    widest = std::max(widest, scale);
  }
  if (!options.per_channel) std::ranges::fill(out.scales, static_cast<float>(widest));
  for (std::size_t c = 0; c < view.channels; ++c) {
    const double scale = out.scales[c];
    if (!std::isfinite(out.scales[c]))
      return fail(ErrorCode::kBadData, format_text("channel {} has no finite scale", c));
    for (std::size_t i = c * view.inner; i < (c + 1) * view.inner; ++i) {
      out.levels[i] = static_cast<std::int8_t>(std::clamp(std::nearbyint(weights[i] / scale), -kMostLevel, kMostLevel));
    }
  }
  KINGLET_TRY(set_bias(out, bias, options));
  return out;
}

Result<void> set_bias(QuantizedWeights& weights, std::span<const float> bias, const WeightOptions& options) {
  for (std::size_t c = 0; c < bias.size(); ++c) {
    const double level = std::nearbyint(bias[c] / (options.input_scale * weights.scales[c]));
    if (!(std::abs(level) <= kMostBias)) {
      return fail(ErrorCode::kBadData, format_text("the bias {} of channel {} does not fit 32 bits", bias[c], c));
    }
    weights.bias[c] = static_cast<std::int32_t>(level);
  }
  return {};
}

}  // namespace kinglet::engine
