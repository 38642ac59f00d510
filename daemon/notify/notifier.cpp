// SPDX-License-Identifier: Apache-2.0
#include "daemon/notify/notifier.h"

#include <algorithm>
#include <utility>

#include "engine/base/format.h"

namespace kinglet::daemon::notify {
namespace {

using outgoing::Answer;
using outgoing::Outcome;
using std::chrono::milliseconds;

constexpr milliseconds kTurn{200};
constexpr std::chrono::seconds kLookEvery{1};
constexpr std::chrono::minutes kReadAgain{1};
constexpr std::chrono::seconds kLongestSending{40};  // of one message
constexpr std::size_t kMostTrials = 4;

template <typename... Each>
struct Overloaded : Each... {
  using Each::operator()...;
};

}  // namespace

Notifier::Notifier(NotifierOptions options, Sources sources, LogSink log)
    : ListeningThread("notify", sources.events,
                      set_of({EventType::kVisitStart, EventType::kVisitUpdate, EventType::kVisitEnd}), options.clock),
      options_(std::move(options)),
      sources_(std::move(sources)),
      log_(std::move(log)) {}

void Notifier::adopt(std::vector<Wish> wishes) {
  MutexLock lock(mutex_);
  wishes_ = std::move(wishes);
}

std::vector<Status> Notifier::status() const {
  MutexLock lock(mutex_);
  return status_;
}

Result<void> Notifier::try_now(const std::string& name, milliseconds patience) {
  auto done = std::make_shared<std::promise<Result<void>>>();
  std::future<Result<void>> answer = done->get_future();
  {
    MutexLock lock(mutex_);
    if (ended_) return fail(ErrorCode::kBusy, "the daemon is ending");
    if (trials_.size() >= kMostTrials) return fail(ErrorCode::kBusy, "other messages are tried already");
    trials_.push_back({.name = name, .done = std::move(done)});
  }
  if (answer.wait_for(patience) != std::future_status::ready) {
    return fail(ErrorCode::kBusy, "another message is on its way", {}, "try again in a moment");
  }
  try {
    return answer.get();
  } catch (const std::future_error&) {
    return fail(ErrorCode::kBusy, "the daemon is ending");
  }
}

void Notifier::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    beat(kTurn);
    take_up();
    run_trials(stop);
    hear_events(let_pass(kTurn));
    look_around(now());
    for (const auto& outlet : outlets_) {
      if (outlet->due(now(), local_time(), sources_.picture) != nullptr) send(*outlet, stop);
    }
    show_status();
  }
  std::size_t untold = 0;
  for (const auto& outlet : outlets_) untold += outlet->give_up();
  if (untold > 0) log_(LogLevel::kWarning, format_text("notify: at the end {} messages had not been sent", untold));
  show_status();
  MutexLock lock(mutex_);
  ended_ = true;
  trials_.clear();  // their promises are broken, which wakes who waits
}

void Notifier::take_up() {
  std::optional<std::vector<Wish>> wishes;
  {
    MutexLock lock(mutex_);
    wishes = std::exchange(wishes_, std::nullopt);
  }
  if (!wishes) return;
  std::vector<std::unique_ptr<Outlet>> outlets;
  for (Wish& wish : *wishes) {
    const auto same = std::ranges::find_if(outlets_, [&](const auto& one) { return one && one->wish() == wish; });
    outlets.push_back(same == outlets_.end() ? std::make_unique<Outlet>(std::move(wish), options_.rule)
                                             : std::move(*same));
  }
  outlets_ = std::move(outlets);
  show_status();
}

void Notifier::show_status() {
  std::vector<Status> status;
  status.reserve(outlets_.size());
  for (const auto& outlet : outlets_) status.push_back(outlet->status());
  MutexLock lock(mutex_);
  status_ = std::move(status);
}

void Notifier::run_trials(const std::stop_token& stop) {
  std::vector<Trial> trials;
  {
    MutexLock lock(mutex_);
    trials = std::exchange(trials_, {});
  }
  for (const Trial& trial : trials) trial.done->set_value(try_one(trial.name, stop));
}

Result<void> Notifier::try_one(const std::string& name, const std::stop_token& stop) {
  const auto found = std::ranges::find_if(outlets_, [&](const auto& one) { return one->wish().target.name == name; });
  if (found == outlets_.end()) return fail(ErrorCode::kNotFound, "there is no such service of messages");
  const Wish& wish = (*found)->wish();
  const bool pictured = wish.rule.picture && facts_of(wish.target.service).pictures > 0;
  Message message = message_of_test(pictured ? sources_.newest_picture() : std::string(), place());
  message.sent_at = wall_now();
  const Answer answer = hand_over(wish.target, message, stop);
  (*found)->heed(answer, now());
  if (answer.outcome == Outcome::kTaken) return {};
  if (answer.outcome == Outcome::kCalledOff) return fail(ErrorCode::kBusy, "the daemon is ending");
  return fail(ErrorCode::kUnavailable, answer.detail);
}

std::chrono::minutes Notifier::local_time() const {
  const std::chrono::local_seconds local = options_.place.zone.local(wall_now());
  return std::chrono::floor<std::chrono::minutes>(local - std::chrono::floor<std::chrono::days>(local));
}

Place Notifier::place() const {
  Place place = options_.place;
  place.language = sources_.language();
  return place;
}

void Notifier::note(const EventBus::Told& told) {
  if (!told.visit || outlets_.empty()) return;
  const visits::BookedVisit& booked = *told.visit;
  const bool ends = told.type == EventType::kVisitEnd;
  const Place place = this->place();
  for (const auto& outlet : outlets_) {
    const Rule& rule = outlet->wish().rule;
    const bool end = ends && rule.events.visit_end && wants(rule, booked);
    // One message says both when it is named at its very end.
    const bool start =
        rule.events.visit_start && !end && outlet->tells_begin(booked, told.type == EventType::kVisitStart);
    if (ends) outlet->forget(booked.visit.id);
    if (!start && !end) continue;
    outlet->offer(start ? message_of_start(booked, place) : message_of_end(booked, place), booked.visit.id,
                  ends ? Awaits::kBestPicture : Awaits::kFirstPicture, place.language, now(), local_time());
  }
}

void Notifier::look_around(SteadyTime now) {
  if (outlets_.empty() || now < next_look_) return;
  next_look_ = now + kLookEvery;
  const std::vector<Condition> health = sources_.health();
  const std::chrono::minutes local = local_time();
  const std::chrono::local_seconds time = options_.place.zone.local(wall_now());
  const Place place = this->place();
  for (const auto& outlet : outlets_) {
    for (const Condition& condition : health) outlet->look(condition, place, now, local);
    if (now < next_digest_) continue;
    if (const auto until = outlet->due_digest(time)) send_digest(*outlet, *until, now);
  }
}

// From the same time of the day before on, so that digests leave out nothing, also on days of 23 or 25 hours.
void Notifier::send_digest(Outlet& outlet, std::chrono::local_seconds until, SteadyTime now) {
  const Wish& wish = outlet.wish();
  const std::size_t pictures = wish.rule.picture ? facts_of(wish.target.service).pictures : 0;
  const Place place = this->place();
  const Result<Day> day = sources_.seen(place.zone.instant(until - std::chrono::days(1)), place.zone.instant(until),
                                        code_of(place.language));
  // Less than all would be told as all.
  const std::string unread = day ? std::string() : describe(day.error());
  if (std::exchange(unread_, unread) != unread && !day) {
    log_(LogLevel::kWarning,
         format_text("notify {}: the digest waits for a history that can be read: {}", wish.target.name, unread));
  }
  if (day) return outlet.add(message_of_day(*day, pictures, place), now);
  outlet.keep_digest();
  next_digest_ = now + kReadAgain;
}

void Notifier::send(Outlet& outlet, const std::stop_token& stop) {
  Letter* letter = outlet.due(now(), local_time(), sources_.picture);
  if (letter == nullptr) return;
  letter->message.sent_at = wall_now();
  outlet.begin();
  const std::string& name = outlet.wish().target.name;
  const Answer answer = hand_over(outlet.wish().target, letter->message, stop);
  const Outlet::Verdict verdict = outlet.judge(answer, now(), wall_now());
  if (verdict.is_news && verdict.taken) log_(LogLevel::kInfo, format_text("notify {}: messages are taken again", name));
  if (verdict.is_news && !verdict.taken) log_(LogLevel::kWarning, format_text("notify {}: {}", name, answer.detail));
  show_status();
}

Answer Notifier::hand_over(const Target& target, const Message& message, const std::stop_token& stop) {
  beat(kLongestSending);
  Result<Parcel> made = parcel(target, message);
  if (!made) return {.outcome = Outcome::kTryAgain, .detail = describe(made.error()), .retry_after = {}};
  const auto go_on = [&] {
    hear_events(milliseconds(0));
    return !stop.stop_requested();
  };
  Result<Answer> answer = std::visit(Overloaded{[&](outgoing::Request& request) {
                                                  request.certificates = target.certificates;
                                                  return outgoing::post(request, go_on);
                                                },
                                                [&](outgoing::Mail& mail) {
                                                  mail.certificates = target.certificates;
                                                  return outgoing::send_mail(mail, go_on);
                                                }},
                                     *made);
  if (!answer) return {.outcome = Outcome::kTryAgain, .detail = describe(answer.error()), .retry_after = {}};
  return *answer;
}

}  // namespace kinglet::daemon::notify
