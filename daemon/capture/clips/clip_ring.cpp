// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/clips/clip_ring.h"

#include <algorithm>
#include <map>
#include <utility>

namespace kinglet::daemon {
namespace {

constexpr std::size_t kMostClips = 4;

void keep_one_width(ClipFrames& frames) {
  std::map<int, SteadyClock::duration> shown;  // and how long
  SteadyClock::duration pause{};
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (i + 1 < frames.size()) pause = frames[i + 1]->at - frames[i]->at;
    shown[frames[i]->width] += pause;
  }
  if (shown.size() < 2) return;
  const int longest = std::ranges::max_element(shown, {}, [](const auto& of_width) { return of_width.second; })->first;
  std::erase_if(frames, [&](const auto& frame) { return frame->width != longest; });
}

}  // namespace

void ClipRing::add(ClipFrame frame) {
  if (frame.at < cut_ && !is_wanted(frame.at)) return;  // it was still being made small
  bytes_ += frame.jpeg.size();
  frames_.push_back(std::make_shared<const ClipFrame>(std::move(frame)));
  trim();
}

void ClipRing::begin(std::string_view visit, SteadyTime started) {
  if (clips_.size() >= kMostClips) clips_.pop_front();
  clips_.push_back({std::string(visit), std::max(cut_, started - limits_.before), started + limits_.after});
}

void ClipRing::cut(SteadyTime at) {
  cut_ = at;
  drop([&](const ClipFrame& frame) { return frame.at < at && !is_wanted(frame.at); });
}

ClipFrames ClipRing::take(std::string_view visit) {
  const auto clip = std::ranges::find(clips_, visit, &Clip::visit);
  if (clip == clips_.end()) return {};
  ClipFrames found;
  std::ranges::copy_if(frames_, std::back_inserter(found), [&](const auto& frame) { return clip->has(frame->at); });
  clips_.erase(clip);
  keep_one_width(found);
  return found;
}

bool ClipRing::is_wanted(SteadyTime at) const {
  return std::ranges::any_of(clips_, [&](const Clip& clip) { return clip.has(at); });
}

void ClipRing::drop(const std::function<bool(const ClipFrame&)>& goes) {
  std::erase_if(frames_, [&](const auto& frame) {
    const bool gone = goes(*frame);
    if (gone) bytes_ -= frame->jpeg.size();
    return gone;
  });
}

void ClipRing::trim() {
  const SteadyTime oldest = frames_.back()->at - limits_.before - limits_.known_within;
  drop([&](const ClipFrame& frame) { return frame.at < oldest && !is_wanted(frame.at); });
  // Those of no clip first, the oldest first; the newest stays unless it is too large by itself.
  while (bytes_ > limits_.bytes) {
    auto victim =
        std::find_if(frames_.begin(), frames_.end() - 1, [&](const auto& frame) { return !is_wanted(frame->at); });
    if (victim == frames_.end() - 1) victim = frames_.begin();
    bytes_ -= (*victim)->jpeg.size();
    frames_.erase(victim);
  }
}

}  // namespace kinglet::daemon
