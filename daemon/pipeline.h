// SPDX-License-Identifier: Apache-2.0
// Why: the straight line from a frame to a published prediction, on the one thread that owns the model.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "camera/mailbox.h"
#include "daemon/classifier.h"
#include "daemon/classify_desk.h"
#include "daemon/gate.h"
#include "daemon/ids.h"
#include "daemon/latest.h"
#include "daemon/predict.h"
#include "daemon/stats.h"
#include "engine/base/log.h"

namespace kinglet::daemon {

struct PipelineOptions {
  DecideRule decide;
  double max_fps = 10;
  std::size_t top_k = 5;
};

// Owns the thread "answer". Without a classifier frames are taken and given back, so that the camera keeps moving.
class Pipeline {
 public:
  Pipeline(std::optional<Classifier> classifier, PipelineOptions options, camera::Mailbox& mailbox, ClassifyDesk& desk,
           Stats& stats, Latest<Prediction>& latest, IdMaker& ids, LogSink log);
  ~Pipeline();

  void start();
  void stop();
  // One turn of the answer thread; blocks for at most `patience`. Public for tests.
  void step(std::chrono::milliseconds patience);

  // When the answer thread last came round; thread-safe.
  [[nodiscard]] SteadyTime heartbeat() const;

 private:
  void answer_posted_picture();
  [[nodiscard]] Result<void> answer(PostedPicture& picture);
  [[nodiscard]] Result<Prediction> look_at(const camera::Frame& frame, SteadyTime taken_at);
  void publish(Prediction& prediction);
  void report(const Error& error);

  std::optional<Classifier> classifier_;
  const PipelineOptions options_;
  camera::Mailbox& mailbox_;
  ClassifyDesk& desk_;
  Stats& stats_;
  Latest<Prediction>& latest_;
  IdMaker& ids_;
  const LogSink log_;

  Gate gate_;
  std::uint64_t next_seq_ = 1;
  std::string last_error_;
  std::atomic<SteadyTime::rep> heartbeat_{0};
  std::jthread thread_;  // last: joined first
};

}  // namespace kinglet::daemon
