// SPDX-License-Identifier: Apache-2.0
// Why: what a picture model is computed with, chosen when it is opened.
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/format.h"
#include "engine/picture/made_pictures.h"
#include "engine/picture/picture_model.h"

namespace kinglet::engine {
namespace {

// Below this share of float16 loading twice is not worth it: models of 8 bits, what runs by kernels of our own.
constexpr double kLeastShare = 0.1;
// A slow model is tried with less pictures.
constexpr Milliseconds kLongTrial{1'000};
constexpr std::size_t kMadePictures = 4;

TrialPictures made_pictures() {
  return {.count = kMadePictures,
          .fill = [](std::size_t index, const Recipe& recipe, const PictureInput& input) -> Result<void> {
            draw_made_picture(index, recipe, input);
            return {};
          }};
}

// Of the first `count` pictures; of less of them, at least one, when they take long and `bounded` says so.
enum class Bound : std::uint8_t { kAll, kByTime };
Result<std::vector<PictureAnswer>> answers_of(PictureModel& model, const TrialPictures& pictures, std::size_t count,
                                              Bound bound) {
  const SteadyTime start = SteadyClock::now();
  std::vector<PictureAnswer> answers;
  while (answers.size() < count) {
    if (bound == Bound::kByTime && !answers.empty() && SteadyClock::now() - start > kLongTrial) break;
    KINGLET_TRY(pictures.fill(answers.size(), model.recipe(), model.input()));
    KINGLET_TRY(model.run());
    PictureAnswer answer{.numbers = std::vector<float>(model.labels().size()),
                         .scores = {model.scores().begin(), model.scores().end()}};
    KINGLET_TRY(model.read_numbers(answer.numbers));
    answers.push_back(std::move(answer));
  }
  return answers;
}

std::string share_text(double ratio) { return format_text("{:.0f} % of its multiply-adds", 100 * ratio); }

}  // namespace

PictureModel PictureModel::with(ChosenPrecision precision) && {
  precision_ = std::move(precision);
  return std::move(*this);
}

std::optional<ChosenPrecision> settled_precision(Precision wished) {
  if (wished == Precision::kFloat32) return ChosenPrecision{.reason = "as wished"};
  if (Session::half_arithmetic()) return std::nullopt;
  return ChosenPrecision{.refused = wished == Precision::kFloat16,
                         .reason = "this processor has no float16 arithmetic"};
}

Result<PictureModel> PictureModel::open(const PictureModelOptions& options, const SessionOptions& how) {
  if (auto settled = settled_precision(options.precision)) {
    return KINGLET_TRY(open_as(options, how, false)).with(std::move(*settled));
  }
  if (options.precision == Precision::kAuto) return open_by_trial(options, how);
  Result<PictureModel> model = open_as(options, how, true);
  if (model) return std::move(*model).with({.half = true, .reason = "as wished"});
  return KINGLET_TRY(open_as(options, how, false)).with({.refused = true, .reason = model.error().message});
}

// One session after the other: the most memory taken is that of one.
Result<PictureModel> PictureModel::open_by_trial(const PictureModelOptions& options, const SessionOptions& how) {
  const TrialPictures pictures = options.pictures.count > 0 ? options.pictures : made_pictures();
  std::vector<PictureAnswer> in_float32;
  SteadyTime start;
  {
    PictureModel model = KINGLET_TRY(open_as(options, how, false));
    start = SteadyClock::now();
    const double share = model.session().plan().float_mac_ratio;
    if (share < kLeastShare) {
      return std::move(model).with({.reason = format_text("floats are only {}", share_text(share))});
    }
    auto answers = answers_of(model, pictures, pictures.count, Bound::kByTime);
    if (!answers) return std::move(model).with({.reason = "no trial: " + answers.error().message});
    in_float32 = std::move(*answers);
  }
  std::string reason;
  Result<PictureModel> half = open_as(options, how, true);
  if (!half) {
    reason = half.error().message;
  } else if (const double share = half->session().plan().half_mac_ratio; share < kLeastShare) {
    reason = format_text("float16 would do only {}", share_text(share));
  } else if (const auto in_float16 = answers_of(*half, pictures, in_float32.size(), Bound::kAll); !in_float16) {
    reason = in_float16.error().message;
  } else {
    PrecisionJudgement judged = judge_precision(in_float32, *in_float16);
    if (judged.holds) {
      return std::move(*half).with(
          {.half = true, .reason = std::move(judged.reason), .took = SteadyClock::now() - start});
    }
    reason = std::move(judged.reason);
  }
  half = fail(ErrorCode::kUnavailable, "given up");  // its memory goes before the next takes some
  const Milliseconds took = SteadyClock::now() - start;
  return KINGLET_TRY(open_as(options, how, false)).with({.reason = std::move(reason), .took = took});
}

}  // namespace kinglet::engine
