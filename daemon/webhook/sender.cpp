// SPDX-License-Identifier: Apache-2.0
#include "daemon/webhook/sender.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/machine/thread_entry.h"
#include "daemon/tell/visit_json.h"
#include "daemon/tokens/secret_file.h"
#include "daemon/webhook/signature.h"
#include "engine/base/format.h"

namespace kinglet::daemon::webhook {
namespace {

using std::chrono::milliseconds;
using Json = nlohmann::ordered_json;

constexpr milliseconds kTurn{200};
constexpr milliseconds kTurnAtEnd{20};
constexpr std::chrono::seconds kPictureTime{5};  // pictures are made after a visit has ended
constexpr milliseconds kGoodbye{1'000};
constexpr milliseconds kPictureAtEnd{500};

std::string unix_seconds(WallTime time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count());
}

}  // namespace

std::string shown_url(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return "***";
  const std::size_t end = url.find_first_of("/?#", scheme + 3);
  const std::string_view host = url.substr(scheme + 3, end == std::string_view::npos ? end : end - scheme - 3);
  const std::size_t login = host.rfind('@');
  return format_text("{}{}{}", url.substr(0, scheme + 3),
                     login == std::string_view::npos ? host : host.substr(login + 1),
                     end == std::string_view::npos ? "" : "/***");
}

Sender::Sender(SenderOptions options, EventBus& events, VisitWithPictures with_pictures, LogSink log)
    : options_(std::move(options)),
      events_(events),
      with_pictures_(std::move(with_pictures)),
      log_(std::move(log)),
      outbox_(options_.most_waiting),
      backoff_(options_.first_pause, options_.longest_pause) {}

void Sender::start() {
  reader_ = events_.subscribe(options_.events, std::nullopt);
  thread_ = std::jthread([this](const std::stop_token& stop) { enter_thread(pulse_, [&] { run(stop); }); });
}

void Sender::stop() {
  begin_stop();
  if (thread_.joinable()) thread_.join();
}

Status Sender::status() const {
  MutexLock lock(mutex_);
  return status_;
}

void Sender::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    pulse_.beat(kTurn);
    hear_events(kTurn);
    say_gap();
    std::deque<Message>& waiting = outbox_.messages();
    if (!waiting.empty() && SteadyClock::now() >= waiting.front().due && complete(waiting.front())) send(stop);
  }
  say_goodbye(stop);
  count_untold();
  reader_.reset();
}

bool Sender::has_time(const std::stop_token& stop) {
  if (!stop.stop_requested()) return true;
  if (!end_) end_ = SteadyClock::now() + kGoodbye;
  return SteadyClock::now() < *end_;
}

void Sender::say_goodbye(const std::stop_token& stop) {
  const SteadyTime pictures = SteadyClock::now() + kPictureAtEnd;
  hear_events(milliseconds(0));
  const std::deque<Message>& waiting = outbox_.messages();
  while (has_time(stop) && !waiting.empty()) {
    if (!complete(outbox_.messages().front()) && SteadyClock::now() < pictures) {
      std::this_thread::sleep_for(kTurnAtEnd);
      continue;
    }
    const std::string id = waiting.front().id;
    send(stop);
    // Still the first one: nobody takes it now.
    if (!waiting.empty() && waiting.front().id == id) return;
  }
}

void Sender::count_untold() {
  const std::size_t waiting = outbox_.size();
  if (waiting == 0) return;
  log_(LogLevel::kWarning,
       format_text("webhook: at the end {} {} had not been taken", waiting, waiting == 1 ? "message" : "messages"));
  MutexLock lock(mutex_);
  status_.dropped += waiting;
  status_.waiting = 0;
}

void Sender::hear_events(milliseconds patience) {
  for (;;) {
    const auto told = events_.take_one(*reader_, patience);
    if (!told) return;
    note(*told);
    patience = milliseconds(0);
  }
}

void Sender::note(const EventBus::Told& told) {
  if (told.type == EventType::kResync) return;
  if (told.type == EventType::kGap) {
    log_(LogLevel::kWarning, format_text("webhook: {} events were missed", told.missed));
    outbox_.miss(told.missed);
    return;
  }
  const SteadyTime now = SteadyClock::now();
  const bool too_many =
      outbox_.push({.id = format_text("{}-{}", options_.boot_tag, told.seq), .told = told, .noted = now, .due = now});
  MutexLock lock(mutex_);
  if (too_many) ++status_.dropped;
  status_.waiting = outbox_.size();
}

void Sender::say_gap() {
  if (outbox_.missed() == 0 || !told_error_.empty() || outbox_.begins_with_gap()) return;
  const SteadyTime now = SteadyClock::now();
  const std::uint64_t missed = outbox_.take_missed();
  const WallTime at = std::chrono::system_clock::now();
  outbox_.push_gap({.id = format_text("{}-gap-{}", options_.boot_tag, ++gaps_),
                    .told = {.type = EventType::kGap,
                             .data = format_text("{{\"at\":\"{}\",\"missed\":{}}}", to_rfc3339(at), missed),
                             .missed = missed},
                    .noted = now,
                    .due = now,
                    .missed = missed});
}

bool Sender::complete(Message& message) {
  if (message.told.type != EventType::kVisitEnd || message.tries > 0 || !with_pictures_) return true;
  const std::optional<visits::BookedVisit> found = with_pictures_(message.told.visit->visit.id);
  if (!found && SteadyClock::now() < message.noted + kPictureTime) return false;
  if (found) {
    visits::BookedVisit visit = *message.told.visit;
    visit.has_crop = found->has_crop;
    visit.has_frame = found->has_frame;
    visit.has_clip = found->has_clip;
    message.told.visit = std::make_shared<const visits::BookedVisit>(std::move(visit));
  }
  return true;
}

// The event with its type first, and links that work from elsewhere last.
std::string Sender::body_of(const Message& message) const {
  const EventBus::Told& told = message.told;
  if (!told.visit || told.type == EventType::kVisitDeleted) return data_with_type(told);
  Json json{{"type", to_string(told.type)},
            {"seq", told.seq},
            {"at", to_rfc3339(told.at)},
            {"visit", visit_json(*told.visit)}};
  if (!options_.page.empty()) {
    Json& urls = json["urls"];
    for (const auto& [name, path] : visit_links(*told.visit)) urls[name] = options_.page + path;
  }
  return json.dump();
}

Result<Request> Sender::request_for(const Message& message) const {
  Request request{.url = options_.url,
                  .headers = {"Content-Type: application/json"},
                  .body = body_of(message),
                  .certificates = options_.certificates,
                  .timeout = options_.timeout};
  const std::string timestamp = unix_seconds(std::chrono::system_clock::now());
  request.headers.push_back("webhook-id: " + message.id);
  request.headers.push_back("webhook-timestamp: " + timestamp);
  if (!options_.secret.empty()) {
    const std::string secret = KINGLET_TRY(read_secret(options_.secret));
    const std::string key = KINGLET_TRY(key_of_secret(secret));
    request.headers.push_back("webhook-signature: " + signature(key, message.id, timestamp, request.body));
  }
  if (!options_.token.empty()) {
    request.headers.push_back("Authorization: Bearer " + KINGLET_TRY(read_secret(options_.token)));
  }
  return request;
}

void Sender::send(const std::stop_token& stop) {
  Message& first = outbox_.messages().front();
  ++first.tries;
  first.posted = true;
  pulse_.beat(options_.timeout);
  Result<Request> request = request_for(first);
  Result<Answer> answer = request ? Result<Answer>() : std::unexpected(request.error());
  if (request) {
    answer = post(*request, [&] {
      hear_events(milliseconds(0));
      return has_time(stop);
    });
  }
  outbox_.messages().front().posted = false;
  judge(answer ? *answer : Answer{.outcome = Outcome::kTryAgain, .detail = describe(answer.error())});
}

void Sender::judge(const Answer& answer) {
  if (answer.outcome == Outcome::kCalledOff) return;
  Message& message = outbox_.messages().front();
  const bool taken = answer.outcome == Outcome::kTaken;
  const bool given_up = !taken && (answer.outcome == Outcome::kRefused || message.tries >= options_.tries);
  if (!taken && answer.detail != told_error_) {
    log_(LogLevel::kWarning, format_text("webhook: {}: {}", shown_url(options_.url), answer.detail));
  }
  if (taken && !told_error_.empty()) log_(LogLevel::kInfo, "webhook: messages are taken again");
  told_error_ = answer.detail;
  if (!taken && !given_up) {
    message.due =
        SteadyClock::now() + std::max<SteadyClock::duration>(backoff_.pause(message.tries),
                                                             answer.retry_after.value_or(std::chrono::seconds(0)));
  } else {
    // Who refuses one has been told of it.
    if (!taken && answer.outcome != Outcome::kRefused) outbox_.miss(std::max<std::uint64_t>(message.missed, 1));
    outbox_.messages().pop_front();
  }
  MutexLock lock(mutex_);
  if (status_.detail != answer.detail) status_.since = std::chrono::system_clock::now();
  status_.detail = answer.detail;
  status_.delivered += taken ? 1 : 0;
  status_.failed_tries += taken ? 0 : 1;
  status_.dropped += given_up ? 1 : 0;
  status_.waiting = outbox_.size();
}

}  // namespace kinglet::daemon::webhook
