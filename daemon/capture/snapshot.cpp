// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/snapshot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "camera/decode/decode.h"
#include "camera/decode/to_rgb.h"
#include "camera/preprocess/preprocess.h"

namespace kinglet::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kIdleInterval = seconds(1);
constexpr auto kWatchedInterval = milliseconds(50);
constexpr auto kWantedFor = seconds(3);
constexpr auto kFreshEnough = milliseconds(200);
constexpr auto kPatience = milliseconds(300);
constexpr auto kBegins = seconds(10);  // as long as a stream's first frame may take
constexpr auto kTooOld = seconds(5);
constexpr int kQuality = 80;

// A line around what the model saw, of the same width in the picture whatever its scale.
void draw(const Mark& mark, double scale, camera::Image& image) {
  constexpr double kLine = 3;
  constexpr std::array<std::uint8_t, 3> kAccepted{60, 220, 90};
  constexpr std::array<std::uint8_t, 3> kOther{250, 210, 60};
  const auto& color = mark.accepted ? kAccepted : kOther;
  const int line = std::max(1, static_cast<int>(std::lround(kLine / scale)));
  // The frame may have another size by now.
  const int left = std::clamp(mark.where.x, 0, image.width);
  const int top = std::clamp(mark.where.y, 0, image.height);
  const int right = std::clamp(mark.where.x + mark.where.width, left, image.width);
  const int bottom = std::clamp(mark.where.y + mark.where.height, top, image.height);
  for (int y = top; y < bottom; ++y) {
    const bool across = y < top + line || y >= bottom - line;
    for (int x = left; x < right; ++x) {
      if (!across && x >= left + line && x < right - line) x = right - line;
      const std::size_t at =
          3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) + static_cast<std::size_t>(x));
      for (std::size_t c = 0; c < 3; ++c) image.rgb[at + c] = static_cast<std::byte>(color.at(c));
    }
  }
}

}  // namespace

bool SnapshotBoard::is_watched(SteadyTime now) const {
  return now.time_since_epoch().count() < wanted_until_.load(std::memory_order_relaxed);
}

void SnapshotBoard::offer(const camera::FrameView& view, const camera::FrameInfo& info, SteadyTime now) {
  const SteadyClock::duration interval = is_watched(now) ? SteadyClock::duration(kWatchedInterval) : kIdleInterval;
  if (frames_.take_turn(now, interval)) frames_.put(*copies_, view, info, now);
}

Result<std::shared_ptr<const Snapshot>> SnapshotBoard::get(int width, SteadyClock::duration shared_for,
                                                           std::span<const Mark> marks) {
  const SteadyTime start = SteadyClock::now();
  wanted_until_.store((start + kWantedFor).time_since_epoch().count(), std::memory_order_relaxed);
  // Who watches slowly may share a picture for seconds, in which somebody may be found in it.
  if (people_) shared_for = std::min<SteadyClock::duration>(shared_for, kFreshEnough);
  MutexLock encode_lock(encode_mutex_);
  if (const auto found = encoded_.find({width, !marks.empty()});
      found != encoded_.end() && start - found->second.made < shared_for) {
    return found->second.snapshot;
  }
  const auto take_until = [&](SteadyTime until) KINGLET_REQUIRES(encode_mutex_) {
    if (camera::FrameCopies::Share copy = frames_.take(until)) newest_ = std::move(copy);
  };
  const auto is_old = [&]() KINGLET_REQUIRES(encode_mutex_) { return !newest_ || start - newest_->at > kFreshEnough; };
  take_until(start);
  if (is_old()) take_until(start + kPatience);
  while (is_old() && rests_ && SteadyClock::now() < start + kBegins) take_until(SteadyClock::now() + kPatience);
  if (!newest_) return fail(ErrorCode::kUnavailable, "no frame has come yet");
  if (SteadyClock::now() - newest_->at > kTooOld) {
    return fail(ErrorCode::kUnavailable, "the last frame is older than 5 s");
  }
  return encode(width, marks);
}

Result<std::shared_ptr<const Snapshot>> SnapshotBoard::encode(int width, std::span<const Mark> marks) {
  Encoded& encoded = encoded_[{width, !marks.empty()}];
  // Who is to be hidden in it may be known only now.
  if (encoded.snapshot && encoded.at == newest_->at && !people_) return encoded.snapshot;
  auto snapshot = std::make_shared<Snapshot>();
  camera::FrameView view = newest_->view;
  std::vector<std::byte> hidden;
  if (people_) view = KINGLET_TRY(people_->hidden_live(view, newest_->info.captured_at, hidden));
  snapshot->info = newest_->info;
  const bool scale = width > 0 && width < view.width;
  if (view.format == camera::PixelFormat::kMjpeg && !scale && marks.empty()) {
    const std::span<const std::byte> jpeg = view.planes[0].bytes;
    snapshot->jpeg.assign(jpeg.begin(), jpeg.end());
  } else {
    camera::Image image;
    if (marks.empty() && scale) {
      view = KINGLET_TRY(camera::as_rgb(view, image));
    } else if (!marks.empty()) {
      image = KINGLET_TRY(camera::to_rgb(view));
      for (const Mark& mark : marks) draw(mark, scale ? static_cast<double>(width) / image.width : 1, image);
      view = image.view();
    }
    if (scale) {
      const int height = std::max(1, static_cast<int>(std::int64_t{view.height} * width / view.width));
      image = KINGLET_TRY(camera::resize_like_pillow(view, {0, 0, view.width, view.height}, width, height,
                                                     engine::Interpolation::kBilinear));
      view = image.view();
    }
    snapshot->jpeg = KINGLET_TRY(camera::encode_jpeg(view, kQuality));
  }
  encoded = {.snapshot = std::move(snapshot), .at = newest_->at, .made = SteadyClock::now()};
  return encoded.snapshot;
}

}  // namespace kinglet::daemon
