// SPDX-License-Identifier: Apache-2.0
#include "engine/quantize/weights/rounding.h"

#include <cstdlib>

namespace kinglet::engine {
namespace {

constexpr int kMostSweeps = 16;
constexpr int kMostLevel = 127;

// One output channel: its levels, their errors and the slope of the cost for each.
class Channel {
 public:
  Channel(std::span<const float> weights, float scale, const std::vector<float>& covariance,
          std::span<std::int8_t> levels)
      : weights_(weights), scale_(scale), covariance_(covariance), levels_(levels), slopes_(weights.size()) {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (const double wrong = error(i); wrong != 0) move_slopes(i, wrong);
    }
  }

  std::size_t descend() {
    std::size_t changed = 0;
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      std::size_t now = 0;
      for (std::size_t i = 0; i < weights_.size(); ++i) now += try_other(i) ? 1 : 0;
      changed += now;
      if (now == 0) break;
    }
    return changed;
  }

 private:
  double error(std::size_t i) const { return static_cast<double>(levels_[i]) * scale_ - weights_[i]; }

  void move_slopes(std::size_t i, double by) {
    const float* row = covariance_.data() + i * weights_.size();
    for (std::size_t j = 0; j < weights_.size(); ++j) slopes_[j] += by * row[j];
  }

  // The level on the other side of the weight, where that makes the cost smaller by more than rounding noise.
  bool try_other(std::size_t i) {
    const double wrong = error(i);
    const int other = levels_[i] + (wrong > 0 ? -1 : 1);
    if (wrong == 0 || std::abs(other) > kMostLevel) return false;
    const double step = (other - levels_[i]) * static_cast<double>(scale_);
    const double own = covariance_[i * weights_.size() + i] * step * step;
    const double gain = 2 * step * slopes_[i] + own;
    if (!(gain < -1e-3 * own)) return false;
    levels_[i] = static_cast<std::int8_t>(other);
    move_slopes(i, step);
    return true;
  }

  std::span<const float> weights_;
  float scale_;
  const std::vector<float>& covariance_;
  std::span<std::int8_t> levels_;
  std::vector<double> slopes_;
};

}  // namespace

std::size_t improve_rounding(std::span<const float> weights, const WeightView& view, const Moments& moments,
                             QuantizedWeights& rounded) {
  std::size_t changed = 0;
  const std::size_t each = view.channels / moments.size();
  for (std::size_t c = 0; c < view.channels; ++c) {
    const auto levels = std::span(rounded.levels).subspan(c * view.inner, view.inner);
    Channel channel(weights.subspan(c * view.inner, view.inner), rounded.scales[c], moments[c / each], levels);
    changed += channel.descend();
  }
  return changed;
}

void Rounding::improve(NodeId layer, std::span<const float> weights, const WeightView& view,
                       QuantizedWeights& rounded) {
  const auto moments = moments_.find(layer);
  if (moments == moments_.end()) return;
  const auto known = known_.find(layer);
  if (known != known_.end() && known->second.scales == rounded.scales && known->second.before == rounded.levels) {
    rounded.levels = known->second.after;
    return;
  }
  Known row{.scales = rounded.scales, .before = rounded.levels, .after = {}};
  (void)improve_rounding(weights, view, moments->second, rounded);
  row.after = rounded.levels;
  known_.insert_or_assign(layer, std::move(row));
}

}  // namespace kinglet::engine
