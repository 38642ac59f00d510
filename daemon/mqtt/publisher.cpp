// SPDX-License-Identifier: Apache-2.0
#include "daemon/mqtt/publisher.h"

#include <algorithm>
#include <array>

#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon::mqtt {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTurn{100};
constexpr milliseconds kTurnWithoutLink{200};
constexpr std::size_t kMostOnTheirWay = 20;
constexpr std::size_t kLargestPicture = 200'000;
constexpr milliseconds kLastWords{1'000};
constexpr milliseconds kPictureAtEnd{500};
constexpr std::chrono::seconds kLongestConnect{60};  // with names that nobody knows
constexpr std::size_t kMostGone = 16;                // cameras

EventSet wished_events() {
  return set_of({EventType::kVisitStart, EventType::kVisitPicture, EventType::kVisitUpdate, EventType::kVisitEnd,
                 EventType::kVisitReviewed, EventType::kVisitDeleted, EventType::kCamera, EventType::kGap});
}

bool is_course_of_visit(EventType type) {
  return type == EventType::kVisitStart || type == EventType::kVisitPicture || type == EventType::kVisitUpdate ||
         type == EventType::kVisitEnd;
}

}  // namespace

Publisher::Publisher(PublisherOptions options, Sources sources, LogSink log)
    : ListeningThread("mqtt", sources.events, wished_events(), options.clock),
      options_(std::move(options)),
      sources_(std::move(sources)),
      log_(std::move(log)),
      backoff_(options_.first_pause, options_.longest_pause),
      outbox_(options_.most_waiting),
      voices_(1 + options_.topics.cameras.size(), Voice{.agenda = Agenda(options_.stats_every), .last_visit = {}}) {
  set_state(LinkState::kConnecting, {});
}

Status Publisher::status() const {
  MutexLock lock(mutex_);
  return status_;
}

void Publisher::set_state(LinkState state, std::string detail) {
  const WallTime wall = wall_now();  // a clock may have a lock of its own
  MutexLock lock(mutex_);
  if (status_.since == WallTime{} || status_.state != state) status_.since = wall;
  status_.state = state;
  status_.detail = std::move(detail);
}

void Publisher::run(const std::stop_token& stop) {
  for (std::size_t i = 0; i < voices_.size() && sources_.last_visit; ++i) {
    voices_[i].last_visit = sources_.last_visit(i);
  }
  while (!stop.stop_requested()) {
    beat(kTurnWithoutLink);
    hear_events(link_ ? milliseconds(0) : let_pass(kTurnWithoutLink));
    if (!link_) {
      if (now() >= next_try_) connect(stop, SteadyTime::max());
    } else if (const Result<void> said = converse(); !said) {
      give_up(said.error());
    }
  }
  say_goodbye();
  count_untold();
}

void Publisher::say_goodbye() {
  const SteadyTime start = now();
  hear_events(milliseconds(0));
  // It may be back since the last try, and keeps a visit as open that has ended.
  const auto has_new_visit = [](const Voice& voice) { return voice.agenda.has_new_visit(); };
  const auto expects_picture = [](const Voice& voice) { return voice.agenda.expects_picture(); };
  if (!link_ && std::ranges::any_of(voices_, has_new_visit)) connect({}, SteadyClock::now() + kLastWords);
  while (link_ && now() < start + kLastWords) {
    if (link_->accepted() && (!say_waiting() || !say_what_is_due())) return link_.reset();
    const bool picture_may_come = std::ranges::any_of(voices_, expects_picture) && now() < start + kPictureAtEnd;
    if (link_->accepted() && outbox_.messages().empty() && !picture_may_come) break;
    if (!converse()) return link_.reset();
  }
  if (link_ && link_->accepted() && retain(options_.topics.own("status"), "offline", Quality::kAtLeastOnce)) {
    link_->close();
  }
}

void Publisher::count_untold() {
  const std::size_t waiting = outbox_.size();
  if (waiting == 0) return;
  log_(LogLevel::kWarning, format_text("mqtt: at the end {} {} of visits had not reached the broker", waiting,
                                       waiting == 1 ? "message" : "messages"));
  MutexLock lock(mutex_);
  status_.dropped += waiting;
}

void Publisher::note(const EventBus::Told& told) {
  if (told.type == EventType::kCamera) {
    for (Voice& voice : voices_) voice.agenda.stats_are_new();
    return;
  }
  voices_.front().agenda.today_is_new();
  if (told.type == EventType::kGap) {
    log_(LogLevel::kWarning, format_text("mqtt: {} events were missed", told.missed));
    outbox_.miss(told.missed);
    return;
  }
  if (!told.visit) return;
  const std::size_t camera = options_.topics.camera_of(told.visit->visit.source);
  refresh_last_visit(camera, told);
  const bool too_many =
      is_course_of_visit(told.type) && outbox_.push({.camera = camera, .payload = data_with_type(told), .number = {}});
  const bool is_first_picture =
      told.type == EventType::kVisitPicture || (told.type == EventType::kVisitStart && told.visit->has_crop);
  if (options_.device.pictures && (is_first_picture || told.type == EventType::kVisitEnd)) {
    voices_[camera].agenda.expect_picture(told.visit->visit.id, now());
  }
  MutexLock lock(mutex_);
  if (too_many) ++status_.dropped;
  status_.waiting = outbox_.size();
}

// A person's word on the last visit counts as well, and one that was removed is the last one no more.
void Publisher::refresh_last_visit(std::size_t camera, const EventBus::Told& told) {
  auto& [agenda, last_visit] = voices_[camera];
  const bool is_last = last_visit && last_visit->visit.id == told.visit->visit.id;
  if (!is_course_of_visit(told.type) && !is_last) return;
  if (told.type != EventType::kVisitDeleted) {
    last_visit = *told.visit;
  } else {
    last_visit = sources_.last_visit ? sources_.last_visit(camera) : std::nullopt;
  }
  agenda.visit_is_new();
}

void Publisher::connect(const std::stop_token& stop, SteadyTime deadline) {
  beat(kLongestConnect);
  const Result<void> reached = reach(options_.broker.address, stop, deadline);
  if (!reached) return give_up(reached.error());
  Result<std::unique_ptr<Link>> link = Link::open(options_.broker, protocol_, options_.topics.own("status"), now());
  if (!link) return give_up(link.error());
  link_ = std::move(*link);
}

void Publisher::give_up(const Error& error) {
  // The other version at once, and only once a round.
  const bool try_older = link_ && link_->wrong_protocol() && protocol_ == Protocol::k5;
  link_.reset();
  for (Waiting& waiting : outbox_.messages()) waiting.number.reset();
  if (gap_) outbox_.miss(std::exchange(gap_, std::nullopt)->missed);
  if (try_older) {
    protocol_ = Protocol::k311;
    next_try_ = now();
    return;
  }
  protocol_ = Protocol::k5;
  next_try_ = now() + backoff_.pause(++tries_);
  const std::string text = describe(error);
  set_state(LinkState::kWaiting, text);
  if (text == told_error_) return;
  told_error_ = text;
  log_(LogLevel::kWarning,
       format_text("mqtt: {}{}{}; trying again", text, error.hint.empty() ? "" : "; see ", error.hint));
}

Result<void> Publisher::converse() {
  const milliseconds patience = let_pass(kTurn);
  const Link::Turn turn = KINGLET_TRY(link_->turn(patience, now()));
  if (turn.accepted) {
    tries_ = 0;
    told_error_.clear();
    set_state(LinkState::kConnected, {});
    log_(LogLevel::kInfo, format_text("mqtt: connected to {}{}", options_.broker.address.text(),
                                      protocol_ == Protocol::k5 ? "" : ", version 3.1.1"));
    KINGLET_TRY(say_everything());
  }
  if (!link_->accepted()) return {};
  for (const int number : turn.acknowledged) acknowledged(number);
  for (const Link::Message& message : turn.messages) {
    if (message.topic == options_.topics.birth() && message.payload == "online" && !message.retained) {
      KINGLET_TRY(say_everything());
    } else {
      KINGLET_TRY(take_message(message));
    }
  }
  KINGLET_TRY(say_waiting());
  return say_what_is_due();
}

Result<void> Publisher::retain(const std::string& topic, std::string_view payload, Quality quality) {
  KINGLET_TRY(link_->publish(topic, payload, quality, Keep::kRetained));
  return {};
}

Result<void> Publisher::say_device() {
  const Topics& topics = options_.topics;
  if (topics.discovery.empty()) return {};
  return retain(topics.discovery_config(), discovery_payload(topics, options_.device, gone_), Quality::kAtLeastOnce);
}

Result<void> Publisher::say_everything() {
  const Topics& topics = options_.topics;
  if (!topics.discovery.empty()) KINGLET_TRY(link_->subscribe(topics.birth()));
  KINGLET_TRY(say_device());
  KINGLET_TRY(link_->subscribe(topics.of_any_camera()));
  if (options_.device.commands) KINGLET_TRY(link_->subscribe(topics.own("command/pause")));
  KINGLET_TRY(retain(topics.own("status"), "online", Quality::kAtLeastOnce));
  for (Voice& voice : voices_) voice.agenda.everything_is_new();
  return say_what_is_due();
}

Result<void> Publisher::say_what_is_due() {
  const SteadyTime now = this->now();
  // Today is all cameras'.
  if (sources_.today && voices_.front().agenda.take_today(now)) {
    KINGLET_TRY(retain(options_.topics.own("state/today"), today_payload(sources_.today()), Quality::kAtLeastOnce));
  }
  for (std::size_t i = 0; i < voices_.size(); ++i) KINGLET_TRY(say_what_is_due(i, now));
  return {};
}

Result<void> Publisher::say_what_is_due(std::size_t camera, SteadyTime now) {
  const Topics& topics = options_.topics;
  auto& [agenda, last_visit] = voices_[camera];
  if (agenda.take_visit() && last_visit) {
    KINGLET_TRY(retain(topics.of_camera(camera, "state/visit"), visit_payload(*last_visit), Quality::kAtLeastOnce));
  }
  if (sources_.figures && agenda.take_stats(now)) {
    const std::string figures = stats_payload(sources_.figures(camera), camera == 0 ? std::string() : topics.base());
    KINGLET_TRY(retain(topics.of_camera(camera, "state/stats"), figures, Quality::kAtMostOnce));
  }
  return say_picture(camera);
}

Result<void> Publisher::say_gap() {
  if (outbox_.missed() == 0 || gap_) return {};
  const int number = KINGLET_TRY(link_->publish(options_.topics.own("event/gap"), gap_payload(outbox_.missed()),
                                                Quality::kAtLeastOnce, Keep::kPassing));
  gap_ = Gap{.number = number, .missed = outbox_.take_missed()};
  return {};
}

Result<void> Publisher::say_waiting() {
  KINGLET_TRY(say_gap());
  std::size_t on_their_way = 0;
  for (Waiting& waiting : outbox_.messages()) {
    if (++on_their_way > kMostOnTheirWay) break;
    if (waiting.number) continue;
    waiting.number = KINGLET_TRY(link_->publish(options_.topics.of_camera(waiting.camera, "event/visit"),
                                                waiting.payload, Quality::kAtLeastOnce, Keep::kPassing));
  }
  return {};
}

Result<void> Publisher::say_picture(std::size_t camera) {
  if (!sources_.crop) return {};
  const std::string jpeg = voices_[camera].agenda.take_picture(now(), sources_.crop);
  if (jpeg.empty() || jpeg.size() > kLargestPicture) return {};
  return retain(options_.topics.of_camera(camera, "picture/last"), jpeg, Quality::kAtMostOnce);
}

void Publisher::acknowledged(int number) {
  if (gap_ && gap_->number == number) gap_.reset();
  std::deque<Waiting>& waiting = outbox_.messages();
  const auto found = std::ranges::find(waiting, number, &Waiting::number);
  if (found == waiting.end()) return;
  waiting.erase(found);
  MutexLock lock(mutex_);
  ++status_.sent;
  status_.waiting = outbox_.size();
}

Result<void> Publisher::take_back(const std::string& camera) {
  if (!std::ranges::contains(gone_, camera)) {
    if (gone_.size() >= kMostGone) return {};
    gone_.push_back(camera);
    log_(LogLevel::kInfo,
         format_text("mqtt: there is no camera {} any more: what was kept of it is taken back", camera));
    KINGLET_TRY(say_device());
  }
  for (const char* name : kKeptOfCamera) {
    KINGLET_TRY(retain(options_.topics.own(format_text("{}/{}", camera, name)), {}, Quality::kAtLeastOnce));
  }
  return {};
}

Result<void> Publisher::take_message(const Link::Message& message) {
  if (message.retained) {
    if (const auto gone = options_.topics.gone_camera(message.topic, message.payload)) return take_back(*gone);
  }
  if (!options_.device.commands || !sources_.set_paused || message.topic != options_.topics.own("command/pause"))
    return {};
  // One that was kept would act again at each connection.
  if (message.retained || (message.payload != "ON" && message.payload != "OFF")) {
    log_(LogLevel::kWarning, format_text("mqtt: command/pause: \"{}\"{} is left alone: send ON or OFF, not retained",
                                         printable(message.payload, 20), message.retained ? ", retained," : ""));
    return {};
  }
  const bool paused = message.payload == "ON";
  sources_.set_paused(paused);
  log_(LogLevel::kInfo, format_text("{} by MQTT", paused ? "paused" : "resumed"));
  for (Voice& voice : voices_) voice.agenda.stats_are_new();
  return {};
}

Result<void> forget(const BrokerOptions& broker, const Topics& topics) {
  KINGLET_TRY(reach(broker.address, {}));
  for (const Protocol protocol : {Protocol::k5, Protocol::k311}) {
    const std::unique_ptr<Link> link =
        KINGLET_TRY(Link::open(broker, protocol, topics.own("status"), SteadyClock::now()));
    Result<Link::Turn> turn;
    while ((turn = link->turn(kTurn, SteadyClock::now())) && !turn->accepted) {
    }
    if (!turn && link->wrong_protocol() && protocol == Protocol::k5) continue;
    if (!turn) return std::unexpected(turn.error());
    std::vector<std::string> kept;
    for (const char* name : {"status", "state/today"}) kept.push_back(topics.own(name));
    for (std::size_t i = 0; i <= topics.cameras.size(); ++i) {
      for (const char* name : kKeptOfCamera) kept.push_back(topics.of_camera(i, name));
    }
    if (!topics.discovery.empty()) kept.push_back(topics.discovery_config());
    std::vector<int> sent;
    sent.reserve(kept.size());
    for (const std::string& topic : kept) {
      sent.push_back(KINGLET_TRY(link->publish(topic, {}, Quality::kAtLeastOnce, Keep::kRetained)));
    }
    const SteadyTime deadline = SteadyClock::now() + std::chrono::seconds(10);
    while (!sent.empty()) {
      if (SteadyClock::now() > deadline) return fail(ErrorCode::kUnavailable, "the broker does not acknowledge");
      const Link::Turn answers = KINGLET_TRY(link->turn(kTurn, SteadyClock::now()));
      std::erase_if(sent, [&](int number) { return std::ranges::contains(answers.acknowledged, number); });
    }
    link->close();
    return {};
  }
  return fail(ErrorCode::kUnavailable, "the broker speaks neither MQTT 5 nor 3.1.1");
}

}  // namespace kinglet::daemon::mqtt
