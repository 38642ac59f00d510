// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/clip_recorder.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <stop_token>
#include <utility>

#include "camera/decode/decode.h"
#include "camera/decode/to_rgb.h"
#include "camera/frame/frame_copy.h"
#include "daemon/machine/thread_entry.h"

namespace kinglet::daemon {
namespace {

constexpr int kNiceness = 10;

// Bytes as they are: pixels of 0 to 255.
engine::Recipe unchanged() {
  engine::Recipe recipe;
  recipe.std = {1, 1, 1};
  return recipe;
}

}  // namespace

ClipRecorder::ClipRecorder(ClipOptions options, LogSink log)
    : options_(std::move(options)), log_(std::move(log)), ring_(options_.limits) {
  thread_ = std::jthread([this](const std::stop_token& stop) { enter_thread("clips", [&] { work(stop); }); });
}

ClipRecorder::~ClipRecorder() {
  thread_.request_stop();
  thread_.join();
}

void ClipRecorder::offer(const camera::FrameView& view, const camera::FrameInfo& info, SteadyTime now) {
  if (last_ && now - *last_ < options_.interval) return;
  last_ = now;
  if (!options_.wanted()) return;
  camera::copy_view(view, filling_.bytes, filling_.view);
  filling_.info = info;
  filling_.valid = true;
  {
    MutexLock lock(mutex_);
    std::swap(filling_, ready_);
    if (filling_.valid) ++counts_.missed;
  }
  changed_.notify_all();
}

void ClipRecorder::visit_began(const visits::Visit& visit, SteadyTime now) {
  MutexLock lock(mutex_);
  ring_.begin(visit.id, now - visit.duration);
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

void ClipRecorder::work(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] {
    MutexLock lock(mutex_);
    changed_.notify_all();
  });
  // Linux gives each thread a niceness of its own. Without the right to it, it stays as it is.
  (void)setpriority(PRIO_PROCESS, 0, kNiceness);
  while (!stop.stop_requested()) {
    {
      MutexLock lock(mutex_);
      while (!ready_.valid && !stop.stop_requested()) changed_.wait(mutex_);
      std::swap(ready_, reading_);
      ready_.valid = false;
    }
    if (reading_.valid) encode();
  }
}

void ClipRecorder::encode() {
  reading_.valid = false;
  Result<std::string> jpeg = make_small(reading_.view);
  if (!jpeg) {
    std::string line = describe(jpeg.error());
    // A camera may send the same broken frame again and again.
    if (log_ && line != last_error_) log_(LogLevel::kWarning, "no frame for the clip: " + line);
    last_error_ = std::move(line);
    MutexLock lock(mutex_);
    ++counts_.missed;
    return;
  }
  MutexLock lock(mutex_);
  ring_.add({reading_.info.captured_at, reading_.info.captured_wall, std::move(*jpeg)});
  ++counts_.frames;
}

Result<std::string> ClipRecorder::make_small(const camera::FrameView& view) {
  const auto text_of = [](std::span<const std::byte> bytes) {
    std::string text(bytes.size(), '\0');
    std::memcpy(text.data(), bytes.data(), bytes.size());
    return text;
  };
  KINGLET_TRY(camera::check_view(view));
  const bool fits = view.width <= options_.width;
  if (fits && view.format == camera::PixelFormat::kMjpeg) return text_of(view.planes[0].bytes);
  if (fits) {
    const camera::Image image = KINGLET_TRY(camera::to_rgb(view));
    return text_of(KINGLET_TRY(camera::encode_jpeg(image.view(), options_.quality)));
  }
  const int height = std::max(1, static_cast<int>(std::int64_t{view.height} * options_.width / view.width));
  if (small_.height != height || !scale_) {
    small_ = {.width = options_.width, .height = height, .rgb = {}};
    small_.rgb.resize(3 * static_cast<std::size_t>(options_.width) * static_cast<std::size_t>(height));
    scale_.emplace(unchanged(), options_.width, height);
  }
  const camera::InputTensor out{.bytes = small_.rgb,
                                .type = engine::DataType::kU8,
                                .width = small_.width,
                                .height = small_.height,
                                .layout = engine::TensorLayout::kNhwc};
  (void)KINGLET_TRY(scale_->run(view, std::nullopt, out));
  return text_of(KINGLET_TRY(camera::encode_jpeg(small_.view(), options_.quality)));
}

}  // namespace kinglet::daemon
