// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/regions/tracks.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/check.h"

namespace kinglet::daemon {
namespace {

// A bird hops: from one frame to the next it is near where it was, measured in its own size.
constexpr double kReach = 1.5;
// Shares of the smaller one: of the same thing, and of what lies in another one.
constexpr double kSameThing = 0.3;
constexpr double kMostlyInside = 0.7;
// Of a box: what moves in it is a part of the bird.
constexpr double kPart = 0.5;
// So many times a bird's box: leaves that move around it, and not the bird.
constexpr double kGrown = 4;
// Where nothing was proposed for so long, nothing is there; where somebody was, looks say when it is gone.
constexpr std::chrono::seconds kNothingMoved{5};
constexpr std::chrono::milliseconds kGone{1500};
// A bird hops or turns sooner or later, and soon says who it is. Bark that a model takes for a bird never does either,
// and would be looked at for ever.
constexpr std::chrono::seconds kStillUnnamed{90};
constexpr std::chrono::minutes kStillNamed{10};
constexpr double kSamePlace = 0.6;  // share of both boxes
// What all looks say of the best bird, before few looks make unsure: less is nobody.
constexpr double kSomebody = 0.3;
// How much more a bird promises than what has not been looked at, and what has shown nobody for so many looks.
constexpr double kBirdWorth = 4;
constexpr double kNobodyWorth = 0.25;
constexpr std::uint32_t kLooksAtNobody = 8;
// Promises rise with the time since the last look. Seconds.
constexpr double kNoWait = 0.1;
constexpr double kLongestWait = 5;

Area larger(const Area& area, double factor) {
  const double width = area.width * factor;
  const double height = area.height * factor;
  return {.left = area.left - (width - area.width) / 2,
          .top = area.top - (height - area.height) / 2,
          .width = width,
          .height = height};
}

bool is_inside(const Area& inner, const Area& outer) { return overlap(inner, outer) >= kMostlyInside * inner.size(); }

bool is_same_place(const Area& a, const Area& b) {
  const double common = overlap(a, b);
  return common >= kSamePlace * (a.size() + b.size() - common);
}

// What moves is a part of the bird, or the bird and much around it: as far as is known it is where it was.
bool is_still_there(const Track& bird, const Area& moving) {
  return (is_inside(moving, bird.box) && moving.size() < kPart * bird.box.size()) ||
         (is_inside(bird.box, moving) && moving.size() > kGrown * bird.box.size());
}

// Between nothing in common (0) and the same; of neighbours within reach a little.
double nearness(const Area& a, const Area& b) {
  return share_of_smaller(a, b) + share_of_smaller(larger(a, kReach), larger(b, kReach)) / 2;
}

}  // namespace

Tracks::Tracks(std::size_t classes, visits::IdMaker& ids, Ended ended) : ids_(&ids), ended_(std::move(ended)) {
  tracks_.reserve(kMost);
  birds_.reserve(kMost);
  for (std::size_t i = 0; i < kMost; ++i) tracks_.emplace_back(classes);
}

void Tracks::clear(std::size_t classes) {
  for (Track& track : tracks_) {
    if (track.alive) end(track);
    if (track.evidence.scores().size() != classes) track.evidence = visits::Evidence(classes);
  }
  list_birds();
}

const Track* Tracks::find(const visits::Ulid& id) const {
  const auto found = std::ranges::find_if(tracks_, [&](const Track& track) { return track.alive && track.id == id; });
  return found == tracks_.end() ? nullptr : &*found;
}

// Places stay where they are; things move.
const Track* Tracks::match(const Region& region) const {
  const Track* best = nullptr;
  double best_nearness = kSameThing;
  for (const Track& track : tracks_) {
    if (!track.alive || track.by != region.by) continue;
    if (region.by != ProposedBy::kMotion && track.box != region.box) continue;
    const double near = nearness(track.box, region.box);
    if (near < best_nearness) continue;
    best = &track;
    best_nearness = near;
  }
  return best;
}

void Tracks::assign(const Scene& scene, Proposals& proposals, SteadyTime now) const {
  Claimed claimed{};
  split(proposals);
  claim(scene, proposals, claimed, now);
  add_sitting(scene, proposals, claimed, now);
}

// Two birds that touch are one thing that moves, and still two.
void Tracks::split(Proposals& proposals) const {
  for (std::size_t i = proposals.all().size(); i-- > 0;) {
    const Region& region = proposals.all()[i].region;
    if (region.by != ProposedBy::kMotion) continue;
    const Track* first = nullptr;
    bool are_two = false;
    for (const Track& track : tracks_) {
      if (!track.alive || !track.somebody || track.by != region.by || !is_inside(track.box, region.box)) continue;
      if (first != nullptr && share_of_smaller(first->box, track.box) < kSameThing) are_two = true;
      if (first == nullptr) first = &track;
    }
    if (are_two) proposals.remove(i);
  }
}

// Each proposed region goes to the nearest track; what moves within a region that a track has got is a part of it.
void Tracks::claim(const Scene& scene, Proposals& proposals, Claimed& claimed, SteadyTime now) const {
  for (std::size_t i = 0; i < proposals.all().size(); ++i) {
    Proposal& proposal = proposals.all()[i];
    Region& region = proposal.region;
    const Track* track = match(region);
    double worth = 1;
    double wait = 1;
    if (track != nullptr) {
      bool& taken = claimed[static_cast<std::size_t>(track - tracks_.data())];
      if (taken) {
        if (is_inside(region.box, larger(track->box, kReach))) proposals.remove(i--);
        continue;
      }
      taken = true;
      region.track = track->id;
      if (track->somebody && is_still_there(*track, region.box)) {
        region.box = track->box;
        region.part = scene.square_around(region.box);
      }
      worth = track->somebody ? kBirdWorth : track->looks >= kLooksAtNobody && !track->was_somebody ? kNobodyWorth : 1;
      wait = std::clamp(Seconds(now - track->looked_at).count(), 0.0, kLongestWait);
    }
    if (region.by == ProposedBy::kMotion) proposal.promise *= worth * (kNoWait + wait);
  }
}

void Tracks::add_sitting(const Scene& scene, Proposals& proposals, const Claimed& claimed, SteadyTime now) const {
  const std::size_t proposed = proposals.all().size();
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    const Track& track = tracks_[i];
    if (!track.alive || !track.somebody || track.is_thing || claimed[i] || track.by != ProposedBy::kMotion) continue;
    const std::span before = proposals.all().first(proposed);
    // It has moved on as part of another track.
    if (std::ranges::any_of(before, [&](const Proposal& one) { return is_inside(track.box, one.region.box); }))
      continue;
    const double wait = std::clamp(Seconds(now - track.looked_at).count(), 0.0, kLongestWait);
    proposals.add(
        {.box = track.box, .part = scene.square_around(track.box), .by = track.by, .track = track.id, .sits = true},
        track.box.size() * camera::kGridCells * kBirdWorth * (kNoWait + wait));
  }
}

Track& Tracks::take(const Region& region, SteadyTime now, WallTime wall) {
  const Track* known = region.track ? find(*region.track) : nullptr;
  if (known == nullptr) known = match(region);
  Track* track = nullptr;
  if (known != nullptr && known->looked_at < now) {
    track = &tracks_[static_cast<std::size_t>(known - tracks_.data())];
  } else {
    track = &*std::ranges::min_element(
        tracks_, {}, [](const Track& one) { return std::pair(one.alive, std::pair(one.somebody, one.looked_at)); });
    if (track->alive) end(*track);
    visits::Evidence evidence = std::move(track->evidence);
    evidence.clear();
    *track = Track(0);
    track->evidence = std::move(evidence);
    track->id = ids_->next(wall);
    track->alive = true;
    track->begun = track->somebody_at = now;
  }
  if (!region.sits) track->moved_at = now;
  if (track->looks == 0 || !is_same_place(track->stays_at, region.box)) {
    track->stays_at = region.box;
    track->stays_since = now;
  }
  track->box = region.box;
  track->by = region.by;
  track->looked_at = now;
  ++track->looks;
  return *track;
}

void Tracks::note(Track& track, const visits::Answer& answer, const visits::Answer& look, SteadyTime now) {
  const double certainty = std::min(1.0, visits::certainty_of(track.evidence.looks()));
  track.somebody = answer.outcome != visits::Outcome::kBackground && answer.outcome != visits::Outcome::kNonFinite &&
                   static_cast<double>(answer.score) >= kSomebody * certainty;
  track.was_somebody = track.was_somebody || track.somebody;
  if (look.outcome != visits::Outcome::kBackground) track.somebody_at = now;
  list_birds();
}

void Tracks::tick(SteadyTime now) {
  for (Track& track : tracks_) {
    if (!track.alive) continue;
    const bool moves = now - track.moved_at <= kNothingMoved;
    track.is_thing = track.by == ProposedBy::kMotion &&
                     now - track.stays_since > (track.named ? kStillNamed : SteadyClock::duration(kStillUnnamed));
    const bool is_gone = track.was_somebody && (track.looked_at - track.somebody_at > kGone ||
                                                (!track.somebody && now - track.moved_at > kGone));
    if (is_gone || (!moves && (!track.somebody || track.is_thing))) end(track);
  }
  list_birds();
}

void Tracks::end(Track& track) {
  track.alive = false;
  if (ended_) ended_(track);
}

void Tracks::list_birds() {
  birds_.clear();
  for (const Track& track : tracks_) {
    if (!track.alive || !track.somebody || track.is_thing || track.by != ProposedBy::kMotion) continue;
    birds_.push_back(track.box);
  }
}

}  // namespace kinglet::daemon
