// SPDX-License-Identifier: Apache-2.0
#include "daemon/webhook/sender.h"

#include <algorithm>
#include <nlohmann/json.hpp>

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
constexpr milliseconds kGoodbye{1'000};
constexpr milliseconds kPictureAtEnd{500};
constexpr std::chrono::seconds kLongestWish{60};  // of a receiver: all else waits behind it

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
    : ListeningThread("webhook", events, options.events, options.clock),
      options_(std::move(options)),
      log_(std::move(log)),
      deliveries_(options_.delivery, std::move(with_pictures)) {}

Status Sender::status() const {
  MutexLock lock(mutex_);
  return status_;
}

void Sender::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    beat(kTurn);
    hear_events(let_pass(kTurn));
    if (deliveries_.due(now(), wall_now()) != nullptr) send(stop);
  }
  say_goodbye(stop);
  count_untold();
}

bool Sender::has_time(const std::stop_token& stop) {
  if (!stop.stop_requested()) return true;
  if (!end_) end_ = now() + kGoodbye;
  return now() < *end_;
}

void Sender::say_goodbye(const std::stop_token& stop) {
  const SteadyTime pictures = now() + kPictureAtEnd;
  hear_events(milliseconds(0));
  while (has_time(stop)) {
    const SteadyTime now = this->now();
    const Deliveries::First first = deliveries_.first(now);
    if (first.delivery == nullptr) return;
    if (!first.complete && now < pictures) {
      std::this_thread::sleep_for(let_pass(kTurnAtEnd));
      continue;
    }
    // What is not taken now is not tried again.
    if (!send(stop)) return;
  }
}

void Sender::count_untold() {
  const std::size_t waiting = deliveries_.size();
  if (waiting == 0) return;
  log_(LogLevel::kWarning,
       format_text("webhook: at the end {} {} had not been taken", waiting, waiting == 1 ? "message" : "messages"));
  MutexLock lock(mutex_);
  status_.dropped += waiting;
  status_.waiting = 0;
}

void Sender::note(const EventBus::Told& told) {
  if (told.type == EventType::kResync) return;
  if (told.type == EventType::kGap) {
    log_(LogLevel::kWarning, format_text("webhook: {} events were missed", told.missed));
    deliveries_.miss(told.missed);
    return;
  }
  const bool too_many = deliveries_.note(told, now());
  MutexLock lock(mutex_);
  if (too_many) ++status_.dropped;
  status_.waiting = deliveries_.size();
}

// The event with its type first, and links that work from elsewhere last.
std::string Sender::body_of(const Delivery& delivery) const {
  const EventBus::Told& told = delivery.told;
  if (told.type == EventType::kGap) {
    return Json{{"type", to_string(told.type)}, {"at", to_rfc3339(told.at)}, {"missed", told.missed}}.dump();
  }
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

Result<outgoing::Request> Sender::request_for(const Delivery& delivery) const {
  outgoing::Request request{.url = options_.url,
                            .headers = {"Content-Type: application/json"},
                            .body = body_of(delivery),
                            .certificates = options_.certificates,
                            .timeout = options_.timeout};
  const std::string timestamp = unix_seconds(wall_now());
  request.headers.push_back("webhook-id: " + delivery.id);
  request.headers.push_back("webhook-timestamp: " + timestamp);
  if (!options_.secret.empty()) {
    const std::string secret = KINGLET_TRY(read_secret(options_.secret));
    const std::string key = KINGLET_TRY(key_of_secret(secret));
    request.headers.push_back("webhook-signature: " + signature(key, delivery.id, timestamp, request.body));
  }
  if (!options_.token.empty()) {
    request.secrets = {KINGLET_TRY(read_secret(options_.token))};
    request.headers.push_back("Authorization: Bearer " + request.secrets.front());
  }
  return request;
}

// Whether it waits no longer.
bool Sender::send(const std::stop_token& stop) {
  beat(options_.timeout);
  const Result<outgoing::Request> request = request_for(deliveries_.begin());
  Result<Answer> answer = request ? Result<Answer>() : std::unexpected(request.error());
  if (request) {
    answer = outgoing::post(*request, [&] {
      hear_events(milliseconds(0));
      return has_time(stop);
    });
  }
  if (answer && answer->retry_after) answer->retry_after = std::min(*answer->retry_after, kLongestWish);
  return judge(answer ? *answer : Answer{.outcome = Outcome::kTryAgain, .detail = describe(answer.error())});
}

bool Sender::judge(const Answer& answer) {
  const Deliveries::Verdict verdict = deliveries_.judge(answer, now());
  if (answer.outcome == Outcome::kCalledOff) return false;
  if (verdict.is_news && verdict.taken) log_(LogLevel::kInfo, "webhook: messages are taken again");
  if (verdict.is_news && !verdict.taken) {
    log_(LogLevel::kWarning, format_text("webhook: {}: {}", shown_url(options_.url), answer.detail));
  }
  const WallTime wall = wall_now();  // a clock may have a lock of its own
  MutexLock lock(mutex_);
  if (verdict.is_news) status_.since = wall;
  status_.detail = answer.detail;
  status_.delivered += verdict.taken ? 1 : 0;
  status_.failed_tries += verdict.taken ? 0 : 1;
  status_.dropped += verdict.given_up ? 1 : 0;
  status_.waiting = deliveries_.size();
  return verdict.taken || verdict.given_up;
}

}  // namespace kinglet::daemon::webhook
