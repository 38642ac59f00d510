// SPDX-License-Identifier: Apache-2.0
#include "engine/scores.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/base/check.h"
#include "engine/base/format.h"

namespace kinglet::engine {
namespace {

// Eight-bit soft-max outputs are rounded per class, so the sum of a thousand of them is only roughly one.
constexpr float kSumTolerance = 0.25F;
constexpr float kValueTolerance = 1e-3F;

bool looks_like_probabilities(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) {
    if (value < -kValueTolerance || value > 1 + kValueTolerance) return false;
    sum += value;
  }
  return std::abs(sum - 1) <= kSumTolerance;
}

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

Result<void> to_probabilities(std::span<const float> outputs, std::string_view kind, std::span<float> probabilities,
                              double temperature) {
  KINGLET_CHECK(outputs.size() == probabilities.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!std::isfinite(outputs[i])) {
      return fail(ErrorCode::kBadData, format_text("the model's answer for class {} is {}", i, outputs[i]), {},
                  "the model or its recipe is wrong; `kinglet verify` compares it with a reference");
    }
  }
  if (outputs.empty()) return {};
  if (kind == "logits" || (kind == "auto" && !looks_like_probabilities(outputs))) {
    soft_max(outputs, probabilities, temperature);
  } else if (temperature != 1) {
    temper(outputs, probabilities, temperature);
  } else {
    std::ranges::copy(outputs, probabilities.begin());
  }
  return {};
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
