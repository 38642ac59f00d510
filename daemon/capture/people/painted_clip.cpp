// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/people/painted_clip.h"

#include <utility>

#include "daemon/capture/clips/clip_file.h"

namespace kinglet::daemon {

PaintedClip::PaintedClip(ClipFrames clip, std::shared_ptr<const People> people) : people_(std::move(people)) {
  (people_ ? clip_ : shown_) = std::move(clip);
}

bool PaintedClip::step(Hurry hurry) {
  while (next_ < clip_.size()) {
    const std::shared_ptr<const ClipFrame> frame = std::move(clip_[next_++]);
    if (hurry == Hurry::kYes && !people_->areas(frame->at).empty()) continue;
    auto shown = people_->hidden(frame);
    const bool painted = shown != frame;
    if (shown) shown_.push_back(std::move(shown));
    if (painted) return false;
  }
  return true;
}

store::SharedBytes PaintedClip::made() const { return make_clip(shown_); }

}  // namespace kinglet::daemon
