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

Result<store::Pictures> make_pictures(const camera::FrameView& view, const camera::CropRect& crop) {
  store::Pictures pictures;
  const camera::Image image = KINGLET_TRY(camera::to_rgb(view));
  pictures.frame =
      view.format == camera::PixelFormat::kMjpeg ? jpeg_of(view) : KINGLET_TRY(jpeg_of(image, kFrameQuality));
  pictures.crop = KINGLET_TRY(jpeg_of_part(image, crop, kCropSide, kCropQuality));
  return pictures;
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
    camera::copy_view(frame.view(), look.bytes, look.view);
  }
}

void VisitPictures::visit_began(const visits::Visit& visit) {
  if (clips_ != nullptr) clips_->visit_began(visit, SteadyClock::now());
}

void VisitPictures::visit_ended(const visits::Visit& visit) {
  ClipFrames clip;
  if (clips_ != nullptr) clip = clips_->visit_ended(visit);
  const auto found =
      std::ranges::find_if(looks_, [&](const Look& look) { return visit.id.ends_with(look.visit.view()); });
  if (found == looks_.end()) return;
  auto look = std::make_shared<Look>(std::move(*found));
  looks_.erase(found);
  store_.add_pictures(visit.seq, [look, frames = std::move(clip)]() -> Result<store::Pictures> {
    store::Pictures pictures = KINGLET_TRY(make_pictures(look->view, look->crop));
    pictures.clip = make_clip(frames);
    return pictures;
  });
}

}  // namespace kinglet::daemon
