// SPDX-License-Identifier: Apache-2.0
#include "engine/quantize/calibration/ranges.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace kinglet::engine {
namespace {

constexpr double kLevels = 255;
constexpr std::array<std::string_view, 5> kNames{"minmax", "percentile", "entropy", "mse", "auto"};

double total(const Distribution& of) {
  return static_cast<double>(std::accumulate(of.counts.begin(), of.counts.end(), std::uint64_t{0}));
}

Range whole(const Distribution& of) { return {.min = of.min, .max = of.max}; }

Range percentile(const Distribution& of) {
  constexpr double kCut = 1e-5;
  const double most = kCut * total(of);
  Range range = whole(of);
  double cut = 0;
  for (std::size_t bin = 0; bin < of.counts.size() && of.center(bin) < 0; ++bin) {
    cut += static_cast<double>(of.counts[bin]);
    if (cut > most) break;
    range.min = of.min + static_cast<double>(bin + 1) * of.width();
  }
  cut = 0;
  for (std::size_t end = of.counts.size(); end > 0 && of.center(end - 1) > 0; --end) {
    cut += static_cast<double>(of.counts[end - 1]);
    if (cut > most) break;
    range.max = of.min + static_cast<double>(end - 1) * of.width();
  }
  return {.min = std::min(range.min, 0.0), .max = std::max(range.max, 0.0)};
}

// Kullback-Leibler divergence of the rounded distribution from the cut one, whose tails lie in its last bins.
double divergence(const Distribution& of, const Range& range) {
  const double step = (range.max - range.min) / kLevels;
  if (!(step > 0)) return std::numeric_limits<double>::infinity();
  std::array<double, 256> mass{};
  std::array<double, 256> bins{};
  const auto level_of = [&](std::size_t bin) {
    const double x = std::clamp(of.center(bin), range.min, range.max);
    return static_cast<std::size_t>(std::clamp(std::nearbyint((x - range.min) / step), 0.0, kLevels));
  };
  std::vector<double> cut(of.counts.size());
  for (std::size_t bin = 0; bin < of.counts.size(); ++bin) {
    const double x = std::clamp(of.center(bin), range.min, range.max);
    const auto at =
        static_cast<std::size_t>(std::clamp((x - of.min) / of.width(), 0.0, static_cast<double>(of.counts.size() - 1)));
    cut[at] += static_cast<double>(of.counts[bin]);
    if (of.center(bin) >= range.min && of.center(bin) <= range.max)
      mass[level_of(bin)] += static_cast<double>(of.counts[bin]);
  }
  for (std::size_t bin = 0; bin < cut.size(); ++bin) {
    if (cut[bin] > 0) ++bins[level_of(bin)];
  }
  const double all = total(of);
  const double inside = std::accumulate(mass.begin(), mass.end(), 0.0);
  double sum = 0;
  for (std::size_t bin = 0; bin < cut.size(); ++bin) {
    if (cut[bin] == 0) continue;
    const std::size_t level = level_of(bin);
    const double p = cut[bin] / all;
    const double q = std::max(mass[level] / bins[level] / inside, 1e-12);
    sum += p * std::log(p / q);
  }
  return sum;
}

double hard_swish(double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }

// The function is flat in places, so that rounding does not spread evenly: each bin is rounded.
double square_error_behind_hard_swish(const Distribution& of, const Range& range) {
  const LinearQuantization levels = levels_of(range);
  double sum = 0;
  for (std::size_t bin = 0; bin < of.counts.size(); ++bin) {
    const double x = of.center(bin);
    const double level =
        std::clamp(std::nearbyint(x / levels.scale), -128.0 - levels.zero_point, 127.0 - levels.zero_point);
    const double error = hard_swish(x) - hard_swish(level * levels.scale);
    sum += static_cast<double>(of.counts[bin]) * error * error;
  }
  return sum;
}

// The range of the least `cost` among those that shrink both ends, each by up to 3/4 and both alike or one alone.
template <typename F>
Range shrunk(const Distribution& of, F cost) {
  constexpr int kSteps = 60;
  Range best = whole(of);
  double least = cost(best);
  const auto consider = [&](double low, double high) {
    const Range range{.min = of.min * low, .max = of.max * high};
    if (const double found = cost(range); found < least) {
      least = found;
      best = range;
    }
  };
  for (int i = 1; i <= kSteps; ++i) {
    const double part = 1 - 0.75 * i / kSteps;
    consider(part, part);
    if (of.min < 0) consider(part, 1);
    if (of.min < 0) consider(1, part);
  }
  return best;
}

}  // namespace

std::string_view to_string(RangeMethod method) { return kNames.at(static_cast<std::size_t>(method)); }

std::optional<RangeMethod> range_method(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<RangeMethod>(found - kNames.begin());
}

double mean_square_error(const Distribution& of, const Range& range) {
  const double all = total(of);
  if (all == 0) return 0;
  if (of.behind_is_hard_swish) return square_error_behind_hard_swish(of, range) / all;
  const double step = (range.max - range.min) / kLevels;
  double sum = 0;
  double kept = 0;
  for (std::size_t bin = 0; bin < of.counts.size(); ++bin) {
    const double x = of.center(bin);
    const double cut = x < range.min ? range.min - x : x > range.max ? x - range.max : 0;
    if (cut == 0) kept += static_cast<double>(of.counts[bin]);
    sum += static_cast<double>(of.counts[bin]) * cut * cut;
  }
  return (sum + kept * step * step / 12) / all;  // rounding spreads evenly over a step
}

Range choose_range(const Distribution& of, RangeMethod method) {
  if (of.counts.empty()) return whole(of);
  const auto error = [&](const Range& range) { return mean_square_error(of, range); };
  switch (method) {
    case RangeMethod::kMinMax:
      return whole(of);
    case RangeMethod::kPercentile:
      return percentile(of);
    case RangeMethod::kEntropy:
      return shrunk(of, [&](const Range& range) { return divergence(of, range); });
    case RangeMethod::kMse:
      return shrunk(of, error);
    case RangeMethod::kAuto:
      break;
  }
  Range best = whole(of);
  for (const RangeMethod each : {RangeMethod::kPercentile, RangeMethod::kEntropy, RangeMethod::kMse}) {
    const Range range = choose_range(of, each);
    if (error(range) < error(best)) best = range;
  }
  return best;
}

LinearQuantization levels_of(const Range& range) {
  const double width = range.max - range.min;
  const auto scale = static_cast<float>(width / kLevels);
  if (!std::isnormal(scale)) return {.scale = 1, .zero_point = range.min < 0 ? 0 : -128};
  const double zero = std::nearbyint(-128 - range.min / scale);
  return {.scale = scale, .zero_point = static_cast<std::int32_t>(std::clamp(zero, -128.0, 127.0))};
}

}  // namespace kinglet::engine
