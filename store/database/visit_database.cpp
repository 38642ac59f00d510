// SPDX-License-Identifier: Apache-2.0
#include "store/database/visit_database.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "engine/base/file.h"
#include "engine/base/format.h"
#include "store/database/schema.h"
#include "store/database/sequence.h"

namespace kinglet::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFile = "kinglet.db";
constexpr std::string_view kAside = ".damaged-";  // then the time
constexpr off_t kPageSize = 4096;                 // SQLite's own default

// Columns that the pipeline owns; those of a review are no part of it.
constexpr std::string_view kUpdate =
    "change = excluded.change, open = excluded.open, duration_ms = excluded.duration_ms, "
    "counted_as = CASE verdict WHEN 3 THEN '' WHEN 2 THEN review_species_id ELSE excluded.species_id END, "
    "species_id = excluded.species_id, score = excluded.score, frames_seen = excluded.frames_seen, "
    "frames_agreeing = excluded.frames_agreeing, top = excluded.top, model_name = excluded.model_name, "
    "model_digest = excluded.model_digest, unusual = excluded.unusual, best_prediction = excluded.best_prediction, "
    "crop_x = excluded.crop_x, crop_y = excluded.crop_y, crop_width = excluded.crop_width, "
    "crop_height = excluded.crop_height, crop_bytes = ifnull(excluded.crop_bytes, crop_bytes), "
    "frame_bytes = ifnull(excluded.frame_bytes, frame_bytes), clip_bytes = ifnull(excluded.clip_bytes, clip_bytes), "
    "individuals = excluded.individuals, box_x = excluded.box_x, box_y = excluded.box_y, "
    "box_width = excluded.box_width, box_height = excluded.box_height";
static_assert(static_cast<int>(visits::Verdict::kCorrected) == 2 && static_cast<int>(visits::Verdict::kNotABird) == 3,
              "the numbers are in the file");

std::uint64_t number_of(const std::string& text) {
  std::uint64_t number = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return 0;
    number = number * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return number;
}

}  // namespace

fs::path database_file(const fs::path& folder) { return folder / kFile; }

std::optional<Error> lost_database(const fs::path& folder) {
  const fs::path file = database_file(folder);
  std::error_code missing;
  const std::uintmax_t size = fs::file_size(file, missing);
  const bool is_gone = missing == std::errc::no_such_file_or_directory;
  if (!is_gone && (missing || size > 0)) return std::nullopt;
  const bool has_pictures = PictureFiles(folder).any();
  if (!has_pictures && read_reserved(folder) == 0) return std::nullopt;
  return Error{ErrorCode::kBadData,
               format_text("the database is {}, but {} of earlier visits are there", is_gone ? "missing" : "empty",
                           has_pictures ? "pictures" : "numbers"),
               file.string(),
               {}};
}

Result<VisitDatabase> VisitDatabase::open(const fs::path& folder, const std::string& vfs) {
  const fs::path file = database_file(folder);
  std::error_code ignored;
  const bool has_journal = fs::exists(file.string() + "-wal", ignored);
  VisitDatabase opened(KINGLET_TRY(Database::open(file, OpenAs::kCreate, vfs)), file);
  opened.was_closed_ = !has_journal;
  Database& database = opened.database_;
  // Before anything is changed: a newer or foreign file stays as it is.
  if (Result<bool> newest = is_newest(database); !newest) {
    newest.error().where = file.string();
    return std::unexpected(std::move(newest).error());
  }
  KINGLET_TRY(
      database.execute("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA "
                       "secure_delete = FAST;"
                       "PRAGMA wal_autocheckpoint = 256; PRAGMA journal_size_limit = 1048576; PRAGMA cache_size = "
                       "-2000; PRAGMA temp_store = MEMORY"));
  if (const std::string mode = KINGLET_TRY(database.text_of("PRAGMA journal_mode")); mode != "wal") {
    return fail(ErrorCode::kIo, "the database cannot use a write-ahead log on this file system", file.string());
  }
  KINGLET_TRY(migrate(database));
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0) return fail(ErrorCode::kIo, "cannot stat: " + errno_text(), file.string());
  opened.device_ = status.st_dev;
  opened.inode_ = status.st_ino;
  return opened;
}

Result<VisitDatabase> VisitDatabase::look(const fs::path& folder) {
  const fs::path file = database_file(folder);
  VisitDatabase opened(KINGLET_TRY(Database::open(file, OpenAs::kUnwritable)), file);
  if (KINGLET_TRY(is_newest(opened.database_))) return opened;
  return fail(ErrorCode::kUnsupported, "the database is of an older version", file.string());
}

bool VisitDatabase::is_at_its_place() const {
  struct stat status{};
  return ::stat(file_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

Result<std::vector<std::string>> integrity_faults(Database& database, bool thorough,
                                                  const std::function<bool()>& stop) {
  constexpr int kInstructions = 10'000;
  const auto interrupt = [](void* given) { return (*static_cast<const std::function<bool()>*>(given))() ? 1 : 0; };
  std::vector<std::string> faults;
  sqlite3_progress_handler(database.handle(), kInstructions, interrupt,
                           const_cast<void*>(static_cast<const void*>(&stop)));
  const auto look = [&]() -> Result<void> {
    Statement rows = KINGLET_TRY(database.prepare(thorough ? "PRAGMA integrity_check(20)" : "PRAGMA quick_check(1)"));
    while (KINGLET_TRY(rows.step())) {
      if (std::string text = rows.text(0); text != "ok") faults.push_back(std::move(text));
    }
    return {};
  };
  const Result<void> looked = look();
  sqlite3_progress_handler(database.handle(), 0, nullptr, nullptr);
  if (!looked && !stop()) return std::unexpected(looked.error());
  return faults;
}

Result<Remembered> VisitDatabase::remembered() {
  const auto value = [&](const char* name) -> Result<std::string> {
    Statement find = KINGLET_TRY(database_.prepare("SELECT value FROM meta WHERE name = ?1"));
    find.bind(1, name);
    return KINGLET_TRY(find.step()) ? find.text(0) : std::string();
  };
  Remembered found;
  found.change = number_of(KINGLET_TRY(value("change")));
  found.last_id_ms = number_of(KINGLET_TRY(value("last_id_ms")));
  found.written_day = KINGLET_TRY(value("written_day"));
  found.written_bytes = number_of(KINGLET_TRY(value("written_bytes")));
  return found;
}

Result<void> VisitDatabase::remember(const Remembered& remembered) {
  KINGLET_TRY(remember("change", std::to_string(remembered.change)));
  KINGLET_TRY(remember("last_id_ms", std::to_string(remembered.last_id_ms)));
  KINGLET_TRY(remember("written_day", remembered.written_day));
  return remember("written_bytes", std::to_string(remembered.written_bytes));
}

Result<void> VisitDatabase::remember(std::string_view name, const std::string& value) {
  Statement put = KINGLET_TRY(database_.prepare("INSERT OR REPLACE INTO meta(name, value) VALUES(?1, ?2)"));
  return put.bind(1, name).bind(2, value).run();
}

Result<std::uint64_t> VisitDatabase::highest_seq() {
  return static_cast<std::uint64_t>(KINGLET_TRY(database_.integer_of("SELECT ifnull(max(seq), 0) FROM visits")));
}

Result<std::optional<VisitRow>> VisitDatabase::find(std::uint64_t seq) {
  Statement find = KINGLET_TRY(database_.prepare(format_text("SELECT {} FROM visits WHERE seq = ?1", kVisitColumns)));
  find.bind(1, seq);
  if (!KINGLET_TRY(find.step())) return std::nullopt;
  return read_row(find);
}

Result<void> VisitDatabase::put(const PendingVisit& entry) {
  std::string marks;
  for (int i = 1; i <= kVisitColumnCount; ++i) marks += format_text("{}?{}", i == 1 ? "" : ", ", i);
  // A row that was there and is not any more was deleted: an update of it writes nothing.
  const std::string_view unless_deleted = "SELECT 1 FROM visits WHERE seq = ?1";
  Statement put = KINGLET_TRY(database_.prepare(
      format_text("INSERT INTO visits({}) SELECT {} WHERE {} ON CONFLICT(seq) DO UPDATE SET {} WHERE id = excluded.id "
                  "ON CONFLICT(id) DO NOTHING",
                  kVisitColumns, marks, entry.stored ? format_text("EXISTS({})", unless_deleted) : "true", kUpdate)));
  bind_row(put, entry.row);
  KINGLET_TRY(put.run());
  if (entry.stored && database_.changes() == 0) return {};
  KINGLET_TRY(put_predictions(database_, entry.row.visit));
  if (entry.reviewed) (void)KINGLET_TRY(put_review(entry.row.visit.id, entry.row.visit.review, entry.row.change));
  return {};
}

Result<bool> VisitDatabase::put_review(std::string_view id, const visits::Review& review, std::uint64_t change) {
  Statement put = KINGLET_TRY(database_.prepare(
      "UPDATE visits SET verdict = ?2, review_species_id = ?3, note = ?4, reviewed_ms = ?5, reviewed_by = ?6, "
      "change = ?7, review_name = ?8, counted_as = CASE ?2 WHEN 3 THEN '' WHEN 2 THEN ?3 ELSE species_id END WHERE id "
      "= ?1"));
  put.bind(1, id).bind(2, static_cast<int>(review.verdict)).bind(3, review.species_id).bind(4, review.note);
  if (review.reviewed_at) {
    put.bind(5, to_unix_ms(*review.reviewed_at));
  } else {
    put.bind_null(5);
  }
  put.bind(6, review.reviewed_by).bind(7, change).bind(8, review.name);
  KINGLET_TRY(put.run());
  return database_.changes() > 0;
}

Result<void> VisitDatabase::put_throughput(const Throughput& row) {
  Statement put = KINGLET_TRY(database_.prepare(
      "INSERT INTO throughput(at_ms, clock_synced, span_ms, frames, images, accepted, latency_p50_ms, latency_p99_ms) "
      "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"));
  put.bind(1, to_unix_ms(row.at)).bind(2, row.clock_synced);
  put.bind(3, std::int64_t{std::chrono::round<std::chrono::milliseconds>(row.span).count()});
  put.bind(4, row.frames).bind(5, row.images).bind(6, row.accepted);
  return put.bind(7, row.latency_p50_ms).bind(8, row.latency_p99_ms).run();
}

Result<void> VisitDatabase::write(std::span<const Pending::Entry> entries, std::span<const Throughput> throughput,
                                  const Remembered& remembered) {
  return in_transaction(database_, [&]() -> Result<void> {
    for (const Pending::Entry& entry : entries) KINGLET_TRY(put(*entry));
    for (const Throughput& row : throughput) KINGLET_TRY(put_throughput(row));
    return remember(remembered);
  });
}

Result<bool> VisitDatabase::review(std::string_view id, const visits::Review& review, const Remembered& remembered) {
  bool found = false;
  const auto body = [&]() -> Result<void> {
    found = KINGLET_TRY(put_review(id, review, remembered.change));
    return remember(remembered);
  };
  KINGLET_TRY(in_transaction(database_, body));
  return found;
}

Result<bool> VisitDatabase::erase(std::string_view id, const Remembered& remembered) {
  bool found = false;
  const auto body = [&]() -> Result<void> {
    Statement erase = KINGLET_TRY(database_.prepare("DELETE FROM visits WHERE id = ?1"));
    KINGLET_TRY(erase.bind(1, id).run());
    found = database_.changes() > 0;
    return remember(remembered);
  };
  KINGLET_TRY(in_transaction(database_, body));
  return found;
}

Result<std::vector<VisitDatabase::Kept>> VisitDatabase::oldest(Which which, bool reviewed, std::uint64_t after,
                                                               int limit) {
  // As the partial index visits_frames has it, so that it is used.
  const std::string_view frames = which == Which::kWithFrames ? " AND (frame_bytes > 0 OR clip_bytes > 0)" : "";
  Statement list = KINGLET_TRY(database_.prepare(
      format_text("SELECT seq, id, started_ms, clock_synced, crop_bytes, frame_bytes, clip_bytes FROM visits "
                  "WHERE (verdict > 0) = ?1 AND seq > ?2{} ORDER BY seq LIMIT ?3",
                  frames)));
  list.bind(1, reviewed).bind(2, after).bind(3, limit);
  return read_kept(list);
}

Result<std::vector<VisitDatabase::Kept>> VisitDatabase::matching(std::string_view id, std::string_view before,
                                                                 int limit) {
  Statement list = KINGLET_TRY(
      database_.prepare("SELECT seq, id, started_ms, clock_synced, crop_bytes, frame_bytes, clip_bytes FROM visits "
                        "WHERE id = ?1 OR day < ?2 ORDER BY seq LIMIT ?3"));
  list.bind(1, id).bind(2, before).bind(3, limit);
  return read_kept(list);
}

Result<std::vector<VisitDatabase::Kept>> VisitDatabase::read_kept(Statement& list) {
  const auto maybe = [&](int column) {
    return list.is_null(column) ? std::nullopt : std::optional(list.natural(column));
  };
  std::vector<Kept> found;
  while (KINGLET_TRY(list.step())) {
    found.push_back({.seq = list.natural(0),
                     .id = list.text(1),
                     .started_at = from_unix_ms(list.integer(2)),
                     .clock_synced = list.integer(3) != 0,
                     .pictures = {.crop = maybe(4), .frame = maybe(5), .clip = maybe(6)}});
  }
  return found;
}

Result<void> VisitDatabase::frames_removed(std::span<const Kept> visits) {
  return in_transaction(database_, [&]() -> Result<void> {
    for (const Kept& visit : visits) {
      Statement put = KINGLET_TRY(database_.prepare(
          "UPDATE visits SET frame_bytes = min(frame_bytes, 0), clip_bytes = min(clip_bytes, 0) WHERE seq = ?1"));
      KINGLET_TRY(put.bind(1, visit.seq).run());
    }
    return {};
  });
}

Result<void> VisitDatabase::erase_row(std::uint64_t seq) {
  Statement erase = KINGLET_TRY(database_.prepare("DELETE FROM visits WHERE seq = ?1"));
  return erase.bind(1, seq).run();
}

Result<void> VisitDatabase::keep_what_counts(std::uint64_t seq) {
  Statement count = KINGLET_TRY(database_.prepare(
      "INSERT INTO daily_counts(day, species_id, hour, visits) SELECT day, counted_as, hour, 1 FROM visits "
      "WHERE seq = ?1 AND counted_as <> '' ON CONFLICT DO UPDATE SET visits = visits + 1"));
  KINGLET_TRY(count.bind(1, seq).run());
  Statement sight = KINGLET_TRY(database_.prepare(
      "INSERT INTO past_species(species_id, first_seq, first_ms, last_seq, last_ms) "
      "SELECT counted_as, seq, started_ms, seq, started_ms FROM visits WHERE seq = ?1 AND counted_as <> '' "
      "ON CONFLICT DO UPDATE SET "
      "first_ms = CASE WHEN excluded.first_seq < first_seq THEN excluded.first_ms ELSE first_ms END, "
      "last_ms = CASE WHEN excluded.last_seq > last_seq THEN excluded.last_ms ELSE last_ms END, "
      "first_seq = min(first_seq, excluded.first_seq), last_seq = max(last_seq, excluded.last_seq)"));
  return sight.bind(1, seq).run();
}

Result<void> VisitDatabase::prune(std::span<const Kept> visits) {
  return in_transaction(database_, [&]() -> Result<void> {
    for (const Kept& visit : visits) {
      KINGLET_TRY(keep_what_counts(visit.seq));
      KINGLET_TRY(erase_row(visit.seq));
    }
    return {};
  });
}

Result<void> VisitDatabase::forget(std::span<const Kept> visits) {
  return in_transaction(database_, [&]() -> Result<void> {
    for (const Kept& visit : visits) KINGLET_TRY(erase_row(visit.seq));
    return {};
  });
}

Result<void> VisitDatabase::forget_counts(std::string_view before) {
  Statement counts = KINGLET_TRY(database_.prepare("DELETE FROM daily_counts WHERE day < ?1"));
  return counts.bind(1, before).run();
}

Result<void> VisitDatabase::forget_all() {
  KINGLET_TRY(in_transaction(database_, [&] {
    return database_.execute(
        "DELETE FROM visits; DELETE FROM daily_counts; DELETE FROM past_species; DELETE FROM throughput");
  }));
  return give_back();
}

Result<void> VisitDatabase::give_back() {
  return database_.execute("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)");
}

Result<void> VisitDatabase::prune_throughput(WallTime before) {
  Statement erase = KINGLET_TRY(database_.prepare("DELETE FROM throughput WHERE clock_synced = 1 AND at_ms < ?1"));
  return erase.bind(1, to_unix_ms(before)).run();
}

Result<void> VisitDatabase::prune_throughput(std::uint64_t most) {
  Statement erase = KINGLET_TRY(database_.prepare(
      "DELETE FROM throughput WHERE row <= (SELECT row FROM throughput ORDER BY row DESC LIMIT 1 OFFSET ?1)"));
  return erase.bind(1, most).run();
}

Result<bool> VisitDatabase::wants_picture(std::string_view id, Picture kind) {
  Statement find =
      KINGLET_TRY(database_.prepare("SELECT crop_bytes, frame_bytes, clip_bytes FROM visits WHERE id = ?1"));
  find.bind(1, id);
  return KINGLET_TRY(find.step()) && find.natural(static_cast<int>(kind)) > 0;
}

Result<std::uint64_t> VisitDatabase::visit_count() {
  return static_cast<std::uint64_t>(KINGLET_TRY(database_.integer_of("SELECT count(*) FROM visits")));
}

Result<std::uint64_t> VisitDatabase::used_bytes() {
  const std::int64_t pages = KINGLET_TRY(database_.integer_of("PRAGMA page_count"));
  const std::int64_t unused = KINGLET_TRY(database_.integer_of("PRAGMA freelist_count"));
  const std::int64_t page_size = KINGLET_TRY(database_.integer_of("PRAGMA page_size"));
  return static_cast<std::uint64_t>((pages - unused) * page_size);
}

std::vector<fs::path> moved_aside(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code failed;
  const std::string prefix = std::string(kFile) + std::string(kAside);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

namespace {

// Makes an empty file where the one that was moved is missing. The journal alone may be all of a young history, and is
// read only where there is a first page. False: there is nothing in it.
Result<bool> mark(const fs::path& aside) {
  std::error_code missing;
  const std::uintmax_t journal = fs::file_size(aside.string() + "-wal", missing);
  const bool has_journal = !missing && journal > 0;
  const FileDescriptor file(::open(aside.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  struct stat status{};
  const bool is_there = file.valid() && ::fstat(file.get(), &status) == 0;
  if (!is_there || (status.st_size == 0 && has_journal && ::ftruncate(file.get(), kPageSize) != 0)) {
    return fail(ErrorCode::kIo, "cannot create: " + errno_text(), aside.string());
  }
  return status.st_size > 0 || has_journal;
}

}  // namespace

Result<fs::path> move_aside(const fs::path& folder, WallTime now) {
  const fs::path file = database_file(folder);
  std::string time = to_rfc3339(now);
  std::erase_if(time, [](char letter) { return letter == '-' || letter == ':' || letter == '.'; });
  fs::path aside = file.string() + std::string(kAside) + time;
  std::error_code failed;
  // The journal first: left at its place it would be taken for the new database's.
  for (const char* ending : {"-wal", "-shm", ""}) {
    const fs::path from = file.string() + ending;
    if (!fs::exists(from, failed)) continue;
    fs::rename(from, aside.string() + ending, failed);
    if (failed) return fail(ErrorCode::kIo, "cannot rename: " + failed.message(), from.string());
  }
  if (Result<bool> real = mark(aside); !real || !*real) {
    if (!real) return std::unexpected(real.error());
    return aside;  // pushes none away
  }
  std::vector<fs::path> earlier = moved_aside(folder);
  std::erase_if(
      earlier, [](const fs::path& path) { return path.native().ends_with("-wal") || path.native().ends_with("-shm"); });
  for (std::size_t i = 0; i + 2 < earlier.size(); ++i) {
    for (const char* ending : {"-wal", "-shm", ""}) fs::remove(earlier[i].string() + ending, failed);
  }
  return aside;
}

}  // namespace kinglet::store
