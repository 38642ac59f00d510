// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/desks/notify_keeper.h"

#include <algorithm>
#include <utility>

#include "daemon/settings/notify_settings.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon {
namespace {

using http::SettingsRefusal;
using Why = SettingsRefusal::Why;

constexpr std::size_t kMostKept = 16;
constexpr std::size_t kLongestSecret = 512;
constexpr std::chrono::seconds kPatience{15};  // of who asks for a message now

std::unexpected<SettingsRefusal> refuse(Why why, Error fault) {
  return std::unexpected(SettingsRefusal{.why = why, .faults = {std::move(fault)}});
}

Error misfit(std::string message, std::string hint = {}) {
  return {.code = ErrorCode::kConfig, .message = std::move(message), .where = {}, .hint = std::move(hint)};
}

const config::Notify* find(const std::vector<config::Notify>& list, std::string_view name) {
  const auto found = std::ranges::find(list, name, &config::Notify::name);
  return found == list.end() ? nullptr : &*found;
}

// Only services that nobody can point elsewhere.
Error own_server(const notify::ServiceFacts& facts) {
  const std::string_view which = facts.preset == "none" ? facts.service : facts.preset;
  return misfit(format_text("{} needs the address of a server, which cannot be set over HTTP", which),
                "write a [[notify]] table into /etc/kinglet/conf.d/mine.toml (docs/phone.md)");
}

std::string toml_of(const http::NotifyWish& wish) {
  PlainMembers service = wish.values;
  service.insert_or_assign("name", wish.name);
  return format_text("notify = [{}]\n", config::toml_text(service));
}

bool is_name(std::string_view name) {
  return !name.empty() &&
         std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

}  // namespace

NotifyKeeper::NotifyKeeper(std::filesystem::path folder, std::vector<config::Notify> files, LogSink log)
    : folder_(std::move(folder)), log_(std::move(log)) {
  book_.files = std::move(files);
  if (folder_.empty()) return;
  auto kept = read_notify_file(folder_);
  if (kept) {
    book_.kept = std::move(*kept);
    for (const config::Notify& one : book_.kept) carry_over_notify_secret(folder_, one);
  } else {
    trouble_ = format_text("services of messages that were set on the page are not used: {}; {}",
                           describe(kept.error()), set_notify_aside(folder_));
    log_(LogLevel::kError, trouble_);
  }
}

std::string NotifyKeeper::trouble() const {
  MutexLock lock(mutex_);
  return trouble_;
}

NotifyKeeper::Book NotifyKeeper::book() const {
  MutexLock lock(mutex_);
  return book_;
}

notify::Notifier* NotifyKeeper::notifier() const {
  MutexLock lock(mutex_);
  return notifier_;
}

void NotifyKeeper::attach(notify::Notifier& notifier) {
  MutexLock turn(turn_);
  {
    MutexLock lock(mutex_);
    notifier_ = &notifier;
  }
  hand_over(book());
}

void NotifyKeeper::take_up(std::vector<config::Notify> files) {
  MutexLock turn(turn_);
  Book next = book();
  next.files = std::move(files);
  hand_over(std::move(next));
}

// The file counts where both have a name.
void NotifyKeeper::hand_over(Book book) {
  std::vector<notify::Wish> wishes = notify_wishes(book.files).value_or(std::vector<notify::Wish>{});
  for (const config::Notify& one : book.kept) {
    if (find(book.files, one.name) != nullptr) continue;
    Result<notify::Wish> wish = notify_wish(one, notify_secret_file(folder_, one));
    if (wish) {
      wishes.push_back(std::move(*wish));
    } else {
      log_(LogLevel::kWarning, format_text("notify {}: {}", printable(one.name, 40), describe(wish.error())));
    }
  }
  MutexLock lock(mutex_);
  book_ = std::move(book);
  if (notifier_ != nullptr) notifier_->adopt(std::move(wishes));
}

std::vector<http::NotifyService> NotifyKeeper::list() const {
  const Book book = this->book();
  std::vector<notify::Status> status;
  if (const notify::Notifier* notifier = this->notifier()) status = notifier->status();
  std::vector<http::NotifyService> out;
  const auto add = [&](const config::Notify& one, std::string source, bool has_secret) {
    http::NotifyService service{
        .name = one.name, .values = config::notify_values(one), .has_secret = has_secret, .source = std::move(source)};
    const auto found = std::ranges::find(status, one.name, &notify::Status::name);
    if (found != status.end()) {
      service.detail = found->detail;
      service.since = found->since;
      service.sent = found->sent;
      service.failed_tries = found->failed_tries;
      service.dropped = found->dropped;
      service.held_back = found->held_back;
      service.waiting = found->waiting;
    }
    out.push_back(std::move(service));
  };
  for (const config::Notify& one : book.files) {
    const Result<notify::Wish> wish = notify_wish(one);
    add(one, one.place, wish && !wish->target.secret.empty());
  }
  for (const config::Notify& one : book.kept) {
    if (find(book.files, one.name) == nullptr) add(one, "page", !notify_secret_file(folder_, one).empty());
  }
  return out;
}

std::expected<config::Notify, SettingsRefusal> NotifyKeeper::judge(const http::NotifyWish& wish) const {
  if (!is_name(wish.name)) return refuse(Why::kWrong, misfit("name: expected a to z, 0 to 9 and _"));
  auto loaded = config::load_notify({.file = "body", .text = toml_of(wish)});
  if (!loaded) {
    for (Error& one : loaded.error()) one.where.clear();
    return std::unexpected(SettingsRefusal{.why = Why::kWrong, .faults = std::move(loaded.error())});
  }
  if (loaded->size() != 1) return refuse(Why::kWrong, misfit("expected one service"));
  config::Notify one = std::move(loaded->front());
  if (one.name != wish.name) return refuse(Why::kWrong, misfit("name: the path says it"));
  const auto service = notify::service_of(one.service, one.preset);
  if (service && !notify::facts_of(*service).has_fixed_host()) {
    return refuse(Why::kWrong, own_server(notify::facts_of(*service)));
  }
  return one;
}

// A secret belongs to the service it was given for, and is never sent to another one.
bool NotifyKeeper::keeps_secret(const Book& book, const config::Notify& now) const {
  const config::Notify* before = find(book.kept, now.name);
  return before != nullptr && before->service == now.service && before->preset == now.preset &&
         !notify_secret_file(folder_, now).empty();
}

std::expected<void, SettingsRefusal> NotifyKeeper::put(const http::NotifyWish& wish) {
  MutexLock turn(turn_);
  if (folder_.empty()) return refuse(Why::kNotKept, misfit("there is no state folder to keep it in", "set store.path"));
  Book next = book();
  if (const config::Notify* file = find(next.files, wish.name)) {
    return refuse(Why::kSetInFile, misfit(format_text("notify.name = {}: is set by {}", wish.name, file->place),
                                          "change it there, or take another name"));
  }
  auto judged = judge(wish);
  if (!judged) return std::unexpected(std::move(judged.error()));
  if (wish.secret && wish.secret->size() > kLongestSecret) return refuse(Why::kWrong, misfit("secret: is too long"));
  const bool has_secret = wish.secret ? !wish.secret->empty() : keeps_secret(next, *judged);
  const std::filesystem::path place = notify_secret_place(folder_, *judged);
  const Result<notify::Wish> checked = notify_wish(*judged, has_secret ? place : std::filesystem::path());
  if (!checked) {
    Error error = checked.error();
    if (error.message.starts_with("secret_file: ")) error = misfit("secret: is missing", "send it as secret");
    return refuse(Why::kWrong, std::move(error));
  }
  const config::Notify* before = find(next.kept, wish.name);
  const std::filesystem::path place_before = before == nullptr ? "" : notify_secret_place(folder_, *before);
  std::erase_if(next.kept, [&](const config::Notify& one) { return one.name == wish.name; });
  if (next.kept.size() >= kMostKept) return refuse(Why::kWrong, misfit("there are 16 services already", "remove one"));
  next.kept.push_back(std::move(*judged));
  Result<void> kept;
  if (wish.secret || !has_secret) kept = write_notify_secret(place, wish.secret.value_or(""));
  if (kept) kept = write_notify_file(folder_, next.kept);
  if (!kept) {
    static_cast<void>(forget_notify_secrets(folder_, wish.name, place_before));
    return refuse(Why::kNotKept, std::move(kept).error());
  }
  log_(LogLevel::kInfo, format_text("notify {}: set by {}", wish.name, wish.by));
  hand_over(std::move(next));
  if (const auto gone = forget_notify_secrets(folder_, wish.name, place); !gone) {
    log_(LogLevel::kWarning, format_text("notify {}: {}", wish.name, describe(gone.error())));
  }
  MutexLock lock(mutex_);
  trouble_.clear();
  return {};
}

std::expected<bool, SettingsRefusal> NotifyKeeper::remove(const std::string& name, const std::string& by) {
  MutexLock turn(turn_);
  Book next = book();
  if (const config::Notify* file = find(next.files, name)) {
    return refuse(Why::kSetInFile,
                  misfit(format_text("notify.name = {}: is set by {}", name, file->place), "take it out there"));
  }
  if (std::erase_if(next.kept, [&](const config::Notify& one) { return one.name == name; }) == 0) return false;
  Result<void> kept = write_notify_file(folder_, next.kept);
  if (kept) kept = forget_notify_secrets(folder_, name);
  if (!kept) return refuse(Why::kNotKept, std::move(kept).error());
  log_(LogLevel::kInfo, format_text("notify {}: removed by {}", name, by));
  hand_over(std::move(next));
  return true;
}

Result<void> NotifyKeeper::try_now(const std::string& name) {
  notify::Notifier* notifier = this->notifier();
  if (notifier == nullptr) return fail(ErrorCode::kBusy, "the daemon is starting", {}, "try again in a moment");
  return notifier->try_now(name, kPatience);
}

}  // namespace kinglet::daemon
