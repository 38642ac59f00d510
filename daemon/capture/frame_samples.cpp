// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/frame_samples.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "camera/decode/decode.h"
#include "camera/decode/to_rgb.h"
#include "camera/frame/frame_copy.h"
#include "daemon/machine/thread_entry.h"

namespace kinglet::daemon {
namespace {

constexpr int kNiceness = 10;

Result<std::string> to_jpeg(const camera::FrameView& view, int quality) {
  const auto text_of = [](std::span<const std::byte> bytes) {
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  KINGLET_TRY(camera::check_view(view));
  if (view.format == camera::PixelFormat::kMjpeg) return text_of(view.planes[0].bytes);
  const camera::Image image = KINGLET_TRY(camera::to_rgb(view));
  const auto jpeg = KINGLET_TRY(camera::encode_jpeg(image.view(), quality));
  return text_of(jpeg);
}

}  // namespace

FrameSamples::FrameSamples(SampleLimits limits, LogSink log) : limits_(limits), log_(std::move(log)) {
  if (limits_.count == 0) return;
  thread_ = std::jthread([this](const std::stop_token& stop) { enter_thread("samples", [&] { work(stop); }); });
}

void FrameSamples::stop() {
  thread_.request_stop();
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void FrameSamples::offer(const camera::Frame& frame, SteadyTime now) {
  if (limits_.count == 0 || now < next_) return;
  next_ = now + limits_.interval;
  camera::copy_view(frame.view(), filling_.bytes, filling_.view);
  filling_.info = frame.info();
  filling_.valid = true;
  {
    MutexLock lock(mutex_);
    std::swap(filling_, ready_);
  }
  changed_.notify_all();
}

std::vector<std::shared_ptr<const FrameSample>> FrameSamples::newest(std::size_t count) const {
  MutexLock lock(mutex_);
  const std::size_t some = std::min(count, samples_.size());
  return {samples_.end() - static_cast<std::ptrdiff_t>(some), samples_.end()};
}

void FrameSamples::work(const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kTurn{500};
  // Linux gives each thread a niceness of its own. Without the right to it, it stays as it is.
  (void)setpriority(PRIO_PROCESS, 0, kNiceness);
  while (!stop.stop_requested()) {
    {
      MutexLock lock(mutex_);
      if (!ready_.valid) changed_.wait_until(mutex_, SteadyClock::now() + kTurn);
      if (!ready_.valid) continue;
      std::swap(ready_, reading_);
      ready_.valid = false;
    }
    keep(reading_);
  }
}

void FrameSamples::keep(const Copy& copy) {
  Result<std::string> jpeg = to_jpeg(copy.view, limits_.quality);
  if (!jpeg) {
    std::string line = describe(jpeg.error());
    // A camera may send the same broken frame again and again.
    if (log_ && line != last_error_) log_(LogLevel::kWarning, "no picture for calibration: " + line);
    last_error_ = std::move(line);
    return;
  }
  auto sample = std::make_shared<const FrameSample>(FrameSample{.jpeg = std::move(*jpeg), .info = copy.info});
  MutexLock lock(mutex_);
  bytes_ += sample->jpeg.size();
  samples_.push_back(std::move(sample));
  while (samples_.size() > limits_.count || (bytes_ > limits_.bytes && samples_.size() > 1)) {
    bytes_ -= samples_.front()->jpeg.size();
    samples_.pop_front();
  }
}

}  // namespace kinglet::daemon
