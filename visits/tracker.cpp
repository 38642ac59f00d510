// SPDX-License-Identifier: Apache-2.0
#include "visits/tracker.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/base/words.h"

namespace kinglet::visits {
namespace {

constexpr std::chrono::seconds kBetweenUpdates{1};
// Tracks that named one species within this time, and each of them more than in passing, are so many birds at once.
constexpr std::chrono::seconds kAtOnce{2};
constexpr std::uint32_t kAgreedToCount = 3;
// A name that so many frames gave is no mistake of the first glance: another one is another bird's.
constexpr std::uint32_t kSureFrames = 12;
// Looks in a row that name another bird: it has taken the place of the first.
constexpr std::uint32_t kAnothersLooks = 3;
// A look that is less sure may agree with all the others, but by itself it tells of no bird: it begins no visit.
constexpr float kLeastRelated = 0.3F;
constexpr std::size_t kBegunBy = 8;  // predictions that are kept of a visit's begin

// More than a third of the smaller one.
bool same_place(const Area& a, const Area& b) { return 3 * overlap(a, b) > std::min(a.size(), b.size()); }

constexpr Word<VisitEvent> kEventWords[] = {
    {VisitEvent::kStart, "visit.start"}, {VisitEvent::kUpdate, "visit.update"}, {VisitEvent::kEnd, "visit.end"}};

}  // namespace

std::string_view to_string(VisitEvent event) { return word_of(kEventWords, event); }

void VisitTracker::Lane::add(const Look& look) {
  newest = (newest + 1) % looks.size();
  looks[newest] = look;
  count = std::min(count + 1, looks.size());
}

VisitTracker::VisitTracker(TrackerOptions options, std::shared_ptr<const Taxa> taxa, IdMaker& ids, VisitSink sink)
    : options_(std::move(options)), taxa_(std::move(taxa)), ids_(ids), sink_(std::move(sink)) {}

void VisitTracker::retune(const TrackerOptions& tuning) {
  options_.end_after = tuning.end_after;
  options_.new_after = tuning.new_after;
}

void VisitTracker::change_model(std::shared_ptr<const Taxa> taxa, std::string name, std::string digest) {
  finish();
  taxa_ = std::move(taxa);
  options_.model_name = std::move(name);
  options_.model_digest = std::move(digest);
}

void VisitTracker::change_source(std::string name) {
  finish();
  options_.source = std::move(name);
}

Tracked VisitTracker::update(const Sighting& sighting) {
  const SteadyTime at = std::max(sighting.at, last_at_);
  tick(at);
  last_at_ = at;
  if (frame_ == 0 || sighting.prediction != newest_prediction_) ++frame_;
  newest_prediction_ = sighting.prediction;
  Lane& lane = lane_of(sighting);
  const bool somebody = sighting.look.outcome != Outcome::kBackground && sighting.look.taxon != kNoTaxon;
  lane.add({.taxon = somebody ? sighting.look.taxon : kNoTaxon,
            .score = sighting.look.score,
            .at = at,
            .wall = sighting.wall,
            .clock_synced = sighting.clock_synced,
            .frame = frame_,
            .prediction = sighting.prediction});
  lane.at = at;
  lane.box = sighting.box;
  Tracked tracked;
  OpenVisit* visit = find(lane.visit);
  if (visit != nullptr) set_clock(*visit, sighting);
  // It may sit with its back to the camera: as long as it is the same thing, and somebody, it is the same visit.
  if (visit != nullptr && sighting.one_thing && somebody) visit->kept_at = at;
  const bool agrees =
      somebody && sighting.answer.outcome == Outcome::kAccepted && related(sighting.look.taxon, sighting.answer.taxon);
  if (agrees) tracked = name(lane, sighting);
  for (std::optional<OpenVisit>& open : open_) {
    if (open && open->changed && at - open->told_at >= kBetweenUpdates) tell(VisitEvent::kUpdate, *open);
  }
  return tracked;
}

void VisitTracker::tick(SteadyTime now) {
  for (std::optional<OpenVisit>& open : open_) {
    if (open && now - std::max(open->last_at, open->kept_at) > options_.end_after) end(open);
  }
}

void VisitTracker::finish() {
  for (std::optional<OpenVisit>& open : open_) {
    if (open) end(open);
  }
  for (Lane& lane : lanes_) lane = Lane{};
}

bool VisitTracker::visit_is_open() const {
  return std::ranges::any_of(open_, [](const auto& open) { return open.has_value(); });
}

bool VisitTracker::is_open(const Ulid& visit) const {
  return std::ranges::any_of(open_, [&](const auto& open) { return open && open->id == visit; });
}

VisitTracker::Lane& VisitTracker::lane_of(const Sighting& sighting) {
  const auto found = std::ranges::find(lanes_, sighting.track, &Lane::track);
  if (found != lanes_.end()) return *found;
  Lane& oldest = *std::ranges::min_element(lanes_, {}, &Lane::at);
  oldest = Lane{};
  oldest.track = sighting.track;
  return oldest;
}

bool VisitTracker::related(std::uint32_t a, std::uint32_t b) const {
  return a != kNoTaxon && b != kNoTaxon && (taxa_->within(a, b) || taxa_->within(b, a));
}

bool VisitTracker::speaks_for(const Look& look, std::uint32_t taxon) const {
  return look.score >= kLeastRelated && related(look.taxon, taxon);
}

OpenVisit* VisitTracker::find(const std::optional<Ulid>& id) {
  if (!id) return nullptr;
  for (std::optional<OpenVisit>& open : open_) {
    if (open && open->id == *id) return &*open;
  }
  return nullptr;
}

// That of the species itself before one of its genus or its parts.
OpenVisit* VisitTracker::find_related(std::uint32_t taxon) {
  OpenVisit* kin = nullptr;
  for (std::optional<OpenVisit>& open : open_) {
    if (open && open->taxon() == taxon) return &*open;
    if (open && related(open->taxon(), taxon)) kin = &*open;
  }
  return kin;
}

// The look agrees with what all looks of its track say.
Tracked VisitTracker::name(Lane& lane, const Sighting& sighting) {
  const std::uint32_t taxon = sighting.answer.taxon;
  OpenVisit* own = find(lane.visit);
  if (own != nullptr && related(own->taxon(), taxon)) return agree(lane, *own, sighting);
  if (OpenVisit* other = find_related(taxon)) {
    lane.visit = other->id;
    lane.agreed = 0;
    return agree(lane, *other, sighting);
  }
  return own != nullptr ? reconsider(lane, *own, sighting) : begin(lane, sighting);
}

Tracked VisitTracker::agree(Lane& lane, OpenVisit& visit, const Sighting& sighting) {
  const std::uint32_t taxon = sighting.answer.taxon;
  visit.last_at = last_at_;
  lane.agreed_at = last_at_;
  ++lane.agreed;
  // Its genus only: that it is still there, but no look at what the visit is called.
  if (taxon != visit.taxon() && taxa_->within(visit.taxon(), taxon)) return {};
  if (taxon != visit.taxon()) return rename(lane, visit, sighting);
  visit.last_frame = frame_;
  const bool best = visit.names[0].add(sighting, frame_);
  const std::uint32_t count = std::max(visit.count, count_at_once(visit.id));
  visit.changed = visit.changed || best || count != visit.count;
  visit.count = count;
  return {.visit = visit.id, .best = best};
}

// Another name than that of the track's visit has been heard: is it a better one, or another bird?
Tracked VisitTracker::reconsider(Lane& lane, OpenVisit& visit, const Sighting& sighting) {
  OpenVisit::Name& other = visit.name_of(sighting.answer.taxon);
  static_cast<void>(other.add(sighting, frame_));
  const bool may_be_another = !sighting.one_thing || visit.names[0].frames >= kSureFrames || is_of_others(lane);
  if (may_be_another && fresh_looks(lane, other.taxon) >= kAnothersLooks) return begin(lane, sighting);
  if (is_of_others(lane) || other.frames <= visit.names[0].frames) return {};
  return rename(lane, visit, sighting);
}

// The picture of a visit shows what it is called, so the best look begins anew.
Tracked VisitTracker::rename(Lane& lane, OpenVisit& visit, const Sighting& sighting) {
  OpenVisit::Name& better = visit.name_of(sighting.answer.taxon);
  std::swap(visit.names[0], better);
  OpenVisit::Name& name = visit.names[0];
  if (name.frames == 0) {
    name.unusual = sighting.answer.unusual;
    count_ring(lane, sighting, name);
  }
  name.set_best(sighting);
  visit.last_at = last_at_;
  visit.last_frame = frame_;
  visit.first_of_season = is_first_of_season(visit);
  visit.changed = true;
  return {.visit = visit.id, .best = true};
}

Tracked VisitTracker::begin(Lane& lane, const Sighting& sighting) {
  auto place = std::ranges::find_if(open_, [](const auto& open) { return !open.has_value(); });
  if (place == open_.end()) {
    place = std::ranges::min_element(open_, {}, [](const auto& open) { return open->last_at; });
    end(*place);
  }
  const std::uint32_t taxon = sighting.answer.taxon;
  const std::size_t oldest = oldest_agreeing(lane, taxon);
  const Look& first = lane.look(oldest);
  OpenVisit& visit = place->emplace();
  visit.id = ids_.next(sighting.wall);
  newest_seq_ = options_.next_seq ? options_.next_seq() : newest_seq_ + 1;
  visit.seq = newest_seq_;
  visit.started_at = first.at;
  visit.last_at = visit.kept_at = last_at_;
  visit.started_wall = first.wall;
  visit.clock_synced = first.clock_synced;
  visit.first_frame = first.frame;
  visit.last_frame = frame_;
  OpenVisit::Name& name = visit.names[0];
  name.taxon = taxon;
  name.unusual = sighting.answer.unusual;
  name.set_best(sighting);
  count_ring(lane, sighting, name);
  for (std::size_t age = 0; age <= oldest && visit.begun_by.size() < kBegunBy; ++age) {
    if (age == 0 || speaks_for(lane.look(age), taxon)) visit.begun_by.push_back(lane.look(age).prediction);
  }
  std::ranges::reverse(visit.begun_by);
  visit.first_of_season = is_first_of_season(visit);
  lane.visit = visit.id;
  lane.agreed_at = last_at_;
  lane.agreed = name.frames;
  tell(VisitEvent::kStart, visit);
  return {.visit = visit.id, .best = true};
}

// Of the looks in the ring, as long as none of them is too long ago. The newest one agrees.
std::size_t VisitTracker::oldest_agreeing(const Lane& lane, std::uint32_t taxon) const {
  std::size_t oldest = 0;
  SteadyTime later = last_at_;
  for (std::size_t age = 0; age < lane.count && later - lane.look(age).at <= options_.end_after; ++age) {
    if (!speaks_for(lane.look(age), taxon)) continue;
    oldest = age;
    later = lane.look(age).at;
  }
  return oldest;
}

// The looks that made this name, the newest one among them.
void VisitTracker::count_ring(const Lane& lane, const Sighting& sighting, OpenVisit::Name& name) const {
  const std::size_t oldest = oldest_agreeing(lane, name.taxon);
  name.frames = 1;
  for (std::size_t age = 1; age <= oldest; ++age) name.frames += speaks_for(lane.look(age), name.taxon) ? 1 : 0;
  name.newest_frame = frame_;
  name.score_sum = static_cast<double>(sighting.answer.score) * name.frames;
}

// Those that name this bird since the track's visit was last named.
std::uint32_t VisitTracker::fresh_looks(const Lane& lane, std::uint32_t taxon) const {
  std::uint32_t looks = 0;
  for (std::size_t age = 0; age < lane.count && lane.look(age).at > lane.agreed_at; ++age) {
    looks += speaks_for(lane.look(age), taxon) ? 1 : 0;
  }
  return looks;
}

// Does another track name the visit of this one as well?
bool VisitTracker::is_of_others(const Lane& lane) const {
  return std::ranges::any_of(lanes_, [&](const Lane& other) {
    return &other != &lane && other.visit == lane.visit && last_at_ - other.agreed_at <= kAtOnce;
  });
}

// Tracks at one place are one bird, seen by two.
std::uint32_t VisitTracker::count_at_once(const Ulid& visit) const {
  std::array<const Lane*, kLanes> counted{};
  std::size_t count = 0;
  for (const Lane& lane : lanes_) {
    if (lane.visit != visit || lane.agreed < kAgreedToCount || last_at_ - lane.agreed_at > kAtOnce) continue;
    const std::span before = std::span(counted).first(count);
    if (std::ranges::any_of(before, [&](const Lane* other) { return same_place(other->box, lane.box); })) continue;
    counted[count++] = &lane;
  }
  return static_cast<std::uint32_t>(std::max<std::size_t>(1, count));
}

// Once the clock has been set it can be told when the visit began.
void VisitTracker::set_clock(OpenVisit& visit, const Sighting& sighting) const {
  if (visit.clock_synced || !sighting.clock_synced) return;
  visit.clock_synced = true;
  visit.started_wall = sighting.wall - std::chrono::duration_cast<WallTime::duration>(last_at_ - visit.started_at);
  visit.changed = true;
}

// While all are new none of them is.
bool VisitTracker::is_first_of_season(const OpenVisit& visit) const {
  if (!options_.knows_birds || !options_.knows_birds()) return false;
  const auto seen = options_.last_seen->find((*taxa_)[visit.taxon()].species_id);
  if (seen == options_.last_seen->end()) return true;
  return visit.clock_synced && seen->second && visit.started_wall - *seen->second > options_.new_after;
}

void VisitTracker::end(std::optional<OpenVisit>& visit) {
  tell(VisitEvent::kEnd, *visit);
  std::optional<WallTime>& seen = (*options_.last_seen)[(*taxa_)[visit->taxon()].species_id];
  if (visit->clock_synced) {
    seen = visit->started_wall + std::chrono::duration_cast<WallTime::duration>(visit->last_at - visit->started_at);
  }
  visit.reset();
}

void VisitTracker::tell(VisitEvent event, OpenVisit& visit) {
  visit.told_at = last_at_;
  visit.changed = false;
  if (!sink_) return;
  Visit told = describe(visit, event == VisitEvent::kEnd ? VisitState::kEnded : VisitState::kOpen, *taxa_);
  told.source = options_.source;
  told.model_result.model_name = options_.model_name;
  told.model_result.model_digest = options_.model_digest;
  sink_(event, told);
}

}  // namespace kinglet::visits
