// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/frame_line.h"

#include <algorithm>
#include <utility>

#include "camera/preprocess/geometry.h"

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

// Between two looks at the whole frame for people, where there is time for it, and where there is none.
constexpr std::chrono::milliseconds kLookForPeople{1500};
constexpr std::chrono::seconds kLookForPeopleAtLatest{3};

bool is_within(const CropRect& box, const CropRect& part) {
  return box.x >= part.x && box.y >= part.y && box.x + box.width <= part.x + part.width &&
         box.y + box.height <= part.y + part.height;
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
  if (prepared.skip) {
    tracker_.tick(prepared.now);
    return *prepared.skip;
  }
  const SteadyTime begun = SteadyClock::now();
  const camera::FrameInfo& info = frame.info();
  Prediction prediction;
  prediction.at = info.captured_wall;
  prediction.clock_synced = prepared.clock_synced;
  prediction.frame_seq = info.sequence;
  prediction.drawn = info.drawn;
  prediction.id = ids_->next(prediction.at);
  follow_source(info);
  // Each picture that somebody chose stands for itself.
  if (info.still) tracks_.clear(rule_->taxa().of_class().size());
  newest_at_ = std::max(newest_at_, std::min(info.captured_at, prepared.now));
  budget_.note_frame(info.sequence, info.captured_at);
  KINGLET_TRY(look_at_regions(frame, prepared, run, prediction));
  const SteadyClock::duration looked = prediction.timing.preprocess + prediction.timing.inference;
  budget_.note_cost(looked, prediction.region_count);
  if (detector_) budget_.note_used(looked + prediction.detector.time, beside(prepared.now));
  prediction.seq = next_seq_++;
  tracks_.tick(newest_at_);
  const SteadyClock::duration taken = SteadyClock::now() - begun;
  const SteadyClock::duration waited = prepared.now - info.captured_at;
  const SteadyClock::duration first = prepared.done - prepared.begun;
  StageTimes& timing = prediction.timing;
  prediction.age = waited + (begun - prepared.begun) + taken;
  timing.wait = waited + (begun - prepared.done);
  timing.postprocess = taken - timing.inference - prediction.detector.time - (timing.preprocess - first);
  return prediction;
}

Result<void> FrameLine::look_at_regions(const camera::Frame& frame, const Prepared& prepared, const Run& run,
                                        Prediction& prediction) {
  Regions regions = prepared.regions;
  const std::size_t most = budget_.allows(gate_.interval(), cameras_);
  ask_detector(frame, std::min(regions.count, most), prepared.now, regions, prediction.detector);
  const std::size_t count = std::min(regions.count, most);
  const bool first_is_ready = regions.items[0].part == prepared.regions.items[0].part;
  prediction.left_out = regions.left_out;
  prediction.left_out[std::to_underlying(LeftOut::kBudget)] += static_cast<std::uint32_t>(regions.count - count);
  prediction.timing.preprocess = prepared.done - prepared.begun;
  if (prepared.aside && first_is_ready) classifier_->take_next();
  for (std::size_t i = 0; i < count; ++i) {
    const SteadyTime begun = SteadyClock::now();
    CropRect crop = prepared.crop;
    if (i > 0 || !first_is_ready)
      crop = KINGLET_TRY(fill_input(*classifier_, frame, regions.items[i], Where::kInput, jpeg_));
    const SteadyTime filled = SteadyClock::now();
    const std::span<const float> scores = KINGLET_TRY(i + 1 == count ? run(*classifier_) : classifier_->run());
    prediction.timing.inference += SteadyClock::now() - filled;
    prediction.timing.preprocess += filled - begun;
    note_scores(frame.info(), regions.items[i], crop, scores, prediction);
  }
  if (people_ && detector_) look_at_first_picture(frame, prepared.now, prediction);
  return {};
}

void FrameLine::ask_detector(const camera::Frame& frame, std::size_t looks, SteadyTime now, Regions& regions,
                             DetectorWork& work) {
  if (!detector_ || !detector_->works(now)) return;
  const SteadyTime begun = SteadyClock::now();
  const Scene scene = stage_.scene(*classifier_, frame.view(), gate_.motion());
  std::size_t looks_left = budget_.allows_beside(looks, beside(now));
  findings_.clear();
  if (people_) look_for_people(frame, now, looks_left, work);
  const bool asked = look_into(scene, now, looks, looks_left, regions, work);
  for (const Found& found : findings_.all()) ++work.found[std::to_underlying(found.opinion.being)];
  tell_of_people(frame.info().captured_at);
  if (asked) work.refined = refine(scene, findings_, tracks_, stage_.most(), regions);
  work.time = SteadyClock::now() - begun;
}

void FrameLine::look_for_people(const camera::Frame& frame, SteadyTime now, std::size_t& looks_left,
                                DetectorWork& work) {
  // Whoever has little time has to take it: a person is not to be kept for want of it. A still says nothing of the
  // next.
  const auto gap = looks_left == 0 ? SteadyClock::duration(kLookForPeopleAtLatest) : kLookForPeople;
  if (!frame.info().still && people_looked_for_ != SteadyTime{} && now - people_looked_for_ < gap) return;
  if (looks_left > 0) --looks_left;
  look_at_whole(frame, now, jpeg_, work);
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

bool FrameLine::look_into(const Scene& scene, SteadyTime now, std::size_t looks, std::size_t looks_left,
                          Regions& regions, DetectorWork& work) {
  std::array<CropRect, kMaxRegions> seen;
  std::size_t count = 0;
  bool asked = false;
  for (Region& region : std::span(regions.items).first(looks)) {
    if (region.by == ProposedBy::kWhole || !detector_->works(now)) continue;
    const CropRect box = camera::pixels_of(region.box, scene.frame.width, scene.frame.height);
    const auto has_it = [&](const CropRect& part) { return is_within(box, part); };
    if (std::ranges::none_of(std::span(seen).first(count), has_it)) {
      if (looks_left == 0) {
        ++work.left_out;
        continue;
      }
      --looks_left;
      seen[count] = detector_part(scene, region);
      if (!detector_->look(scene.frame, seen[count], now, jpeg_, findings_)) continue;
      ++work.looks;
      ++count;
    }
    region.opinion = Opinion{};
    asked = true;
  }
  return asked;
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
