// SPDX-License-Identifier: Apache-2.0
// Why: a detector's part in the answer to a frame: second opinions on regions, and people in the whole of it.
#include <algorithm>
#include <utility>

#include "camera/preprocess/geometry.h"
#include "daemon/line/frame_line.h"

namespace kinglet::daemon {
namespace {

// Between two looks at the whole frame for people, where there is time for it, and where there is none.
constexpr std::chrono::milliseconds kLookForPeople{1500};
constexpr std::chrono::seconds kLookForPeopleAtLatest{3};

bool is_within(const CropRect& box, const CropRect& part) {
  return box.x >= part.x && box.y >= part.y && box.x + box.width <= part.x + part.width &&
         box.y + box.height <= part.y + part.height;
}

}  // namespace

bool FrameLine::ask_detector(const camera::Frame& frame) {
  UnderWay& work = under_way_;
  DetectorWork& done = work.prediction.detector;
  const SteadyTime begun = SteadyClock::now();
  const Scene scene = stage_.scene(*classifier_, frame.view(), gate_.motion());
  bool has_looked = false;
  if (std::exchange(work.for_people, false)) {
    if (work.looks_left > 0) --work.looks_left;
    look_at_whole(frame, work.prepared.now, jpeg_, done);
    has_looked = true;
  } else {
    has_looked = look_into_next(scene);
  }
  if (!has_looked) {
    work.is_asked = false;
    for (const Found& found : findings_.all()) ++done.found[std::to_underlying(found.opinion.being)];
    tell_of_people(frame.info().captured_at);
    if (work.has_opinions) done.refined = refine(scene, findings_, tracks_, stage_.most(), work.regions);
  }
  done.time += SteadyClock::now() - begun;
  return has_looked;
}

bool FrameLine::looks_for_people(const camera::Frame& frame) const {
  if (!people_) return false;
  // Whoever has little time has to take it: a person is not to be kept for want of it. A still says nothing of the
  // next.
  const auto gap = under_way_.looks_left == 0 ? SteadyClock::duration(kLookForPeopleAtLatest) : kLookForPeople;
  return frame.info().still || people_looked_for_ == SteadyTime{} ||
         under_way_.prepared.now - people_looked_for_ >= gap;
}

void FrameLine::look_at_whole(const camera::Frame& frame, SteadyTime now, camera::MjpegPlanes& decoder,
                              DetectorWork& work) {
  people_looked_for_ = now;
  if (!detector_->look(frame.small(), std::nullopt, now, decoder, findings_)) return;
  ++work.looks;
  tell_of_people(frame.info().captured_at);
  people_->looked(frame.info().captured_at);
}

void FrameLine::look_at_first_picture(const camera::Frame& frame, SteadyTime now, Prediction& prediction) {
  bool is_first = false;
  for (const RegionLook& look : prediction.looks()) {
    if (!look.visit || !look.best_of_visit || std::ranges::contains(pictured_, *look.visit)) continue;
    is_first = true;
    const auto over =
        std::ranges::find_if_not(pictured_, [&](const visits::Ulid& one) { return tracker_.is_open(one); });
    if (over != pictured_.end()) *over = *look.visit;
  }
  if (!is_first || people_looked_for_ == now || !detector_->works(now)) return;
  const SteadyTime begun = SteadyClock::now();
  // That of the line may have the next frame by now.
  camera::MjpegPlanes decoder;
  findings_.clear();
  look_at_whole(frame, now, decoder, prediction.detector);
  prediction.detector.time += SteadyClock::now() - begun;
}

void FrameLine::tell_of_people(SteadyTime at) const {
  if (!people_) return;
  for (const Found& found : findings_.all()) {
    if (found.opinion.being == Being::kPerson) people_->seen(at, found.box);
  }
}

bool FrameLine::look_into_next(const Scene& scene) {
  UnderWay& work = under_way_;
  DetectorWork& done = work.prediction.detector;
  const SteadyTime now = work.prepared.now;
  while (work.next_look < work.looks) {
    Region& region = work.regions.items[work.next_look++];
    if (region.by == ProposedBy::kWhole || !detector_->works(now)) continue;
    const CropRect box = camera::pixels_of(region.box, scene.frame.width, scene.frame.height);
    const auto has_it = [&](const CropRect& part) { return is_within(box, part); };
    if (std::ranges::any_of(std::span(work.seen).first(work.seen_count), has_it)) {
      region.opinion = Opinion{};
      continue;
    }
    if (work.looks_left == 0) {
      ++done.left_out;
      continue;
    }
    --work.looks_left;
    const CropRect part = detector_part(scene, region);
    if (!detector_->look(scene.frame, part, now, jpeg_, findings_)) return true;
    ++done.looks;
    work.seen[work.seen_count++] = part;
    work.has_opinions = true;
    region.opinion = Opinion{};
    return true;
  }
  return false;
}

}  // namespace kinglet::daemon
