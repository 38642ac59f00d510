// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/desks/bird_lists.h"

#include <algorithm>
#include <utility>

#include "daemon/settings/kept_lists.h"
#include "engine/base/file.h"
#include "engine/base/format.h"

namespace kinglet::daemon {
namespace {

constexpr std::uint64_t kMostBytes = 4U << 20;

std::string_view key_of(http::BirdList list) {
  return list == http::BirdList::kRegion ? "decide.region" : "model.names";
}

KeptList kept(http::BirdList list) { return list == http::BirdList::kRegion ? KeptList::kRegion : KeptList::kNames; }

}  // namespace

BirdLists::BirdLists(BirdListsOptions options) : options_(std::move(options)) {
  for (const http::BirdList list : {http::BirdList::kRegion, http::BirdList::kNames}) {
    const auto text = read_kept_list(options_.folder, kept(list));
    if (!text)
      options_.log(LogLevel::kWarning, "a list of birds that was kept cannot be read: " + describe(text.error()));
  }
}

http::Setting BirdLists::setting_of(http::BirdList list) const {
  const std::vector<http::Setting> settings = options_.settings();
  const auto found = std::ranges::find(settings, key_of(list), &http::Setting::key);
  return found == settings.end() ? http::Setting{} : *found;
}

Result<http::BirdListDesk::Current> BirdLists::current(http::BirdList list) const {
  const http::Setting setting = setting_of(list);
  if (const auto* path = std::get_if<std::string>(&setting.value); path != nullptr && !path->empty()) {
    return Current{.text = KINGLET_TRY(read_file(*path, kMostBytes)), .source = setting.source};
  }
  std::optional<std::string> text = KINGLET_TRY(read_kept_list(options_.folder, kept(list)));
  if (!text) return Current{.text = {}, .source = "none"};
  return Current{.text = std::move(*text), .source = "kept"};
}

std::expected<void, http::BirdListDesk::Refusal> BirdLists::keep(http::BirdList list, const std::string& text,
                                                                 std::string_view by) {
  MutexLock turn(turn_);
  const http::Setting setting = setting_of(list);
  if (setting.source != "default" && setting.value != PlainValue()) {
    return std::unexpected(Refusal{.set_in_file = true,
                                   .error = {.code = ErrorCode::kConfig,
                                             .message = format_text("{} is set by {}", key_of(list), setting.source),
                                             .where = {},
                                             .hint = "change the file that it names, or take the key out there"}});
  }
  if (options_.folder.empty()) {
    return std::unexpected(Refusal{.error = {.code = ErrorCode::kConfig,
                                             .message = "there is no state folder to keep a list in",
                                             .where = {},
                                             .hint = "set store.path"}});
  }
  if (Result<void> written = write_kept_list(options_.folder, kept(list), text); !written) {
    return std::unexpected(Refusal{.error = std::move(written).error()});
  }
  const auto lines = std::ranges::count(text, '\n');
  options_.log(LogLevel::kInfo,
               format_text("{}: {}; by {}", list == http::BirdList::kRegion ? "the region's list" : "names of birds",
                           text.empty() ? "taken away" : format_text("{} lines", lines), by));
  if (Result<void> taken = options_.take_up(list); !taken) {
    options_.log(LogLevel::kWarning, "the list counts from the next start on: " + describe(taken.error()));
  }
  return {};
}

}  // namespace kinglet::daemon
