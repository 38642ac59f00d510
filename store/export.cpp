// SPDX-License-Identifier: Apache-2.0
// eBird's columns: support.ebird.org, "Upload spreadsheet data to eBird", record format (extended).
#include "store/export.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/base/format.h"
#include "visits/json.h"
#include "visits/names/shown_bird.h"

namespace kinglet::store {
namespace {

using Visitor = std::function<Result<void>(const VisitView& view)>;

constexpr std::size_t kPage = 500;

std::string record(std::initializer_list<std::string_view> fields) {
  std::string line;
  for (const std::string_view field : fields) {
    line += csv_field(field);
    line += ',';
  }
  line.pop_back();
  return line + "\r\n";
}

std::string yes_no(bool value) { return value ? "true" : "false"; }

std::string score_text(float score) { return format_text("{}", visits::rounded_score(score)); }

std::string ended_at(const visits::Visit& visit) {
  return to_rfc3339(visit.started_at + std::chrono::duration_cast<WallTime::duration>(visit.duration));
}

// Every ended visit of the query, oldest first.
Result<std::uint64_t> for_each(Queries& queries, visits::VisitQuery query, const Visitor& visitor) {
  query.limit = kPage;
  query.descending = false;
  query.after_seq.reset();
  std::uint64_t count = 0;
  while (true) {
    const VisitPage page = KINGLET_TRY(queries.visits(query));
    for (const VisitView& view : page.items) {
      if (view.row.visit.state == visits::VisitState::kOpen) continue;
      KINGLET_TRY(visitor(view));
      ++count;
    }
    if (!page.has_more) return count;
    query.after_seq = page.items.back().row.visit.seq;
  }
}

struct Sightings {
  visits::NamedScore name;
  std::uint64_t visits = 0;
  float best = 0;
  std::string first_minute;
};
// By day, then by species.
using Checklists = std::map<std::string, std::map<std::string, Sightings>>;

bool belongs_to_ebird(const visits::Visit& visit, bool unreviewed) {
  switch (visit.review.verdict) {
    case visits::Verdict::kConfirmed:
    case visits::Verdict::kCorrected:
      return true;
    case visits::Verdict::kNone:
      return unreviewed;
    case visits::Verdict::kNotABird:
    case visits::Verdict::kUnknown:
      return false;
  }
  return false;
}

std::string ebird_record(const std::string& day, const std::string& start, const Sightings& seen,
                         const ExportOptions& options) {
  const std::string& scientific = seen.name.scientific_name;
  const std::size_t space = scientific.find(' ');
  const std::string genus = scientific.substr(0, space);
  const std::string species = space == std::string::npos ? "" : scientific.substr(space + 1);
  std::string common = seen.name.common_name;
  if (common.empty() && genus.empty()) {
    common = seen.name.species_id;
    std::ranges::replace(common, '-', ' ');
  }
  const std::string date = day.substr(5, 2) + "/" + day.substr(8, 2) + "/" + day.substr(0, 4);
  // X: present. Visits of a camera are no count of individuals.
  return record({common, genus, species, "X",
                 format_text("{} {} of a camera, best score {:.2f}", seen.visits, seen.visits == 1 ? "visit" : "visits",
                             seen.best),
                 options.location, options.latitude, options.longitude, date, start, options.state, options.country,
                 "Incidental", "1", "", "N", "", "", "Seen by a feeder camera (kinglet)"});
}

Result<std::uint64_t> export_ebird(Queries& queries, const ExportOptions& options, const PutBytes& put) {
  Checklists lists;
  const auto add = [&](const VisitView& view) -> Result<void> {
    const visits::Visit& visit = view.row.visit;
    // A day that the clock did not know is no observation.
    if (!visit.clock_synced || !belongs_to_ebird(visit, options.unreviewed)) return {};
    Sightings& seen = lists[view.row.began.day][visit.species_id()];
    if (seen.visits++ == 0) seen = {visits::shown_bird(visit), 1, 0, options.zone.local_minute(visit.started_at)};
    seen.best = std::max(seen.best, visit.model_result.score);
    return {};
  };
  (void)KINGLET_TRY(for_each(queries, options.query, add));
  std::uint64_t rows = 0;
  for (const auto& [day, species] : lists) {
    // All rows of a checklist have its time.
    const auto first = std::ranges::min_element(
        species, {}, [](const auto& entry) -> const std::string& { return entry.second.first_minute; });
    for (const auto& [id, seen] : species) {
      KINGLET_TRY(put(ebird_record(day, first->second.first_minute, seen, options)));
      ++rows;
    }
  }
  return rows;
}

Result<std::uint64_t> export_json(Queries& queries, const ExportOptions& options, const PutBytes& put) {
  bool first = true;
  KINGLET_TRY(put("["));
  const std::uint64_t count = KINGLET_TRY(for_each(queries, options.query, [&](const VisitView& view) {
    const std::string text =
        visits::to_json(view.row.visit).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    return put((std::exchange(first, false) ? "\n" : ",\n") + text);
  }));
  KINGLET_TRY(put("\n]\n"));
  return count;
}

}  // namespace

std::string_view csv_header() {
  return "id,seq,started_at,ended_at,duration_seconds,clock_synced,day,hour,source,species_id,scientific_name,"
         "common_name,score,model_species_id,frames_seen,frames_agreeing,verdict,note,reviewed_at,reviewed_by,"
         "unusual,model,model_digest,count,box_x_ratio,box_y_ratio,box_width_ratio,box_height_ratio\r\n";
}

std::string csv_record(const VisitView& view) {
  const visits::Visit& visit = view.row.visit;
  const visits::ModelResult& model = visit.model_result;
  const visits::NamedScore name = visits::shown_bird(visit);
  const auto share = [&](double Area::* side) {
    return visit.best_box ? format_text("{:.4f}", (*visit.best_box).*side) : std::string();
  };
  return record({visit.id,
                 std::to_string(visit.seq),
                 to_rfc3339(visit.started_at),
                 ended_at(visit),
                 format_text("{:.1f}", Seconds(visit.duration).count()),
                 yes_no(visit.clock_synced),
                 view.row.began.day,
                 std::to_string(view.row.began.hour),
                 visit.source,
                 name.species_id,
                 name.scientific_name,
                 name.common_name,
                 score_text(model.score),
                 model.species_id,
                 std::to_string(model.frames_seen),
                 std::to_string(model.frames_agreeing),
                 visits::to_string(visit.review.verdict),
                 visit.review.note,
                 visit.review.reviewed_at ? to_rfc3339(*visit.review.reviewed_at) : std::string(),
                 visit.review.reviewed_by,
                 yes_no(visit.unusual),
                 model.model_name,
                 model.model_digest,
                 std::to_string(visit.count),
                 share(&Area::left),
                 share(&Area::top),
                 share(&Area::width),
                 share(&Area::height)});
}

std::string csv_field(std::string_view text) {
  std::string field(text);
  if (!field.empty() && std::string_view("=+-@\t\r").find(field.front()) != std::string_view::npos) {
    const bool number = field.find_first_not_of("0123456789.+-eE") == std::string::npos;
    if (!number) field.insert(field.begin(), '\'');
  }
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char letter : field) {
    if (letter == '"') quoted += '"';
    quoted += letter;
  }
  return quoted + "\"";
}

Result<std::uint64_t> export_visits(Queries& queries, const ExportOptions& options, const PutBytes& put) {
  switch (options.format) {
    case ExportFormat::kEbird:
      return export_ebird(queries, options, put);
    case ExportFormat::kJson:
      return export_json(queries, options, put);
    case ExportFormat::kCsv:
      break;
  }
  KINGLET_TRY(put(csv_header()));
  return for_each(queries, options.query, [&](const VisitView& view) { return put(csv_record(view)); });
}

}  // namespace kinglet::store
