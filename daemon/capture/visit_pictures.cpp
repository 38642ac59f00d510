// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/visit_pictures.h"

#include <algorithm>
#include <utility>

#include "camera/decode/to_rgb.h"
#include "camera/frame/frame_copy.h"
#include "daemon/capture/clip_file.h"
#include "daemon/capture/frame_jpeg.h"

namespace kinglet::daemon {
namespace {

constexpr int kFrameQuality = 80;
constexpr int kCropQuality = 85;
constexpr int kCropSide = 640;

}  // namespace

Result<store::Pictures> make_pictures(const camera::FrameView& view, const CropRect& crop) {
  store::Pictures pictures;
  const camera::Image image = KINGLET_TRY(camera::to_rgb(view));
  pictures.frame =
      view.format == camera::PixelFormat::kMjpeg ? jpeg_of(view) : KINGLET_TRY(jpeg_of(image, kFrameQuality));
  pictures.crop = KINGLET_TRY(jpeg_of_part(image, crop, kCropSide, kCropQuality));
  return pictures;
}

Result<void> VisitPictures::hide(const People* people, Look& look) {
  if (people == nullptr) return {};
  std::vector<std::byte> hidden;
  const camera::FrameView view = KINGLET_TRY(people->hidden(look.view, look.exposed_at, hidden));
  if (hidden.empty()) return {};
  look.bytes = std::move(hidden);
  look.view = view;
  return {};
}

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
    look.exposed_at = frame.info().captured_at;
    camera::copy_view(frame.view(), look.bytes, look.view);
    give_first(look);
  }
}

// Without the whole frame: that it is there says that the best picture is known.
void VisitPictures::give_first(const Look& best) {
  const auto begun =
      std::ranges::find_if(begun_, [&](const Begun& one) { return one.id.ends_with(best.visit.view()); });
  if (begun == begun_.end()) return;
  auto look = std::make_shared<Look>();
  look->crop = best.crop;
  look->exposed_at = best.exposed_at;
  camera::copy_view(best.view, look->bytes, look->view);
  store_.add_pictures(
      begun->seq,
      [look, people = people_]() -> Result<store::Pictures> {
        KINGLET_TRY(hide(people.get(), *look));
        return store::Pictures{.crop = KINGLET_TRY(jpeg_of_part(look->view, look->crop, kCropSide, kCropQuality)),
                               .frame = {},
                               .clip = {}};
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
  auto look = std::make_shared<Look>(std::move(*found));
  looks_.erase(found);
  store_.add_pictures(visit.seq, [look, people = people_, frames = std::move(clip)]() -> Result<store::Pictures> {
    KINGLET_TRY(hide(people.get(), *look));
    store::Pictures pictures = KINGLET_TRY(make_pictures(look->view, look->crop));
    pictures.clip = make_clip(people ? people->hidden(frames) : frames);
    return pictures;
  });
}

}  // namespace kinglet::daemon
