// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/frame_samples.h"

#include <algorithm>
#include <utility>

#include "daemon/capture/frame_jpeg.h"

namespace kinglet::daemon {

FrameSamples::FrameSamples(SampleLimits limits, LogSink log, std::shared_ptr<const People> people,
                           std::shared_ptr<camera::FrameCopies> copies)
    : limits_(std::move(limits)), people_(std::move(people)), copies_(std::move(copies)) {
  if (limits_.count == 0) return;
  worker_.emplace(limits_.thread, "no picture for calibration: ", std::move(log),
                  [this](const camera::FrameCopy& copy) { return keep(copy); });
}

void FrameSamples::stop() {
  if (worker_) worker_->stop();
}

void FrameSamples::offer(const camera::Frame& frame, SteadyTime now) {
  if (!worker_ || !worker_->frames().take_turn(now, limits_.interval)) return;
  worker_->frames().put(*copies_, frame.view(), frame.info(), now);
}

std::vector<std::shared_ptr<const FrameSample>> FrameSamples::newest(std::size_t count) const {
  std::vector<std::shared_ptr<const FrameSample>> found;
  {
    MutexLock lock(mutex_);
    found.assign(samples_.begin(), samples_.end());
  }
  if (people_) std::erase_if(found, [this](const auto& sample) { return !may_leave(*sample); });
  found.erase(found.begin(), found.end() - static_cast<std::ptrdiff_t>(std::min(count, found.size())));
  return people_ ? hidden(found) : found;
}

// Black as a whole it calibrates nothing.
bool FrameSamples::may_leave(const FrameSample& sample) const {
  const SteadyTime at = sample.info.captured_at;
  return people_->is_known(at) && !std::ranges::contains(people_->areas(at), Area{});
}

std::vector<std::shared_ptr<const FrameSample>> FrameSamples::hidden(
    std::span<const std::shared_ptr<const FrameSample>> samples) const {
  std::vector<std::shared_ptr<const FrameSample>> shown;
  for (const auto& sample : samples) {
    if (auto jpeg = people_->hidden(sample->jpeg, sample->info.captured_at)) {
      shown.push_back(std::make_shared<const FrameSample>(FrameSample{.jpeg = *std::move(jpeg), .info = sample->info}));
    }
  }
  return shown;
}

Result<void> FrameSamples::keep(const camera::FrameCopy& copy) {
  std::string jpeg = KINGLET_TRY(jpeg_of(copy.view, limits_.quality));
  auto sample = std::make_shared<const FrameSample>(FrameSample{.jpeg = std::move(jpeg), .info = copy.info});
  MutexLock lock(mutex_);
  bytes_ += sample->jpeg.size();
  samples_.push_back(std::move(sample));
  while (samples_.size() > limits_.count || (bytes_ > limits_.bytes && samples_.size() > 1)) {
    bytes_ -= samples_.front()->jpeg.size();
    samples_.pop_front();
  }
  return {};
}

}  // namespace kinglet::daemon
