// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/visit_pictures.h"

#include <algorithm>
#include <utility>

#include "daemon/capture/frame_jpeg.h"
#include "daemon/capture/people/painted_clip.h"

namespace kinglet::daemon {
namespace {

constexpr int kFrameQuality = 80;
constexpr int kCropQuality = 85;
constexpr int kCropSide = 640;

}  // namespace

Result<store::Pictures> make_pictures(const camera::FrameView& view, const CropRect& crop) {
  store::Pictures pictures;
  pictures.frame = KINGLET_TRY(jpeg_of(view, kFrameQuality));
  pictures.crop = KINGLET_TRY(jpeg_of_part(view, crop, kCropSide, kCropQuality));
  return pictures;
}

class VisitPictures::Ended {
 public:
  Ended(Look look, ClipFrames clip, const std::shared_ptr<const People>& people)
      : look_(std::move(look)), people_(people), clip_(std::move(clip), people) {}

  Result<std::optional<store::Pictures>> step(store::Store::Hurry hurry) {
    const bool hurries = hurry == store::Store::Hurry::kYes;
    if (!pictures_) {
      KINGLET_TRY(make_stills());
      if (people_ && !hurries) return std::nullopt;
    }
    if (!clip_.step(hurries ? PaintedClip::Hurry::kYes : PaintedClip::Hurry::kNo)) return std::nullopt;
    pictures_->clip = clip_.made();
    return std::move(pictures_);
  }

 private:
  Result<void> make_stills() {
    std::vector<std::byte> hidden;
    camera::FrameView view = look_.copy->view;
    if (people_) view = KINGLET_TRY(people_->hidden(view, look_.copy->info.captured_at, hidden));
    pictures_ = KINGLET_TRY(make_pictures(view, look_.crop));
    look_.copy = {};
    return {};
  }

  Look look_;
  const std::shared_ptr<const People> people_;
  PaintedClip clip_;
  std::optional<store::Pictures> pictures_;
};

VisitPictures::Look& VisitPictures::look_of(const visits::Ulid& visit) {
  const auto found = std::ranges::find(looks_, visit, &Look::visit);
  if (found != looks_.end()) return *found;
  Look& look = looks_.emplace_back();
  look.visit = visit;
  return look;
}

void VisitPictures::look(const camera::Frame& frame, const Prediction& prediction) {
  for (const RegionLook& seen : prediction.looks()) {
    if (!seen.visit || !seen.best_of_visit) continue;
    Look& look = look_of(*seen.visit);
    look.crop = seen.crop;
    look.copy = {};  // its memory may be this one's
    look.copy = copies_->of(frame.view(), frame.info(), SteadyClock::now());
    give_first(look);
  }
}

// Without the whole frame: that it is there says that the best picture is known.
void VisitPictures::give_first(const Look& best) {
  const auto begun =
      std::ranges::find_if(begun_, [&](const Begun& one) { return one.id.ends_with(best.visit.view()); });
  if (begun == begun_.end()) return;
  store_.add_pictures(
      begun->seq,
      [look = best, people = people_]() -> Result<store::Pictures> {
        std::vector<std::byte> hidden;
        camera::FrameView view = look.copy->view;
        if (people) view = KINGLET_TRY(people->hidden(view, look.copy->info.captured_at, hidden));
        return store::Pictures{
            .crop = KINGLET_TRY(jpeg_of_part(view, look.crop, kCropSide, kCropQuality)), .frame = {}, .clip = {}};
      },
      [first = first_, id = begun->id] {
        if (first) first(id);
      });
  begun_.erase(begun);
}

void VisitPictures::visit_began(const visits::Visit& visit) {
  begun_.push_back({.id = visit.id, .seq = visit.seq});
  if (clips_ != nullptr) clips_->visit_began(visit, SteadyClock::now());
}

void VisitPictures::visit_ended(const visits::Visit& visit) {
  std::erase_if(begun_, [&](const Begun& one) { return one.id == visit.id; });
  ClipFrames clip;
  if (clips_ != nullptr) clip = clips_->visit_ended(visit);
  const auto found =
      std::ranges::find_if(looks_, [&](const Look& look) { return visit.id.ends_with(look.visit.view()); });
  if (found == looks_.end()) return;
  store_.add_pictures_in_steps(visit.seq, [ended = Ended(std::move(*found), std::move(clip), people_)](
                                              store::Store::Hurry hurry) mutable { return ended.step(hurry); });
  looks_.erase(found);
}

}  // namespace kinglet::daemon
