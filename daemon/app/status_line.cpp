// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/status_line.h"

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/base/words.h"

namespace kinglet::daemon {
namespace {

std::string words(Outcome outcome) {
  using enum Outcome;
  static constexpr Word<Outcome> kWords[] = {{kAccepted, ""},
                                             {kBelowThreshold, "not sure"},
                                             {kBackground, "nobody there"},
                                             {kAmbiguous, "two look alike"},
                                             {kNotAllowed, "not on the list"},
                                             {kBlocked, "blocked"},
                                             {kNonFinite, "the model gave no numbers"}};
  return std::string(word_of(kWords, outcome));
}

std::string prediction_text(const Prediction& prediction, const ModelFacts& model) {
  std::string reason = words(prediction.answer.outcome);
  if (prediction.answer.count == 0) return reason;
  const Scored& best = prediction.answer.entries[0];
  std::string text = format_text("{} {:.2f}", printable((*model.taxa)[best.taxon].common_name, 60), best.score);
  if (!reason.empty()) text = format_text("({}: {})", reason, text);
  return text;
}

}  // namespace

std::string status_line(const Vitals& vitals, const Stats::View& stats, const std::optional<Prediction>& latest,
                        const ModelFacts* model) {
  if (model == nullptr) return "no model: " + vitals.model_problem;
  std::string silent;
  std::size_t streaming = 0;
  for (const CameraVitals& camera : vitals.cameras) {
    if (camera.status.state == CameraState::kStreaming) {
      ++streaming;
      continue;
    }
    silent +=
        format_text("{}{} {}{}{}", silent.empty() ? "" : " · ", spoken_name(vitals, camera),
                    to_string(camera.status.state), camera.status.detail.empty() ? "" : ": ", camera.status.detail);
  }
  if (streaming == 0) return silent;
  const std::string rest = silent.empty() ? std::string() : " · " + silent;
  if (!latest) return "waiting for the first prediction" + rest;
  std::string line = prediction_text(*latest, *model);
  if (vitals.cameras.size() > 1) line = vitals.cameras.at(latest->camera).name + ": " + line;
  if (stats.images_per_second_now) line += format_text(" · {:.1f} images/s", *stats.images_per_second_now);
  if (stats.motion && !stats.motion->moving) line += " (nothing moves)";
  return line + format_text(" · {:.1f} ms", stats.latency.recent.p50_ms) + rest;
}

std::string service_status(const Vitals& vitals) {
  std::string text;
  for (const CameraVitals& camera : vitals.cameras) {
    const CameraStatus& status = camera.status;
    text += format_text("{}{} {}", text.empty() ? "" : "; ", spoken_name(vitals, camera), to_string(status.state));
    if (!status.detail.empty() && status.state != CameraState::kStalled) text += ": " + status.detail;
  }
  if (!vitals.model_loaded) text += "; no model: " + vitals.model_problem;
  return text;
}

}  // namespace kinglet::daemon
