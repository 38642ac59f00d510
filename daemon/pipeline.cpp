// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline.h"

#include <algorithm>
#include <utility>

#include "daemon/clock_sync.h"
#include "daemon/thread_entry.h"
#include "engine/base/check.h"

namespace kinglet::daemon {
Pipeline::Pipeline(std::optional<Classifier> classifier, PipelineOptions options, camera::Mailbox& mailbox,
                   ClassifyDesk& desk, Stats& stats, Latest<Prediction>& latest, IdMaker& ids, LogSink log)
    : classifier_(std::move(classifier)),
      options_(options),
      mailbox_(mailbox),
      desk_(desk),
      stats_(stats),
      latest_(latest),
      ids_(ids),
      log_(std::move(log)),
      gate_(options.max_fps) {
  heartbeat_ = SteadyClock::now().time_since_epoch().count();
}

Pipeline::~Pipeline() { stop(); }

void Pipeline::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    enter_thread("answer", [&] {
      while (!stop.stop_requested()) step(std::chrono::milliseconds(500));
    });
  });
}

void Pipeline::stop() {
  thread_.request_stop();
  desk_.close();
  mailbox_.close();
  if (thread_.joinable()) thread_.join();
}

SteadyTime Pipeline::heartbeat() const { return SteadyTime(SteadyClock::duration(heartbeat_.load())); }

void Pipeline::step(std::chrono::milliseconds patience) {
  heartbeat_ = SteadyClock::now().time_since_epoch().count();
  answer_posted_picture();
  // A frame and a posted picture take turns; with more pictures waiting, a missing frame is not waited for.
  const std::optional<camera::Frame> frame =
      mailbox_.take(SteadyClock::now() + (desk_.empty() ? patience : std::chrono::milliseconds(0)));
  if (!frame || !classifier_) return;
  const SteadyTime now = SteadyClock::now();
  if (const std::optional<SkipReason> skip = gate_.decide(now)) {
    stats_.add_skipped(*skip);
    return;
  }
  try {
    Result<Prediction> prediction = look_at(*frame, now);
    if (!prediction) return report(prediction.error());
    publish(*prediction);
  } catch (const CheckFailure& bug) {
    report(Error{ErrorCode::kInternal, bug.what(), {}, {}});
  }
}

Result<Prediction> Pipeline::look_at(const camera::Frame& frame, SteadyTime taken_at) {
  Prediction prediction;
  const camera::FrameInfo& info = frame.info();
  prediction.crop = KINGLET_TRY(classifier_->prepare(frame.view(), std::nullopt));
  const SteadyTime prepared_at = SteadyClock::now();
  const std::span<const float> scores = KINGLET_TRY(classifier_->run());
  const SteadyTime run_at = SteadyClock::now();
  prediction.answer = predict(scores, classifier_->facts()->labels, options_.decide, options_.top_k);
  const SteadyTime done_at = SteadyClock::now();
  prediction.at = info.captured_wall;
  prediction.frame_seq = info.sequence;
  prediction.age = done_at - info.captured_at;
  prediction.timing = {taken_at - info.captured_at, prepared_at - taken_at, run_at - prepared_at, done_at - run_at};
  return prediction;
}

void Pipeline::publish(Prediction& prediction) {
  prediction.id = ids_.next(std::chrono::system_clock::now());
  prediction.seq = next_seq_++;
  prediction.clock_synced = clock_is_synced();
  latest_.publish(prediction);
  stats_.add_prediction(SteadyClock::now(), prediction);
  last_error_.clear();
}

void Pipeline::answer_posted_picture() {
  PostedPicture* picture = desk_.take();
  if (picture == nullptr) return;
  try {
    if (Result<void> answered = answer(*picture); !answered) picture->error = answered.error();
  } catch (const CheckFailure& bug) {
    picture->error = Error{ErrorCode::kInternal, bug.what(), {}, {}};
  }
  desk_.done(picture);
}

Result<void> Pipeline::answer(PostedPicture& picture) {
  if (!classifier_) return fail(ErrorCode::kUnavailable, "no model is loaded");
  const SteadyTime start = SteadyClock::now();
  picture.used_crop = KINGLET_TRY(classifier_->prepare(picture.view, picture.crop));
  const SteadyTime prepared_at = SteadyClock::now();
  const std::span<const float> scores = KINGLET_TRY(classifier_->run());
  picture.inference = SteadyClock::now() - prepared_at;
  picture.preprocess = prepared_at - start;
  KINGLET_CHECK(picture.scores.size() == scores.size());
  std::ranges::copy(scores, picture.scores.begin());
  return {};
}

void Pipeline::report(const Error& error) {
  stats_.add_error();
  std::string line = describe(error);
  // A camera that sends the same broken frame ten times a second must not fill the log.
  if (line != last_error_ && log_) log_(LogLevel::kWarning, "frame not answered: " + line);
  last_error_ = std::move(line);
}

}  // namespace kinglet::daemon
