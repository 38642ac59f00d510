// SPDX-License-Identifier: Apache-2.0
#include "daemon/answer/unnamed_tracks.h"

#include <algorithm>
#include <utility>

#include "camera/frame/frame_copy.h"
#include "daemon/capture/frame_jpeg.h"
#include "visits/open_visit.h"

namespace kinglet::daemon {
namespace {

constexpr int kSide = 320;
constexpr int kQuality = 80;

// The part, and what even sides need around it.
CropRect even(const CropRect& part, const camera::FrameView& view) {
  const int left = std::clamp(part.x, 0, view.width - 2) / 2 * 2;
  const int top = std::clamp(part.y, 0, view.height - 2) / 2 * 2;
  const int right = std::clamp(part.x + part.width + 1, left + 2, view.width) / 2 * 2;
  const int bottom = std::clamp(part.y + part.height + 1, top + 2, view.height) / 2 * 2;
  return {left, top, right - left, bottom - top};
}

Area share_of(const CropRect& part, const camera::FrameView& view) {
  const auto share = [](int pixels, int side) { return static_cast<double>(pixels) / side; };
  const Area all{.left = share(part.x, view.width),
                 .top = share(part.y, view.height),
                 .width = share(part.width, view.width),
                 .height = share(part.height, view.height)};
  const double left = std::max(0.0, all.left);
  const double top = std::max(0.0, all.top);
  return {.left = left,
          .top = top,
          .width = std::min(1.0, all.left + all.width) - left,
          .height = std::min(1.0, all.top + all.height) - top};
}

// The likeliest bird of an answer; nothing: it knows none.
const Scored* bird_of(const Answer& answer, const visits::Taxa& taxa) {
  const auto is_bird = [&](const Scored& one) { return taxa[one.taxon].role == engine::LabelRole::kSpecies; };
  const auto found = std::ranges::find_if(answer.top(), is_bird);
  return found == answer.top().end() ? nullptr : &*found;
}

visits::Visit visit_of(const Track& track, const visits::Taxa& taxa) {
  visits::Visit visit;
  visit.id = "vis_" + std::string(track.id.view());
  visit.state = visits::VisitState::kEnded;
  visit.started_at = track.begun_wall;
  visit.duration = track.looked_at - track.begun;
  visit.clock_synced = track.clock_synced;
  visit.best_prediction = "prd_" + std::string(track.best.prediction.view());
  visit.best_crop = track.best.crop;
  visit.best_box = track.best.box;
  visits::ModelResult& result = visit.model_result;
  result.frames_seen = track.looks;
  for (const Scored& scored : track.answer.top()) result.top.push_back(visits::named(scored, taxa));
  if (const Scored* bird = bird_of(track.answer, taxa)) {
    result.species_id = taxa[bird->taxon].species_id;
    result.score = bird->score;
  }
  return visit;
}

}  // namespace

std::string UnnamedTrack::picture() const {
  return unseen ? unseen->people->hidden(unseen->jpeg, unseen->exposed_at, unseen->part).value_or("") : crop;
}

UnnamedTracks::Look& UnnamedTracks::look_of(const Ulid& track) {
  const auto found = std::ranges::find(looks_, track, &Look::track);
  if (found != looks_.end()) return *found;
  // As many are followed at once; where the end of one was not told, the first is over by now.
  if (looks_.size() < cameras_ * Tracks::kMost)
    return looks_.emplace_back(
        Look{.track = track, .bytes = {}, .jpeg = {}, .view = {}, .crop = {}, .part = {}, .people = {}});
  Look& oldest = *std::ranges::min_element(looks_, {}, &Look::track);
  oldest.track = track;
  return oldest;
}

void UnnamedTracks::look(const camera::Frame& frame, const Prediction& prediction,
                         const std::shared_ptr<const People>& people) {
  camera::FrameCopies::Share jpeg;
  for (const RegionLook& seen : prediction.looks()) {
    if (!seen.best_unnamed) continue;
    Look& look = look_of(seen.track);
    look.crop = seen.crop;
    look.part = share_of(seen.crop, frame.view());
    look.exposed_at = frame.info().captured_at;
    look.people = people;
    const camera::FrameView& view = frame.view();
    if (view.format == camera::PixelFormat::kMjpeg) {
      // Without the frame's info, by which a copy is found again: another camera's frame may have the same.
      if (!jpeg) jpeg = copies_->of(view, {}, SteadyClock::now());
      look.jpeg = jpeg;
      look.view = jpeg->view;
      continue;
    }
    look.jpeg = {};
    if (view.width < 2 || view.height < 2) {
      camera::copy_view(view, look.bytes, look.view);
      continue;
    }
    const CropRect part = even(seen.crop, view);
    camera::copy_part(view, part.x, part.y, part.width, part.height, look.bytes, look.view);
    look.crop.x -= part.x;
    look.crop.y -= part.y;
  }
  forget_decoded();
}

// All that move in one photograph end together: it is decoded once for them.
std::string UnnamedTracks::crop_of(const Look& look) {
  if (!look.jpeg) return jpeg_of_part(look.view, look.crop, kSide, kQuality).value_or("");
  if (!decoded_from_ || &*decoded_from_ != &*look.jpeg) {
    decoded_from_ = {};
    auto decoded = pixels_of(look.view);
    if (!decoded) return {};
    decoded_ = *std::move(decoded);
    decoded_from_ = look.jpeg;
  }
  return jpeg_of_part(decoded_.view(), look.crop, kSide, kQuality).value_or("");
}

void UnnamedTracks::forget_decoded() {
  if (!decoded_from_) return;
  const auto is_in_it = [&](const Look& look) { return look.jpeg && &*look.jpeg == &*decoded_from_; };
  if (std::ranges::any_of(looks_, is_in_it)) return;
  decoded_from_ = {};
  decoded_ = {};
}

std::optional<UnnamedTracks::Look> UnnamedTracks::take_look(const Ulid& track) {
  const auto found = std::ranges::find(looks_, track, &Look::track);
  if (found == looks_.end()) return std::nullopt;
  Look look = std::move(*found);
  looks_.erase(found);
  return look;
}

void UnnamedTracks::ended(const Track& track, const visits::Rule& rule, std::string source, std::string model_name,
                          std::string model_digest, const engine::Labels* detector_labels) {
  const std::optional<Look> look = take_look(track.id);  // its pixels go with it
  const bool is_worth_it = track.by == ProposedBy::kMotion || track.was_somebody;
  if (track.named || !is_worth_it) return;
  auto unnamed = std::make_shared<UnnamedTrack>();
  unnamed->id = "trk_" + std::string(track.id.view());
  unnamed->seq = ++newest_seq_;
  unnamed->outcome = track.answer.outcome;
  if (const auto opinion = track.opinions.mostly()) {
    unnamed->being = opinion->being;
    if (opinion->being != Being::kNobody && detector_labels != nullptr) {
      unnamed->being_label = (*detector_labels)[opinion->label].text;
    }
  }
  unnamed->looks = track.looks;
  unnamed->by = track.by;
  std::string crop = look ? crop_of(*look) : std::string();
  forget_decoded();
  if (crop.empty() || !look->people) {
    unnamed->crop = std::move(crop);
  } else {
    unnamed->unseen = std::make_shared<const UnnamedTrack::Unseen>(UnnamedTrack::Unseen{
        .jpeg = std::move(crop), .part = look->part, .exposed_at = look->exposed_at, .people = look->people});
  }
  unnamed->visit = visit_of(track, rule.taxa());
  unnamed->visit.source = std::move(source);
  unnamed->visit.model_result.model_name = std::move(model_name);
  unnamed->visit.model_result.model_digest = std::move(model_digest);
  if (const Scored* bird = bird_of(track.answer, rule.taxa())) unnamed->wanted_score = rule.min_score(bird->taxon);
  keep(std::move(unnamed));
}

void UnnamedTracks::keep(Shared unnamed) {
  MutexLock lock(mutex_);
  show_crops();
  tracks_.push_front(std::move(unnamed));
  if (tracks_.size() <= kMost) return;
  // Leaves in the wind do not push birds out.
  const auto is_nobody = [](const Shared& one) { return one->outcome == Outcome::kBackground; };
  const auto oldest_nobody = std::ranges::find_if(tracks_.rbegin(), tracks_.rend(), is_nobody);
  tracks_.erase(oldest_nobody == tracks_.rend() ? std::prev(tracks_.end()) : std::prev(oldest_nobody.base()));
}

// A track may end before the look that finds who was, or had just come, in its best picture.
void UnnamedTracks::show_crops() {
  for (Shared& track : tracks_) {
    const auto unseen = track->unseen;
    if (!unseen || !unseen->people->is_known(unseen->exposed_at)) continue;
    auto shown = std::make_shared<UnnamedTrack>(*track);
    shown->crop = track->picture();
    shown->unseen = nullptr;
    track = std::move(shown);
  }
}

std::vector<UnnamedTracks::Shared> UnnamedTracks::list(std::size_t limit,
                                                       const std::function<bool(const UnnamedTrack&)>& matches) {
  std::vector<Shared> found;
  MutexLock lock(mutex_);
  show_crops();
  for (const Shared& track : tracks_) {
    if (found.size() == limit) break;
    if (matches(*track)) found.push_back(track);
  }
  return found;
}

std::deque<UnnamedTracks::Shared>::iterator UnnamedTracks::place_of(std::string_view id) {
  show_crops();
  return std::ranges::find(tracks_, id, &UnnamedTrack::id);
}

UnnamedTracks::Shared UnnamedTracks::find(std::string_view id) {
  MutexLock lock(mutex_);
  const auto found = place_of(id);
  return found == tracks_.end() ? nullptr : *found;
}

UnnamedTracks::Shared UnnamedTracks::take(std::string_view id) {
  MutexLock lock(mutex_);
  const auto found = place_of(id);
  if (found == tracks_.end()) return nullptr;
  Shared taken = *found;
  tracks_.erase(found);
  return taken;
}

void UnnamedTracks::give_back(const Shared& track) {
  MutexLock lock(mutex_);
  const auto place = std::ranges::find_if(tracks_, [&](const Shared& one) { return one->seq < track->seq; });
  tracks_.insert(place, track);
}

}  // namespace kinglet::daemon
