// SPDX-License-Identifier: Apache-2.0
#include "engine/picture/score_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/base/check.h"
#include "engine/base/format.h"

namespace kinglet::engine {
namespace {

template <typename T>
void copy_as(std::span<const std::byte> bytes, std::span<std::int64_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    T number;
    std::memcpy(&number, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = static_cast<std::int64_t>(number);
  }
}

// Whole numbers of any type that indices are given in; -1 for what is none.
void read_places(std::span<const std::byte> bytes, const TensorInfo& info, std::span<float> scratch,
                 std::span<std::int64_t> out) {
  if (info.type == DataType::kI64) return copy_as<std::int64_t>(bytes, out);
  if (info.type == DataType::kI32) return copy_as<std::int32_t>(bytes, out);
  if (info.type != DataType::kF32 && !info.quantization) {
    std::ranges::transform(bytes, out.begin(), [](std::byte place) { return std::to_integer<std::int64_t>(place); });
    return;  // a negative one would be no class either
  }
  read_outputs(bytes, info.type, info.quantization, scratch);
  std::ranges::transform(scratch, out.begin(), [](float number) {
    constexpr float kMost = 1e9F;
    return number >= 0 && number < kMost ? std::llround(number) : -1;
  });
}

}  // namespace

ScoreReader::ScoreReader(const Session& session, OutputMeaning meaning) : meaning_(std::move(meaning)) {
  if (!meaning_.indices) return;
  const auto count = element_count(session.outputs().at(*meaning_.indices).shape);
  best_.resize(static_cast<std::size_t>(count.value_or(0)));
  places_.resize(best_.size());
}

Result<void> ScoreReader::read(const Session& session, double temperature, std::span<float> scores) {
  if (meaning_.indices) return read_best(session, temperature, scores);
  KINGLET_TRY(read_numbers(session, scores));
  return to_scores(scores, meaning_.meaning, scores, temperature);
}

Result<void> ScoreReader::read_numbers(const Session& session, std::span<float> numbers) {
  KINGLET_CHECK(numbers.size() == meaning_.classes);
  if (meaning_.indices) return read_best(session, 1, numbers);
  const TensorInfo& info = session.outputs().at(meaning_.output);
  read_outputs(session.output(meaning_.output), info.type, info.quantization, numbers);
  return {};
}

Result<void> ScoreReader::read_best(const Session& session, double temperature, std::span<float> scores) {
  KINGLET_CHECK(scores.size() == meaning_.classes && !best_.empty());
  read_places(session.output(*meaning_.indices), session.outputs().at(*meaning_.indices), best_, places_);
  std::ranges::fill(scores, std::numeric_limits<float>::quiet_NaN());
  for (const std::int64_t place : places_) {
    if (place >= 0 && static_cast<std::size_t>(place) < scores.size()) continue;
    return fail(ErrorCode::kBadData, format_text("the model's answer names class {} of {}", place, scores.size()));
  }
  if (meaning_.has_scores) {
    const TensorInfo& info = session.outputs().at(meaning_.output);
    read_outputs(session.output(meaning_.output), info.type, info.quantization, best_);
    const bool tempered = meaning_.best == Meaning::kProbabilities && temperature != 1;
    const bool as_logits = meaning_.best == Meaning::kLogits || tempered;
    constexpr float kLeast = 1e-9F;
    if (tempered) {
      for (float& score : best_) score = std::log(std::max(score, kLeast));
    }
    KINGLET_TRY(to_scores(best_, meaning_.best == Meaning::kIndependent ? Meaning::kIndependent : Meaning::kTopK, best_,
                          temperature));
    if (as_logits) best_logits_to_scores(best_, scores.size(), temperature);
  } else {
    std::ranges::fill(best_, 0.0F);
    best_.front() = 1;
  }
  std::ranges::fill(scores, 0.0F);
  for (std::size_t i = 0; i < best_.size(); ++i) scores[static_cast<std::size_t>(places_[i])] = best_[i];
  return {};
}

}  // namespace kinglet::engine
