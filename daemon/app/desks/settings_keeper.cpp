// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/desks/settings_keeper.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "daemon/settings/settings.h"
#include "daemon/settings/settings_check.h"
#include "engine/base/clock.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon {
namespace {

using http::SettingsRefusal;
using http::SettingsWish;
using Why = SettingsRefusal::Why;

// Of all that is kept of the past.
constexpr std::size_t kMostPastBytes = 512U << 10;

std::unexpected<SettingsRefusal> refuse(Why why, std::vector<Error> faults = {}) {
  return std::unexpected(SettingsRefusal{.why = why, .faults = std::move(faults)});
}

Error fault(std::string message, std::string hint) {
  return {.code = ErrorCode::kConfig, .message = std::move(message), .where = {}, .hint = std::move(hint)};
}

const config::Key* find_key(std::string_view name) {
  const auto& table = config::key_table();
  const auto found = std::ranges::find(table, name, &config::Key::full_name);
  return found == table.end() ? nullptr : &*found;
}

std::string nearest_key(std::string_view name) {
  std::vector<std::string> names;
  for (const config::Key& key : config::key_table()) names.push_back(key.full_name());
  const std::vector<std::string_view> views(names.begin(), names.end());
  return std::string(nearest_name(name, views));
}

std::string text_of(const std::optional<PlainValue>& value) { return value ? config::toml_text(*value) : "null"; }

// Keys that nobody may set over HTTP; null of such a key has nothing to take back.
std::vector<Error> foreign_keys(const SettingsWish& wish) {
  std::vector<Error> faults;
  for (const auto& [name, value] : wish.values) {
    const config::Key* key = find_key(name);
    if (key != nullptr && key->settable) continue;
    const std::string shown = format_text("{} = {}", printable(name, 80), printable(text_of(value), 60));
    if (key != nullptr) {
      faults.push_back(fault(shown + ": cannot be set over HTTP", "it stays in the files of /etc/kinglet"));
      continue;
    }
    const std::string near = nearest_key(name);
    faults.push_back(fault(shown + ": there is no such key",
                           near.empty() ? "GET /api/v1/config has all of them" : "did you mean " + near + "?"));
  }
  return faults;
}

config::Settings with(config::Settings settings, const SettingsWish& wish) {
  for (const auto& [key, value] : wish.values) {
    if (value) {
      settings[key] = *value;
    } else {
      settings.erase(key);
    }
  }
  return settings;
}

std::optional<PlainValue> value_in(const config::Settings& settings, const std::string& key) {
  const auto found = settings.find(key);
  return found == settings.end() ? std::nullopt : std::optional(found->second);
}

std::vector<http::SettingsChange::Part> difference(const config::Settings& before, const config::Settings& after) {
  std::vector<http::SettingsChange::Part> parts;
  config::Settings all = before;
  all.insert(after.begin(), after.end());
  for (const auto& [key, value] : all) {
    http::SettingsChange::Part part{.key = key, .before = value_in(before, key), .after = value_in(after, key)};
    if (part.before != part.after) parts.push_back(std::move(part));
  }
  return parts;
}

std::string in_words(const std::vector<http::SettingsChange::Part>& parts) {
  std::string text;
  for (const auto& [key, before, after] : parts) {
    text += format_text("{}{} {}", text.empty() ? "" : ", ", key,
                        after ? "= " + printable(text_of(http::shown_value(key, *after)), 100) : "taken back");
  }
  return text;
}

std::string both(std::string one, const std::string& other) {
  if (!one.empty() && !other.empty()) one += "; ";
  return one + other;
}

// The oldest are forgotten first.
void bound(std::vector<PastChange>& past) {
  const auto bytes_of = [](const PastChange& change) {
    std::size_t bytes = 0;
    for (const auto& [key, value] : change.before) bytes += key.size() + config::toml_text(value).size();
    return bytes;
  };
  std::size_t bytes = 0;
  std::size_t kept = 0;
  for (const PastChange& change : past | std::views::reverse) {
    bytes += bytes_of(change);
    if (bytes > kMostPastBytes || kept == kMostPastChanges) break;
    ++kept;
  }
  past.erase(past.begin(), past.end() - static_cast<std::ptrdiff_t>(kept));
}

}  // namespace

SettingsKeeper::SettingsKeeper(SettingsKeeperOptions options, LiveSettings& live, TakeUp take_up, LogSink log)
    : options_(std::move(options)), live_(live), take_up_(std::move(take_up)), log_(std::move(log)) {
  Book book{.kept = options_.kept, .past = {}, .trouble = options_.trouble};
  if (auto past = read_past_changes(options_.folder)) {
    book.past = std::move(*past);
  } else {
    log_(LogLevel::kWarning, "what the settings were before is not known: " + describe(past.error()));
  }
  // A change that was begun when the power went.
  while (!book.past.empty() && book.past.back().before == book.kept) book.past.pop_back();
  set_book(std::move(book));
}

SettingsKeeper::Book SettingsKeeper::book() const {
  MutexLock lock(mutex_);
  return book_;
}

void SettingsKeeper::set_book(Book book) {
  MutexLock lock(mutex_);
  book_ = std::move(book);
}

http::SettingsDesk::State SettingsKeeper::state() const {
  const Book book = this->book();
  State state{.file = options_.folder.empty() ? std::string() : settings_file(options_.folder).string(),
              .kept = {},
              .steps_back = book.past.size(),
              .trouble = both(book.trouble, options_.other_trouble ? options_.other_trouble() : std::string())};
  for (const auto& [key, value] : book.kept) state.kept.push_back({.key = key, .value = value});
  return state;
}

std::vector<http::SettingsChange> SettingsKeeper::history() const {
  const Book book = this->book();
  std::vector<http::SettingsChange> changes;
  const config::Settings* after = &book.kept;
  for (const PastChange& past : book.past | std::views::reverse) {
    changes.push_back({.at = past.at, .by = past.by, .parts = difference(past.before, *after)});
    after = &past.before;
  }
  return changes;
}

std::expected<SettingsKeeper::Ready, SettingsRefusal> SettingsKeeper::judge(const config::Settings& settings,
                                                                            bool past) const {
  config::LoadOptions load = options_.load;
  load.settings = {.file = settings_file(options_.folder), .text = config::settings_text(settings)};
  if (load.settings->text.size() > kMostSettingsBytes) {
    return refuse(Why::kWrong, {fault("all settings together are larger than 64 KiB", "make lists shorter")});
  }
  const std::string file = load.settings->file.string();
  auto loaded = past ? load_fitting_settings(std::move(load)) : load_settings(std::move(load));
  if (!loaded) {
    // A line of a file that is not there yet helps nobody.
    for (Error& fault : loaded.error()) {
      if (fault.where.starts_with(file + ":")) fault.where.clear();
    }
    return refuse(Why::kWrong, std::move(loaded.error()));
  }
  Result<LineOptions> line = line_options(loaded->config);
  if (!line) return refuse(Why::kWrong, {std::move(line).error()});
  return Ready{.loaded = std::move(*loaded), .line = std::move(*line)};
}

// By what the files say now, not at the start.
std::expected<void, SettingsRefusal> SettingsKeeper::refuse_set_in_file(const SettingsWish& wish) const {
  const auto plain = config::load(options_.load);
  if (!plain) return refuse(Why::kWrong, plain.error());
  std::vector<Error> faults;
  for (std::size_t i = 0; i < config::key_table().size(); ++i) {
    const std::string key = config::key_table()[i].full_name();
    const auto wished = std::ranges::find(wish.values, key, &http::SettingValue::key);
    if (wished == wish.values.end() || !wished->value || plain->origins[i] == "default") continue;
    faults.push_back(
        fault(format_text("{} = {}: is set by {}", key, printable(text_of(wished->value), 60), plain->origins[i]),
              "change it there, or take it out there"));
  }
  if (!faults.empty()) return refuse(Why::kSetInFile, std::move(faults));
  return {};
}

void SettingsKeeper::take_up(const Ready& ready) { take_up_(live_.take_up(ready.loaded, ready.line), ready.loaded); }

std::expected<void, SettingsRefusal> SettingsKeeper::change(const SettingsWish& wish) {
  MutexLock turn(turn_);
  if (wish.still_as_seen && !wish.still_as_seen()) return refuse(Why::kStale);
  if (options_.folder.empty()) return refuse(Why::kNotKept);
  if (auto faults = foreign_keys(wish); !faults.empty()) return refuse(Why::kWrong, std::move(faults));
  if (auto free = refuse_set_in_file(wish); !free) return free;
  const Book before = book();
  const auto ready = judge(with(before.kept, wish));
  if (!ready) return std::unexpected(ready.error());
  Book after{.kept = ready->loaded.settings, .past = before.past, .trouble = {}};
  const auto parts = difference(before.kept, after.kept);
  if (parts.empty()) return {};
  after.past.push_back({.at = to_rfc3339(std::chrono::system_clock::now()), .by = wish.by, .before = before.kept});
  bound(after.past);
  // The past first: one that is as the settings are is not counted.
  Result<void> kept = write_past_changes(options_.folder, after.past);
  if (kept) kept = write_settings(options_.folder, after.kept);
  if (!kept) return refuse(Why::kNotKept, {std::move(kept).error()});
  log_(LogLevel::kInfo, format_text("settings: {}; by {}", in_words(parts), wish.by));
  take_up(*ready);
  set_book(std::move(after));
  return {};
}

std::expected<void, SettingsRefusal> SettingsKeeper::undo(const SettingsWish& wish) {
  MutexLock turn(turn_);
  if (wish.still_as_seen && !wish.still_as_seen()) return refuse(Why::kStale);
  const Book before = book();
  if (before.past.empty()) return refuse(Why::kNothingToUndo);
  // A step to what does not fit any more is none.
  Book after = before;
  after.trouble.clear();
  std::expected<Ready, SettingsRefusal> ready;
  do {
    ready = judge(after.past.back().before, true);
    if (!ready) return std::unexpected(std::move(ready.error()));
    after.past.pop_back();
  } while (ready->loaded.settings == before.kept && !after.past.empty());
  after.kept = ready->loaded.settings;
  if (Result<void> kept = write_settings(options_.folder, after.kept); !kept) {
    return refuse(Why::kNotKept, {std::move(kept).error()});
  }
  if (Result<void> kept = write_past_changes(options_.folder, after.past); !kept) {
    log_(LogLevel::kWarning, "what the settings were before cannot be written: " + describe(kept.error()));
  }
  log_(LogLevel::kInfo,
       format_text("settings: {}; undone by {}", in_words(difference(before.kept, after.kept)), wish.by));
  take_up(*ready);
  set_book(std::move(after));
  return {};
}

void SettingsKeeper::in_turn(const std::function<void()>& task) {
  MutexLock turn(turn_);
  task();
}

std::expected<config::Loaded, config::Faults> SettingsKeeper::reload(const std::function<Result<void>()>& before) {
  MutexLock turn(turn_);
  auto loaded = load_settings(options_.load);
  if (!loaded) return loaded;
  Result<LineOptions> line = line_options(loaded->config);
  if (!line) return std::unexpected(config::Faults{std::move(line).error()});
  if (Result<void> ready = before(); !ready) return std::unexpected(config::Faults{std::move(ready).error()});
  take_up({.loaded = *loaded, .line = std::move(*line)});
  Book book = this->book();
  book.kept = loaded->settings;
  set_book(std::move(book));
  return loaded;
}

}  // namespace kinglet::daemon
