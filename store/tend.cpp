// SPDX-License-Identifier: Apache-2.0
#include "store/tend.h"

#include <algorithm>
#include <array>

#include "engine/base/format.h"
#include "store/database/schema.h"
#include "store/database/visit_database.h"
#include "store/folder_lock.h"

namespace kinglet::store {
namespace {

namespace fs = std::filesystem;
using Kept = VisitDatabase::Kept;

constexpr int kForgottenAtOnce = 200;
constexpr std::size_t kFaultsTold = 20;

// The database and the lock, for one who writes.
struct Opened {
  FileDescriptor lock;
  VisitDatabase database;
};
Result<Opened> open_for_writing(const fs::path& folder) {
  FileDescriptor lock = KINGLET_TRY(lock_folder(folder));
  if (std::optional<Error> lost = lost_database(folder)) {
    lost->hint = "start the daemon once: it keeps aside what there is";
    return std::unexpected(*std::move(lost));
  }
  VisitDatabase database = KINGLET_TRY(VisitDatabase::open(folder));
  return Opened{std::move(lock), std::move(database)};
}

PictureFiles::Wanted wanted_by(Database& database) {
  return [&database](std::string_view id, Picture kind) -> Result<bool> {
    Statement find =
        KINGLET_TRY(database.prepare("SELECT crop_bytes, frame_bytes, clip_bytes FROM visits WHERE id = ?1"));
    find.bind(1, id);
    return KINGLET_TRY(find.step()) && find.natural(static_cast<int>(kind)) > 0;
  };
}

Result<void> find_missing_pictures(Database& database, const PictureFiles& files, std::vector<std::string>& faults) {
  Statement rows =
      KINGLET_TRY(database.prepare("SELECT id, crop_bytes, frame_bytes, clip_bytes FROM visits "
                                   "WHERE crop_bytes > 0 OR frame_bytes > 0 OR clip_bytes > 0 ORDER BY seq"));
  while (KINGLET_TRY(rows.step()) && faults.size() < kFaultsTold) {
    for (const Picture kind : kPictures) {
      const std::uint64_t expected = rows.natural(1 + static_cast<int>(kind));
      if (expected == 0) continue;
      const std::optional<std::uint64_t> size = files.size(rows.text(0), kind);
      if (size != expected) {
        faults.push_back(format_text("visit {}: a picture of {} bytes is {}", rows.text(0), expected,
                                     size ? format_text("{} bytes long", *size) : std::string("missing")));
      }
    }
  }
  return {};
}

}  // namespace

Result<StoreInfo> read_info(const fs::path& folder) {
  Database database = KINGLET_TRY(Database::open(database_file(folder), OpenAs::kReadOnly));
  StoreInfo info;
  (void)KINGLET_TRY(is_newest(database));
  info.version = KINGLET_TRY(database.integer_of("PRAGMA user_version"));
  const auto count = [&](std::string_view sql) -> Result<std::uint64_t> {
    return static_cast<std::uint64_t>(KINGLET_TRY(database.integer_of(sql)));
  };
  info.visits = KINGLET_TRY(count("SELECT count(*) FROM visits"));
  info.species = KINGLET_TRY(count("SELECT count(DISTINCT counted_as) FROM visits WHERE counted_as <> ''"));
  info.highest_seq = KINGLET_TRY(count("SELECT ifnull(max(seq), 0) FROM visits"));
  info.database_bytes = KINGLET_TRY(count("PRAGMA page_count")) * KINGLET_TRY(count("PRAGMA page_size"));
  if (info.visits > 0) {
    info.first_at =
        from_unix_ms(KINGLET_TRY(database.integer_of("SELECT started_ms FROM visits ORDER BY seq LIMIT 1")));
    info.last_at =
        from_unix_ms(KINGLET_TRY(database.integer_of("SELECT started_ms FROM visits ORDER BY seq DESC LIMIT 1")));
  }
  const auto any = [](std::string_view, Picture) -> Result<bool> { return true; };
  info.pictures = KINGLET_TRY(PictureFiles(folder).sweep(any, false));
  for (const fs::path& path : moved_aside(folder)) info.damaged.push_back(path.filename().string());
  return info;
}

Result<Checked> check_folder(const fs::path& folder) {
  Checked checked;
  const auto with = [&](const Error& error) {
    checked.faults.push_back(describe(error));
    return checked;
  };
  if (const std::optional<Error> lost = lost_database(folder)) return with(*lost);
  Database database = KINGLET_TRY(Database::open(database_file(folder), OpenAs::kReadOnly));
  Result<bool> newest = is_newest(database);
  if (!newest && newest.error().code == ErrorCode::kBadData) return with(newest.error());
  if (!newest) return std::unexpected(newest.error());
  if (!*newest) {
    checked.faults.emplace_back("the database is of an older version; the daemon brings it up to date");
    return checked;
  }
  Result<std::vector<std::string>> found = integrity_faults(database, true, [] { return false; });
  if (!found && found.error().code == ErrorCode::kBadData) return with(found.error());
  checked.faults = KINGLET_TRY(std::move(found));
  if (!checked.faults.empty()) return checked;
  const PictureFiles files(folder);
  KINGLET_TRY(find_missing_pictures(database, files, checked.faults));
  const PictureFiles::Found pictures = KINGLET_TRY(files.sweep(wanted_by(database), false));
  checked.strays = pictures.strays;
  checked.strays_stay = pictures.through_a_link || !moved_aside(folder).empty();
  return checked;
}

Result<RetentionResult> prune_folder(const fs::path& folder, const RetentionRule& rule, WallTime now) {
  Opened opened = KINGLET_TRY(open_for_writing(folder));
  const PictureFiles files(folder);
  const auto wanted = [&](std::string_view id, Picture kind) { return opened.database.wants_picture(id, kind); };
  const PictureFiles::Found pictures = KINGLET_TRY(files.sweep(wanted, moved_aside(folder).empty()));
  const RetentionResult result = KINGLET_TRY(apply_retention(opened.database, files, rule, now, pictures.bytes));
  KINGLET_TRY(opened.database.give_back());
  return result;
}

namespace {

// Files first: no picture outlives its visit.
Result<std::uint64_t> forget_rows(VisitDatabase& database, const PictureFiles& files, std::string_view id,
                                  std::string_view before) {
  std::uint64_t count = 0;
  while (true) {
    const std::vector<Kept> chunk = KINGLET_TRY(database.matching(id, before, kForgottenAtOnce));
    if (chunk.empty()) return count;
    for (const Kept& visit : chunk) {
      for (const Picture kind : kPictures) (void)files.remove(visit.id, kind);
    }
    KINGLET_TRY(database.forget(chunk));
    count += chunk.size();
  }
}

}  // namespace

Result<std::uint64_t> forget_visits(const fs::path& folder, std::string_view id, std::string_view before) {
  Opened opened = KINGLET_TRY(open_for_writing(folder));
  const std::uint64_t count = KINGLET_TRY(forget_rows(opened.database, PictureFiles(folder), id, before));
  if (!before.empty()) KINGLET_TRY(opened.database.forget_counts(before));
  KINGLET_TRY(opened.database.give_back());
  return count;
}

Result<Forgotten> forget_everything(const fs::path& folder) {
  constexpr std::string_view kAfterAllDays = "A";
  Opened opened = KINGLET_TRY(open_for_writing(folder));
  const PictureFiles files(folder);
  Forgotten forgotten{.visits = KINGLET_TRY(forget_rows(opened.database, files, {}, kAfterAllDays))};
  const auto nothing = [](std::string_view, Picture) -> Result<bool> { return false; };
  const PictureFiles::Found found = KINGLET_TRY(files.sweep(nothing, true));
  forgotten.pictures_left = found.strays - found.removed;
  for (const fs::path& path : moved_aside(folder)) {
    std::error_code failed;
    fs::remove(path, failed);
    if (failed) return fail(ErrorCode::kIo, "cannot remove: " + failed.message(), path.string());
  }
  KINGLET_TRY(opened.database.forget_all());
  return forgotten;
}

}  // namespace kinglet::store
