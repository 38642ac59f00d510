// SPDX-License-Identifier: Apache-2.0
// Why: the newest frame as a JPEG: the capture thread copies a frame now and then, the reader converts and encodes.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "camera/frame/frame.h"
#include "camera/preprocess/preprocess.h"
#include "daemon/capture/frame_relay.h"
#include "daemon/capture/people/people.h"
#include "engine/base/error.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon {

// Where the model looked, and whether it gave an answer there.
struct Mark {
  CropRect where;  // in pixels of the frame
  bool accepted = false;
};

struct Snapshot {
  std::vector<std::byte> jpeg;
  camera::FrameInfo info;
};

// Thread-safe. offer() belongs to the capture thread and does not wait for readers.
class SnapshotBoard {
 public:
  // `people`: who is hidden; may be absent.
  explicit SnapshotBoard(std::shared_ptr<const People> people = nullptr,
                         std::shared_ptr<camera::FrameCopies> copies = camera::FrameCopies::make())
      : people_(std::move(people)), copies_(std::move(copies)) {}

  // Copies once a second, or up to 20 times a second while somebody asks.
  void offer(const camera::FrameView& view, const camera::FrameInfo& info, SteadyTime now);
  // The camera rests and begins anew when somebody asks, or is about to: get() waits for its frame. The capture
  // thread's.
  void note_rest(bool rests) { rests_ = rests; }
  // Has somebody asked a moment ago, as who watches does?
  [[nodiscard]] bool is_watched(SteadyTime now) const;

  // The newest frame, `width` pixels wide when that is not 0 and smaller than the frame. Waits a moment for a fresh
  // copy, and some seconds where the camera rests, unless a picture of this width was encoded less than `shared_for`
  // ago. kUnavailable when the last frame is older than 5 s or there was none; kBadData when it cannot be decoded.
  // `marks` are drawn around their parts of the frame; all who ask within the time for a picture with marks share one.
  [[nodiscard]] Result<std::shared_ptr<const Snapshot>> get(int width, SteadyClock::duration shared_for = {},
                                                            std::span<const Mark> marks = {});

 private:
  struct Encoded {
    std::shared_ptr<const Snapshot> snapshot;
    SteadyTime at{};  // of the copy that it was made of
    SteadyTime made{};
  };
  [[nodiscard]] Result<std::shared_ptr<const Snapshot>> encode(int width, std::span<const Mark> marks)
      KINGLET_REQUIRES(encode_mutex_);

  const std::shared_ptr<const People> people_;
  const std::shared_ptr<camera::FrameCopies> copies_;
  std::atomic<SteadyTime::rep> wanted_until_{0};
  std::atomic<bool> rests_{false};
  FrameRelay frames_;

  Mutex encode_mutex_;  // of who takes from frames_: one frame is encoded at a time
  camera::FrameCopies::Share newest_ KINGLET_GUARDED_BY(encode_mutex_);
  // The newest of each width, with and without marks.
  std::map<std::pair<int, bool>, Encoded> encoded_ KINGLET_GUARDED_BY(encode_mutex_);
};

}  // namespace kinglet::daemon
