// SPDX-License-Identifier: Apache-2.0
#include "daemon/webhook/deliveries.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/base/format.h"

namespace kinglet::daemon::webhook {
namespace {

constexpr std::chrono::seconds kPictureTime{5};  // pictures are made after a visit has ended

}  // namespace

Deliveries::Deliveries(DeliveryRule rule, VisitWithPictures with_pictures)
    : rule_(std::move(rule)),
      with_pictures_(std::move(with_pictures)),
      outbox_(rule_.most_waiting),
      backoff_(rule_.first_pause, rule_.longest_pause) {}

bool Deliveries::note(const EventBus::Told& told, SteadyTime now) {
  return outbox_.push({.id = format_text("{}-{}", rule_.boot_tag, told.seq), .told = told, .noted = now, .due = now})
      .has_value();
}

void Deliveries::tell_missed(SteadyTime now, WallTime wall) {
  if (outbox_.missed() == 0 || !problem_.empty() || outbox_.begins_with_gap()) return;
  const std::uint64_t missed = outbox_.take_missed();
  outbox_.push_gap({.id = format_text("{}-gap-{}", rule_.boot_tag, ++gaps_),
                    .told = {.type = EventType::kGap, .at = wall, .missed = missed},
                    .noted = now,
                    .due = now,
                    .missed = missed});
}

bool Deliveries::complete(Delivery& delivery, SteadyTime now) {
  if (delivery.told.type != EventType::kVisitEnd || delivery.tries > 0 || !with_pictures_) return true;
  const std::optional<visits::BookedVisit> found = with_pictures_(delivery.told.visit->visit.id);
  if (!found) return now >= delivery.noted + kPictureTime;
  visits::BookedVisit visit = *delivery.told.visit;
  visit.has_crop = found->has_crop;
  visit.has_frame = found->has_frame;
  visit.has_clip = found->has_clip;
  delivery.told.visit = std::make_shared<const visits::BookedVisit>(std::move(visit));
  return true;
}

Delivery* Deliveries::due(SteadyTime now, WallTime wall) {
  tell_missed(now, wall);
  if (outbox_.messages().empty() || now < outbox_.messages().front().due) return nullptr;
  Delivery& first = outbox_.messages().front();
  return complete(first, now) ? &first : nullptr;
}

Deliveries::First Deliveries::first(SteadyTime now) {
  if (outbox_.messages().empty()) return {};
  Delivery& first = outbox_.messages().front();
  return {.delivery = &first, .complete = complete(first, now)};
}

Delivery& Deliveries::begin() {
  Delivery& first = outbox_.messages().front();
  ++first.tries;
  first.posted = true;
  return first;
}

Deliveries::Verdict Deliveries::judge(const Answer& answer, SteadyTime now) {
  Delivery& delivery = outbox_.messages().front();
  delivery.posted = false;
  if (answer.outcome == Outcome::kCalledOff) return {};
  const bool taken = answer.outcome == Outcome::kTaken;
  const bool refused = answer.outcome == Outcome::kRefused;
  const Verdict verdict{.taken = taken,
                        .given_up = !taken && (refused || delivery.tries >= rule_.tries),
                        .is_news = answer.detail != problem_};
  problem_ = answer.detail;
  if (!taken && !verdict.given_up) {
    const SteadyClock::duration wish = answer.retry_after.value_or(std::chrono::seconds(0));
    delivery.due = now + std::max(backoff_.pause(delivery.tries), wish);
    return verdict;
  }
  // Who refuses one has been told of it.
  if (!taken && !refused) outbox_.miss(std::max<std::uint64_t>(delivery.missed, 1));
  outbox_.messages().pop_front();
  return verdict;
}

}  // namespace kinglet::daemon::webhook
