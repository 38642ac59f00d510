// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/frame_line.h"

#include <algorithm>
#include <utility>

#include "camera/preprocess/geometry.h"

namespace kinglet::daemon {
namespace {

constexpr int kLeastSide = 96;  // of what is cut out around a motion: fewer pixels are no bird to any classifier

visits::TrackerOptions of_model(visits::TrackerOptions options, const ModelFacts& facts) {
  options.model_name = facts.name;
  options.model_digest = facts.digest;
  return options;
}

// Without a set clock nobody knows the season.
std::optional<unsigned> season(WallTime at, bool clock_synced) {
  return clock_synced ? std::optional(visits::month_of(at)) : std::nullopt;
}

}  // namespace

FrameLine::FrameLine(LineModel classifier, LineOptions options, visits::IdMaker& ids, visits::VisitSink sink,
                     std::vector<std::string>& warnings)
    : classifier_(std::move(classifier)),
      rule_(
          visits::Rule::make(classifier_.facts()->taxa, options.decide, warnings, classifier_.facts()->score_nature())),
      decider_(rule_),
      ids_(&ids),
      tracker_(of_model(std::move(options.track), *classifier_.facts()), classifier_.facts()->taxa, ids,
               std::move(sink)),
      region_(options.gate.region),
      gate_(options.gate),
      top_k_(options.top_k),
      camera_(tracker_.source()) {}

void FrameLine::adopt(std::shared_ptr<const visits::Rule> rule, const LineOptions& options) {
  rule_ = std::move(rule);
  decider_ = visits::Decider(rule_);
  tracker_.retune(options.track);
  region_ = options.gate.region;
  gate_ = Gate(options.gate);
  top_k_ = options.top_k;
}

void FrameLine::rename(std::shared_ptr<const ModelFacts> facts, std::shared_ptr<const visits::Rule> rule) {
  tracker_.change_model(facts->taxa, facts->name, facts->digest);
  classifier_.set_facts(std::move(facts));
  rule_ = std::move(rule);
  decider_ = visits::Decider(rule_);
}

LineModel FrameLine::change_model(LineModel classifier, std::shared_ptr<const visits::Rule> rule) {
  LineModel before = std::exchange(classifier_, std::move(classifier));
  rename(classifier_.facts(), std::move(rule));
  return before;
}

Result<SecondOpinion> FrameLine::ask(LineModel& other, visits::Decider& decider, const camera::Frame& frame,
                                     bool clock_synced) const {
  SecondOpinion opinion;
  const SteadyTime begun = SteadyClock::now();
  camera::MjpegPlanes decoder;
  KINGLET_TRY(fill_input(other, frame, Where::kInput, decoder));
  const std::span<const float> scores = KINGLET_TRY(other.run());
  opinion.taken = SteadyClock::now() - begun;
  opinion.answer = decider.decide(scores, season(frame.info().captured_wall, clock_synced), top_k_);
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
                            .visit_open = tracker_.visit_is_open()};
  jpeg_.forget();
  // The gate's part as well: it may decode what the model reads.
  const SteadyTime begun = SteadyClock::now();
  Prepared prepared{.skip = gate_.decide(frame, moment, decoding_of(frame.small())),
                    .aside = where == Where::kAside,
                    .crop = {},
                    .clock_synced = clock_synced,
                    .now = now,
                    .begun = begun,
                    .done = {}};
  if (!prepared.skip) prepared.crop = KINGLET_TRY(fill_input(classifier_, frame, where, jpeg_));
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
  if (prepared.aside) classifier_.take_next();
  const std::span<const float> scores = KINGLET_TRY(run(classifier_));
  const SteadyTime run_at = SteadyClock::now();
  const camera::FrameInfo& info = frame.info();
  Prediction prediction;
  prediction.crop = prepared.crop;
  prediction.at = info.captured_wall;
  prediction.clock_synced = prepared.clock_synced;
  prediction.frame_seq = info.sequence;
  prediction.drawn = info.drawn;
  prediction.answer = decider_.decide(scores, season(prediction.at, prediction.clock_synced), top_k_);
  prediction.id = ids_->next(prediction.at);
  prediction.seq = next_seq_++;
  track(info, prepared.now, prediction);
  const SteadyTime done_at = SteadyClock::now();
  const SteadyClock::duration waited = prepared.now - info.captured_at;
  prediction.age = waited + (done_at - prepared.begun);
  prediction.timing = {waited + (begun - prepared.done), prepared.done - prepared.begun, run_at - begun,
                       done_at - run_at};
  return prediction;
}

Gate::Decoding FrameLine::decoding_of(const camera::FrameView& view) {
  Gate::Decoding decoding{.decoder = &jpeg_};
  const bool is_jpeg = view.format == camera::PixelFormat::kMjpeg && check_view(view);
  if (!is_jpeg || classifier_.facts()->recipe.crop_to_motion) return decoding;
  std::optional<camera::CropRect> crop;
  if (region_) crop = classifier_.crop_within(camera::pixels_of(*region_, view.width, view.height));
  const auto pixels = classifier_.preprocessor().needed(view, crop);
  if (pixels) decoding = {.decoder = &jpeg_, .width = pixels->width, .height = pixels->height};
  return decoding;
}

Result<camera::CropRect> FrameLine::fill_input(LineModel& classifier, const camera::Frame& frame, Where where,
                                               camera::MjpegPlanes& decoder) const {
  const auto fill = [&](const camera::FrameView& view, const std::optional<camera::CropRect>& crop) {
    return where == Where::kAside ? classifier.prepare_next(view, crop, decoder)
                                  : classifier.prepare(view, crop, decoder);
  };
  const camera::FrameView& full = frame.view();
  // What is cut out of the picture needs all the pixels there are.
  if (const auto crop = choose_crop(classifier, full)) return fill(full, crop);
  const camera::FrameView& small = frame.small();
  const camera::CropRect used = KINGLET_TRY(fill(small, std::nullopt));
  return camera::CropRect{used.x * full.width / small.width, used.y * full.height / small.height,
                          used.width * full.width / small.width, used.height * full.height / small.height};
}

std::optional<camera::CropRect> FrameLine::choose_crop(const LineModel& classifier,
                                                       const camera::FrameView& view) const {
  const camera::CropRect limits = camera::pixels_of(region_.value_or(Area{}), view.width, view.height);
  const std::optional<Motion>& motion = gate_.motion();
  const ModelFacts& facts = *classifier.facts();
  if (facts.recipe.crop_to_motion && motion && motion->moving) {
    return camera::square_around(camera::pixels_of(motion->where, view.width, view.height), limits, kLeastSide);
  }
  return region_ ? std::optional(classifier.crop_within(limits)) : std::nullopt;
}

void FrameLine::track(const camera::FrameInfo& info, SteadyTime now, Prediction& prediction) {
  const camera::CropRect& crop = prediction.crop;
  if (std::exchange(drawn_, info.drawn) != info.drawn) {
    tracker_.change_source(info.drawn ? std::string(kDrawnSource) : camera_);
  }
  const visits::Tracked tracked = tracker_.update({.at = std::min(info.captured_at, now),
                                                   .wall = prediction.at,
                                                   .clock_synced = prediction.clock_synced,
                                                   .answer = prediction.answer,
                                                   .prediction = prediction.id,
                                                   .crop = {crop.x, crop.y, crop.width, crop.height}});
  prediction.visit = tracked.visit;
  prediction.best_of_visit = tracked.best;
}

}  // namespace kinglet::daemon
