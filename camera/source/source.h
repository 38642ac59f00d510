// SPDX-License-Identifier: Apache-2.0
// Why: where frames come from; nothing here knows a network, a model or HTTP.
//
// A source is written "scheme:rest" ("demo:", "images:DIR", "libcamera:ID"); camera/sources/sources.def lists the
// schemes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "camera/frame/frame.h"
#include "camera/source/camera_settings.h"
#include "camera/source/picture_needs.h"
#include "camera/source/refused_login.h"
#include "engine/base/area.h"
#include "engine/base/error.h"
#include "engine/base/log.h"
#include "engine/base/mutex.h"

namespace kinglet::camera {

// "The first camera" and "camera 1" mean another one as soon as one is unplugged. What was meant at the first start is
// remembered over restarts of the source, so that the picture never changes to another room's unseen.
// Thread-safe: a source that hangs may still be at it while its successor starts.
class ChosenCamera {
 public:
  struct Choice {
    std::string wish;   // as the source's spec has it
    std::string id;     // what it meant
    std::string model;  // empty where this does not tell it from another one
  };

  // Nothing for another wish than the one that was remembered.
  [[nodiscard]] std::optional<Choice> choice(const std::string& wish) const {
    const MutexLock lock(mutex_);
    return choice_ && choice_->wish == wish ? choice_ : std::nullopt;
  }
  void remember(Choice choice) {
    const MutexLock lock(mutex_);
    choice_ = std::move(choice);
  }

  // Of a network camera. Its stream soon has another chance: some cameras refuse everybody while they start. ONVIF can
  // have users of its own and is not needed, so that the tries of both together stay below what a camera bears.
  RefusedLogin stream_login{std::chrono::minutes(1)};
  RefusedLogin onvif_login{std::chrono::hours(1)};

 private:
  mutable Mutex mutex_;
  std::optional<Choice> choice_ KINGLET_GUARDED_BY(mutex_);
};

struct SourceOptions {
  std::string spec = "demo:";  // "scheme:rest"
  int width = 1280;            // wish; sources of fixed size ignore it
  int height = 720;
  int small_width = 0;           // libcamera: of a second stream for the model; 0: none
  double frames_per_second = 0;  // 0: the source's own pace; images: and demo: then run at their default of 10
  CameraSettings camera;         // of libcamera: and rpicam:
  std::string camera_program;    // path of kinglet-camera; empty: beside this program, then PATH
  std::string rpicam_program;    // path of rpicam-vid; empty: PATH
  std::vector<std::string> rpicam_arguments;  // further ones for it
  std::string ffmpeg_program;                 // path of ffmpeg; empty: PATH
  std::string login_file;                     // network cameras: a file with "user:password"; may be empty
  std::string certificates;                   // network cameras: a file of authorities for https; empty: the system's
  std::vector<Area> masks;                    // painted black before anyone sees a frame
  std::size_t camera_index = 0;               // among those of one program: demo: draws another scene for each
  LogSink log;                                // may be empty
  // libcamera: outlives the source; empty: each start chooses anew. rtsp: what was said of the camera last.
  std::shared_ptr<ChosenCamera> chosen_camera;
  std::shared_ptr<const PictureNeeds> needs;  // images: may be absent, then all pixels are wanted
};

// Why next() gave no frame although nothing is wrong.
struct NoFrame {
  enum class Reason { kDeadline, kEnd, kStopped } reason = Reason::kDeadline;
};

class FrameSource {
 public:
  virtual ~FrameSource() = default;

  // Starts the flow. kUnavailable: the device is absent, busy or failed (hint says what to do). May be called again
  // after stop() or after an error.
  [[nodiscard]] virtual Result<void> start() = 0;

  // The newest frame, or NoFrame when the deadline (steady clock) passes, the source ended or stop() was called.
  // Blocks at most until the deadline. Errors: kUnavailable (device lost: call start() again), kBadData (a frame
  // that cannot be used: size, fourcc named; the next call may succeed).
  [[nodiscard]] virtual Result<std::variant<Frame, NoFrame>> next(SteadyTime deadline) = 0;

  // Ends the flow; wakes a waiting next() and calls off a start() that waits. A start() that begins after it knows
  // nothing of it. Idempotent; safe with leases out and from any thread. All other members are bound to the source's
  // thread.
  virtual void stop() = 0;

  // How many leases may be out at once before the source has to drop frames.
  [[nodiscard]] virtual int depth() const = 0;

  // For people: "demo scene 1280x720", "IMX708 via libcamera, 1280x720 NV12".
  [[nodiscard]] virtual std::string description() const = 0;

  // Frames that the source itself lost since start (sequence gaps, no free buffer).
  [[nodiscard]] virtual std::uint64_t dropped_count() const = 0;

  // How long start() may take when all is well; from any thread.
  [[nodiscard]] virtual SteadyClock::duration longest_start() const { return std::chrono::seconds(20); }

  // After start(): how long a frame may keep the next one waiting when all is well. Zero: a fraction of a second.
  [[nodiscard]] virtual SteadyClock::duration longest_pause() const { return {}; }

  // One frame in so long is enough, until another is said; zero: all are wanted, as at the beginning. A source that
  // works for each frame makes fewer, which count as neither given nor lost; of others they go on coming.
  virtual void want_every(SteadyClock::duration /*pause*/) {}

  // Of a program or a camera on the network, which go on making and sending what nobody wants: to stop() it for as long
  // as that lasts spares more than the next start() costs.
  [[nodiscard]] virtual bool works_unwanted() const { return false; }

  // After start(): do the first frames show a camera that still finds its exposure and its colours?
  [[nodiscard]] virtual bool settles() const { return false; }
};

// Between two frames as options.frames_per_second says it; zero when that says nothing.
[[nodiscard]] inline SteadyClock::duration pause_of(const SourceOptions& options) {
  if (!(options.frames_per_second > 0)) return {};
  return std::chrono::duration_cast<SteadyClock::duration>(Seconds(1 / std::max(options.frames_per_second, 1e-4)));
}

// The same of a sensor that options.camera may tell to expose for longer.
[[nodiscard]] inline SteadyClock::duration sensor_pause_of(const SourceOptions& options) {
  const std::chrono::duration<double, std::milli> exposure(options.camera.exposure);
  return std::max(pause_of(options), std::chrono::duration_cast<SteadyClock::duration>(exposure));
}

}  // namespace kinglet::camera
