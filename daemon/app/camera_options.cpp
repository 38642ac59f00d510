// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/camera_options.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "daemon/capture/clips/clip_recorder.h"

namespace kinglet::daemon {
namespace {

constexpr std::size_t kMostOfLarge = 32U << 20;  // of all cameras together

// `own`: of one of so many cameras.
std::optional<ClipOptions> clip_options(const config::Config& own, std::size_t cameras) {
  // A clip shows whole frames.
  if (own.store.clips.count() <= 0 || own.privacy.keep_full_frames.count() <= 0) return std::nullopt;
  const double per_second = own.store.clip_fps;
  ClipOptions options;
  options.limits.before = own.store.clips;
  options.form = {.width = static_cast<int>(own.store.clip_width),
                  .interval = std::chrono::milliseconds(per_second > 0 ? static_cast<int>(1000 / per_second) : 0)};
  const bool larger =
      options.form.width == 0 || options.form.width > kSmallClip.width || options.form.interval < kSmallClip.interval;
  if (larger) options.limits.bytes = std::max(kMostOfLarge / cameras, options.limits.bytes);
  return options;
}

}  // namespace

CameraOptions camera_options(const config::Config& config, std::size_t index) {
  const config::Config own = config::of_camera(config, index);
  return {.index = index,
          .name = own.source.name,
          .region = own.gate.region,
          .fixed = own.look.fixed,
          .clips = clip_options(own, config::camera_count(config)),
          .samples = static_cast<std::size_t>(own.model.samples),
          .settle = own.gate.settle};
}

}  // namespace kinglet::daemon
