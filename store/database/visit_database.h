// SPDX-License-Identifier: Apache-2.0
// Why: the database on the disk as its one writer sees it. Each function that changes something is one transaction,
// durable when it returns.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/database/pending.h"
#include "store/database/picture_files.h"
#include "store/database/queries.h"
#include "store/database/sqlite.h"

namespace kinglet::store {

[[nodiscard]] std::filesystem::path database_file(const std::filesystem::path& folder);

// A history that was here and is not: there is no database, or an empty one, beside pictures or used numbers.
[[nodiscard]] std::optional<Error> lost_database(const std::filesystem::path& folder);

// All faults SQLite finds, none for a sound file. Reads all of it; ends early with none when `stop` says so.
[[nodiscard]] Result<std::vector<std::string>> integrity_faults(Database& database, bool thorough,
                                                                const std::function<bool()>& stop);

// What is remembered beside the rows; written with them.
struct Remembered {
  std::uint64_t change = 0;      // the change counter
  std::uint64_t last_id_ms = 0;  // time part of the newest id made
  std::string written_day;       // local day of written_bytes
  std::uint64_t written_bytes = 0;
};

// Thread-bound.
class VisitDatabase {
 public:
  // Makes the file in `folder` (which exists) or opens it, and brings it to the newest version. kUnsupported: it is of
  // a newer version or not ours; untouched then. kBadData: it is damaged.
  [[nodiscard]] static Result<VisitDatabase> open(const std::filesystem::path& folder, const std::string& vfs = {});

  // One that is there, on a disk that cannot be written: for looking only. kUnsupported: it is not of the newest
  // version.
  [[nodiscard]] static Result<VisitDatabase> look(const std::filesystem::path& folder);

  // Is the file that is open still the one at its place?
  [[nodiscard]] bool is_at_its_place() const;
  // Was it closed properly the last time? Otherwise the caller has it checked.
  [[nodiscard]] bool was_closed() const { return was_closed_; }
  [[nodiscard]] Result<std::vector<std::string>> check(bool thorough, const std::function<bool()>& stop) {
    return integrity_faults(database_, thorough, stop);
  }

  [[nodiscard]] Database& connection() { return database_; }
  [[nodiscard]] Result<Remembered> remembered();
  [[nodiscard]] Result<std::uint64_t> highest_seq();
  [[nodiscard]] Result<std::optional<VisitRow>> find(std::uint64_t seq);

  // All of it or nothing. Reviews on the disk stay unless the entry has one of its own.
  [[nodiscard]] Result<void> write(std::span<const Pending::Entry> entries, std::span<const Throughput> throughput,
                                   const Remembered& remembered);
  // False: there is no such visit.
  [[nodiscard]] Result<bool> review(std::string_view id, const visits::Review& review, const Remembered& remembered);
  [[nodiscard]] Result<bool> erase(std::string_view id, const Remembered& remembered);

  // One visit as retention sees it.
  struct Kept {
    std::uint64_t seq = 0;
    std::string id;
    WallTime started_at{};
    bool clock_synced = false;
    PictureSizes pictures;
  };
  enum class Which { kAll, kWithFrames };
  // The oldest ones by seq, after `after`.
  [[nodiscard]] Result<std::vector<Kept>> oldest(Which which, bool reviewed, std::uint64_t after, int limit);
  // Those with this id or of local days before `before`.
  [[nodiscard]] Result<std::vector<Kept>> matching(std::string_view id, std::string_view before, int limit);
  // Their files are gone: frames and clips, or the whole visits, of which counts and first sights are kept.
  [[nodiscard]] Result<void> frames_removed(std::span<const Kept> visits);
  [[nodiscard]] Result<void> prune(std::span<const Kept> visits);
  // The same without keeping anything. Counts of days before `before` were kept by prune().
  [[nodiscard]] Result<void> forget(std::span<const Kept> visits);
  [[nodiscard]] Result<void> forget_counts(std::string_view before);
  [[nodiscard]] Result<void> forget_all();
  // Freed pages go back to the disk, and the journal, which still holds what was forgotten, is emptied.
  [[nodiscard]] Result<void> give_back();
  [[nodiscard]] Result<void> prune_throughput(WallTime before);
  [[nodiscard]] Result<void> prune_throughput(std::uint64_t most);  // the newest stay

  [[nodiscard]] Result<bool> wants_picture(std::string_view id, Picture kind);
  [[nodiscard]] Result<std::uint64_t> visit_count();
  // Pages in use. The journal, about 1 MiB, is not counted: no pruning makes it smaller.
  [[nodiscard]] Result<std::uint64_t> used_bytes();

 private:
  VisitDatabase(Database database, std::filesystem::path file)
      : database_(std::move(database)), file_(std::move(file)) {}
  [[nodiscard]] Result<void> put(const PendingVisit& entry);
  [[nodiscard]] Result<bool> put_review(std::string_view id, const visits::Review& review, std::uint64_t change);
  [[nodiscard]] Result<void> put_throughput(const Throughput& row);
  [[nodiscard]] Result<void> remember(const Remembered& remembered);
  [[nodiscard]] Result<void> remember(std::string_view name, const std::string& value);
  [[nodiscard]] Result<void> erase_row(std::uint64_t seq);
  [[nodiscard]] Result<void> keep_what_counts(std::uint64_t seq);
  [[nodiscard]] static Result<std::vector<Kept>> read_kept(Statement& list);

  Database database_;
  std::filesystem::path file_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  bool was_closed_ = true;
};

// Renames the database with its journals to "kinglet.db.damaged-TIME" and gives the new name; of earlier ones the two
// newest stay. Where there is none, an empty one is put there: it marks pictures as those of visits that were lost.
[[nodiscard]] Result<std::filesystem::path> move_aside(const std::filesystem::path& folder, WallTime now);

// What move_aside() left there, journals included, oldest first. As long as there is any, pictures that belong to no
// visit may belong to one that could not be read.
[[nodiscard]] std::vector<std::filesystem::path> moved_aside(const std::filesystem::path& folder);

}  // namespace kinglet::store
