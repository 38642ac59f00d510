// SPDX-License-Identifier: Apache-2.0
// Why: keeps frames coming: starts the source, notices a stall, starts it again, and always knows the camera's state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "camera/frame/mailbox.h"
#include "camera/source/source.h"
#include "daemon/capture/clips/clip_recorder.h"
#include "daemon/capture/patience.h"
#include "daemon/capture/snapshot.h"
#include "daemon/line/stats.h"
#include "engine/base/error.h"
#include "engine/base/log.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon {

// kAbsent: there is no such camera, or the source has ended. kFailed: it gave frames and does not start again. kPaused:
// nobody wants frames, and a source that would work all the same is stopped.
enum class CameraState : std::uint8_t { kStarting, kStreaming, kStalled, kRestarting, kAbsent, kFailed, kPaused };
[[nodiscard]] std::string_view to_string(CameraState state);

struct CameraStatus {
  CameraState state = CameraState::kStarting;
  std::string detail;       // why it does not stream; empty while it does
  std::string description;  // of the source, once started
  WallTime since{};         // of this state
  std::optional<SteadyTime> last_frame_at;
  std::uint64_t stalls = 0;
  std::uint64_t restarts_after_stall = 0;
  std::uint64_t restarts_after_loss = 0;  // the source said that its device was lost
  std::uint64_t dropped_by_source = 0;
  SteadyTime heartbeat{};  // the capture thread was alive then,
  SteadyTime turn_by{};    // and is dead when it does not come round by then
  SteadyTime sign_by{};    // a frame, or a reason why there is none, comes by then when all is well
};

struct CaptureOptions {
  std::chrono::milliseconds stall_after{2'000};    // without a frame
  std::chrono::milliseconds restart_after{4'000};  // without a frame
  std::chrono::milliseconds first_backoff{1'000};  // doubles with each failed start
  std::chrono::milliseconds last_backoff{60'000};
  std::chrono::milliseconds healthy_after{10'000};  // streaming for so long starts the backoff anew
  std::chrono::milliseconds settle{0};  // frames of a source that settles are shown, but not judged, for so long
  // Frames of a source that works for nobody (FrameSource::works_unwanted) are not wanted for so long before it is
  // stopped: who looks away for a moment only has its pictures at once again.
  std::chrono::milliseconds rest_after{20'000};
  // How long a still waits for the one before it to be taken; less than any stall.
  std::chrono::milliseconds still_waits{1'000};
  ClipRecorder* clips = nullptr;  // sees each frame that is looked at; may be absent
  // Is nothing looked at, because somebody wishes so? Asked at each turn; empty: never.
  std::function<bool()> paused = {};
  std::function<void()> changed;      // called after the state or its detail has changed; may be empty
  std::string_view devices = "/dev";  // a device that comes or goes ends the waiting for the next start
};

using OpenSource = std::function<Result<std::unique_ptr<camera::FrameSource>>()>;

// Owns the thread "capture", and at the end "capture-end", which stops the source. status() is thread-safe, start() and
// stop() belong to the owner.
class Capture {
 public:
  Capture(OpenSource open, CaptureOptions options, camera::Mailbox& mailbox, SnapshotBoard& snapshots, Stats& stats,
          LogSink log);
  ~Capture();

  void start();
  // Calls off whatever the source does; waits for nothing.
  void begin_stop();
  // Waits for the end: a program that does not end when it is asked to takes its time (ByteStream::close()).
  void stop();
  // Ends the source and opens it anew, whatever its state: its settings changed. `settle` as in the options; absent:
  // as before. Thread-safe.
  void reopen(std::optional<std::chrono::milliseconds> settle = {});
  // A camera that gave no frame for long is reported as stalled even when its thread hangs.
  [[nodiscard]] CameraStatus status(SteadyTime now) const;

 private:
  void run(const std::stop_token& stop);
  // Opens and starts; on failure sets the state and gives false.
  [[nodiscard]] bool start_source(const std::stop_token& stop);
  // Frames until the source has to be started again or ended.
  enum class Ended { kStop, kStall, kLost, kNoMore, kReopen, kRest };
  // What the missing frames mean, if anything yet.
  [[nodiscard]] std::optional<Ended> judge_silence(SteadyTime now);
  [[nodiscard]] Ended stream(const std::stop_token& stop);
  // What frames are for: all; a picture that somebody watches; nothing, while all is paused.
  enum class Wanted { kAll, kPicture, kNothing };
  [[nodiscard]] Wanted wanted(SteadyTime now) const;
  // The only place that says so: to the source and to those who keep frames.
  void take_up(Wanted wanted, camera::FrameSource& source, SteadyTime now);
  [[nodiscard]] bool is_to_rest(const camera::FrameSource& source, SteadyTime now) const;
  // Without a source, until somebody wants frames.
  void rest(const std::stop_token& stop);
  enum class Judged { kYes, kNotYet };
  void take_frame(camera::Frame frame, SteadyTime now, Judged judged, const std::stop_token& stop);
  // A picture that somebody chose is neither replaced by the next one nor looked away from because their source is
  // quicker than the model, or than gate.max_fps.
  void wait_for_room(const std::stop_token& stop);
  // The newest frame was handed on, `spoilt` or not. That it waited for room before is no silence of the camera.
  void note_sign(const std::optional<camera::Mailbox::Unreadable>& spoilt);
  // Nothing while the frames can be read, or too few could not.
  [[nodiscard]] std::optional<camera::Mailbox::Unreadable> unreadable() const;
  // Frames are missing since `last_sign`.
  void note_stall(SteadyTime now, SteadyTime last_sign);
  void set_state(CameraState state, std::string detail);
  void beat();
  void note(const std::function<void(Patience&)>& what);
  // Until then, or earlier when somebody wants the source anew.
  void wait(const std::stop_token& stop, std::chrono::milliseconds duration);
  // The same before another start, or earlier when a device came or went since the folder's time was `devices`; gives
  // the time to wait after the next failure.
  [[nodiscard]] std::chrono::milliseconds back_off(const std::stop_token& stop, std::chrono::milliseconds duration,
                                                   std::filesystem::file_time_type devices);
  [[nodiscard]] bool is_to_reopen() const;
  void end_source();
  void call_off();

  const OpenSource open_;
  const CaptureOptions options_;
  camera::Mailbox& mailbox_;
  SnapshotBoard& snapshots_;
  Stats& stats_;
  const LogSink log_;

  // Of the capture thread.
  bool gave_frames_ = false;  // a camera did, the drawn scene does not count
  Wanted wanted_ = Wanted::kAll;
  SteadyTime wanted_since_{};
  SteadyTime handed_at_{};  // the newest one that was to be answered

  mutable Mutex mutex_;
  Condition changed_;
  CameraStatus status_ KINGLET_GUARDED_BY(mutex_);
  std::shared_ptr<camera::FrameSource> source_ KINGLET_GUARDED_BY(mutex_);  // replaced by the capture thread only
  std::chrono::milliseconds settle_ KINGLET_GUARDED_BY(mutex_);
  bool reopen_ KINGLET_GUARDED_BY(mutex_) = false;  // until the capture thread saw it
  Patience patience_ KINGLET_GUARDED_BY(mutex_);
  std::uint64_t dropped_before_ KINGLET_GUARDED_BY(mutex_) = 0;  // by sources that ended
  bool running_ KINGLET_GUARDED_BY(mutex_) = false;              // the thread
  std::jthread ending_;
  std::jthread thread_;  // last: joined first
};

}  // namespace kinglet::daemon
