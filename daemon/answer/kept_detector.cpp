// SPDX-License-Identifier: Apache-2.0
#include "daemon/answer/kept_detector.h"

#include <utility>

#include "engine/base/format.h"

namespace kinglet::daemon {

KeptDetector::KeptDetector(LineDetectorOptions options, std::shared_ptr<const engine::ThreadPool> pool,
                           const LogSink& log)
    : wished_(!options.model.empty()) {
  if (!wished_) return;
  options.pool = std::move(pool);
  auto detector = LineDetector::open(options);
  if (!detector) {
    const Error& error = detector.error();
    problem_ = describe(error);
    log(LogLevel::kError, "no detector, the model goes on without one: " + problem_);
    if (!error.hint.empty()) log(LogLevel::kError, "hint: " + error.hint);
    return;
  }
  detector_ = *std::move(detector);
  log(LogLevel::kInfo, format_text("detector: {} ({}), {} classes, {:.0f} ms a look", detector_->name(),
                                   detector_->head(), detector_->labels().size(), 1000 * detector_->cost()));
  if (!detector_->knows(Being::kBird)) {
    log(LogLevel::kWarning, "the detector has no class \"bird\": it changes no region of a picture");
  }
}

std::optional<std::string> KeptDetector::problem() const {
  if (!wished_) return std::nullopt;
  return detector_ ? detector_->problem() : problem_;
}

void KeptDetector::tell(const LogSink& log) {
  if (!detector_) return;
  const std::string problem = detector_->problem();
  if (problem.empty() != failure_told_) return;
  failure_told_ = !failure_told_;
  if (failure_told_) return log(LogLevel::kError, "the detector failed, the model goes on without it: " + problem);
  log(LogLevel::kInfo, "the detector works again");
}

}  // namespace kinglet::daemon
