// SPDX-License-Identifier: Apache-2.0
#include "visits/calibrate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "engine/base/check.h"

namespace kinglet::visits {
namespace {

constexpr float kLeastScore = 1e-9F;
constexpr double kGolden = 0.6180339887498949;
constexpr std::size_t kBins = 10;

}  // namespace

void Calibration::add(std::span<const float> scores, std::uint32_t taxon) {
  KINGLET_CHECK(scores.size() == taxa_.of_class().size() && taxon < taxa_.leaf_count());
  std::vector<float> logs(scores.size());
  std::ranges::transform(scores, logs.begin(), [](float score) { return std::log(std::max(score, kLeastScore)); });
  logs_.push_back(std::move(logs));
  truth_.push_back(taxon);
}

void Calibration::temper(std::size_t picture, double temperature, std::vector<double>& out) const {
  const std::vector<float>& logs = logs_[picture];
  const double largest = static_cast<double>(*std::ranges::max_element(logs));
  out.assign(taxa_.leaf_count(), 0);
  double sum = 0;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const double score = std::exp((static_cast<double>(logs[i]) - largest) / temperature);
    out[taxa_.of_class()[i]] += score;
    sum += score;
  }
  for (double& score : out) score /= sum;
}

// The surprise has one minimum in the logarithm of the temperature: golden section.
double Calibration::best_temperature() const {
  KINGLET_CHECK(size() > 0);
  double low = std::log(0.1);
  double high = std::log(10.0);
  const auto surprise = [&](double place) { return judge(std::exp(place), 0).surprise; };
  double left = high - kGolden * (high - low);
  double right = low + kGolden * (high - low);
  double at_left = surprise(left);
  double at_right = surprise(right);
  for (int i = 0; i < 40; ++i) {
    if (at_left < at_right) {
      high = std::exchange(right, left);
      left = high - kGolden * (high - low);
      at_right = std::exchange(at_left, surprise(left));
    } else {
      low = std::exchange(left, right);
      right = low + kGolden * (high - low);
      at_left = std::exchange(at_right, surprise(right));
    }
  }
  return std::exp((low + high) / 2);
}

Calibration::Judgement Calibration::judge(double temperature, double min_score) const {
  struct Bin {
    double score = 0;
    double right = 0;
  };
  std::array<Bin, kBins> bins{};
  Judgement judgement;
  double answered = 0;
  double answered_right = 0;
  double right = 0;
  std::vector<double> scores;
  for (std::size_t i = 0; i < size(); ++i) {
    temper(i, temperature, scores);
    const auto best = std::ranges::max_element(scores);
    const bool is_right = static_cast<std::uint32_t>(best - scores.begin()) == truth_[i];
    judgement.surprise -= std::log(std::max(scores[truth_[i]], static_cast<double>(kLeastScore)));
    Bin& bin = bins[std::min(kBins - 1, static_cast<std::size_t>(*best * kBins))];
    bin.score += *best;
    bin.right += is_right ? 1 : 0;
    right += is_right ? 1 : 0;
    answered += *best >= min_score ? 1 : 0;
    answered_right += *best >= min_score && is_right ? 1 : 0;
  }
  const auto count = static_cast<double>(size());
  for (const Bin& bin : bins) judgement.calibration_error += std::abs(bin.score - bin.right) / count;
  judgement.surprise /= count;
  judgement.right_ratio = right / count;
  judgement.answered_ratio = answered / count;
  judgement.answered_right_ratio = answered > 0 ? answered_right / answered : 1;
  return judgement;
}

}  // namespace kinglet::visits
