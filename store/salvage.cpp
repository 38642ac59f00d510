// SPDX-License-Identifier: Apache-2.0
// Nobody is asked first: nobody looks for a damage that is not told, and the pictures of its visits would be swept
// away. What a person could not have seen (bad UTF-8, impossible times) stays away.
#include "store/salvage.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>
#include <set>
#include <utility>

#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"
#include "store/database/schema.h"
#include "store/database/visit_database.h"

namespace kinglet::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSalvagedAtOnce = 200;
constexpr std::size_t kMostCounts = 200'000;
constexpr int kLongestValue = 64 * 1024;
constexpr std::int64_t kEndOfTime = 4'102'444'800'000;  // the year 2100
constexpr std::string_view kOrdered = "salvage";
constexpr std::string_view kReached = "salvage_next";

// An update may be what meets the damage: what the version before lacks is added as it is read.
constexpr std::int64_t kBefore = 5;
constexpr const char* kAsNewest =
    "PRAGMA temp_store = MEMORY; CREATE TEMP VIEW visits AS SELECT *, '' AS review_name FROM main.visits";

Result<Database> open_damaged(const fs::path& file) {
  Database database = KINGLET_TRY(Database::open(file, OpenAs::kReadOnly));
  sqlite3_limit(database.handle(), SQLITE_LIMIT_LENGTH, kLongestValue);
  KINGLET_TRY(database.execute("PRAGMA cell_size_check = ON"));
  if (KINGLET_TRY(is_newest(database))) return database;
  if (KINGLET_TRY(database.integer_of("PRAGMA user_version")) != kBefore) {
    return fail(ErrorCode::kUnsupported, "it is of an older version", file.string());
  }
  KINGLET_TRY(database.execute(kAsNewest));
  return database;
}

// Noise of a damaged page must not become a visit: one wrong letter would break each list it is in.
bool is_text(std::string_view text) { return printable(text, text.size()) == text; }

bool is_note(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  std::ranges::replace(text, '\t', ' ');
  return is_text(text);
}

bool is_sound(const VisitRow& row) {
  constexpr auto kLongest = std::chrono::days(30);
  const visits::Visit& visit = row.visit;
  const visits::ModelResult& model = visit.model_result;
  const visits::Review& review = visit.review;
  const bool texts = is_visit_id(visit.id) && is_text(visit.source) && is_text(model.species_id) &&
                     !model.species_id.empty() && is_text(model.model_name) && is_text(model.model_digest) &&
                     is_text(visit.best_prediction) && is_text(review.species_id) && is_text(review.name) &&
                     is_note(review.note) && is_text(review.reviewed_by);
  const std::int64_t started = to_unix_ms(visit.started_at);
  const bool numbers = std::isfinite(model.score) && model.score >= 0 && model.score <= 1 && started >= 0 &&
                       started < kEndOfTime && visit.duration.count() >= 0 && visit.duration < kLongest &&
                       is_day(row.began.day) && row.began.hour >= 0 && row.began.hour < 24;
  const bool corrected = review.verdict == visits::Verdict::kCorrected;
  return texts && numbers && corrected == !review.species_id.empty();
}

bool is_sound(const visits::KeptPrediction& prediction) {
  const auto json = nlohmann::json::parse(prediction.answer(), nullptr, false);
  return is_text(prediction.id) && json.is_object() && json.value("id", nlohmann::json()) == prediction.id;
}

// As many as can be read.
std::vector<visits::KeptPrediction> read_predictions(Database& from, std::uint64_t seq) {
  std::vector<visits::KeptPrediction> predictions;
  const auto look = [&]() -> Result<void> {
    Statement rows =
        KINGLET_TRY(from.prepare("SELECT id, answer FROM predictions WHERE seq = ?1 ORDER BY id LIMIT 16"));
    rows.bind(1, seq);
    while (KINGLET_TRY(rows.step())) {
      predictions.push_back({.id = rows.text(0), .answer = [answer = rows.text(1)] { return answer; }});
    }
    return {};
  };
  (void)look();
  std::erase_if(predictions, [](const auto& prediction) { return !is_sound(prediction); });
  return predictions;
}

// A picture that is away counts as removed.
void fit_to_files(VisitRow& row, const PictureFiles& files) {
  const auto fit = [&](std::optional<std::uint64_t>& size, Picture kind) {
    if (size && *size > 0) size = files.size(row.visit.id, kind).value_or(0);
  };
  fit(row.pictures.crop, Picture::kCrop);
  fit(row.pictures.frame, Picture::kFrame);
  fit(row.pictures.clip, Picture::kClip);
}

Result<void> put_meta(Database& into, std::string_view name, std::string_view value) {
  Statement put = KINGLET_TRY(into.prepare("INSERT OR REPLACE INTO meta(name, value) VALUES(?1, ?2)"));
  return put.bind(1, name).bind(2, value).run();
}

Result<std::string> meta(Database& into, std::string_view name) {
  Statement find = KINGLET_TRY(into.prepare("SELECT value FROM meta WHERE name = ?1"));
  find.bind(1, name);
  return KINGLET_TRY(find.step()) ? find.text(0) : std::string();
}

// Those with a number or an id that the new database has used already stay away.
Result<void> put_visits(Database& into, std::span<const VisitRow> rows, Salvaged& result) {
  std::string marks;
  for (int i = 1; i <= kVisitColumnCount; ++i) marks += format_text("{}?{}", i == 1 ? "" : ", ", i);
  Statement put =
      KINGLET_TRY(into.prepare(format_text("INSERT OR IGNORE INTO visits({}) VALUES({})", kVisitColumns, marks)));
  for (const VisitRow& row : rows) {
    bind_row(put, row);
    KINGLET_TRY(put.run());
    if (into.changes() == 0) continue;
    KINGLET_TRY(put_predictions(into, row.visit));
    ++result.visits;
    if (row.visit.review.verdict != visits::Verdict::kNone) ++result.reviewed;
  }
  return {};
}

// A table from its begin to the first damage, and from its end back to it. `take` gives false for a row that is known.
void read_both_ways(Database& from, std::string_view columns_and_table, std::string_view key, Salvaged& result,
                    const std::function<bool(const Statement&)>& take) {
  const auto read = [&](std::string_view direction) -> Result<void> {
    std::string order(key);
    for (std::size_t at = 0; (at = order.find(',', at)) != std::string::npos; at += direction.size() + 2) {
      order.insert(at, format_text(" {}", direction));
    }
    Statement rows =
        KINGLET_TRY(from.prepare(format_text("SELECT {} ORDER BY {} {}", columns_and_table, order, direction)));
    while (KINGLET_TRY(rows.step()) && take(rows)) {
    }
    return {};
  };
  if (read("ASC")) return;
  ++result.gaps;
  (void)read("DESC");
}

struct Count {
  std::string day;
  std::string species_id;
  std::int64_t hour = 0;
  std::uint64_t visits = 0;

  auto operator<=>(const Count&) const = default;
};

struct Sight {
  std::string species_id;
  std::uint64_t first_seq = 0;
  std::int64_t first_ms = 0;
  std::uint64_t last_seq = 0;
  std::int64_t last_ms = 0;

  auto operator<=>(const Sight&) const = default;
};

// A row of throughput with its number, as the columns have it.
struct Span {
  std::int64_t row = 0;
  std::int64_t at_ms = 0;
  bool clock_synced = false;
  std::int64_t span_ms = 0;
  std::uint64_t frames = 0;
  std::uint64_t images = 0;
  std::uint64_t accepted = 0;
  double p50_ms = 0;
  double p99_ms = 0;

  auto operator<=>(const Span&) const = default;
};

bool is_sound(const Span& span) {
  constexpr std::int64_t kLongest = 86'400'000;
  constexpr std::uint64_t kMostFrames = 100'000'000;
  const auto latency = [](double ms) { return ms >= 0 && ms <= static_cast<double>(kLongest); };
  return span.at_ms >= 0 && span.at_ms < kEndOfTime && span.span_ms > 0 && span.span_ms <= kLongest &&
         span.frames <= kMostFrames && span.images <= kMostFrames && span.accepted <= span.images &&
         latency(span.p50_ms) && latency(span.p99_ms);
}

std::set<Count> read_counts(Database& from, Salvaged& result) {
  constexpr std::uint64_t kMostVisits = 100'000;  // in an hour
  std::set<Count> counts;
  read_both_ways(from, "day, species_id, hour, visits FROM daily_counts", "day, species_id, hour", result,
                 [&](const Statement& row) {
                   Count count{row.text(0), row.text(1), row.integer(2), row.natural(3)};
                   const bool sound = is_day(count.day) && is_text(count.species_id) && !count.species_id.empty() &&
                                      count.hour >= 0 && count.hour < 24 && count.visits > 0 &&
                                      count.visits <= kMostVisits;
                   if (!sound) return true;
                   return counts.size() < kMostCounts && counts.insert(std::move(count)).second;
                 });
  return counts;
}

std::set<Sight> read_sights(Database& from, Salvaged& result) {
  std::set<Sight> sights;
  read_both_ways(from, "species_id, first_seq, first_ms, last_seq, last_ms FROM past_species", "species_id", result,
                 [&](const Statement& row) {
                   Sight sight{row.text(0), row.natural(1), row.integer(2), row.natural(3), row.integer(4)};
                   const bool sound = is_text(sight.species_id) && !sight.species_id.empty() && sight.first_seq > 0 &&
                                      sight.first_seq <= sight.last_seq;
                   if (!sound) return true;
                   return sights.size() < kMostCounts && sights.insert(std::move(sight)).second;
                 });
  return sights;
}

std::map<std::int64_t, Span> read_spans(Database& from, Salvaged& result) {
  std::map<std::int64_t, Span> spans;
  read_both_ways(from,
                 "row, at_ms, clock_synced, span_ms, frames, images, accepted, latency_p50_ms, latency_p99_ms "
                 "FROM throughput",
                 "row", result, [&](const Statement& row) {
                   const Span span{row.integer(0), row.integer(1), row.integer(2) != 0, row.integer(3), row.natural(4),
                                   row.natural(5), row.natural(6), row.real(7),         row.real(8)};
                   if (!is_sound(span)) return true;
                   return spans.size() < kMostCounts && spans.emplace(span.row, span).second;
                 });
  return spans;
}

Result<void> put_counts(Database& into, const std::set<Count>& counts) {
  Statement put =
      KINGLET_TRY(into.prepare("INSERT INTO daily_counts(day, species_id, hour, visits) VALUES(?1, ?2, ?3, ?4) "
                               "ON CONFLICT DO UPDATE SET visits = visits + excluded.visits"));
  for (const Count& count : counts) {
    put.bind(1, count.day).bind(2, count.species_id).bind(3, count.hour).bind(4, count.visits);
    KINGLET_TRY(put.run());
  }
  return {};
}

Result<void> put_sights(Database& into, const std::set<Sight>& sights) {
  Statement put = KINGLET_TRY(into.prepare(
      "INSERT INTO past_species(species_id, first_seq, first_ms, last_seq, last_ms) VALUES(?1, ?2, ?3, ?4, ?5) "
      "ON CONFLICT DO UPDATE SET "
      "first_ms = CASE WHEN excluded.first_seq < first_seq THEN excluded.first_ms ELSE first_ms END, "
      "last_ms = CASE WHEN excluded.last_seq > last_seq THEN excluded.last_ms ELSE last_ms END, "
      "first_seq = min(first_seq, excluded.first_seq), last_seq = max(last_seq, excluded.last_seq)"));
  for (const Sight& sight : sights) {
    put.bind(1, sight.species_id).bind(2, sight.first_seq).bind(3, sight.first_ms);
    KINGLET_TRY(put.bind(4, sight.last_seq).bind(5, sight.last_ms).run());
  }
  return {};
}

// Their order is that of their numbers: they come before what the new database has measured already.
Result<void> put_spans(Database& into, const std::map<std::int64_t, Span>& spans) {
  Statement put = KINGLET_TRY(into.prepare(
      "INSERT INTO throughput(row, at_ms, clock_synced, span_ms, frames, images, accepted, latency_p50_ms, "
      "latency_p99_ms) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"));
  std::int64_t row = KINGLET_TRY(into.integer_of("SELECT ifnull(min(row), 1) FROM throughput"));
  for (const auto& [number, span] : spans | std::views::reverse) {
    put.bind(1, --row).bind(2, span.at_ms).bind(3, span.clock_synced).bind(4, span.span_ms);
    put.bind(5, span.frames).bind(6, span.images).bind(7, span.accepted);
    KINGLET_TRY(put.bind(8, span.p50_ms).bind(9, span.p99_ms).run());
  }
  return {};
}

}  // namespace

LastNumbers last_numbers(const fs::path& file) {
  LastNumbers last;
  Result<Database> from = open_damaged(file);
  if (!from) return last;
  // Noise must not use up all numbers.
  constexpr std::int64_t kMost = 1'000'000'000'000;
  const auto read = [&](std::string_view sql, std::int64_t most) -> std::uint64_t {
    const Result<std::int64_t> number = from->integer_of(sql);
    return number && *number > 0 && *number < most ? static_cast<std::uint64_t>(*number) : 0;
  };
  last.seq = read("SELECT seq FROM visits ORDER BY seq DESC LIMIT 1", kMost);
  last.id_ms = read("SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'last_id_ms'", kEndOfTime);
  return last;
}

Result<void> Salvage::order(Database& into, std::string_view file) {
  return in_transaction(into, [&]() -> Result<void> {
    KINGLET_TRY(put_meta(into, kOrdered, file));
    return put_meta(into, kReached, "1");
  });
}

Result<std::optional<Salvage>> Salvage::find(Database& into, const fs::path& folder, std::uint64_t highest) {
  std::string name = KINGLET_TRY(meta(into, kOrdered));
  // Only ever a file of this folder.
  if (name.empty() || fs::path(name).filename() != name) return std::nullopt;
  const std::string reached = KINGLET_TRY(meta(into, kReached));
  const std::uint64_t next = parse_number<std::uint64_t>(reached).value_or(1);
  Result<Database> from = open_damaged(folder / name);
  return Salvage(std::move(name), from ? std::optional(std::move(*from)) : std::nullopt, next, highest);
}

std::vector<VisitRow> Salvage::read_some(const std::function<bool()>& pause) {
  std::vector<VisitRow> rows;
  const std::string sql =
      format_text("SELECT {} FROM visits WHERE seq >= ?1 ORDER BY seq LIMIT {}", kVisitColumns, kSalvagedAtOnce);
  // Each look begins at a number: those in a page that cannot be read fail one by one, until the next page begins.
  const auto look = [&]() -> Result<void> {
    Statement list = KINGLET_TRY(from_->prepare(sql));
    list.bind(1, next_);
    std::size_t seen = 0;
    while (KINGLET_TRY(list.step())) {
      VisitRow row = read_row(list);
      if (row.visit.seq < next_ || row.visit.seq > highest_) {
        return fail(ErrorCode::kBadData, "a row is out of order");
      }
      in_gap_ = false;
      next_ = row.visit.seq + 1;
      row.visit.state = visits::VisitState::kEnded;
      if (is_sound(row)) rows.push_back(std::move(row));
      ++seen;
    }
    if (seen < kSalvagedAtOnce) next_ = highest_ + 1;
    return {};
  };
  do {
    if (look()) break;
    if (!std::exchange(in_gap_, true)) ++result_.gaps;
    ++next_;
  } while (rows.empty() && next_ <= highest_ && !pause());
  return rows;
}

Result<bool> Salvage::go_on(Database& into, const PictureFiles& files,
                            const std::function<std::uint64_t()>& next_change, const std::function<bool()>& pause) {
  do {
    if (!from_ || next_ > highest_) {
      KINGLET_TRY(finish(into));
      return true;
    }
    std::vector<VisitRow> rows = read_some(pause);
    for (VisitRow& row : rows) {
      row.change = next_change();
      row.visit.predictions = read_predictions(*from_, row.visit.seq);
      fit_to_files(row, files);
    }
    const auto body = [&]() -> Result<void> {
      KINGLET_TRY(put_visits(into, rows, result_));
      return put_meta(into, kReached, std::to_string(next_));
    };
    KINGLET_TRY(in_transaction(into, body));
  } while (!pause());
  return false;
}

// Sums are not added twice: all of them at once, together with the end.
Result<void> Salvage::finish(Database& into) {
  std::set<Count> counts;
  std::set<Sight> sights;
  std::map<std::int64_t, Span> spans;
  if (from_) {
    counts = read_counts(*from_, result_);
    sights = read_sights(*from_, result_);
    spans = read_spans(*from_, result_);
  }
  const auto body = [&]() -> Result<void> {
    KINGLET_TRY(put_counts(into, counts));
    KINGLET_TRY(put_sights(into, sights));
    KINGLET_TRY(put_spans(into, spans));
    return into.execute(format_text("DELETE FROM meta WHERE name IN ('{}', '{}')", kOrdered, kReached));
  };
  KINGLET_TRY(in_transaction(into, body));
  result_.counts = counts.size();
  result_.spans = spans.size();
  from_.reset();
  return {};
}

}  // namespace kinglet::store
