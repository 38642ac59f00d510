// SPDX-License-Identifier: Apache-2.0
#include "visits/tracker.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"

namespace kinglet::visits {
namespace {

constexpr std::chrono::seconds kBetweenUpdates{1};

std::size_t window_size(const TrackerOptions& options) {
  const double size = options.consensus_frames / options.consensus_ratio;
  return static_cast<std::size_t>(std::max<double>(options.consensus_frames, std::floor(size + 1e-9)));
}

std::string prediction_id(const Ulid& id) { return "prd_" + std::string(id.view()); }

}  // namespace

std::string_view to_string(VisitEvent event) {
  switch (event) {
    case VisitEvent::kStart:
      return "visit.start";
    case VisitEvent::kUpdate:
      return "visit.update";
    case VisitEvent::kEnd:
      return "visit.end";
  }
  return "visit.end";
}

VisitTracker::VisitTracker(TrackerOptions options, std::shared_ptr<const Taxa> taxa, IdMaker& ids, VisitSink sink)
    : options_(std::move(options)),
      taxa_(std::move(taxa)),
      ids_(ids),
      sink_(std::move(sink)),
      votes_(window_size(options_)),
      next_seq_(options_.first_seq) {
  KINGLET_CHECK(options_.consensus_frames >= 1 && options_.consensus_ratio > 0);
}

void VisitTracker::retune(const TrackerOptions& tuning) {
  KINGLET_CHECK(tuning.consensus_frames >= 1 && tuning.consensus_ratio > 0);
  options_.consensus_frames = tuning.consensus_frames;
  options_.consensus_ratio = tuning.consensus_ratio;
  options_.min_gap = tuning.min_gap;
  options_.end_after = tuning.end_after;
  options_.new_after = tuning.new_after;
  votes_.assign(window_size(options_), {});
  newest_ = 0;
  vote_count_ = 0;
}

void VisitTracker::change_model(std::shared_ptr<const Taxa> taxa, std::string name, std::string digest) {
  finish();
  retune(options_);
  taxa_ = std::move(taxa);
  options_.model_name = std::move(name);
  options_.model_digest = std::move(digest);
}

void VisitTracker::change_source(std::string name) {
  finish();
  retune(options_);
  options_.source = std::move(name);
}

Tracked VisitTracker::update(const Sighting& sighting) {
  const SteadyTime at = std::max(sighting.at, last_at_);
  tick(at);
  last_at_ = at;
  ++ordinal_;
  const std::uint32_t taxon = sighting.answer.outcome == Outcome::kAccepted ? sighting.answer.taxon : kNoTaxon;
  const bool counts = add_vote(sighting, at, taxon);
  if (open_) return follow(sighting, at, taxon, counts);
  Tracked tracked;
  if (!counts || taxon == kNoTaxon) return tracked;
  if (const std::optional<Consensus> consensus = find_consensus(taxon, at)) {
    begin(*consensus, sighting);
    tracked = {.visit = open_->id, .best = true};
  }
  return tracked;
}

void VisitTracker::tick(SteadyTime now) {
  if (open_ && now - open_->last_at > options_.end_after) end();
}

void VisitTracker::finish() {
  if (open_) end();
}

// Does the frame count? One that does not strengthens the vote before it when it says the same.
bool VisitTracker::add_vote(const Sighting& sighting, SteadyTime at, std::uint32_t taxon) {
  if (vote_count_ > 0 && at - vote(0).at < options_.min_gap) {
    if (taxon != kNoTaxon && vote(0).taxon == taxon) {
      ++vote(0).frames;
      vote(0).score_sum += static_cast<double>(sighting.answer.score);
    }
    return false;
  }
  newest_ = (newest_ + 1) % votes_.size();
  vote_count_ = std::min(vote_count_ + 1, votes_.size());
  vote(0) = {.taxon = taxon,
             .at = at,
             .wall = sighting.wall,
             .clock_synced = sighting.clock_synced,
             .ordinal = ordinal_,
             .frames = 1,
             .score_sum = static_cast<double>(sighting.answer.score),
             .prediction = sighting.prediction};
  return true;
}

// For what the newest vote names, or else for a whole that other votes name.
std::optional<VisitTracker::Consensus> VisitTracker::find_consensus(std::uint32_t taxon, SteadyTime now) const {
  for (; taxon != kNoTaxon; taxon = (*taxa_)[taxon].parent) {
    Consensus consensus{.taxon = taxon};
    bool named = false;
    for (std::size_t age = 0; age < vote_count_ && now - vote(age).at <= options_.end_after; ++age) {
      if (vote(age).taxon == kNoTaxon || !taxa_->within(vote(age).taxon, taxon)) continue;
      named = named || vote(age).taxon == taxon;
      ++consensus.votes;
      consensus.first = age;
    }
    if (named && consensus.votes >= static_cast<std::uint32_t>(options_.consensus_frames)) return consensus;
  }
  return std::nullopt;
}

void VisitTracker::begin(const Consensus& consensus, const Sighting& sighting) {
  const Vote& first = vote(consensus.first);
  Open& open = open_.emplace(Open{});
  open.id = ids_.next(sighting.wall);
  open.seq = next_seq_++;
  open.started_at = first.at;
  open.last_at = last_at_;
  open.started_wall = first.wall;
  open.clock_synced = first.clock_synced;
  open.frames_seen = static_cast<std::uint32_t>(ordinal_ - first.ordinal + 1);
  open.first_of_season = is_first_of_season(consensus.taxon);
  Evidence& evidence = open.evidence[0];
  evidence.taxon = consensus.taxon;
  static_cast<void>(add(evidence, sighting, true));
  evidence.frames = evidence.votes = 0;
  evidence.score_sum = 0;
  for (std::size_t age = 0; age <= consensus.first; ++age) {
    if (vote(age).taxon == kNoTaxon || !taxa_->within(vote(age).taxon, consensus.taxon)) continue;
    ++evidence.votes;
    evidence.frames += vote(age).frames;
    evidence.score_sum += vote(age).score_sum;
    open.begun_by.push_back(vote(age).prediction);
  }
  std::ranges::reverse(open.begun_by);
  tell(VisitEvent::kStart);
}

Tracked VisitTracker::follow(const Sighting& sighting, SteadyTime at, std::uint32_t taxon, bool counts) {
  Open& open = *open_;
  if (!open.clock_synced && sighting.clock_synced) {
    // The clock has been set meanwhile: now it can be told when the visit began.
    open.clock_synced = true;
    open.started_wall = sighting.wall - std::chrono::duration_cast<WallTime::duration>(at - open.started_at);
    open.changed = true;
  }
  ++open.frames_since;
  Tracked tracked;
  if (taxon == kNoTaxon) return tracked;
  const std::uint32_t name = open.evidence[0].taxon;
  const bool agrees = taxa_->within(taxon, name);
  if (agrees || taxa_->within(name, taxon)) open.last_at = at;
  if (agrees) {
    open.frames_seen += open.frames_since;
    open.frames_since = 0;
    tracked.visit = open.id;
    tracked.best = add(open.evidence[0], sighting, counts);
    open.changed = open.changed || tracked.best;
  }
  if (taxon != name && !taxa_->within(name, taxon)) {
    static_cast<void>(add(evidence_of(taxon), sighting, counts));
    if (counts) tracked = reconsider(taxon, sighting, at).value_or(tracked);
  }
  if (open_ && open_->changed && at - open_->told_at >= kBetweenUpdates) tell(VisitEvent::kUpdate);
  return tracked;
}

// Another name than the visit's has been heard: is it a better one, or another bird?
std::optional<Tracked> VisitTracker::reconsider(std::uint32_t taxon, const Sighting& sighting, SteadyTime at) {
  const std::optional<Consensus> consensus = find_consensus(taxon, at);
  const std::uint32_t name = open_->evidence[0].taxon;
  if (!consensus || taxa_->within(name, consensus->taxon)) return std::nullopt;
  const bool is_part = taxa_->within(consensus->taxon, name);
  if (!is_part && open_->last_at < vote(consensus->first).at) {
    end();
    begin(*consensus, sighting);
    return Tracked{.visit = open_->id, .best = true};
  }
  const auto better = std::ranges::find(open_->evidence, consensus->taxon, &Evidence::taxon);
  if (better == open_->evidence.end() || (!is_part && better->votes <= open_->evidence[0].votes)) return std::nullopt;
  rename(*better, sighting);
  return Tracked{.visit = open_->id, .best = true};
}

// The picture of a visit shows what it is called, so the best look begins anew.
void VisitTracker::rename(Evidence& better, const Sighting& sighting) {
  Open& open = *open_;
  std::swap(open.evidence[0], better);
  set_best(open.evidence[0], sighting);
  open.last_at = last_at_;
  open.frames_seen += open.frames_since;
  open.frames_since = 0;
  open.first_of_season = is_first_of_season(open.evidence[0].taxon);
  open.changed = true;
}

void VisitTracker::set_best(Evidence& evidence, const Sighting& sighting) {
  evidence.best_score = sighting.answer.score;
  evidence.best_prediction = sighting.prediction;
  evidence.best_crop = sighting.crop;
  evidence.best_answer = sighting.answer;
}

// Is it the best look at this bird so far?
bool VisitTracker::add(Evidence& evidence, const Sighting& sighting, bool counts) {
  evidence.votes += counts ? 1 : 0;
  ++evidence.frames;
  evidence.score_sum += static_cast<double>(sighting.answer.score);
  evidence.unusual = evidence.unusual || sighting.answer.unusual;
  if (sighting.answer.score <= evidence.best_score) return false;
  set_best(evidence, sighting);
  return true;
}

// The weakest of the other names gives way to a new one.
VisitTracker::Evidence& VisitTracker::evidence_of(std::uint32_t taxon) {
  auto& all = open_->evidence;
  const auto found = std::ranges::find(all, taxon, &Evidence::taxon);
  if (found != all.end()) return *found;
  Evidence& weakest = *std::ranges::min_element(all.begin() + 1, all.end(), {}, &Evidence::votes);
  weakest = Evidence{.taxon = taxon};
  return weakest;
}

bool VisitTracker::is_first_of_season(std::uint32_t taxon) const {
  const auto seen = options_.last_seen.find((*taxa_)[taxon].species_id);
  if (seen == options_.last_seen.end()) return true;
  return open_->clock_synced && seen->second && open_->started_wall - *seen->second > options_.new_after;
}

void VisitTracker::end() {
  tell(VisitEvent::kEnd);
  const std::string& species = (*taxa_)[open_->evidence[0].taxon].species_id;
  std::optional<WallTime>& seen = options_.last_seen[species];
  if (open_->clock_synced) {
    seen = open_->started_wall + std::chrono::duration_cast<WallTime::duration>(open_->last_at - open_->started_at);
  }
  open_.reset();
}

void VisitTracker::tell(VisitEvent event) {
  open_->told_at = last_at_;
  open_->changed = false;
  if (sink_) sink_(event, describe(event == VisitEvent::kEnd ? VisitState::kEnded : VisitState::kOpen));
}

NamedScore VisitTracker::named(const Scored& scored) const {
  const Taxon& taxon = (*taxa_)[scored.taxon];
  return {.species_id = taxon.species_id,
          .label = taxon.label,
          .scientific_name = taxon.scientific_name,
          .common_name = taxon.common_name,
          .index = scored.index,
          .score = scored.score};
}

Visit VisitTracker::describe(VisitState state) const {
  const Open& open = *open_;
  const Evidence& evidence = open.evidence[0];
  Visit visit;
  visit.id = "vis_" + std::string(open.id.view());
  visit.seq = open.seq;
  visit.state = state;
  visit.source = options_.source;
  visit.started_at = open.started_wall;
  visit.duration = open.last_at - open.started_at;
  visit.clock_synced = open.clock_synced;
  visit.unusual = evidence.unusual || open.first_of_season;
  visit.best_prediction = prediction_id(evidence.best_prediction);
  visit.best_crop = evidence.best_crop;
  for (const Ulid& id : open.begun_by) visit.predictions.push_back({.id = prediction_id(id), .answer = {}});
  if (!std::ranges::contains(open.begun_by, evidence.best_prediction)) {
    visit.predictions.push_back({.id = visit.best_prediction, .answer = {}});
  }
  ModelResult& result = visit.model_result;
  result.species_id = (*taxa_)[evidence.taxon].species_id;
  result.score = static_cast<float>(evidence.score_sum / evidence.frames);
  result.frames_seen = open.frames_seen;
  result.frames_agreeing = evidence.frames;
  result.model_name = options_.model_name;
  result.model_digest = options_.model_digest;
  const std::span<const Scored> top = evidence.best_answer.top();
  if (std::ranges::find(top, evidence.taxon, &Scored::taxon) == top.end()) {
    result.top.push_back(named({evidence.taxon, top[0].index, evidence.best_score}));
  }
  for (const Scored& scored : top) result.top.push_back(named(scored));
  return visit;
}

}  // namespace kinglet::visits
