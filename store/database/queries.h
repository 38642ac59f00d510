// SPDX-License-Identifier: Apache-2.0
// Why: what may be asked of the history, and the answers: what is on the disk and what waits for it, seen as one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/database/pending.h"
#include "store/database/sqlite.h"
#include "store/database/throughput.h"
#include "store/database/visit_row.h"
#include "visits/book.h"

namespace kinglet::store {

// A visit with what follows from the others.
struct VisitView {
  VisitRow row;
  std::uint64_t count_today = 0;  // visits of this species on its day up to and with this one
  bool first_today = false;
  bool first_ever = false;
};

struct VisitPage {
  std::vector<VisitView> items;
  bool has_more = false;
};

struct SpeciesSeen {
  std::string species_id;
  std::string typed;  // what a person called it last; empty: nobody had to
  std::uint64_t visits = 0;
  std::optional<WallTime> first_seen_at;
  std::optional<WallTime> last_seen_at;
  std::string best_visit;  // id; empty when none is kept
  double best_score = 0;
};

// Another species that the model and people did not tell from this one.
struct Confusion {
  std::string species_id;
  std::uint64_t taken_for = 0;   // visits of this species that the model called that one
  std::uint64_t was_really = 0;  // visits that the model called this species, and a person that one
};

struct SpeciesDetail {
  std::array<std::uint64_t, 24> hours{};   // visits by local hour
  std::array<std::uint64_t, 12> months{};  // by month of the year, all years together
  std::vector<VisitView> best;             // with a picture, the surest first
  std::vector<Confusion> confusions;       // the most frequent first
};

struct DayTotal {
  std::string day;
  std::uint64_t visits = 0;
  std::uint64_t species = 0;
  std::optional<WallTime> first_at;  // absent when the visits of that day are no longer kept
  std::optional<WallTime> last_at;
};

struct SpeciesHours {
  std::string species_id;
  std::array<std::uint64_t, 24> visits{};
};

// One read-only connection. Thread-bound: the Store guards it.
class Queries {
 public:
  // kUnsupported: it is not of the newest version.
  [[nodiscard]] static Result<Queries> open(const std::filesystem::path& file, const std::string& vfs = {});
  // On a disk that cannot be written: OpenAs::kUnwritable. The same error.
  [[nodiscard]] static Result<Queries> open_unwritable(const std::filesystem::path& file);
  // Nothing but what waits.
  [[nodiscard]] static Result<Queries> in_memory();

  // A first visit is first_ever when there were visits on so many days before its own.
  void call_first_after(std::uint64_t days) { first_days_ = days; }
  // Were there visits on so many days before this one?
  [[nodiscard]] Result<bool> knows_birds(std::string_view day);

  // From now on the answers show `waiting` in the place of the same rows on the disk.
  [[nodiscard]] Result<void> show(std::span<const std::shared_ptr<const PendingVisit>> waiting);

  [[nodiscard]] Result<VisitPage> visits(const visits::VisitQuery& query);
  // Nothing: there is no such visit.
  [[nodiscard]] Result<std::optional<VisitView>> visit(std::string_view id);
  // The answer of a prediction kept with a visit on the disk. Nothing: there is none.
  [[nodiscard]] Result<std::optional<std::string>> prediction(std::string_view id);
  [[nodiscard]] Result<std::vector<SpeciesSeen>> species();
  // Of visits that began in [since, until) and are kept; the best one of those with a picture, if there is any.
  [[nodiscard]] Result<std::vector<SpeciesSeen>> species_between(WallTime since, WallTime until);
  [[nodiscard]] Result<SpeciesDetail> species_detail(const std::string& species_id);
  // Days between `from` and `to`, both with; days without visits are left out.
  [[nodiscard]] Result<std::vector<DayTotal>> days(std::string_view from, std::string_view to);
  [[nodiscard]] Result<std::vector<SpeciesHours>> day(std::string_view day);
  // Those that are on the disk.
  [[nodiscard]] Result<ThroughputPage> throughput(WallTime since, WallTime until, std::size_t limit);
  [[nodiscard]] Result<std::uint64_t> visit_count();

 private:
  explicit Queries(Database database) : database_(std::move(database)) {}
  [[nodiscard]] static Result<Queries> of(Database database, const std::filesystem::path& file);
  [[nodiscard]] Result<void> prepare_views();
  [[nodiscard]] Result<VisitView> view_of(VisitRow row);
  [[nodiscard]] Result<std::optional<WallTime>> started_at(std::uint64_t seq);
  [[nodiscard]] Result<void> fill_best(SpeciesSeen& seen);
  [[nodiscard]] Result<void> fill_times(const std::string& species_id, SpeciesDetail& detail);
  [[nodiscard]] Result<std::vector<VisitView>> best_visits(const std::string& species_id);
  [[nodiscard]] Result<std::vector<Confusion>> confusions(const std::string& species_id);

  Database database_;
  std::uint64_t first_days_ = 0;
  std::uint64_t shown_version_ = 0;
  std::set<std::uint64_t> shown_;  // seq
};

}  // namespace kinglet::store
