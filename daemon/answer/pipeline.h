// SPDX-License-Identifier: Apache-2.0
// Why: the straight line from a frame to a published prediction, on the one thread that owns the model: of each camera
// in turn.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "camera/frame/mailbox.h"
#include "daemon/answer/classify_desk.h"
#include "daemon/answer/latest.h"
#include "daemon/answer/side_thread.h"
#include "daemon/answer/turns.h"
#include "daemon/capture/clips/clip_recorder.h"
#include "daemon/capture/frame_samples.h"
#include "daemon/line/frame_line.h"
#include "daemon/line/stats.h"
#include "daemon/models/model_board.h"
#include "daemon/models/model_desk.h"
#include "engine/base/log.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon {

// What the answer thread knows of a camera.
struct Feed {
  std::optional<FrameLine> line;  // nothing: there is no model yet. All of them, or none, have one and the same
  camera::Mailbox& mailbox;       // all share a bell
  Stats& stats;
  FrameSamples* samples = nullptr;                              // sees the frames that were answered; may be absent
  ClipRecorder* clips = nullptr;                                // is told when something moves; may be absent
  std::string name = {};                                        // in the log; empty: it is the only one
  std::function<LineOptions(const LineOptions&)> options = {};  // with what this camera has for itself; empty: nothing
  std::shared_ptr<camera::PictureNeeds> needs = {};             // told by the line of each model; may be absent
};

// A frame with the best look at a visitor so far (RegionLook::best_of_visit, best_unnamed), or at several, while it is
// still there.
// Called on the answer thread: copy and return.
using BestLook = std::function<void(const camera::Frame& frame, const Prediction& prediction)>;

// How another model takes the place of the one there is, or the first one comes. Empty: the model stays.
struct ModelChanges {
  ModelBoard* board = nullptr;  // told of each model and rule
  ModelDesk* desk = nullptr;
  // A camera's line for the first model, where there was none.
  std::function<FrameLine(std::size_t camera, std::shared_ptr<LineModel>, const LineOptions&)> make_line;
  LineOptions options;  // as the lines have them, but for Feed::options
};

// Whether the next frame is prepared on a thread of its own ("prepare") while the model runs on this one. Worth it
// where the model leaves a core free.
enum class LookAhead : std::uint8_t { kNo, kYes };

// Owns the thread "answer". Without lines (no model) frames are taken and given back, so that the cameras keep moving.
class Pipeline {
 public:
  // `feeds`: one at least; a prediction's camera is its place there.
  Pipeline(std::vector<Feed> feeds, ClassifyDesk& desk, LatestPredictions& latest, LogSink log, BestLook best_look = {},
           ModelChanges changes = {}, LookAhead look_ahead = LookAhead::kNo);
  ~Pipeline();

  void start();
  // The open visit ends; a model on trial goes back. Frames and posted pictures are not answered any more, but the
  // model that runs now is waited for. False: it still ran at the deadline.
  [[nodiscard]] bool stop_by(SteadyTime deadline);
  void stop();
  // One turn of the answer thread; blocks for at most `patience`. Of several cameras it is a part of a frame's answer
  // (FrameLine::go_on), of one camera a frame. Public for tests.
  void step(std::chrono::milliseconds patience);

  // Other settings from the next frame on (FrameLine::adopt), and other names where it is still this model;
  // thread-safe.
  void adopt(LineOptions options);
  void rename(std::shared_ptr<const ModelFacts> facts);
  // Of gate.max_fps, above 0 to 1, from the next frame on; thread-safe.
  void set_pace(double share) { pace_ = share; }
  // Frames go by unanswered until this is taken back; thread-safe.
  void set_paused(bool paused) { paused_ = paused; }
  [[nodiscard]] bool paused() const { return paused_; }
  // When the answer thread last came round; thread-safe.
  [[nodiscard]] SteadyTime heartbeat() const;

 private:
  // A model that is tried beside the line's own.
  struct Candidate {
    LineModel classifier;
    visits::Decider decider;
    Trial trial;
  };
  // What comes after what is in the model.
  struct Next {
    Turns::Turn turn;
    std::optional<camera::Frame> frame;        // absent: its camera's answer goes on
    std::optional<Result<Prepared>> prepared;  // absent: not yet, or for settings or a model that are gone
  };
  struct Camera {
    Feed feed;
    std::string last_error = {};
    SteadyTime last_frame_at = {};                // taken
    std::optional<camera::Frame> under_way = {};  // its answer has begun
  };
  [[nodiscard]] std::optional<Next> take_next(std::chrono::milliseconds patience);
  [[nodiscard]] std::optional<Next> take_waiting();
  [[nodiscard]] bool has_model() const { return cameras_.front().feed.line.has_value(); }
  [[nodiscard]] FrameLine& first_line() { return *cameras_.front().feed.line; }
  [[nodiscard]] static LineOptions options_of(const Feed& feed, const LineOptions& options);
  // Of those that wait for nothing, which is where visits end by themselves.
  void tick(SteadyTime now);
  [[nodiscard]] std::size_t moving_cameras(SteadyTime now) const;
  [[nodiscard]] Result<std::span<const float>> run_model(LineModel& classifier);
  void prepare_ahead(SteadyTime not_before);
  void take_up_settings();
  void take_up_model();
  void change_model(LineModel classifier);
  [[nodiscard]] std::shared_ptr<const visits::Rule> make_rule(const ModelFacts& model);
  void publish_model();
  void try_candidate(const FrameLine& line, const camera::Frame& frame, const Prediction& prediction);
  void end_trial(std::optional<Error> error);
  void finish();
  void answer_posted_picture();
  [[nodiscard]] Result<void> answer(PostedPicture& picture);
  void look_at(Next next);
  // False: it is not to be answered, and why was told.
  [[nodiscard]] bool begin(Next next);
  void go_on(std::size_t camera);
  void publish(std::size_t camera, const camera::Frame& frame, Prediction prediction);
  // Whatever is under way ends with what was looked at so far.
  void cut_short();
  void report(Camera& camera, const Error& error);
  // Once, where they are given and nobody knows what time it is.
  void tell_of_hours();

  std::vector<Camera> cameras_;
  Turns turns_;
  ModelChanges changes_;
  std::uint32_t model_number_ = 0;
  std::optional<Candidate> candidate_;
  ClassifyDesk& desk_;
  LatestPredictions& latest_;
  const LogSink log_;
  const BestLook best_look_;

  std::optional<Next> next_;
  StageTimes newest_times_;       // of a region
  std::uint64_t newest_seq_ = 0;  // of a prediction
  bool hours_told_ = false;
  Mutex mutex_;
  std::optional<LineOptions> settings_ KINGLET_GUARDED_BY(mutex_);      // not yet taken up
  std::shared_ptr<const ModelFacts> names_ KINGLET_GUARDED_BY(mutex_);  // the same
  std::atomic<double> pace_{1};
  std::atomic<bool> paused_{false};
  std::atomic<SteadyTime::rep> heartbeat_{0};
  std::binary_semaphore model_done_{0};
  std::binary_semaphore ended_{0};  // the thread
  std::optional<SideThread> side_;
  std::jthread thread_;  // last: joined first
};

}  // namespace kinglet::daemon
