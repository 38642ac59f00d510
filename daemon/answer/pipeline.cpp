// SPDX-License-Identifier: Apache-2.0
#include "daemon/answer/pipeline.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "daemon/machine/clock_sync.h"
#include "daemon/machine/thread_entry.h"
#include "engine/base/check.h"
#include "engine/base/format.h"

namespace kinglet::daemon {
namespace {

// One that gave no frame for so long takes no time.
constexpr std::chrono::seconds kMovingFor{5};

// Where the gate did not measure it may.
bool may_move(const Gate& gate, const Prepared& prepared) {
  if (prepared.skip == SkipReason::kRate || prepared.skip == SkipReason::kSchedule) return false;
  const std::optional<Motion>& motion = gate.motion();
  return !motion || motion->moving || motion->new_scene;
}

}  // namespace

Pipeline::Pipeline(std::vector<Feed> feeds, ClassifyDesk& desk, LatestPredictions& latest, LogSink log,
                   BestLook best_look, ModelChanges changes, LookAhead look_ahead)
    : turns_(feeds.size()),
      changes_(std::move(changes)),
      desk_(desk),
      latest_(latest),
      log_(std::move(log)),
      best_look_(std::move(best_look)) {
  KINGLET_CHECK(!feeds.empty());
  for (Feed& feed : feeds) {
    KINGLET_CHECK(&feed.mailbox.bell() == &feeds.front().mailbox.bell());
    cameras_.push_back({.feed = std::move(feed)});
  }
  heartbeat_ = SteadyClock::now().time_since_epoch().count();
  if (look_ahead == LookAhead::kYes) side_.emplace("prepare");
  publish_model();
}

Pipeline::~Pipeline() { stop(); }

void Pipeline::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    enter_thread("answer", [&] {
      while (!stop.stop_requested()) step(std::chrono::milliseconds(500));
      finish();
    });
    ended_.release();
  });
}

// Who waits for its model gets it back: nobody takes it any more.
void Pipeline::finish() {
  cut_short();
  for (Camera& camera : cameras_) {
    if (camera.feed.line) camera.feed.line->finish();
  }
  if (candidate_) end_trial({});
  if (changes_.desk != nullptr) changes_.desk->close();
}

bool Pipeline::stop_by(SteadyTime deadline) {
  thread_.request_stop();
  desk_.close();
  for (Camera& camera : cameras_) camera.feed.mailbox.close();
  if (thread_.joinable() && !ended_.try_acquire_until(deadline)) return false;
  if (thread_.joinable()) thread_.join();
  next_.reset();
  for (Camera& camera : cameras_) camera.under_way.reset();
  return true;
}

void Pipeline::stop() {
  if (stop_by(SteadyClock::now())) return;
  thread_.join();
  next_.reset();
}

SteadyTime Pipeline::heartbeat() const { return SteadyTime(SteadyClock::duration(heartbeat_.load())); }

void Pipeline::step(std::chrono::milliseconds patience) {
  heartbeat_ = SteadyClock::now().time_since_epoch().count();
  take_up_settings();
  take_up_model();
  answer_posted_picture();
  // A frame and a posted picture take turns; with more pictures waiting, a missing frame is not waited for.
  std::optional<Next> next = take_next(desk_.empty() ? patience : std::chrono::milliseconds(0));
  const SteadyTime begun = SteadyClock::now();
  const bool has_turn = next.has_value();
  const Turns::Turn turn = has_turn ? next->turn : Turns::Turn{};
  Camera& camera = cameras_[turn.camera];
  try {
    if (next && has_model()) {
      if (next->frame) camera.last_frame_at = begun;
      look_at(*std::move(next));
    } else if (next) {
      camera.feed.stats.add_given_back();
    }
    // Visits of others end in time as well, however many frames come from this one.
    if (!has_turn || cameras_.size() > 1) tick(begun);
  } catch (const CheckFailure& bug) {
    camera.under_way.reset();
    report(camera, Error{ErrorCode::kInternal, bug.what(), {}, {}});
  }
  if (has_turn) turns_.end(turn, SteadyClock::now() - begun);
}

void Pipeline::tick(SteadyTime now) {
  for (std::size_t i = 0; i < cameras_.size(); ++i) {
    Feed& feed = cameras_[i].feed;
    if (!feed.line || cameras_[i].under_way || feed.mailbox.has_frame() || (next_ && next_->turn.camera == i)) continue;
    feed.line->tick(now);
  }
}

std::size_t Pipeline::moving_cameras(SteadyTime now) const {
  const auto moves = [&](const Camera& camera) { return now - camera.last_frame_at < kMovingFor; };
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, std::ranges::count_if(cameras_, moves)));
}

std::optional<Pipeline::Next> Pipeline::take_next(std::chrono::milliseconds patience) {
  if (next_) return std::exchange(next_, std::nullopt);
  if (std::optional<Next> next = take_waiting()) return next;
  cameras_.front().feed.mailbox.bell().wait(SteadyClock::now() + patience);
  return take_waiting();
}

std::optional<Pipeline::Next> Pipeline::take_waiting() {
  const auto has_more = [](const Camera& camera) { return camera.under_way && camera.feed.line->has_more(); };
  const auto turn =
      turns_.next([&](std::size_t i) { return has_more(cameras_[i]) || cameras_[i].feed.mailbox.has_frame(); });
  if (!turn) return std::nullopt;
  if (has_more(cameras_[turn->camera])) return Next{.turn = *turn, .frame = std::nullopt, .prepared = std::nullopt};
  Feed& feed = cameras_[turn->camera].feed;
  if (feed.line) feed.mailbox.set_pace(feed.line->gate().interval());
  std::optional<camera::Frame> frame = feed.mailbox.take_now();
  if (frame) return Next{.turn = *turn, .frame = *std::move(frame), .prepared = std::nullopt};
  turns_.end(*turn, {});  // it was closed meanwhile
  return std::nullopt;
}

LineOptions Pipeline::options_of(const Feed& feed, const LineOptions& options) {
  return feed.options ? feed.options(options) : options;
}

void Pipeline::adopt(LineOptions options) {
  MutexLock lock(mutex_);
  settings_ = std::move(options);
}

void Pipeline::rename(std::shared_ptr<const ModelFacts> facts) {
  MutexLock lock(mutex_);
  names_ = std::move(facts);
}

void Pipeline::take_up_settings() {
  std::optional<LineOptions> settings;
  std::shared_ptr<const ModelFacts> names;
  {
    MutexLock lock(mutex_);
    settings.swap(settings_);
    names.swap(names_);
  }
  if (!settings && !names) return;
  cut_short();
  if (settings) changes_.options = std::move(*settings);
  if (!has_model()) return;
  if (names && names->digest == first_line().classifier().facts()->digest) {
    const auto rule = make_rule(*names);
    for (Camera& camera : cameras_) camera.feed.line->rename(names, rule);
  }
  if (settings) {
    const auto rule = make_rule(*first_line().classifier().facts());
    for (Camera& camera : cameras_) camera.feed.line->adopt(rule, options_of(camera.feed, changes_.options));
  }
  if (next_) next_->prepared.reset();
  publish_model();
}

// Names that the model does not know are told once for each model and each change of the settings.
std::shared_ptr<const visits::Rule> Pipeline::make_rule(const ModelFacts& model) {
  std::vector<std::string> warnings;
  auto rule = visits::Rule::make(model.taxa, changes_.options.decide, warnings, model.score_nature());
  for (const std::string& warning : warnings) {
    if (log_) log_(LogLevel::kWarning, warning);
  }
  return rule;
}

void Pipeline::publish_model() {
  if (!has_model()) return;
  for (const Camera& camera : cameras_) {
    if (camera.feed.needs) camera.feed.needs->say(camera.feed.line->picture_needs());
  }
  if (changes_.board == nullptr) return;
  model_number_ = changes_.board->publish(first_line().classifier().facts(), first_line().rule());
}

void Pipeline::take_up_model() {
  if (changes_.desk == nullptr) return;
  if (candidate_ && changes_.desk->wanted_back()) end_trial({});
  std::optional<ModelDesk::Offer> offer = changes_.desk->take();
  if (!offer) return;
  if (!offer->trial || !has_model()) return change_model(std::move(offer->classifier));
  visits::Decider decider(make_rule(*offer->classifier.facts()));
  candidate_.emplace(std::move(offer->classifier), std::move(decider), Trial(offer->trial->frames));
}

void Pipeline::change_model(LineModel classifier) {
  ModelDesk::Back back{.classifier = {}, .report = {}, .error = {}, .taken = true};
  if (has_model()) {
    cut_short();
    const auto rule = make_rule(*classifier.facts());
    back.classifier.emplace(first_line().change_model(std::move(classifier), rule));
    for (std::size_t i = 1; i < cameras_.size(); ++i) {
      cameras_[i].feed.line->rename(first_line().classifier().facts(), rule);
    }
    if (next_) next_->prepared.reset();
  } else {
    const auto shared = std::make_shared<LineModel>(std::move(classifier));
    for (std::size_t i = 0; i < cameras_.size(); ++i) {
      Feed& feed = cameras_[i].feed;
      feed.line.emplace(changes_.make_line(i, shared, options_of(feed, changes_.options)));
    }
  }
  publish_model();
  changes_.desk->done(std::move(back));
}

void Pipeline::try_candidate(const FrameLine& line, const camera::Frame& frame, const Prediction& prediction) {
  const ModelFacts& model = *line.shared_classifier()->facts();
  const auto opinion = line.ask(candidate_->classifier, candidate_->decider, frame, prediction);
  if (!opinion) return end_trial(opinion.error());
  candidate_->trial.add(
      {.answer = line.newest_look(),
       .taxa = *model.taxa,
       .taken = prediction.timing.preprocess + prediction.timing.inference},
      {.answer = opinion->answer, .taxa = *candidate_->classifier.facts()->taxa, .taken = opinion->taken});
  changes_.desk->note(candidate_->trial.report());
  if (candidate_->trial.complete()) end_trial({});
}

void Pipeline::end_trial(std::optional<Error> error) {
  ModelDesk::Back back{
      .classifier = std::move(candidate_->classifier), .report = candidate_->trial.report(), .error = std::move(error)};
  candidate_.reset();
  changes_.desk->done(std::move(back));
}

void Pipeline::look_at(Next next) {
  const std::size_t camera = next.turn.camera;
  if (next.frame && !begin(std::move(next))) return;
  // What was to go on may have been cut short.
  if (cameras_[camera].under_way) go_on(camera);
}

bool Pipeline::begin(Next next) {
  camera::Frame& frame = *next.frame;
  Camera& camera = cameras_[next.turn.camera];
  camera::Mailbox& mailbox = camera.feed.mailbox;
  Stats& stats = camera.feed.stats;
  FrameLine& line = *camera.feed.line;
  const SteadyTime now = SteadyClock::now();
  if (paused_) {
    line.tick(now);
    mailbox.note_readable();  // as far as anybody looks
    stats.add_looked_away(SkipReason::kPaused);
    return false;
  }
  tell_of_hours();
  const double pace = pace_;
  line.set_pace(pace);
  line.share_time(moving_cameras(now));
  if (!next.prepared) next.prepared = line.prepare(frame, now, clock_is_synced(), FrameLine::Where::kInput);
  stats.set_gate(line.gate().motion(), pace);
  if (const Result<Prepared>& prepared = *next.prepared; !prepared) {
    if (prepared.error().code == ErrorCode::kBadData) mailbox.note_unreadable(describe(prepared.error()), now);
    report(camera, prepared.error());
    return false;
  }
  const Prepared& prepared = **next.prepared;
  if (prepared.skip != SkipReason::kRate) mailbox.note_readable();
  if (camera.feed.clips != nullptr && may_move(line.gate(), prepared)) camera.feed.clips->moved(now);
  line.begin(prepared);
  camera.under_way = std::move(frame);
  return true;
}

void Pipeline::go_on(std::size_t index) {
  Camera& camera = cameras_[index];
  // With nobody else to have a part there is no reason to stop.
  const auto until = cameras_.size() > 1 ? FrameLine::Until::kPart : FrameLine::Until::kAnswer;
  auto looked =
      camera.feed.line->go_on(*camera.under_way, [this](LineModel& model) { return run_model(model); }, until);
  if (looked && !*looked) return;
  const camera::Frame frame = *std::exchange(camera.under_way, std::nullopt);
  if (!looked) return report(camera, looked.error());
  if (const auto* skipped = std::get_if<SkipReason>(&**looked)) return camera.feed.stats.add_looked_away(*skipped);
  publish(index, frame, std::get<Prediction>(**looked));
}

void Pipeline::publish(std::size_t index, const camera::Frame& frame, Prediction prediction) {
  Camera& camera = cameras_[index];
  Stats& stats = camera.feed.stats;
  FrameLine& line = *camera.feed.line;
  prediction.seq = ++newest_seq_;  // among those of all cameras
  prediction.camera = static_cast<std::uint32_t>(index);
  prediction.model = model_number_;
  const auto regions = static_cast<SteadyClock::rep>(std::max<std::size_t>(1, prediction.region_count));
  newest_times_ = {.preprocess = prediction.timing.preprocess / regions,
                   .inference = prediction.timing.inference / regions};
  latest_.publish(prediction);
  stats.add_prediction(SteadyClock::now(), prediction);
  stats.set_suggestion(line.suggestion());
  camera.last_error.clear();
  const bool is_best = std::ranges::any_of(
      prediction.looks(), [](const RegionLook& look) { return look.best_of_visit || look.best_unnamed; });
  if (is_best && best_look_) best_look_(frame, prediction);
  if (camera.feed.samples != nullptr) camera.feed.samples->offer(frame, SteadyClock::now());
  if (candidate_) try_candidate(line, frame, prediction);
}

void Pipeline::cut_short() {
  for (std::size_t i = 0; i < cameras_.size(); ++i) {
    const std::optional<camera::Frame> frame = std::exchange(cameras_[i].under_way, std::nullopt);
    if (!frame) continue;
    if (const auto prediction = cameras_[i].feed.line->cut_short(*frame)) publish(i, *frame, *prediction);
  }
}

Result<std::span<const float>> Pipeline::run_model(LineModel& classifier) {
  // A candidate is asked about this frame, as the gate saw it.
  if (!side_ || candidate_ || paused_) return classifier.run();
  // As late as it may be, so that the frame is no older than it has to be; with time to spare, because the model waits
  // for it where requests or another program take the core.
  const StageTimes& times = newest_times_;
  const auto spare = std::max(times.preprocess, times.inference / 4);
  const SteadyTime not_before = SteadyClock::now() + times.inference - times.preprocess - spare;
  std::optional<Result<std::span<const float>>> scores;
  const auto run = [&] {
    scores = classifier.run();
    model_done_.release();
  };
  // Left over where prepare_ahead() did not take it: it was done first, or threw.
  static_cast<void>(model_done_.try_acquire());
  side_->run([this, not_before] { prepare_ahead(not_before); }, std::ref(run));
  return *std::move(scores);
}

void Pipeline::prepare_ahead(SteadyTime not_before) {
  if (model_done_.try_acquire_until(not_before)) return;
  std::optional<Next> next = take_waiting();
  if (!next) return;
  FrameLine& line = *cameras_[next->turn.camera].feed.line;
  if (next->frame) {
    next->prepared = line.prepare(*next->frame, SteadyClock::now(), clock_is_synced(), FrameLine::Where::kAside);
  }
  next_ = std::move(next);
}

void Pipeline::answer_posted_picture() {
  PostedPicture* picture = desk_.take();
  if (picture == nullptr) return;
  try {
    if (Result<void> answered = answer(*picture); !answered) picture->error = answered.error();
  } catch (const CheckFailure& bug) {
    picture->error = Error{ErrorCode::kInternal, bug.what(), {}, {}};
  }
  desk_.done(picture);
}

Result<void> Pipeline::answer(PostedPicture& picture) {
  if (!has_model()) return fail(ErrorCode::kUnavailable, "no model is loaded");
  LineModel& classifier = first_line().classifier();
  if (picture.model != classifier.facts()) {
    return fail(ErrorCode::kBusy, "another model has taken the place of the one that was asked", {}, "ask again");
  }
  const SteadyTime begun = SteadyClock::now();
  classifier.take(picture.tensor);
  const std::span<const float> scores = KINGLET_TRY(classifier.run());
  picture.inference = SteadyClock::now() - begun;
  KINGLET_CHECK(picture.scores.size() == scores.size());
  std::ranges::copy(scores, picture.scores.begin());
  for (std::size_t i = 0; i < picture.tensors.size(); ++i) classifier.give(i, picture.tensors[i]);
  return {};
}

void Pipeline::tell_of_hours() {
  if (hours_told_ || std::holds_alternative<Always>(changes_.options.gate.schedule) || clock_is_synced()) return;
  hours_told_ = true;
  if (log_)
    log_(LogLevel::kWarning, "gate.hours: not applied as long as neither network nor battery has set the clock");
}

void Pipeline::report(Camera& camera, const Error& error) {
  camera.feed.stats.add_failed(SteadyClock::now());
  std::string line = describe(error);
  // A camera that sends the same broken frame ten times a second must not fill the log.
  if (line != camera.last_error && log_) {
    const std::string& name = camera.feed.name;
    log_(LogLevel::kWarning, format_text("{}{}frame not answered: {}", name, name.empty() ? "" : ": ", line));
  }
  camera.last_error = std::move(line);
}

}  // namespace kinglet::daemon
