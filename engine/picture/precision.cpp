// SPDX-License-Identifier: Apache-2.0
#include "engine/picture/precision.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "engine/base/format.h"
#include "engine/base/words.h"

namespace kinglet::engine {
namespace {

constexpr Word<Precision> kWords[] = {
    {Precision::kAuto, "auto"}, {Precision::kFloat32, "float32"}, {Precision::kFloat16, "float16"}};

bool all_finite(std::span<const float> numbers) {
  return std::ranges::all_of(numbers, [](float number) { return std::isfinite(number); });
}

double largest_difference(std::span<const float> a, std::span<const float> b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(double{a[i]} - double{b[i]}));
  return largest;
}

// The root mean square of the differences, in times of the standard deviation of `exact`; 0 where there is none.
double share_of_spread(std::span<const float> exact, std::span<const float> rounded) {
  const auto count = static_cast<double>(exact.size());
  double sum = 0, squares = 0, differences = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    sum += double{exact[i]};
    squares += double{exact[i]} * double{exact[i]};
    differences += std::pow(double{rounded[i]} - double{exact[i]}, 2);
  }
  const double variance = squares / count - sum * sum / (count * count);
  return differences == 0 ? 0 : std::sqrt(differences / count / std::max(variance, 1e-30));
}

}  // namespace

std::string_view to_string(Precision precision) { return word_of(kWords, precision); }

std::optional<Precision> precision_of(std::string_view word) {
  const auto* found = std::ranges::find(kWords, word, &Word<Precision>::second);
  return found == std::end(kWords) ? std::nullopt : std::optional(found->first);
}

PrecisionJudgement judge_precision(std::span<const PictureAnswer> in_float32,
                                   std::span<const PictureAnswer> in_float16) {
  KINGLET_CHECK(!in_float32.empty() && in_float32.size() == in_float16.size());
  double of_score = 0, of_spread = 0;
  for (std::size_t i = 0; i < in_float32.size(); ++i) {
    const PictureAnswer& exact = in_float32[i];
    const PictureAnswer& rounded = in_float16[i];
    if (!all_finite(exact.numbers)) return {.holds = false, .reason = "its answers are not finite"};
    if (!all_finite(rounded.numbers)) {
      return {.holds = false, .reason = "its numbers leave the range of float16"};
    }
    of_score = std::max(of_score, largest_difference(exact.scores, rounded.scores));
    of_spread = std::max(of_spread, share_of_spread(exact.numbers, rounded.numbers));
  }
  const std::string found = format_text(
      "scores differ by up to {:.4f} (at most {}), what the model says by {:.2f} % of "
      "its spread (at most {:.0f} %) on {} pictures",
      of_score, kMostOfScore, 100 * of_spread, 100 * kMostOfSpread, in_float32.size());
  return {.holds = of_score <= kMostOfScore && of_spread <= kMostOfSpread, .reason = found};
}

}  // namespace kinglet::engine
