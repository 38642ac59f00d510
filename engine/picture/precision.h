// SPDX-License-Identifier: Apache-2.0
// Why: float16 is twice as quick where the processor computes with it, and right for most models. Whether it is for the
// one at hand is tried when it is opened: the same pictures, answered both ways.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace kinglet::engine {

// What a person wishes. kAuto: float16 where this processor and this model are fit for it.
enum class Precision : std::uint8_t { kAuto, kFloat32, kFloat16 };
[[nodiscard]] std::string_view to_string(Precision precision);  // "auto", "float32", "float16": model.precision
[[nodiscard]] std::optional<Precision> precision_of(std::string_view word);

// What a model is computed with, and why.
struct ChosenPrecision {
  bool half = false;
  bool refused = false;  // float16 was wished for, and it is not
  std::string reason;    // "4 pictures answered as in float32", "this processor has no float16 arithmetic"
  std::chrono::duration<double, std::milli> took{};  // of finding out: 0 where nothing was tried

  [[nodiscard]] std::string_view name() const { return half ? "float16" : "float32"; }
};

// What one picture is answered with.
struct PictureAnswer {
  std::vector<float> numbers;  // as the model gives them, one a class
  std::vector<float> scores;   // 0 to 1
};

// The largest difference of a score that float16 may make: a fifth of decide.min_margin, so that what is decided
// hangs on the picture and not on the processor. And the largest of the model's numbers, as a share of how far they lie
// from each other (root mean squares): scores of a picture that shows nothing it knows are all small, and hide it.
inline constexpr double kMostOfScore = 0.03;
inline constexpr double kMostOfSpread = 0.1;

struct PrecisionJudgement {
  bool holds = false;
  std::string reason;
};
// Of answers to the same pictures, at least one. Where the best class leads by more than twice kMostOfScore it is the
// same when this holds. Pure.
[[nodiscard]] PrecisionJudgement judge_precision(std::span<const PictureAnswer> in_float32,
                                                 std::span<const PictureAnswer> in_float16);

}  // namespace kinglet::engine
