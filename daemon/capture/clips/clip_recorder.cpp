// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/clips/clip_recorder.h"

#include <algorithm>
#include <utility>

#include "engine/base/format.h"

namespace kinglet::daemon {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kMovesFor{2'000};  // after the last motion
constexpr milliseconds kLongestPause{1'000};
constexpr int kPausesOfMean = 8;  // of which a mean is made
constexpr int kFramesOfMean = 32;
constexpr std::uint64_t kPixelsPerByte = 14;  // of a JPEG, until one was made

}  // namespace

ClipRecorder::ClipRecorder(ClipOptions options, LogSink log, std::shared_ptr<camera::FrameCopies> copies)
    : options_(std::move(options)),
      log_(std::move(log)),
      copies_(std::move(copies)),
      form_(options_.form),
      width_(form_.width),
      pictures_(options_.quality),
      ring_(options_.limits),
      worker_(options_.thread, "no frame for the clip: ", log_,
              [this](const camera::FrameCopy& copy) { return encode(copy); }) {}

void ClipRecorder::offer(const camera::FrameView& view, const camera::FrameInfo& info, SteadyTime now) {
  note_pause(now);
  const std::uint64_t room = options_.room();
  // Nothing is added from here on, and so nothing would be trimmed.
  if (room == 0) {
    if (std::exchange(had_room_, false)) cut(now);
    return;
  }
  had_room_ = true;
  choose(view, room, now);
  if (!is_due(now) || !worker_.frames().put(*copies_, view, info, now)) return;
  MutexLock lock(mutex_);
  ++counts_.missed;
}

void ClipRecorder::note_pause(SteadyTime now) {
  if (offered_) pause_ += (std::min<SteadyClock::duration>(now - *offered_, kLongestPause) - pause_) / kPausesOfMean;
  offered_ = now;
}

void ClipRecorder::choose(const camera::FrameView& view, std::uint64_t room, SteadyTime now) {
  const bool is_jpeg = view.format == camera::PixelFormat::kMjpeg;
  std::uint64_t bytes = frame_bytes_;
  if (bytes == 0) {
    const auto pixels = static_cast<std::uint64_t>(view.width) * static_cast<std::uint64_t>(view.height);
    bytes = is_jpeg ? view.planes[0].bytes.size() : pixels / kPixelsPerByte;
  }
  const ClipForm before = form_;
  form_ = form_of(options_.form, before, options_.limits,
                  {.width = view.width, .bytes = bytes, .pause = pause_, .clip_bytes = room});
  // A clip that is being taken keeps its size.
  const bool filmed = now <= filmed_until_.load();
  if (filmed) form_.width = before.width;
  say(width_of(before, view.width), width_of(form_, view.width));
  width_ = form_.width;
  interval_ = form_.interval;
  if (!filmed && now > moves_until_.load()) interval_ = std::max<SteadyClock::duration>(interval_, kSmallClip.interval);
}

void ClipRecorder::say(int before, int width) const {
  if (!log_ || width == before) return;
  log_(LogLevel::kInfo,
       width < before
           ? format_text("clips: pictures are {} pixels wide for now: larger ones have no room in memory, or in what "
                         "may be written today (store.write_budget)",
                         width)
           : "clips: pictures are as large again as the camera gives them");
}

// The one nearest to its time.
bool ClipRecorder::is_due(SteadyTime now) {
  const SteadyClock::duration half = std::min(pause_, interval_) / 2;
  due_ = std::min(due_, taken_ + interval_ + half);  // it may have been a slower one
  if (now + half < due_) return false;
  due_ = (now - due_ >= interval_ ? now : due_) + interval_;
  taken_ = now;
  return true;
}

void ClipRecorder::cut(SteadyTime now) {
  MutexLock lock(mutex_);
  ring_.cut(now);
}

void ClipRecorder::moved(SteadyTime now) { moves_until_ = now + kMovesFor; }

void ClipRecorder::visit_began(const visits::Visit& visit, SteadyTime now) {
  const SteadyTime started = now - visit.duration;
  MutexLock lock(mutex_);
  filmed_until_ = std::max(filmed_until_.load(), started + options_.limits.after);  // one may be known late
  ring_.begin(visit.id, started);
}

ClipFrames ClipRecorder::visit_ended(const visits::Visit& visit) {
  MutexLock lock(mutex_);
  return ring_.take(visit.id);
}

ClipStatus ClipRecorder::status() const {
  MutexLock lock(mutex_);
  ClipStatus status = counts_;
  status.bytes = ring_.bytes();
  return status;
}

Result<void> ClipRecorder::encode(const camera::FrameCopy& copy) {
  Result<ClipPictures::Made> made = pictures_.make(copy.view, width_);
  if (made) note_bytes(copy.view, *made);
  MutexLock lock(mutex_);
  if (!made) {
    ++counts_.missed;
    return std::unexpected(std::move(made).error());
  }
  ring_.add({copy.info.captured_at, copy.info.captured_wall, std::move(made->jpeg), made->width});
  ++counts_.frames;
  return {};
}

void ClipRecorder::note_bytes(const camera::FrameView& view, const ClipPictures::Made& made) {
  auto before = static_cast<double>(frame_bytes_.load());
  double bytes = static_cast<double>(view.planes[0].bytes.size());
  if (std::exchange(measured_width_, view.width) != view.width) {
    before = 0;
    times_ = 0;
  }
  if (view.format != camera::PixelFormat::kMjpeg) {
    bytes = static_cast<double>(made.jpeg.size());
    if (made.width == view.width) {
      if (std::exchange(times_, 0) > 0) before = 0;  // what was reckoned
    } else {
      // The scene is the same when the size has just changed.
      if (times_ == 0) times_ = before > 0 ? before / bytes : bytes_times(static_cast<double>(view.width) / made.width);
      bytes *= times_;
    }
  }
  frame_bytes_ = static_cast<std::uint64_t>(before == 0 ? bytes : before + (bytes - before) / kFramesOfMean);
}

}  // namespace kinglet::daemon
