// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/frame_line.h"

#include <algorithm>
#include <utility>

namespace kinglet::daemon {
namespace {

visits::TrackerOptions of_model(visits::TrackerOptions options, const ModelFacts& facts) {
  options.model_name = facts.name;
  options.model_digest = facts.digest;
  return options;
}

// Without a set clock nobody knows the season.
std::optional<unsigned> season(WallTime at, bool clock_synced) {
  return clock_synced ? std::optional(visits::month_of(at)) : std::nullopt;
}

// Which of a frame's answers is the frame's: a name before a doubt, a doubt before nobody there.
int rank(Outcome outcome) {
  switch (outcome) {
    case Outcome::kAccepted:
      return 0;
    case Outcome::kBlocked:
    case Outcome::kNotAllowed:
      return 1;
    case Outcome::kAmbiguous:
      return 2;
    case Outcome::kBelowThreshold:
      return 3;
    case Outcome::kBackground:
      return 4;
    case Outcome::kNonFinite:
      return 5;
  }
  return 5;
}

// So much better a look has to be that its picture is worth another copy.
constexpr float kClearlyBetter = 1.1F;

// What is told of a track that nobody names. True: the best look at it so far.
bool note_best(Track& track, const Answer& answer, const Answer& look, const Prediction& prediction,
               const RegionLook& seen) {
  track.answer = answer;
  track.named = track.named || seen.visit.has_value();
  if (track.looks == 1) {
    track.begun_wall = prediction.at;
    track.clock_synced = prediction.clock_synced;
    track.drawn = prediction.drawn;
  }
  const float score = look.outcome == Outcome::kBackground ? 0 : look.score;
  if (track.named || score <= track.best.score * kClearlyBetter) return false;
  track.best = {.score = score, .prediction = prediction.id, .crop = seen.crop, .box = seen.box};
  return true;
}

// Keeps them best first. True: it is the best so far.
bool add_look(const RegionLook& look, const Answer& answer, Prediction& prediction) {
  const auto score = [](const RegionLook& one) { return one.count > 0 ? one.entries[0].score : 0.0F; };
  const auto is_behind = [&](const RegionLook& other) {
    const int a = rank(look.outcome);
    const int b = rank(other.outcome);
    return a != b ? a < b : score(look) > score(other);
  };
  std::size_t at = prediction.region_count++;
  for (; at > 0 && is_behind(prediction.regions[at - 1]); --at) prediction.regions[at] = prediction.regions[at - 1];
  prediction.regions[at] = look;
  if (at > 0) return false;
  prediction.answer = answer;
  prediction.crop = look.crop;
  prediction.visit = look.visit;
  return true;
}

}  // namespace

FrameLine::FrameLine(std::shared_ptr<LineModel> classifier, LineOptions options, visits::IdMaker& ids,
                     visits::VisitSink sink, std::vector<std::string>& warnings, Tracks::Ended track_ended)
    : classifier_(std::move(classifier)),
      rule_(visits::Rule::make(classifier_->facts()->taxa, options.decide, warnings,
                               classifier_->facts()->score_nature())),
      decider_(rule_),
      ids_(&ids),
      tracker_(of_model(std::move(options.track), *classifier_->facts()), classifier_->facts()->taxa, ids,
               std::move(sink)),
      gate_(options.gate),
      stage_(options.look, options.gate.region),
      tracks_(classifier_->facts()->taxa->of_class().size(), ids, std::move(track_ended)),
      suggestion_(options.gate.region),
      budget_(options.look.budget),
      top_k_(options.top_k),
      camera_(tracker_.source()) {}

void FrameLine::adopt(std::shared_ptr<const visits::Rule> rule, const LineOptions& options) {
  rule_ = std::move(rule);
  decider_ = visits::Decider(rule_);
  tracker_.retune(options.track);
  gate_ = Gate(options.gate);
  stage_ = RegionStage(options.look, options.gate.region);
  suggestion_.set_limits(options.gate.region);
  budget_ = LookBudget(options.look.budget);
  top_k_ = options.top_k;
  tracks_.clear(rule_->taxa().of_class().size());
}

camera::PictureNeeds::Enough FrameLine::picture_needs() const {
  return [facts = classifier_->facts(), detector = detector_](camera::ImageSize picture) {
    camera::ImageSize enough = facts->enough_pixels(picture, std::nullopt);
    if (!detector) return enough;
    const camera::ImageSize other = detector->enough_pixels(picture);
    return camera::ImageSize{std::max(enough.width, other.width), std::max(enough.height, other.height)};
  };
}

std::optional<Suggestion> FrameLine::suggestion() const {
  return stage_.provider_of(*classifier_) == ProposedBy::kMotion ? suggestion_.current() : std::nullopt;
}

void FrameLine::rename(std::shared_ptr<const ModelFacts> facts, std::shared_ptr<const visits::Rule> rule) {
  tracker_.change_model(facts->taxa, facts->name, facts->digest);
  tracks_.clear(facts->taxa->of_class().size());
  classifier_->set_facts(std::move(facts));
  rule_ = std::move(rule);
  decider_ = visits::Decider(rule_);
}

LineModel FrameLine::change_model(LineModel classifier, std::shared_ptr<const visits::Rule> rule) {
  LineModel before = std::exchange(*classifier_, std::move(classifier));
  rename(classifier_->facts(), std::move(rule));
  return before;
}

Result<SecondOpinion> FrameLine::ask(LineModel& other, visits::Decider& decider, const camera::Frame& frame,
                                     const Prediction& prediction) const {
  SecondOpinion opinion;
  const SteadyTime begun = SteadyClock::now();
  camera::MjpegPlanes decoder;
  Region region = stage_.choose(other, frame.view()).items[0];
  const RegionLook& best = prediction.regions[0];
  if (stage_.provider_of(other) == best.proposed_by && best.proposed_by != ProposedBy::kWhole) {
    region = {.box = best.box, .part = best.crop, .by = best.proposed_by};
  }
  KINGLET_TRY(fill_input(other, frame, region, Where::kInput, decoder));
  const std::span<const float> scores = KINGLET_TRY(other.run());
  opinion.taken = SteadyClock::now() - begun;
  opinion.answer = decider.decide(scores, season(prediction.at, prediction.clock_synced), top_k_);
  return opinion;
}

Result<std::variant<Prediction, SkipReason>> FrameLine::look_at(const camera::Frame& frame, SteadyTime now,
                                                                bool clock_synced) {
  const Prepared prepared = KINGLET_TRY(prepare(frame, now, clock_synced, Where::kInput));
  return answer(frame, prepared, &LineModel::run);
}

Result<Prepared> FrameLine::prepare(const camera::Frame& frame, SteadyTime now, bool clock_synced, Where where) {
  const Gate::Moment moment{.now = now,
                            .wall = frame.info().captured_wall,
                            .clock_synced = clock_synced,
                            .visit_open = tracker_.visit_is_open(),
                            .where_matters = stage_.provider_of(*classifier_) != ProposedBy::kWhole,
                            .birds = tracks_.birds()};
  jpeg_.forget();
  // The gate's part as well: it may decode what the model reads.
  const SteadyTime begun = SteadyClock::now();
  Prepared prepared{.skip = gate_.decide(frame, moment, decoding_of(frame.small())),
                    .aside = where == Where::kAside,
                    .regions = {},
                    .crop = {},
                    .clock_synced = clock_synced,
                    .now = now,
                    .begun = begun,
                    .done = {}};
  if (!prepared.skip) {
    prepared.regions = stage_.choose(*classifier_, frame.view(), gate_.motion(), tracks_, now);
    KINGLET_TRY(decode_for(frame.view(), prepared.regions));
    prepared.crop = KINGLET_TRY(fill_input(*classifier_, frame, prepared.regions.items[0], where, jpeg_));
  }
  prepared.done = SteadyClock::now();
  return prepared;
}

Result<std::variant<Prediction, SkipReason>> FrameLine::answer(const camera::Frame& frame, const Prepared& prepared,
                                                               const Run& run) {
  begin(prepared);
  std::optional<Looked> looked = KINGLET_TRY(go_on(frame, run, Until::kAnswer));
  return *std::move(looked);
}

void FrameLine::begin(const Prepared& prepared) {
  under_way_.prepared = prepared;
  under_way_.has_more = true;
  under_way_.has_begun = false;
}

Result<std::optional<FrameLine::Looked>> FrameLine::go_on(const camera::Frame& frame, const Run& run, Until until) {
  std::optional<Looked> looked = KINGLET_TRY(next_part(frame, run, until));
  while (!looked && until == Until::kAnswer) looked = KINGLET_TRY(next_part(frame, run, until));
  // Until the next part others have the model.
  under_way_.input_is_ready = false;
  return looked;
}

Result<std::optional<FrameLine::Looked>> FrameLine::next_part(const camera::Frame& frame, const Run& run, Until until) {
  UnderWay& work = under_way_;
  if (work.prepared.skip) {
    work.has_more = false;
    tracker_.tick(work.prepared.now);
    return *work.prepared.skip;
  }
  const SteadyTime begun = SteadyClock::now();
  if (!work.has_begun) begin_prediction(frame);
  if (!work.is_asked || !ask_detector(frame)) {
    KINGLET_TRY(look_at_next(frame, run, until));
    if (!work.has_more) return end_prediction(frame, begun);
  }
  work.worked += SteadyClock::now() - begun;
  return std::nullopt;
}

void FrameLine::begin_prediction(const camera::Frame& frame) {
  UnderWay& work = under_way_;
  const SteadyTime now = work.prepared.now;
  const camera::FrameInfo& info = frame.info();
  work.has_begun = true;
  work.worked = {};
  work.prediction = {};
  Prediction& prediction = work.prediction;
  prediction.at = info.captured_wall;
  prediction.clock_synced = work.prepared.clock_synced;
  prediction.frame_seq = info.sequence;
  prediction.drawn = info.drawn;
  prediction.id = ids_->next(prediction.at);
  prediction.timing.preprocess = work.prepared.done - work.prepared.begun;
  follow_source(info);
  // Each picture that somebody chose stands for itself.
  if (info.still) tracks_.clear(rule_->taxa().of_class().size());
  newest_at_ = std::max(newest_at_, std::min(info.captured_at, now));
  budget_.note_frame(info.sequence, info.captured_at);
  work.regions = work.prepared.regions;
  work.most = budget_.allows(gate_.interval(), cameras_);
  work.next = 0;
  work.input_is_ready = true;
  work.is_asked = detector_ && detector_->works(now);
  if (!work.is_asked) return;
  work.looks = std::min(work.regions.count, work.most);
  work.looks_left = budget_.allows_beside(work.looks, beside(now));
  work.next_look = 0;
  work.seen_count = 0;
  work.has_opinions = false;
  work.for_people = looks_for_people(frame);
  findings_.clear();
}

Prediction FrameLine::end_prediction(const camera::Frame& frame, SteadyTime part_begun) {
  UnderWay& work = under_way_;
  const Prepared& prepared = work.prepared;
  Prediction& prediction = work.prediction;
  if (people_ && detector_) look_at_first_picture(frame, prepared.now, prediction);
  const SteadyClock::duration looked = prediction.timing.preprocess + prediction.timing.inference;
  budget_.note_cost(looked, prediction.region_count);
  if (detector_) budget_.note_used(looked + prediction.detector.time, beside(prepared.now));
  prediction.seq = next_seq_++;
  tracks_.tick(newest_at_);
  const SteadyTime now = SteadyClock::now();
  const SteadyClock::duration worked = work.worked + (now - part_begun);
  const SteadyClock::duration waited = prepared.now - frame.info().captured_at;
  const SteadyClock::duration first = prepared.done - prepared.begun;
  StageTimes& timing = prediction.timing;
  prediction.age = waited + (now - prepared.begun);
  // Between the parts as well.
  timing.wait = waited + (now - prepared.done) - worked;
  timing.postprocess = worked - timing.inference - prediction.detector.time - (timing.preprocess - first);
  return prediction;
}

std::optional<Prediction> FrameLine::cut_short(const camera::Frame& frame) {
  UnderWay& work = under_way_;
  const bool has_looked = work.has_more && work.has_begun && work.next > 0;
  work.has_more = false;
  if (!has_looked) return std::nullopt;
  const std::size_t left = std::min(work.regions.count, work.most) - work.next;
  work.prediction.left_out[std::to_underlying(LeftOut::kBudget)] += static_cast<std::uint32_t>(left);
  return end_prediction(frame, SteadyClock::now());
}

Result<void> FrameLine::look_at_next(const camera::Frame& frame, const Run& run, Until until) {
  UnderWay& work = under_way_;
  const Regions& regions = work.regions;
  Prediction& prediction = work.prediction;
  const std::size_t count = std::min(regions.count, work.most);
  const std::size_t i = work.next++;
  bool is_ready = false;
  if (i == 0) {
    prediction.left_out = regions.left_out;
    prediction.left_out[std::to_underlying(LeftOut::kBudget)] += static_cast<std::uint32_t>(regions.count - count);
    is_ready = work.input_is_ready && regions.items[0].part == work.prepared.regions.items[0].part;
    if (work.prepared.aside && is_ready) classifier_->take_next();
  }
  const SteadyTime begun = SteadyClock::now();
  CropRect crop = work.prepared.crop;
  if (!is_ready) crop = KINGLET_TRY(fill_input(*classifier_, frame, regions.items[i], Where::kInput, jpeg_));
  const SteadyTime filled = SteadyClock::now();
  work.has_more = work.next < count;
  // In parts what comes next may be another line's frame.
  const bool goes_on_here = work.has_more && until == Until::kAnswer;
  const std::span<const float> scores = KINGLET_TRY(goes_on_here ? classifier_->run() : run(*classifier_));
  prediction.timing.inference += SteadyClock::now() - filled;
  prediction.timing.preprocess += filled - begun;
  note_scores(frame.info(), regions.items[i], crop, scores, prediction);
  return {};
}

camera::ImageSize FrameLine::pixels_for(const camera::FrameView& view, const Regions& regions) const {
  camera::ImageSize most;
  for (const Region& region : regions.all()) {
    const auto pixels = classifier_->preprocessor().needed(view, region.part);
    if (!pixels) continue;
    most = {.width = std::max(most.width, pixels->width), .height = std::max(most.height, pixels->height)};
  }
  return most;
}

Gate::Decoding FrameLine::decoding_of(const camera::FrameView& view) {
  const bool is_jpeg = view.format == camera::PixelFormat::kMjpeg && check_view(view);
  if (!is_jpeg || stage_.provider_of(*classifier_) == ProposedBy::kMotion) return {.decoder = &jpeg_};
  const auto pixels = pixels_for(view, stage_.choose(*classifier_, view));
  return {.decoder = &jpeg_, .width = pixels.width, .height = pixels.height};
}

Result<void> FrameLine::decode_for(const camera::FrameView& view, const Regions& regions) {
  if (view.format != camera::PixelFormat::kMjpeg || regions.count < 2) return {};
  const auto pixels = pixels_for(view, regions);
  return jpeg_.decode(view, pixels.width, pixels.height);
}

Result<CropRect> FrameLine::fill_input(LineModel& classifier, const camera::Frame& frame, const Region& region,
                                       Where where, camera::MjpegPlanes& decoder) {
  const auto fill = [&](const camera::FrameView& view, const std::optional<CropRect>& crop) {
    return where == Where::kAside ? classifier.prepare_next(view, crop, decoder)
                                  : classifier.prepare(view, crop, decoder);
  };
  const camera::FrameView& full = frame.view();
  // What is cut out of the picture needs all the pixels there are.
  if (region.part && region.by == ProposedBy::kWhole) return fill(full, region.part);
  if (region.part) {
    const SquareSizes sizes(full.width, full.height);
    return classifier.prepare_part(full, *region.part, sizes.all(), where, decoder);
  }
  const camera::FrameView& small = frame.small();
  if (frame.info().still && small.width < full.width) {
    // A photograph in fewer pixels, as if all were there; they may be those for a model of before.
    const camera::ImageSize enough = classifier.facts()->enough_pixels({full.width, full.height}, std::nullopt);
    if (small.width < enough.width || small.height < enough.height) return fill(full, std::nullopt);
    return classifier.prepare_reduced(small, {full.width, full.height}, std::nullopt, where);
  }
  const CropRect used = KINGLET_TRY(fill(small, std::nullopt));
  return CropRect{used.x * full.width / small.width, used.y * full.height / small.height,
                  used.width * full.width / small.width, used.height * full.height / small.height};
}

void FrameLine::follow_source(const camera::FrameInfo& info) {
  if (std::exchange(drawn_, info.drawn) == info.drawn) return;
  tracker_.change_source(info.drawn ? std::string(kDrawnSource) : camera_);
  suggestion_.clear();
  tracks_.clear(rule_->taxa().of_class().size());
}

void FrameLine::note_scores(const camera::FrameInfo& info, const Region& region, const CropRect& crop,
                            std::span<const float> scores, Prediction& prediction) {
  const auto month = season(prediction.at, prediction.clock_synced);
  const Answer look = decider_.decide(scores, month, top_k_);
  Track& track = tracks_.take(region, newest_at_, prediction.at);
  Answer answer = look;
  if (look.outcome != Outcome::kNonFinite) {
    if (info.still) {
      track.evidence.set_picture(scores);
    } else {
      track.evidence.add(scores, newest_at_);
      answer = decider_.decide(track.evidence.scores(), month, top_k_, track.evidence.looks());
    }
  }
  if (region.opinion) track.opinions.add(*region.opinion);
  tracks_.note(track, answer, look, newest_at_);
  suggestion_.note(track, newest_at_, prediction.at);
  const visits::Tracked tracked = tracker_.update({.at = newest_at_,
                                                   .wall = prediction.at,
                                                   .clock_synced = prediction.clock_synced,
                                                   .track = track.id,
                                                   .one_thing = track.by == ProposedBy::kMotion,
                                                   .answer = answer,
                                                   .look = look,
                                                   .prediction = prediction.id,
                                                   .crop = crop,
                                                   .box = region.box});
  RegionLook seen{.track = track.id,
                  .box = region.box,
                  .crop = crop,
                  .proposed_by = region.by,
                  .outcome = answer.outcome,
                  .entries = {},
                  .opinion = region.opinion,
                  .visit = tracked.visit,
                  .best_of_visit = tracked.best};
  for (const Scored& scored : answer.top().first(std::min(answer.count, kRegionTop))) {
    seen.entries[seen.count++] = scored;
  }
  seen.best_unnamed = note_best(track, answer, look, prediction, seen);
  if (add_look(seen, answer, prediction)) newest_look_ = look;
}

}  // namespace kinglet::daemon
