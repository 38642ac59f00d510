// SPDX-License-Identifier: Apache-2.0
#include "engine/recipe/scores.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/format.h"

namespace kinglet::engine {
namespace {

constexpr std::array<std::string_view, 4> kMeanings{"probabilities", "logits", "independent", "top_k"};

void soft_max(std::span<const float> logits, std::span<float> out, double temperature) {
  const float largest = *std::ranges::max_element(logits);
  const auto scale = static_cast<float>(1 / temperature);
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    out[i] = std::exp((logits[i] - largest) * scale);
    sum += out[i];
  }
  for (float& value : out) value = static_cast<float>(value / sum);
}

float logistic(float logit, double temperature) {
  return static_cast<float>(1 / (1 + std::exp(-static_cast<double>(logit) / temperature)));
}

// Each score with its own logit divided.
void temper_alone(std::span<const float> scores, std::span<float> out, double temperature) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double score = std::clamp(static_cast<double>(scores[i]), 0.0, 1.0);
    const double yes = std::pow(score, 1 / temperature);
    out[i] = static_cast<float>(yes / (yes + std::pow(1 - score, 1 / temperature)));
  }
}

// What soft_max would have given for the logits behind these probabilities.
void temper(std::span<const float> probabilities, std::span<float> out, double temperature) {
  const auto power = static_cast<float>(1 / temperature);
  double sum = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = std::pow(std::max(probabilities[i], 0.0F), power);
    sum += out[i];
  }
  if (sum <= 0) return;
  for (float& value : out) value = static_cast<float>(value / sum);
}

}  // namespace

bool is_score_type(DataType type) { return type == DataType::kF32 || type == DataType::kU8 || type == DataType::kI8; }

void read_outputs(std::span<const std::byte> bytes, DataType type, const std::optional<Quantization>& quantization,
                  std::span<float> outputs) {
  KINGLET_CHECK(is_score_type(type) && bytes.size() == outputs.size() * byte_size(type));
  if (type == DataType::kF32) {
    std::memcpy(outputs.data(), bytes.data(), bytes.size());
    return;
  }
  const bool is_signed = type == DataType::kI8;
  const Quantization steps = quantization.value_or(Quantization{1.0 / 255, is_signed ? -128 : 0});
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const int step = is_signed ? static_cast<std::int8_t>(bytes[i]) : std::to_integer<int>(bytes[i]);
    outputs[i] = static_cast<float>(steps.scale * (step - steps.zero_point));
  }
}

std::string_view to_string(Meaning meaning) { return kMeanings[std::to_underlying(meaning)]; }

std::optional<Meaning> meaning_of(std::string_view name) {
  const auto* found = std::ranges::find(kMeanings, name);
  if (found == kMeanings.end()) return std::nullopt;
  return static_cast<Meaning>(found - kMeanings.begin());
}

Result<void> to_scores(std::span<const float> outputs, Meaning meaning, std::span<float> scores, double temperature) {
  KINGLET_CHECK(outputs.size() == scores.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!std::isfinite(outputs[i])) {
      return fail(ErrorCode::kBadData, format_text("the model's answer for class {} is {}", i, outputs[i]), {},
                  "the model or its recipe is wrong; `kinglet verify` compares it with a reference");
    }
  }
  if (outputs.empty()) return {};
  if (meaning == Meaning::kLogits && outputs.size() == 1) {
    scores[0] = logistic(outputs[0], temperature);
  } else if (meaning == Meaning::kLogits) {
    soft_max(outputs, scores, temperature);
  } else if (temperature != 1 && meaning == Meaning::kProbabilities) {
    temper(outputs, scores, temperature);
  } else if (temperature != 1 && meaning == Meaning::kIndependent) {
    temper_alone(outputs, scores, temperature);
  } else {
    std::ranges::copy(outputs, scores.begin());
  }
  return {};
}

void best_logits_to_scores(std::span<float> best, std::size_t classes, double temperature) {
  KINGLET_CHECK(!best.empty() && classes >= best.size());
  const auto [least, most] = std::ranges::minmax(best);
  const auto power = [&](float logit) { return std::exp((static_cast<double>(logit) - most) / temperature); };
  double sum = static_cast<double>(classes - best.size()) * power(least);
  for (const float logit : best) sum += power(logit);
  for (float& logit : best) logit = static_cast<float>(power(logit) / sum);
}

std::size_t top_k(std::span<const float> scores, std::span<Score> best) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (count == best.size() && (count == 0 || !(scores[i] > best[count - 1].value))) continue;
    std::size_t place = count < best.size() ? count++ : count - 1;
    for (; place > 0 && scores[i] > best[place - 1].value; --place) best[place] = best[place - 1];
    best[place] = {i, scores[i]};
  }
  return count;
}

std::vector<Score> top_k(std::span<const float> scores, std::size_t count) {
  std::vector<Score> best(std::min(count, scores.size()));
  best.resize(top_k(scores, std::span(best)));
  return best;
}

}  // namespace kinglet::engine
