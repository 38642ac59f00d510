// SPDX-License-Identifier: Apache-2.0
// The copy is not counted in the write budget: what a person wishes must not stop visits.
#include "store/history_copy.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "store/database/schema.h"
#include "store/database/sequence.h"
#include "store/database/visit_database.h"

namespace kinglet::store {
namespace {

namespace fs = std::filesystem;

constexpr int kRowsAtOnce = 500;
constexpr std::uint64_t kRoomLeft = 32ULL << 20;  // for the visits that come meanwhile
constexpr std::string_view kCopyPrefix = ".copy-";
constexpr std::int64_t kVersionWithPictures = 3;  // of the schema

Result<void> look_for_room(Database& database, const fs::path& folder) {
  const std::int64_t pages = KINGLET_TRY(database.integer_of("PRAGMA page_count"));
  const std::int64_t page = KINGLET_TRY(database.integer_of("PRAGMA page_size"));
  struct statvfs disk{};
  if (::statvfs(folder.c_str(), &disk) != 0) return fail(ErrorCode::kIo, "cannot ask the disk: " + errno_text());
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  const std::uint64_t wanted = static_cast<std::uint64_t>(pages * page) + kRoomLeft;
  if (free >= wanted) return {};
  return fail(ErrorCode::kIo, format_text("a copy of the history needs {} bytes, the disk has {} left", wanted, free),
              folder.string(), "free some space: kinglet store prune --to SIZE");
}

// Copies that a power cut left. No copy takes a day.
void remove_old_copies(const fs::path& folder) {
  std::error_code failed;
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(24);
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    std::error_code ignored;
    if (!entry->path().filename().string().starts_with(kCopyPrefix)) continue;
    if (entry->last_write_time(ignored) < long_ago && !ignored) fs::remove(entry->path(), ignored);
  }
}

// Runs while `stop` does not say otherwise.
template <typename Body>
Result<void> interruptible(Database& database, const std::function<bool()>& stop, Body&& body) {
  constexpr int kInstructions = 10'000;
  const auto interrupt = [](void* given) { return (*static_cast<const std::function<bool()>*>(given))() ? 1 : 0; };
  sqlite3_progress_handler(database.handle(), kInstructions, interrupt,
                           const_cast<void*>(static_cast<const void*>(&stop)));
  Result<void> done = stop() ? fail(ErrorCode::kUnavailable, "") : body();
  sqlite3_progress_handler(database.handle(), 0, nullptr, nullptr);
  if (!done && stop()) return fail(ErrorCode::kUnavailable, "the copy was called off");
  return done;
}

struct RemoveAtEnd {
  const fs::path& path;
  ~RemoveAtEnd() { ::unlink(path.c_str()); }
};

}  // namespace

Result<HistoryCopy> HistoryCopy::make(const fs::path& folder, const std::function<bool()>& stop) {
  remove_old_copies(folder);
  Database from = KINGLET_TRY(Database::open(database_file(folder), OpenAs::kReadOnly));
  (void)KINGLET_TRY(is_newest(from));  // ours?
  KINGLET_TRY(look_for_room(from, folder));
  const fs::path path = folder / format_text("{}{:08x}", kCopyPrefix, std::random_device{}());
  const RemoveAtEnd remove{path};
  const auto copy = [&]() -> Result<void> {
    Statement vacuum = KINGLET_TRY(from.prepare("VACUUM INTO ?1"));
    return vacuum.bind(1, path.string()).run();
  };
  KINGLET_TRY(interruptible(from, stop, copy));
  InputFile file = KINGLET_TRY(InputFile::open(path, Links::kRefuse));
  HistoryCopy made(KINGLET_TRY(Database::open(path, OpenAs::kUnwritable)), std::move(file), folder);
  made.version_ = KINGLET_TRY(made.database_.integer_of("PRAGMA user_version"));
  made.visits_ = static_cast<std::uint64_t>(KINGLET_TRY(made.database_.integer_of("SELECT count(*) FROM visits")));
  if (made.version_ >= kVersionWithPictures) {
    made.picture_bytes_ = static_cast<std::uint64_t>(KINGLET_TRY(made.database_.integer_of(
        "SELECT ifnull(sum(ifnull(crop_bytes, 0) + ifnull(frame_bytes, 0) + ifnull(clip_bytes, 0)), 0) FROM visits")));
  }
  return made;
}

Result<void> HistoryCopy::read_more() {
  if (version_ < kVersionWithPictures) return {};
  Statement rows =
      KINGLET_TRY(database_.prepare("SELECT seq, id, crop_bytes, frame_bytes, clip_bytes FROM visits "
                                    "WHERE seq > ?1 AND (crop_bytes > 0 OR frame_bytes > 0 OR clip_bytes > 0) "
                                    "ORDER BY seq LIMIT ?2"));
  rows.bind(1, last_).bind(2, kRowsAtOnce);
  while (KINGLET_TRY(rows.step())) {
    last_ = rows.natural(0);
    for (const Picture kind : kPictures) {
      if (rows.natural(2 + static_cast<int>(kind)) == 0) continue;
      fs::path path = KINGLET_TRY(files_.path_of(rows.text(1), kind));
      std::string name = path.lexically_relative(folder_).string();
      pictures_.push_back({.path = std::move(path), .name = std::move(name)});
    }
  }
  std::ranges::reverse(pictures_);  // the next one is the last
  return {};
}

Result<std::optional<HistoryCopy::PictureFile>> HistoryCopy::next_picture() {
  if (pictures_.empty()) KINGLET_TRY(read_more());
  if (pictures_.empty()) return std::nullopt;
  PictureFile next = std::move(pictures_.back());
  pictures_.pop_back();
  return next;
}

bool is_picture_name(std::string_view name) {
  constexpr std::size_t kIdSize = 30;
  const std::size_t begin = name.rfind('/') + 1;
  const std::string_view id = name.substr(begin, kIdSize);
  const PictureFiles files{fs::path()};
  return std::ranges::any_of(kPictures, [&](Picture kind) {
    const Result<fs::path> path = files.path_of(id, kind);
    return path && path->string() == name;
  });
}

namespace {

using SchemaRow = std::tuple<std::string, std::string, std::string>;  // type, name, SQL

Result<std::set<SchemaRow>> schema_of(Database& database) {
  std::set<SchemaRow> rows;
  Statement list = KINGLET_TRY(database.prepare("SELECT type, name, ifnull(sql, '') FROM sqlite_schema"));
  while (KINGLET_TRY(list.step())) rows.emplace(list.text(0), list.text(1), list.text(2));
  return rows;
}

// Triggers and views of a stranger would run with our statements.
Result<void> judge_schema(Database& database, std::int64_t version) {
  Database own = KINGLET_TRY(Database::open({}, OpenAs::kMemory));
  std::span<const Step> steps = schema_steps();
  KINGLET_TRY(migrate(own, steps.first(static_cast<std::size_t>(version))));
  const std::set<SchemaRow> expected = KINGLET_TRY(schema_of(own));
  const std::set<SchemaRow> found = KINGLET_TRY(schema_of(database));
  if (found == expected) return {};
  std::vector<SchemaRow> different;
  std::ranges::set_symmetric_difference(found, expected, std::back_inserter(different));
  return fail(ErrorCode::kBadData, format_text("the database's {} \"{}\" is not as version {} has it",
                                               printable(std::get<0>(different.front()), 20),
                                               printable(std::get<1>(different.front()), 60), version));
}

}  // namespace

Result<ForeignHistory> judge_history(const fs::path& folder, const std::function<bool()>& stop) {
  Database database = KINGLET_TRY(Database::open(database_file(folder), OpenAs::kReadOnly));
  (void)KINGLET_TRY(is_newest(database));
  ForeignHistory history{.version = KINGLET_TRY(database.integer_of("PRAGMA user_version"))};
  if (history.version < 1) return fail(ErrorCode::kBadData, "the database is empty");
  KINGLET_TRY(judge_schema(database, history.version));
  const std::vector<std::string> faults = KINGLET_TRY(integrity_faults(database, true, stop));
  if (stop()) return fail(ErrorCode::kUnavailable, "the check was called off");
  if (!faults.empty()) return fail(ErrorCode::kBadData, "the database is damaged: " + printable(faults.front()));
  const std::int64_t strange =
      KINGLET_TRY(database.integer_of("SELECT count(*) FROM visits WHERE typeof(id) <> 'text' OR length(id) <> 30 OR "
                                      "id NOT GLOB 'vis_*' OR substr(id, 5) GLOB '*[^0-9A-HJKMNP-TV-Z]*' OR seq < 1 "
                                      "OR seq > 9007199254740991"));
  if (strange > 0) return fail(ErrorCode::kBadData, format_text("{} visits have no id or number of ours", strange));
  history.visits = static_cast<std::uint64_t>(KINGLET_TRY(database.integer_of("SELECT count(*) FROM visits")));
  return history;
}

Result<std::uint64_t> fit_history(const fs::path& folder) {
  Database database = KINGLET_TRY(Database::open(database_file(folder), OpenAs::kReadWrite));
  const std::int64_t version = KINGLET_TRY(database.integer_of("PRAGMA user_version"));
  const PictureFiles files(folder);
  std::uint64_t missing = 0;
  if (version >= kVersionWithPictures) {
    for (const auto& [column, kind] :
         {std::pair{"crop_bytes", Picture::kCrop}, std::pair{"frame_bytes", Picture::kFrame},
          std::pair{"clip_bytes", Picture::kClip}}) {
      const auto fit = [&]() -> Result<void> {
        Statement rows = KINGLET_TRY(
            database.prepare(format_text("SELECT seq, id, {0} FROM visits WHERE {0} > 0 ORDER BY seq", column)));
        Statement put = KINGLET_TRY(database.prepare(format_text("UPDATE visits SET {} = ?2 WHERE seq = ?1", column)));
        while (KINGLET_TRY(rows.step())) {
          const std::uint64_t there = files.size(rows.text(1), kind).value_or(0);
          if (there == rows.natural(2)) continue;
          missing += there == 0 ? 1 : 0;
          KINGLET_TRY(put.bind(1, rows.natural(0)).bind(2, there).run());
        }
        return {};
      };
      KINGLET_TRY(in_transaction(database, fit));
    }
  }
  const auto highest =
      static_cast<std::uint64_t>(KINGLET_TRY(database.integer_of("SELECT ifnull(max(seq), 0) FROM visits")));
  if (highest > read_reserved(folder)) (void)KINGLET_TRY(write_reserved(folder, highest));
  return missing;
}

}  // namespace kinglet::store
