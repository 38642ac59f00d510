// SPDX-License-Identifier: Apache-2.0
#include "engine/quantize/judge.h"

#include <algorithm>
#include <cmath>

#include "engine/base/format.h"
#include "engine/picture/score_reader.h"

namespace kinglet::engine {
namespace {

constexpr std::size_t kTop = 5;

Result<std::vector<float>> scores_of(const std::vector<float>& answer, Meaning meaning, std::size_t picture) {
  std::vector<float> out(answer.size());
  if (const auto done = to_scores(answer, meaning, out); !done) {
    return std::unexpected(with_context(done.error(), format_text("picture {}", picture + 1)));
  }
  return out;
}

bool is_among(std::span<const Score> best, std::size_t index) {
  return std::ranges::contains(best, index, &Score::index);
}

double percent(std::size_t part, std::size_t of) {
  return of == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(of);
}

}  // namespace

void Noise::add(std::span<const float> before, std::span<const float> after) {
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double x = before[i];
    const double difference = x - after[i];
    signal_ += x * x;
    noise_ += difference * difference;
  }
}

double Noise::db() const {
  constexpr double kNone = 200;
  if (noise_ == 0) return kNone;
  return std::min(kNone, 10 * std::log10(std::max(signal_, 1e-30) / noise_));
}

OutputMeaning first_output(const Session& session) {
  const TensorInfo& info = session.outputs().front();
  return {.name = info.name, .classes = static_cast<std::size_t>(element_count(info.shape).value_or(0))};
}

Result<Answers> answers_of(Session& session, const OutputMeaning& output, const Samples& samples,
                           const Progress& progress) {
  Answers out;
  out.reserve(samples.count);
  ScoreReader reader(session, output);
  for (std::size_t i = 0; i < samples.count; ++i) {
    progress("pictures", i, samples.count);
    const Tensor input = KINGLET_TRY(samples.input(i));
    KINGLET_TRY(session.set_input(0, input));
    KINGLET_TRY(session.run());
    KINGLET_TRY(reader.read_numbers(session, out.emplace_back(output.classes)));
  }
  return out;
}

double Judgement::agreement_percent() const { return percent(same_top1, pictures); }

double Judgement::drop_percent() const {
  if (labelled > 0) return percent(right_before, labelled) - percent(right_after, labelled);
  return 100 - agreement_percent();
}

double Judgement::judged_drop_percent() const {
  return labelled > 0 ? std::max(drop_percent(), expected_drop_percent + expected_drop_error_percent) : drop_percent();
}

double Judgement::drop_margin_percent() const {
  const std::size_t of = labelled > 0 ? labelled : pictures;
  if (of == 0) return 0;
  const double share = static_cast<double>(std::max<std::size_t>(1, changed.size())) / static_cast<double>(pictures);
  return 100 * 1.96 * std::sqrt(share / static_cast<double>(of));
}

Result<Judgement> judge(const Answers& before, Meaning meaning_before, const Answers& after, Meaning meaning_after,
                        const std::vector<std::optional<std::size_t>>& labels) {
  if (before.size() != after.size())
    return fail(ErrorCode::kBadData, "the models answered different numbers of pictures");
  Judgement out{.pictures = before.size()};
  const auto count = static_cast<double>(before.size());
  double squares = 0;
  Noise noise;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].size() != after[i].size() || before[i].empty()) {
      return fail(ErrorCode::kBadData,
                  format_text("one model has {} classes, the other {}", before[i].size(), after[i].size()));
    }
    const std::vector<float> a = KINGLET_TRY(scores_of(before[i], meaning_before, i));
    const std::vector<float> b = KINGLET_TRY(scores_of(after[i], meaning_after, i));
    const std::vector<Score> best_a = top_k(a, kTop);
    const std::vector<Score> best_b = top_k(b, kTop);
    const std::size_t first = best_a.front().index;
    const std::size_t first_after = best_b.front().index;
    const bool same = first == first_after;
    out.same_top1 += same ? 1 : 0;
    if (!same) out.changed.push_back(i);
    out.same_top5 += is_among(best_b, first) && is_among(best_a, first_after) ? 1 : 0;
    if (i < labels.size() && labels[i]) {
      ++out.labelled;
      out.right_before += first == *labels[i] ? 1 : 0;
      out.right_after += first_after == *labels[i] ? 1 : 0;
    }
    for (std::size_t c = 0; c < a.size(); ++c) {
      out.max_score_error = std::max(out.max_score_error, std::abs(static_cast<double>(a[c]) - b[c]));
    }
    const double given_up = 100 * (static_cast<double>(a[first]) - a[first_after]);
    out.expected_drop_percent += given_up / count;
    squares += given_up * given_up / count;
    out.mean_score_error += std::abs(static_cast<double>(a[first]) - b[first]) / count;
    noise.add(before[i], after[i]);
  }
  const double variance = squares - out.expected_drop_percent * out.expected_drop_percent;
  out.expected_drop_error_percent = std::sqrt(std::max(0.0, variance) / std::max(1.0, count));
  out.signal_to_noise_db = noise.db();
  return out;
}

Result<Judgement> judge(Answering before, Answering after, const Samples& samples,
                        const std::vector<std::optional<std::size_t>>& labels, const Progress& progress) {
  const Answers first = KINGLET_TRY(answers_of(before.session, before.output, samples, progress));
  const auto second = answers_of(after.session, after.output, samples, progress);
  if (!second) return std::unexpected(with_context(second.error(), "the model after"));
  return judge(first, before.output.meaning, *second, after.output.meaning, labels);
}

}  // namespace kinglet::engine
