// SPDX-License-Identifier: Apache-2.0
#include "daemon/tokens/token_book.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "engine/base/format.h"

namespace kinglet::daemon {
namespace {

constexpr std::chrono::seconds kLookEvery{1};
constexpr std::string_view kOwner = "owner";

std::int64_t unix_seconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

}  // namespace

TokenBook::TokenBook(std::filesystem::path folder, LogSink log) : folder_(std::move(folder)), log_(std::move(log)) {
  MutexLock lock(mutex_);
  const SteadyTime now = SteadyClock::now();
  if (folder_.empty()) {
    opened_ = true;
    claim_until_ = now + kClaimTime;
  } else {
    look_now(now);
  }
}

TokenBook::Stamp TokenBook::stamp() const {
  struct stat status{};
  if (stat(token_file(folder_).c_str(), &status) != 0) return {};
  return {.ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec,
          .inode = status.st_ino,
          .size = status.st_size};
}

void TokenBook::report(const Error& error, std::string_view effect) {
  std::string text = describe(error);
  if (text == last_error_) return;
  if (log_) log_(LogLevel::kError, format_text("tokens: {}; {}", text, effect));
  last_error_ = std::move(text);
}

// The first start of all is the one that makes the file, or finds one that only the tool has written. A file that is
// there is not written again: the disk may not take it, and its tokens count all the same.
void TokenBook::open(SteadyTime now) {
  const std::int64_t wall = unix_seconds(std::chrono::system_clock::now());
  bool first = false;
  Result<TokenList> list = read_tokens(folder_);
  opened_ = list.has_value();
  if (list ? list->first_start == 0 : list.error().code == ErrorCode::kNotFound) {
    list = change_tokens(folder_, [&](TokenList& found) -> Result<void> {
      first = found.first_start == 0;
      if (first) found.first_start = wall;
      return {};
    });
  }
  if (!list) return report(list.error(), opened_ ? "no owner can be claimed" : "nobody can sign in");
  opened_ = true;
  // A restart within the hour: a clock that is not set yet opens nothing for long.
  const std::chrono::seconds since(first ? 0 : wall - list->first_start);
  if (since >= since.zero() && since < kClaimTime) claim_until_ = now + (kClaimTime - since);
}

void TokenBook::read(SteadyTime now) {
  const Stamp before = stamp();
  Result<TokenList> list = read_tokens(folder_);
  Result<void> paired;
  if (list && list->pairing) paired = begin_pairing(*list, now);
  seen_ = before;
  if (!list) {
    list_ = {};
    opened_ = false;
    return report(list.error(), "nobody can sign in");
  }
  list_ = std::move(*list);
  if (paired) {
    last_error_.clear();
  } else {
    seen_ = {};  // tried again
    report(paired.error(), "no owner can be claimed");
  }
}

// Once only: where that cannot be written down, each start would open the claim again.
Result<void> TokenBook::begin_pairing(TokenList& list, SteadyTime now) {
  list = KINGLET_TRY(change_tokens(folder_, [](TokenList& found) -> Result<void> {
    found.pairing = false;
    return {};
  }));
  paired_until_ = now + kClaimTime;
  if (log_) log_(LogLevel::kWarning, "for an hour the page lets a first owner be claimed (kinglet pair)");
  return {};
}

void TokenBook::look_now(SteadyTime now) {
  next_look_ = now + kLookEvery;
  if (folder_.empty()) return;
  if (opened_ && stamp() == seen_) return;
  if (!opened_) open(now);
  if (opened_) read(now);
}

void TokenBook::look() {
  MutexLock lock(mutex_);
  const SteadyTime now = SteadyClock::now();
  if (now >= next_look_) look_now(now);
}

std::optional<TokenBook::Holder> TokenBook::find(std::string_view text) {
  MutexLock lock(mutex_);
  const SteadyTime now = SteadyClock::now();
  if (now >= next_look_) look_now(now);
  const Token* token = find_token(list_, text);
  if (token == nullptr) {
    // It may have been made this very second.
    look_now(now);
    token = find_token(list_, text);
  }
  if (token == nullptr) return std::nullopt;
  return Holder{.name = token->name, .role = token->role};
}

bool TokenBook::claimable_now(SteadyTime now, Way way) const {
  const bool time = now < paired_until_ || (way == Way::kItself && now < claim_until_);
  return opened_ && !list_.owned && time;
}

bool TokenBook::claimable(Way way) {
  MutexLock lock(mutex_);
  const SteadyTime now = SteadyClock::now();
  if (now >= next_look_) look_now(now);
  return claimable_now(now, way);
}

std::optional<bool> TokenBook::owned() {
  MutexLock lock(mutex_);
  const SteadyTime now = SteadyClock::now();
  if (now >= next_look_) look_now(now);
  return opened_ ? std::optional(list_.owned) : std::nullopt;
}

Result<void> TokenBook::add(const ChangeTokens& change) {
  if (folder_.empty()) return change(list_);
  list_ = KINGLET_TRY(change_tokens(folder_, change));
  seen_ = stamp();
  return {};
}

Result<TokenBook::Made> TokenBook::claim(std::string_view from, Way way) {
  MutexLock lock(mutex_);
  const SteadyTime now = SteadyClock::now();
  look_now(now);
  const auto refused = [way] {
    return fail(ErrorCode::kNotPermitted,
                way == Way::kProxy ? "this device has an owner, or nobody at the device lets one come through a proxy"
                                   : "this device has an owner, or the time for claiming is over",
                {}, "at the device: sudo kinglet pair, or sudo kinglet token add --role admin");
  };
  if (!claimable_now(now, way)) return refused();
  Made made;
  const ChangeTokens own = [&](TokenList& list) -> Result<void> {
    if (list.owned) return refused();
    made.name = free_token_name(list, kOwner);
    made.text = KINGLET_TRY(add_token(list, made.name, Role::kAdmin, std::chrono::system_clock::now()));
    list.tokens.back().claimed_from = from;
    return {};
  };
  KINGLET_TRY(add(own));
  if (log_) log_(LogLevel::kWarning, format_text("claimed: a browser at {} is the owner now", from));
  return made;
}

Result<TokenBook::Made> TokenBook::invite(Role role, std::string_view by) {
  MutexLock lock(mutex_);
  look_now(SteadyClock::now());
  Made made;
  const ChangeTokens guest = [&](TokenList& list) -> Result<void> {
    made.name = free_token_name(list, to_string(role));
    made.text = KINGLET_TRY(add_token(list, made.name, role, std::chrono::system_clock::now()));
    return {};
  };
  KINGLET_TRY(add(guest));
  if (log_) log_(LogLevel::kInfo, format_text("\"{}\" was invited by \"{}\"", made.name, by));
  return made;
}

std::optional<Token> TokenBook::owner() {
  MutexLock lock(mutex_);
  const auto found = std::ranges::find_if(list_.tokens, [](const Token& token) { return !token.claimed_from.empty(); });
  return found == list_.tokens.end() ? std::nullopt : std::optional(*found);
}

}  // namespace kinglet::daemon
