// SPDX-License-Identifier: Apache-2.0
#include "store/database/visit_row.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace kinglet::store {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

std::string top_text(const std::vector<visits::NamedScore>& top) {
  Json list = Json::array();
  for (const visits::NamedScore& entry : top) {
    list.push_back({entry.species_id, entry.label, entry.scientific_name, entry.common_name, entry.index,
                    static_cast<double>(entry.score)});
  }
  // Labels come from files of others: bytes that are no UTF-8 are replaced, not thrown at us.
  return list.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<visits::NamedScore> read_top(const std::string& text) {
  std::vector<visits::NamedScore> top;
  const Json list = Json::parse(text, nullptr, false);
  if (!list.is_array()) return top;
  for (const Json& entry : list) {
    if (!entry.is_array() || entry.size() != 6) return {};
    for (std::size_t i = 0; i < 4; ++i) {
      if (!entry[i].is_string()) return {};
    }
    if (!entry[4].is_number_unsigned() || !entry[5].is_number()) return {};
    top.push_back({.species_id = entry[0],
                   .label = entry[1],
                   .scientific_name = entry[2],
                   .common_name = entry[3],
                   .index = entry[4],
                   .score = entry[5]});
  }
  return top;
}

visits::Verdict verdict_of(std::int64_t value) {
  const auto highest = static_cast<std::int64_t>(visits::Verdict::kUnknown);
  return value >= 0 && value <= highest ? static_cast<visits::Verdict>(value) : visits::Verdict::kNone;
}

bool is_part(const Area& area) {
  constexpr double kRounding = 1e-6;
  return area.left >= 0 && area.top >= 0 && area.width > 0 && area.height > 0 &&
         area.left + area.width <= 1 + kRounding && area.top + area.height <= 1 + kRounding;
}

// Gives the parameters one after the other.
class Binder {
 public:
  explicit Binder(Statement& statement) : statement_(statement) {}
  template <typename T>
  Binder& operator()(const T& value) {
    statement_.bind(++index_, value);
    return *this;
  }
  template <typename T>
  Binder& operator()(const std::optional<T>& value) {
    ++index_;
    if (value) {
      statement_.bind(index_, *value);
    } else {
      statement_.bind_null(index_);
    }
    return *this;
  }

 private:
  Statement& statement_;
  int index_ = 0;
};

class Reader {
 public:
  explicit Reader(const Statement& statement) : statement_(statement) {}
  std::int64_t integer() { return statement_.integer(column_++); }
  int small() { return static_cast<int>(integer()); }
  std::uint32_t count() { return static_cast<std::uint32_t>(integer()); }
  std::uint64_t natural() { return statement_.natural(column_++); }
  double real() { return statement_.real(column_++); }
  std::string text() { return statement_.text(column_++); }
  std::optional<std::uint64_t> maybe() { return is_null() ? std::nullopt : std::optional(natural()); }
  std::optional<Area> maybe_area() {
    const bool known = !statement_.is_null(column_);
    const Area area{.left = real(), .top = real(), .width = real(), .height = real()};
    return known && is_part(area) ? std::optional(area) : std::nullopt;
  }

 private:
  bool is_null() {
    if (!statement_.is_null(column_)) return false;
    ++column_;
    return true;
  }

  const Statement& statement_;
  int column_ = 0;
};

}  // namespace

const std::string_view kVisitColumns =
    "seq, id, change, open, source, started_ms, duration_ms, clock_synced, day, hour, counted_as, species_id, score, "
    "frames_seen, frames_agreeing, top, model_name, model_digest, unusual, best_prediction, crop_x, crop_y, "
    "crop_width, crop_height, verdict, review_species_id, review_name, note, reviewed_ms, reviewed_by, crop_bytes, "
    "frame_bytes, clip_bytes, individuals, box_x, box_y, box_width, box_height";

const std::string_view kVisitColumnTypes =
    "seq INTEGER PRIMARY KEY, id TEXT, change INTEGER, open INTEGER, source TEXT, started_ms INTEGER, "
    "duration_ms INTEGER, clock_synced INTEGER, day TEXT, hour INTEGER, counted_as TEXT, species_id TEXT, score REAL, "
    "frames_seen INTEGER, frames_agreeing INTEGER, top TEXT, model_name TEXT, model_digest TEXT, unusual INTEGER, "
    "best_prediction TEXT, crop_x INTEGER, crop_y INTEGER, crop_width INTEGER, crop_height INTEGER, verdict INTEGER, "
    "review_species_id TEXT, review_name TEXT, note TEXT, reviewed_ms INTEGER, reviewed_by TEXT, crop_bytes INTEGER, "
    "frame_bytes "
    "INTEGER, clip_bytes INTEGER, individuals INTEGER, box_x REAL, box_y REAL, box_width REAL, box_height REAL";

Result<void> put_predictions(Database& into, const visits::Visit& visit) {
  for (const visits::KeptPrediction& prediction : visit.predictions) {
    if (!prediction.answer) continue;
    Statement put = KINGLET_TRY(into.prepare("INSERT OR IGNORE INTO predictions(id, seq, answer) VALUES(?1, ?2, ?3)"));
    KINGLET_TRY(put.bind(1, prediction.id).bind(2, visit.seq).bind(3, prediction.answer()).run());
  }
  return {};
}

std::string counted_as(const visits::Visit& visit) {
  if (visit.review.verdict == visits::Verdict::kNotABird) return {};
  return visit.species_id();
}

void bind_row(Statement& statement, const VisitRow& row) {
  const visits::Visit& visit = row.visit;
  const visits::ModelResult& model = visit.model_result;
  const visits::Review& review = visit.review;
  std::optional<std::uint64_t> reviewed_ms;
  if (review.reviewed_at) reviewed_ms = static_cast<std::uint64_t>(to_unix_ms(*review.reviewed_at));
  Binder bind(statement);
  bind(visit.seq)(visit.id)(row.change)(visit.state == visits::VisitState::kOpen)(visit.source);
  bind(to_unix_ms(visit.started_at))(std::chrono::round<milliseconds>(visit.duration).count())(visit.clock_synced);
  bind(row.began.day)(row.began.hour)(counted_as(visit));
  bind(model.species_id)(static_cast<double>(model.score))(std::int64_t{model.frames_seen});
  bind(std::int64_t{model.frames_agreeing})(top_text(model.top))(model.model_name)(model.model_digest);
  bind(visit.unusual)(visit.best_prediction);
  bind(visit.best_crop.x)(visit.best_crop.y)(visit.best_crop.width)(visit.best_crop.height);
  bind(static_cast<int>(review.verdict))(review.species_id)(review.name)(review.note)(reviewed_ms);
  bind(review.reviewed_by);
  bind(row.pictures.crop)(row.pictures.frame)(row.pictures.clip)(std::int64_t{visit.count});
  const auto& box = visit.best_box;
  for (const auto side : {&Area::left, &Area::top, &Area::width, &Area::height}) {
    bind(box ? std::optional((*box).*side) : std::nullopt);
  }
}

VisitRow read_row(const Statement& statement) {
  Reader read(statement);
  VisitRow row;
  visits::Visit& visit = row.visit;
  visits::ModelResult& model = visit.model_result;
  visit.seq = read.natural();
  visit.id = read.text();
  row.change = read.natural();
  visit.state = read.integer() != 0 ? visits::VisitState::kOpen : visits::VisitState::kEnded;
  visit.source = read.text();
  visit.started_at = from_unix_ms(read.integer());
  visit.duration = milliseconds(read.integer());
  visit.clock_synced = read.integer() != 0;
  row.began.day = read.text();
  row.began.hour = read.small();
  (void)read.text();  // counted_as follows from the rest
  model.species_id = read.text();
  model.score = static_cast<float>(read.real());
  model.frames_seen = read.count();
  model.frames_agreeing = read.count();
  model.top = read_top(read.text());
  model.model_name = read.text();
  model.model_digest = read.text();
  visit.unusual = read.integer() != 0;
  visit.best_prediction = read.text();
  visit.best_crop = {.x = read.small(), .y = read.small(), .width = read.small(), .height = read.small()};
  visit.review.verdict = verdict_of(read.integer());
  visit.review.species_id = read.text();
  visit.review.name = read.text();
  visit.review.note = read.text();
  if (const std::optional<std::uint64_t> at = read.maybe()) {
    visit.review.reviewed_at = from_unix_ms(static_cast<std::int64_t>(*at));
  }
  visit.review.reviewed_by = read.text();
  row.pictures.crop = read.maybe();
  row.pictures.frame = read.maybe();
  row.pictures.clip = read.maybe();
  visit.count = std::max(1U, read.count());
  visit.best_box = read.maybe_area();
  return row;
}

std::int64_t to_unix_ms(WallTime time) { return std::chrono::floor<milliseconds>(time).time_since_epoch().count(); }

WallTime from_unix_ms(std::int64_t ms) {
  // A damaged row must not overflow the clock's nanoseconds.
  constexpr std::int64_t kFarthest = 9'000'000'000'000;
  return WallTime(milliseconds(std::clamp(ms, -kFarthest, kFarthest)));
}

}  // namespace kinglet::store
