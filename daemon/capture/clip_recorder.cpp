// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/clip_recorder.h"

#include <algorithm>
#include <utility>

#include "camera/decode/to_rgb.h"
#include "daemon/capture/frame_jpeg.h"

namespace kinglet::daemon {
namespace {

// Bytes as they are: pixels of 0 to 255.
engine::Recipe unchanged() {
  engine::Recipe recipe;
  recipe.std = {1, 1, 1};
  return recipe;
}

}  // namespace

ClipRecorder::ClipRecorder(ClipOptions options, LogSink log, std::shared_ptr<camera::FrameCopies> copies)
    : options_(std::move(options)),
      copies_(std::move(copies)),
      ring_(options_.limits),
      worker_(options_.thread, "no frame for the clip: ", std::move(log),
              [this](const camera::FrameCopy& copy) { return encode(copy); }) {}

void ClipRecorder::offer(const camera::FrameView& view, const camera::FrameInfo& info, SteadyTime now) {
  if (!worker_.frames().take_turn(now, options_.interval) || !options_.wanted()) return;
  if (!worker_.frames().put(*copies_, view, info, now)) return;
  MutexLock lock(mutex_);
  ++counts_.missed;
}

void ClipRecorder::cut(SteadyTime now) {
  MutexLock lock(mutex_);
  ring_.cut(now);
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

Result<void> ClipRecorder::encode(const camera::FrameCopy& copy) {
  Result<std::string> jpeg = make_small(copy.view);
  MutexLock lock(mutex_);
  if (!jpeg) {
    ++counts_.missed;
    return std::unexpected(std::move(jpeg).error());
  }
  ring_.add({copy.info.captured_at, copy.info.captured_wall, std::move(*jpeg)});
  ++counts_.frames;
  return {};
}

Result<std::string> ClipRecorder::make_small(const camera::FrameView& view) {
  if (options_.width == 0 || view.width <= options_.width) return jpeg_of(view, options_.quality);
  KINGLET_TRY(camera::check_view(view));
  const int height = std::max(1, static_cast<int>(std::int64_t{view.height} * options_.width / view.width));
  if (small_.height != height || !scale_) {
    small_ = {.width = options_.width, .height = height, .rgb = {}};
    small_.rgb.resize(3 * static_cast<std::size_t>(options_.width) * static_cast<std::size_t>(height));
    scale_.emplace(unchanged(), options_.width, height);
  }
  const engine::PictureInput out{.bytes = small_.rgb,
                                 .type = engine::DataType::kU8,
                                 .width = small_.width,
                                 .height = small_.height,
                                 .layout = engine::TensorLayout::kNhwc};
  (void)KINGLET_TRY(scale_->run(view, std::nullopt, out));
  return jpeg_of(small_, options_.quality);
}

}  // namespace kinglet::daemon
