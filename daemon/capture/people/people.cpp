// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/people/people.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "camera/decode/decode.h"
#include "camera/sources/masked_source.h"
#include "daemon/capture/frame_jpeg.h"

namespace kinglet::daemon {
namespace {

constexpr double kRoom = 0.15;  // of its sides, on each side
// Share of both: somebody is still there. And a stay's box grows to so many times the newest one, then a new stay
// begins: who walks by does not hide the whole way.
constexpr double kStillThere = 0.5;
constexpr double kLargest = 1.5;
constexpr int kPaintedQuality = 70;  // of a JPEG that is painted over

bool is_still_there(const Area& before, const Area& now) {
  const double common = overlap(before, now);
  return common >= kStillThere * (before.size() + now.size() - common) &&
         united(before, now).size() <= kLargest * now.size();
}

Area with_room(const Area& box) {
  const double left = std::max(0.0, box.left - kRoom * box.width);
  const double top = std::max(0.0, box.top - kRoom * box.height);
  return {.left = left,
          .top = top,
          .width = std::min(1.0, box.left + (1 + kRoom) * box.width) - left,
          .height = std::min(1.0, box.top + (1 + kRoom) * box.height) - top};
}

// An area of the frame in shares of a part of it.
Area within(const Area& area, const Area& part) {
  return {.left = (area.left - part.left) / part.width,
          .top = (area.top - part.top) / part.height,
          .width = area.width / part.width,
          .height = area.height / part.height};
}

std::optional<std::string> painted_over(const std::string& jpeg, std::vector<Area> black) {
  const auto image = camera::decode_image(std::as_bytes(std::span(jpeg)), {}, camera::Upright::kAsStored);
  if (!image) return std::nullopt;
  std::vector<std::byte> bytes;
  const auto painted = camera::Masks(std::move(black)).painted(image->image.view(), bytes);
  if (!painted) return std::nullopt;
  auto again = jpeg_of(*painted, kPaintedQuality);
  return again ? std::optional(*std::move(again)) : std::nullopt;
}

}  // namespace

void People::Log::add(const Stay& stay) {
  newest_ = (newest_ + 1) % kMost;
  if (count_ == kMost) known_from_ = std::max(known_from_, stays_[newest_].last + kAfter);
  count_ = std::min(count_ + 1, kMost);
  stays_[newest_] = stay;
}

void People::looked(SteadyTime at) {
  MutexLock lock(mutex_);
  Stay* newest = looks_.newest();
  if (newest != nullptr && at - newest->last <= kBefore + kAfter) {
    newest->last = at;
  } else {
    looks_.add({.box = {}, .first = at, .last = at});
  }
}

void People::seen(SteadyTime at, const Area& box) {
  MutexLock lock(mutex_);
  Stay* known = nullptr;
  people_.each([&](Stay& stay) {
    if (at - stay.last <= kAfter && is_still_there(stay.box, box)) known = &stay;
  });
  if (known == nullptr) {
    // He may have come as soon as the look before this one was over.
    const Stay* looks = looks_.newest();
    return people_.add({.box = box, .first = looks == nullptr ? at : std::min(at, looks->last), .last = at});
  }
  known->box = united(known->box, box);
  known->last = at;
}

std::vector<Area> People::areas(SteadyTime at) const { return areas(at, {}); }
std::vector<Area> People::areas_live(SteadyTime at) const { return areas(at, kAfter); }

std::vector<Area> People::areas(SteadyTime at, SteadyClock::duration unseen) const {
  if (!can_see_()) return {Area{}};
  MutexLock lock(mutex_);
  bool was_looked_at = false;
  looks_.each([&](const Stay& looks) { was_looked_at = was_looked_at || looks.is_about(at, unseen); });
  if (!was_looked_at || at < people_.known_from()) return {Area{}};
  std::vector<Area> found;
  people_.each([&](const Stay& stay) {
    if (stay.is_about(at, kAfter)) found.push_back(with_room(stay.box));
  });
  return found;
}

bool People::is_known(SteadyTime at) const {
  MutexLock lock(mutex_);
  const Stay* looks = looks_.newest();
  return looks != nullptr && looks->last > at + kBefore;
}

Result<camera::FrameView> People::hidden(const camera::FrameView& view, SteadyTime at,
                                         std::vector<std::byte>& bytes) const {
  return camera::Masks(areas(at)).painted(view, bytes);
}

Result<camera::FrameView> People::hidden_live(const camera::FrameView& view, SteadyTime at,
                                              std::vector<std::byte>& bytes) const {
  return camera::Masks(areas_live(at)).painted(view, bytes);
}

std::optional<std::string> People::hidden(const std::string& jpeg, SteadyTime at, const Area& part) const {
  std::vector<Area> black = areas(at);
  if (black.empty()) return jpeg;
  for (Area& area : black) area = within(area, part);
  return painted_over(jpeg, std::move(black));
}

std::shared_ptr<const ClipFrame> People::hidden(const std::shared_ptr<const ClipFrame>& frame) const {
  if (areas(frame->at).empty()) return frame;
  auto jpeg = hidden(frame->jpeg, frame->at);
  if (!jpeg) return nullptr;
  return std::make_shared<const ClipFrame>(ClipFrame{.at = frame->at, .wall = frame->wall, .jpeg = *std::move(jpeg)});
}

}  // namespace kinglet::daemon
