// SPDX-License-Identifier: Apache-2.0
#include "store/database/queries.h"

#include <algorithm>
#include <map>

#include "engine/base/format.h"
#include "store/database/schema.h"

namespace kinglet::store {
namespace {

// The numbers of the parameters of a list, each of which may stand in both halves of the statement. Behind the last one
// those of the sources that are left out.
enum Parameter { kAfter = 1, kSince, kUntil, kMinScore, kVerdict, kSource, kLimit, kFirstSpecies };

int first_source(const visits::VisitQuery& query) { return kFirstSpecies + static_cast<int>(query.species.size()); }

// " AND COLUMN (?8, ?9)"; nothing without any.
std::string among(std::string_view column, int first, std::size_t count) {
  std::string marks;
  for (std::size_t i = 0; i < count; ++i) {
    marks += format_text("{}?{}", i == 0 ? "" : ", ", first + static_cast<int>(i));
  }
  return count == 0 ? std::string() : format_text(" AND {} ({})", column, marks);
}

std::string conditions(const visits::VisitQuery& query) {
  std::string text = "1";
  const auto add = [&](bool wanted, std::string_view condition, int parameter) {
    if (wanted) text += format_text(" AND {} ?{}", condition, parameter);
  };
  add(query.after_seq.has_value(), query.descending ? "seq <" : "seq >", kAfter);
  add(query.since.has_value(), "started_ms >=", kSince);
  add(query.until.has_value(), "started_ms <", kUntil);
  add(query.min_score > 0, "score >=", kMinScore);
  add(query.review.has_value(), "verdict =", kVerdict);
  add(!query.source.empty(), "source =", kSource);
  if (query.ended) text += " AND open = 0";
  text += among("counted_as IN", kFirstSpecies, query.species.size());
  text += among("source NOT IN", first_source(query), query.but_for.size());
  return text;
}

void bind_conditions(Statement& statement, const visits::VisitQuery& query) {
  if (query.after_seq) statement.bind(kAfter, *query.after_seq);
  if (query.since) statement.bind(kSince, to_unix_ms(*query.since));
  if (query.until) statement.bind(kUntil, to_unix_ms(*query.until));
  if (query.min_score > 0) statement.bind(kMinScore, query.min_score);
  if (query.review) statement.bind(kVerdict, static_cast<int>(*query.review));
  if (!query.source.empty()) statement.bind(kSource, query.source);
  for (std::size_t i = 0; i < query.species.size(); ++i) {
    statement.bind(kFirstSpecies + static_cast<int>(i), query.species[i]);
  }
  for (std::size_t i = 0; i < query.but_for.size(); ++i) {
    statement.bind(first_source(query) + static_cast<int>(i), query.but_for[i]);
  }
}

// Both halves are cut to the page before they are put together, so that neither is read to its end.
std::string page_sql(const visits::VisitQuery& query) {
  const std::string_view direction = query.descending ? "DESC" : "ASC";
  const std::string where = conditions(query);
  return format_text(
      "SELECT {0} FROM (SELECT {0} FROM pending WHERE {1} ORDER BY seq {2} LIMIT ?{3}) UNION ALL "
      "SELECT {0} FROM (SELECT {0} FROM main.visits WHERE {1} AND seq NOT IN (SELECT seq FROM pending) "
      "ORDER BY seq {2} LIMIT ?{3}) ORDER BY 1 {2} LIMIT ?{3}",
      kVisitColumns, where, direction, static_cast<int>(kLimit));
}

}  // namespace

Result<Queries> Queries::open(const std::filesystem::path& file, const std::string& vfs) {
  return of(KINGLET_TRY(Database::open(file, OpenAs::kReadOnly, vfs)), file);
}

Result<Queries> Queries::open_unwritable(const std::filesystem::path& file) {
  return of(KINGLET_TRY(Database::open(file, OpenAs::kUnwritable)), file);
}

Result<Queries> Queries::of(Database database, const std::filesystem::path& file) {
  Queries queries(std::move(database));
  if (!KINGLET_TRY(is_newest(queries.database_))) {
    return fail(ErrorCode::kUnsupported, "the database is of an older version", file.string(),
                "the daemon brings it to the newest one when it starts");
  }
  KINGLET_TRY(queries.prepare_views());
  return queries;
}

Result<Queries> Queries::in_memory() {
  Queries queries(KINGLET_TRY(Database::open({}, OpenAs::kMemory)));
  KINGLET_TRY(migrate(queries.database_));
  KINGLET_TRY(queries.prepare_views());
  return queries;
}

Result<void> Queries::prepare_views() {
  return database_.execute(
      format_text("PRAGMA temp_store = MEMORY; PRAGMA query_only = 0; PRAGMA cache_size = -2000;"
                  "CREATE TEMP TABLE pending({1});"
                  "CREATE TEMP VIEW all_visits AS SELECT {0} FROM pending UNION ALL "
                  "SELECT {0} FROM main.visits WHERE seq NOT IN (SELECT seq FROM pending);"
                  "CREATE TEMP VIEW counts AS SELECT day, species_id, hour, visits FROM main.daily_counts UNION ALL "
                  "SELECT day, counted_as, hour, 1 FROM pending WHERE counted_as <> '' UNION ALL "
                  "SELECT day, counted_as, hour, 1 FROM main.visits WHERE counted_as <> '' AND seq NOT IN (SELECT seq "
                  "FROM pending)",
                  kVisitColumns, kVisitColumnTypes));
}

Result<void> Queries::show(std::span<const std::shared_ptr<const PendingVisit>> waiting) {
  std::string marks;
  for (int i = 1; i <= kVisitColumnCount; ++i) marks += format_text("{}?{}", i == 1 ? "" : ", ", i);
  std::set<std::uint64_t> seqs;
  std::uint64_t newest = shown_version_;
  for (const auto& entry : waiting) {
    const std::uint64_t seq = entry->row.visit.seq;
    seqs.insert(seq);
    newest = std::max(newest, entry->version);
    if (entry->version <= shown_version_ && shown_.contains(seq)) continue;
    Statement put = KINGLET_TRY(
        database_.prepare(format_text("INSERT OR REPLACE INTO pending({}) VALUES({})", kVisitColumns, marks)));
    bind_row(put, entry->row);
    KINGLET_TRY(put.run());
  }
  for (const std::uint64_t seq : shown_) {
    if (seqs.contains(seq)) continue;
    Statement forget = KINGLET_TRY(database_.prepare("DELETE FROM pending WHERE seq = ?1"));
    KINGLET_TRY(forget.bind(1, seq).run());
  }
  shown_ = std::move(seqs);
  shown_version_ = newest;
  return {};
}

Result<VisitPage> Queries::visits(const visits::VisitQuery& query) {
  std::vector<VisitRow> rows;
  {
    Statement list = KINGLET_TRY(database_.prepare(page_sql(query)));
    bind_conditions(list, query);
    list.bind(kLimit, static_cast<std::uint64_t>(query.limit) + 1);
    while (KINGLET_TRY(list.step())) rows.push_back(read_row(list));
  }
  VisitPage page;
  page.has_more = rows.size() > query.limit;
  if (page.has_more) rows.pop_back();
  for (VisitRow& row : rows) page.items.push_back(KINGLET_TRY(view_of(std::move(row))));
  return page;
}

Result<std::optional<VisitView>> Queries::visit(std::string_view id) {
  VisitRow row;
  {
    Statement find =
        KINGLET_TRY(database_.prepare(format_text("SELECT {} FROM all_visits WHERE id = ?1", kVisitColumns)));
    find.bind(1, id);
    if (!KINGLET_TRY(find.step())) return std::nullopt;
    row = read_row(find);
  }
  return KINGLET_TRY(view_of(std::move(row)));
}

Result<std::optional<std::string>> Queries::prediction(std::string_view id) {
  Statement find = KINGLET_TRY(database_.prepare("SELECT answer FROM main.predictions WHERE id = ?1"));
  find.bind(1, id);
  return KINGLET_TRY(find.step()) ? std::optional(find.text(0)) : std::nullopt;
}

Result<VisitView> Queries::view_of(VisitRow row) {
  VisitView view{.row = std::move(row)};
  const std::string species = counted_as(view.row.visit);
  if (species.empty()) return view;
  Statement today = KINGLET_TRY(
      database_.prepare("SELECT (SELECT count(*) FROM all_visits WHERE day = ?1 AND counted_as = ?2 AND seq <= ?3) + "
                        "(SELECT ifnull(sum(visits), 0) FROM main.daily_counts WHERE day = ?1 AND species_id = ?2)"));
  today.bind(1, view.row.began.day).bind(2, species).bind(3, view.row.visit.seq);
  if (KINGLET_TRY(today.step())) view.count_today = today.natural(0);
  view.first_today = view.count_today == 1;
  if (!view.first_today) return view;
  Statement before =
      KINGLET_TRY(database_.prepare("SELECT EXISTS(SELECT 1 FROM all_visits WHERE counted_as = ?1 AND seq < ?2) OR "
                                    "EXISTS(SELECT 1 FROM main.past_species WHERE species_id = ?1)"));
  before.bind(1, species).bind(2, view.row.visit.seq);
  if (!KINGLET_TRY(before.step()) || before.integer(0) != 0) return view;
  view.first_ever = KINGLET_TRY(knows_birds(view.row.began.day));
  return view;
}

Result<bool> Queries::knows_birds(std::string_view day) {
  if (first_days_ == 0) return true;
  Statement days =
      KINGLET_TRY(database_.prepare("SELECT count(*) FROM (SELECT DISTINCT day FROM counts WHERE day < ?1 LIMIT ?2)"));
  days.bind(1, day).bind(2, first_days_);
  return KINGLET_TRY(days.step()) && days.natural(0) >= first_days_;
}

Result<std::optional<WallTime>> Queries::started_at(std::uint64_t seq) {
  Statement find = KINGLET_TRY(database_.prepare("SELECT started_ms FROM all_visits WHERE seq = ?1"));
  find.bind(1, seq);
  if (!KINGLET_TRY(find.step())) return std::nullopt;
  return from_unix_ms(find.integer(0));
}

Result<void> Queries::fill_best(SpeciesSeen& seen) {
  Statement best = KINGLET_TRY(
      database_.prepare("SELECT id, score FROM all_visits WHERE counted_as = ?1 ORDER BY score DESC LIMIT 1"));
  best.bind(1, seen.species_id);
  if (!KINGLET_TRY(best.step())) return {};
  seen.best_visit = best.text(0);
  seen.best_score = best.real(1);
  return {};
}

Result<std::vector<SpeciesSeen>> Queries::species() {
  struct Ends {
    std::uint64_t first_seq = 0;
    std::uint64_t last_seq = 0;
  };
  std::map<std::string, SpeciesSeen> found;
  std::map<std::string, Ends> kept;
  {
    Statement counts = KINGLET_TRY(database_.prepare("SELECT species_id, sum(visits) FROM counts GROUP BY 1"));
    while (KINGLET_TRY(counts.step())) {
      const std::string id = counts.text(0);
      found[id] = {.species_id = id, .typed = {}, .visits = counts.natural(1)};
    }
    Statement ends = KINGLET_TRY(
        database_.prepare("SELECT counted_as, min(seq), max(seq) FROM all_visits WHERE counted_as <> '' GROUP BY 1"));
    while (KINGLET_TRY(ends.step())) kept[ends.text(0)] = {ends.natural(1), ends.natural(2)};
    Statement typed = KINGLET_TRY(
        database_.prepare("SELECT counted_as, review_name FROM all_visits WHERE review_name <> '' ORDER BY seq"));
    while (KINGLET_TRY(typed.step())) {
      if (const auto at = found.find(typed.text(0)); at != found.end()) at->second.typed = typed.text(1);
    }
    Statement past = KINGLET_TRY(database_.prepare("SELECT species_id, first_ms, last_ms FROM main.past_species"));
    while (KINGLET_TRY(past.step())) {
      const auto at = found.find(past.text(0));
      if (at == found.end()) continue;
      at->second.first_seen_at = from_unix_ms(past.integer(1));
      at->second.last_seen_at = from_unix_ms(past.integer(2));
    }
  }
  std::vector<SpeciesSeen> list;
  for (auto& [id, seen] : found) {
    if (const auto ends = kept.find(id); ends != kept.end()) {
      if (!seen.first_seen_at) seen.first_seen_at = KINGLET_TRY(started_at(ends->second.first_seq));
      seen.last_seen_at = KINGLET_TRY(started_at(ends->second.last_seq));
      KINGLET_TRY(fill_best(seen));
    }
    list.push_back(std::move(seen));
  }
  return list;
}

// Whatever zone the days were counted in, none is further from UTC than a day: the index of days finds them.
Result<std::vector<SpeciesSeen>> Queries::species_between(WallTime since, WallTime until) {
  std::map<std::string, SpeciesSeen> found;
  std::map<std::string, std::pair<bool, double>> best;  // has a picture, and its score
  Statement visits = KINGLET_TRY(
      database_.prepare("SELECT counted_as, id, review_name, ifnull(crop_bytes, 0) > 0, score "
                        "FROM all_visits WHERE day >= date(?1 / 1000, 'unixepoch', '-1 day') AND "
                        "day <= date(?2 / 1000, 'unixepoch', '+1 day') AND started_ms >= ?1 AND started_ms < ?2 AND "
                        "counted_as <> '' ORDER BY seq"));
  visits.bind(1, to_unix_ms(since)).bind(2, to_unix_ms(until));
  while (KINGLET_TRY(visits.step())) {
    SpeciesSeen& seen = found[visits.text(0)];
    seen.species_id = visits.text(0);
    ++seen.visits;
    if (std::string typed = visits.text(2); !typed.empty()) seen.typed = std::move(typed);
    const std::pair own(visits.integer(3) != 0, visits.real(4));
    if (!seen.best_visit.empty() && own < best[seen.species_id]) continue;
    best[seen.species_id] = own;
    seen.best_visit = visits.text(1);
    seen.best_score = own.second;
  }
  std::vector<SpeciesSeen> list;
  list.reserve(found.size());
  for (auto& [id, seen] : found) list.push_back(std::move(seen));
  return list;
}

Result<std::vector<DayTotal>> Queries::days(std::string_view from, std::string_view to) {
  std::vector<DayTotal> list;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>, std::less<>> ends;
  {
    Statement totals = KINGLET_TRY(database_.prepare(
        "SELECT day, sum(visits), count(DISTINCT species_id) FROM counts WHERE day BETWEEN ?1 AND ?2 GROUP BY 1 "
        "ORDER BY 1"));
    totals.bind(1, from).bind(2, to);
    while (KINGLET_TRY(totals.step())) {
      list.push_back({.day = totals.text(0), .visits = totals.natural(1), .species = totals.natural(2)});
    }
    Statement kept = KINGLET_TRY(database_.prepare(
        "SELECT day, min(seq), max(seq) FROM all_visits WHERE day BETWEEN ?1 AND ?2 AND counted_as <> '' GROUP BY 1"));
    kept.bind(1, from).bind(2, to);
    while (KINGLET_TRY(kept.step())) ends[kept.text(0)] = {kept.natural(1), kept.natural(2)};
  }
  for (DayTotal& total : list) {
    const auto found = ends.find(total.day);
    if (found == ends.end()) continue;
    total.first_at = KINGLET_TRY(started_at(found->second.first));
    total.last_at = KINGLET_TRY(started_at(found->second.second));
  }
  return list;
}

Result<std::vector<SpeciesHours>> Queries::day(std::string_view day) {
  std::map<std::string, SpeciesHours> found;
  Statement hours =
      KINGLET_TRY(database_.prepare("SELECT species_id, hour, sum(visits) FROM counts WHERE day = ?1 GROUP BY 1, 2"));
  hours.bind(1, day);
  while (KINGLET_TRY(hours.step())) {
    SpeciesHours& entry = found[hours.text(0)];
    entry.species_id = hours.text(0);
    const std::int64_t hour = hours.integer(1);
    if (hour >= 0 && hour < 24) entry.visits.at(static_cast<std::size_t>(hour)) += hours.natural(2);
  }
  std::vector<SpeciesHours> list;
  list.reserve(found.size());
  for (auto& [id, entry] : found) list.push_back(std::move(entry));
  return list;
}

Result<ThroughputPage> Queries::throughput(WallTime since, WallTime until, std::size_t limit) {
  ThroughputPage page;
  Statement rows = KINGLET_TRY(database_.prepare(
      "SELECT at_ms, clock_synced, span_ms, frames, images, accepted, latency_p50_ms, latency_p99_ms FROM throughput "
      "WHERE at_ms >= ?1 AND at_ms < ?2 ORDER BY row DESC LIMIT ?3"));
  rows.bind(1, to_unix_ms(since)).bind(2, to_unix_ms(until)).bind(3, std::uint64_t{limit} + 1);
  while (KINGLET_TRY(rows.step())) {
    page.items.push_back({.at = from_unix_ms(rows.integer(0)),
                          .clock_synced = rows.integer(1) != 0,
                          .span = std::chrono::milliseconds(rows.integer(2)),
                          .frames = rows.natural(3),
                          .images = rows.natural(4),
                          .accepted = rows.natural(5),
                          .latency_p50_ms = rows.real(6),
                          .latency_p99_ms = rows.real(7)});
  }
  page.has_more = page.items.size() > limit;
  if (page.has_more) page.items.pop_back();
  return page;
}

Result<std::uint64_t> Queries::visit_count() {
  return static_cast<std::uint64_t>(KINGLET_TRY(database_.integer_of("SELECT count(*) FROM all_visits")));
}

}  // namespace kinglet::store
