// SPDX-License-Identifier: Apache-2.0
#include "daemon/notify/outlet.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

namespace kinglet::daemon::notify {
namespace {

// More than are open at once: an end may have been missed.
constexpr std::size_t kMostUnwished = 64;

}  // namespace

using outgoing::Answer;
using outgoing::Outcome;

Outlet::Outlet(Wish wish, OutletRule rule)
    : wish_(std::move(wish)),
      rule_(rule),
      outbox_(rule.most_waiting),
      backoff_(rule.first_pause, rule.longest_pause),
      allowance_(wish_.rule.at_most) {
  status_.name = wish_.target.name;
}

bool Outlet::is_quiet(std::chrono::minutes local) const {
  return wish_.rule.quiet && wish_.rule.quiet->contains(local);
}

void Outlet::push(Letter letter) {
  if (const std::optional<Letter> left_out = outbox_.push(std::move(letter))) drop(*left_out);
  status_.waiting = outbox_.size();
}

// Of a letter that has left the outbox. Nobody was told, so that what is so at the next look is news then, and what
// waits to undo it is none.
void Outlet::drop(const Letter& letter) {
  ++status_.dropped;
  if (!letter.trouble) return;
  TroubleWatch& watch = watches_.at(*letter.trouble);
  watch.take_back();
  std::deque<Letter>& letters = outbox_.messages();
  const auto next = std::ranges::find_if(
      letters, [&](const Letter& later) { return later.trouble == letter.trouble && !later.posted; });
  if (next == letters.end()) return;
  watch.take_back();
  ++status_.dropped;
  letters.erase(next);
}

bool Outlet::tells_begin(const visits::BookedVisit& booked, bool begins) {
  const std::string& id = booked.visit.id;
  if (!begins && !std::ranges::contains(unwished_, id)) return false;
  const bool wished = wants(wish_.rule, booked);
  if (wished) {
    forget(id);
  } else if (begins) {
    unwished_.push_back(id);
    if (unwished_.size() > kMostUnwished) unwished_.pop_front();
  }
  return wished;
}

void Outlet::offer(Message message, std::string visit, Awaits awaits, Language language, SteadyTime now,
                   std::chrono::minutes local) {
  if (is_quiet(local) || !allowance_.take(now)) {
    ++status_.held_back;
    return;
  }
  if (const std::uint64_t refused = allowance_.take_refused(); refused > 0) {
    message.text += "\n" + say_count(language, Phrase::kOneNotSent, Phrase::kNotSent, refused);
  }
  if (!wish_.rule.picture || facts_of(wish_.target.service).pictures == 0) awaits = Awaits::kNothing;
  push({.message = std::move(message),
        .visit = std::move(visit),
        .trouble = {},
        .awaits = awaits,
        .noted = now,
        .due = now});
}

void Outlet::add(Message message, SteadyTime now) {
  push({.message = std::move(message),
        .visit = {},
        .trouble = {},
        .awaits = Awaits::kNothing,
        .noted = now,
        .due = now});
}

void Outlet::look(const Condition& condition, const Place& place, SteadyTime now, std::chrono::minutes local) {
  const Events& wished = wish_.rule.events;
  if (!(condition.part == Part::kCamera ? wished.camera : wished.disk)) return;
  TroubleWatch& watch =
      watches_.try_emplace({condition.part, condition.camera}, TroubleWatch(rule_.trouble)).first->second;
  const TroubleWatch::News news = watch.look(condition.bad, !is_quiet(local), now);
  if (news == TroubleWatch::News::kNone) return;
  const bool over = news == TroubleWatch::News::kOver;
  Message message = message_of_trouble(condition.part, over, condition.detail, place);
  if (!condition.camera.empty()) message.text = condition.camera + (over ? "" : ": " + message.text);
  push({.message = std::move(message),
        .visit = {},
        .trouble = std::pair(condition.part, condition.camera),
        .awaits = Awaits::kNothing,
        .noted = now,
        .due = now});
}

std::optional<std::chrono::local_seconds> Outlet::due_digest(std::chrono::local_seconds now) {
  return wish_.rule.digest ? digest_.look(*wish_.rule.digest, now) : std::nullopt;
}

// A visit is then not told, and trouble afterwards, if it lasts.
void Outlet::keep_quiet() {
  std::erase_if(outbox_.messages(), [&](const Letter& letter) {
    if (letter.trouble) watches_.at(*letter.trouble).take_back();
    status_.held_back += letter.visit.empty() ? 0 : 1;
    return letter.trouble || !letter.visit.empty();
  });
  status_.waiting = outbox_.size();
}

Letter* Outlet::due(SteadyTime now, std::chrono::minutes local, const PictureOf& picture) {
  if (is_quiet(local)) keep_quiet();
  std::deque<Letter>& letters = outbox_.messages();
  if (letters.empty() || now < std::max(letters.front().due, rests_until_)) return nullptr;
  Letter& first = letters.front();
  if (first.awaits == Awaits::kNothing) return &first;
  const bool best = first.awaits == Awaits::kBestPicture;
  std::string jpeg = picture(first.visit, best);
  const bool late = now >= first.noted + (best ? rule_.best_picture : rule_.first_picture);
  if (jpeg.empty() && best && late) jpeg = picture(first.visit, false);
  if (jpeg.empty() && !late) return nullptr;
  if (!jpeg.empty()) first.message.pictures = {std::move(jpeg)};
  first.awaits = Awaits::kNothing;
  return &first;
}

void Outlet::begin() {
  Letter& first = outbox_.messages().front();
  ++first.tries;
  first.posted = true;
}

Outlet::Verdict Outlet::judge(const Answer& answer, SteadyTime now, WallTime wall) {
  Letter& letter = outbox_.messages().front();
  letter.posted = false;
  if (answer.outcome == Outcome::kCalledOff) return {};
  const bool taken = answer.outcome == Outcome::kTaken;
  const Verdict verdict{.taken = taken, .is_news = answer.detail != status_.detail};
  if (verdict.is_news) status_.since = wall;
  status_.detail = answer.detail;
  const SteadyClock::duration wish = answer.retry_after.value_or(std::chrono::seconds(0));
  const SteadyTime next = now + std::max(backoff_.pause(letter.tries), wish);
  status_.sent += taken ? 1 : 0;
  status_.failed_tries += taken ? 0 : 1;
  heed(answer, now);
  if (answer.outcome == Outcome::kTryAgain && next < letter.noted + rule_.old_news) {
    letter.due = next;
    return verdict;
  }
  const Letter gone = std::move(letter);
  outbox_.messages().pop_front();
  if (answer.outcome == Outcome::kTryAgain) {
    drop(gone);
  } else {
    status_.dropped += taken ? 0 : 1;
  }
  status_.waiting = outbox_.size();
  return verdict;
}

void Outlet::heed(const Answer& answer, SteadyTime now) {
  if (answer.outcome != Outcome::kTryAgain || !answer.retry_after) return;
  rests_until_ = std::max<SteadyTime>(rests_until_, now + *answer.retry_after);
}

std::size_t Outlet::give_up() {
  const std::size_t waiting = outbox_.size();
  outbox_.messages().clear();
  status_.dropped += waiting;
  status_.waiting = 0;
  return waiting;
}

}  // namespace kinglet::daemon::notify
