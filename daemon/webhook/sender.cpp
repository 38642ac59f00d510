// SPDX-License-Identifier: Apache-2.0
#include "daemon/webhook/sender.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/machine/thread_entry.h"
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

Sender::Sender(SenderOptions options, EventBus& events, LinksOfVisit links, LogSink log)
    : options_(std::move(options)),
      events_(events),
      links_(std::move(links)),
      log_(std::move(log)),
      random_(std::random_device{}()) {}

void Sender::start() {
  reader_ = events_.subscribe(options_.events, std::nullopt);
  thread_ = std::jthread([this](const std::stop_token& stop) { enter_thread("webhook", [&] { run(stop); }); });
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
    hear_events(kTurn);
    say_gap();
    if (!waiting_.empty() && SteadyClock::now() >= waiting_.front().due && complete(waiting_.front())) send(stop);
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
  while (has_time(stop) && !waiting_.empty()) {
    if (!complete(waiting_.front()) && SteadyClock::now() < pictures) {
      std::this_thread::sleep_for(kTurnAtEnd);
      continue;
    }
    const std::string id = waiting_.front().id;
    send(stop);
    // Still the first one: nobody takes it now.
    if (!waiting_.empty() && waiting_.front().id == id) return;
  }
}

void Sender::count_untold() {
  if (waiting_.empty()) return;
  log_(LogLevel::kWarning, format_text("webhook: at the end {} {} had not been taken", events_waiting(),
                                       events_waiting() == 1 ? "message" : "messages"));
  MutexLock lock(mutex_);
  status_.dropped += events_waiting();
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
    missed_ += told.missed;
    return;
  }
  Json json = Json::parse(told.data, nullptr, false);
  if (!json.is_object()) return;
  const SteadyTime now = SteadyClock::now();
  waiting_.push_back({.id = format_text("{}-{}", options_.boot_tag, json.value("seq", std::uint64_t{0})),
                      .type = told.type,
                      .json = format_text("{{\"type\":\"{}\",{}", to_string(told.type), json.dump().substr(1)),
                      .noted = now,
                      .due = now});
  const bool too_many = events_waiting() > options_.most_waiting;
  if (too_many) {
    waiting_.erase(waiting_.begin() + (begins_with_gap() ? 1 : 0));
    ++missed_;
  }
  MutexLock lock(mutex_);
  if (too_many) ++status_.dropped;
  status_.waiting = events_waiting();
}

bool Sender::begins_with_gap() const { return !waiting_.empty() && waiting_.front().missed > 0; }
std::size_t Sender::events_waiting() const { return waiting_.size() - (begins_with_gap() ? 1 : 0); }

void Sender::say_gap() {
  if (missed_ == 0 || !told_error_.empty() || begins_with_gap()) return;
  const SteadyTime now = SteadyClock::now();
  const std::uint64_t missed = std::exchange(missed_, 0);
  waiting_.push_front({.id = format_text("{}-gap-{}", options_.boot_tag, ++gaps_),
                       .type = EventType::kGap,
                       .json = Json{{"type", to_string(EventType::kGap)},
                                    {"at", to_rfc3339(std::chrono::system_clock::now())},
                                    {"missed", missed}}
                                   .dump(),
                       .noted = now,
                       .due = now,
                       .missed = missed});
}

bool Sender::complete(Message& message) {
  if (message.type != EventType::kVisitEnd || message.tries > 0 || !links_) return true;
  Json json = Json::parse(message.json);
  Json& visit = json["visit"];
  const Json links = Json::parse(links_(visit.value("id", "")), nullptr, false);
  if (!links.is_object() && SteadyClock::now() < message.noted + kPictureTime) return false;
  if (links.is_object()) visit["links"] = links;
  message.json = json.dump();
  return true;
}

Result<Request> Sender::request_for(const Message& message) const {
  Json json = Json::parse(message.json);
  if (const auto visit = json.find("visit");
      visit != json.end() && visit->contains("links") && !options_.page.empty()) {
    Json urls = Json::object();
    for (const auto& [name, path] : visit->at("links").items()) urls[name] = options_.page + path.get<std::string>();
    json["urls"] = std::move(urls);
  }
  Request request{.url = options_.url,
                  .headers = {"Content-Type: application/json"},
                  .body = json.dump(),
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
  ++waiting_.front().tries;
  const std::string id = waiting_.front().id;
  Result<Request> request = request_for(waiting_.front());
  Result<Answer> answer = request ? Result<Answer>() : std::unexpected(request.error());
  if (request) {
    answer = post(*request, [&] {
      hear_events(milliseconds(0));
      return has_time(stop);
    });
  }
  // It may have been dropped meanwhile, as the oldest of too many.
  if (waiting_.empty() || waiting_.front().id != id) return;
  judge(answer ? *answer : Answer{.outcome = Outcome::kTryAgain, .detail = describe(answer.error())});
}

void Sender::judge(const Answer& answer) {
  if (answer.outcome == Outcome::kCalledOff) return;
  Message& message = waiting_.front();
  const bool taken = answer.outcome == Outcome::kTaken;
  const bool given_up = !taken && (answer.outcome == Outcome::kRefused || message.tries >= options_.tries);
  if (!taken && answer.detail != told_error_) {
    log_(LogLevel::kWarning, format_text("webhook: {}: {}", shown_url(options_.url), answer.detail));
  }
  if (taken && !told_error_.empty()) log_(LogLevel::kInfo, "webhook: messages are taken again");
  told_error_ = answer.detail;
  if (!taken && !given_up) {
    const milliseconds pause =
        std::min(options_.first_pause * (1 << std::min(message.tries - 1, 10)), options_.longest_pause);
    std::uniform_real_distribution<double> jitter(0.75, 1.25);
    const auto wait = std::chrono::duration_cast<SteadyClock::duration>(pause * jitter(random_));
    message.due = SteadyClock::now() +
                  std::max<SteadyClock::duration>(wait, answer.retry_after.value_or(std::chrono::seconds(0)));
  } else {
    // Who refuses one has been told of it.
    if (!taken && answer.outcome != Outcome::kRefused) missed_ += std::max<std::uint64_t>(message.missed, 1);
    waiting_.pop_front();
  }
  MutexLock lock(mutex_);
  if (status_.detail != answer.detail) status_.since = std::chrono::system_clock::now();
  status_.detail = answer.detail;
  status_.delivered += taken ? 1 : 0;
  status_.failed_tries += taken ? 0 : 1;
  status_.dropped += given_up ? 1 : 0;
  status_.waiting = events_waiting();
}

}  // namespace kinglet::daemon::webhook
