// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet replay`: what the daemon would have made of recorded frames, under one configuration or two.
#include "daemon/line/replay.h"

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "camera/source/source.h"
#include "camera/sources/open_source.h"
#include "cli/command.h"
#include "cli/load_config.h"
#include "daemon/settings/settings.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/base/units.h"
#include "visits/json.h"

namespace kinglet::cli {
namespace {

using Json = nlohmann::ordered_json;
using daemon::ReplayedVisit;
using daemon::ReplayReport;
using visits::Visit;

constexpr std::chrono::minutes kSceneLength{3};  // noon to dusk and back

struct Options {
  std::string recording;
  ConfigOptions config;
  std::string length;
  std::vector<std::string> compare;
};

// A path stands for a recording; what begins with a scheme is a source.
std::string spec_of(const std::string& recording) {
  const bool is_source = recording.contains(':') && camera::find_source(recording) != nullptr;
  return is_source ? recording : "recording:" + recording;
}

Result<SteadyClock::duration> length_of(const Options& options, Output& out) {
  if (!options.length.empty()) {
    const Result<std::chrono::milliseconds> length = parse_duration(options.length);
    if (length && length->count() > 0) return *length;
    return fail(ErrorCode::kUsage,
                format_text("--for is \"{}\", expected a time such as 90s or 10m", printable(options.length)),
                "replay");
  }
  if (!options.recording.starts_with("demo:")) return SteadyClock::duration::zero();
  out.note("the demonstration scene has no end: three minutes of it are replayed (--for)");
  return kSceneLength;
}

Result<ReplayReport> replay_with(const Options& options, const ConfigOptions& config, SteadyClock::duration length,
                                 Output& out) {
  const auto loaded = load_config(config);
  if (!loaded) {
    const config::Faults& faults = loaded.error();
    for (std::size_t i = 0; i + 1 < faults.size(); ++i) out.error(faults[i]);
    return std::unexpected(faults.back());
  }
  daemon::ReplayOptions replay{.classifier = KINGLET_TRY(daemon::line_model_options(loaded->config)),
                               .detector = daemon::line_detector_options(loaded->config),
                               .line = KINGLET_TRY(daemon::line_options(loaded->config)),
                               .source = daemon::source_options(loaded->config, {}),
                               .length = length};
  replay.source.spec = spec_of(options.recording);
  const auto total = static_cast<std::uint64_t>(std::chrono::floor<std::chrono::seconds>(length).count());
  if (total > 0) {
    replay.progress = [&out, total](SteadyClock::duration done) {
      out.progress("seconds", static_cast<std::uint64_t>(std::chrono::floor<std::chrono::seconds>(done).count()),
                   total);
    };
  }
  Result<ReplayReport> report = daemon::replay(replay);
  out.end_progress();
  if (!report) return report;
  for (const std::string& warning : report->warnings) out.warn(warning);
  if (report->errors > 0) {
    out.warn(format_text("{} of {} frames could not be used: {}", report->errors, report->frames, report->first_error));
  }
  return report;
}

std::string seconds_text(SteadyClock::duration duration) {
  return format_text("{:.1f}", std::chrono::duration<double>(duration).count());
}

std::string clock_text(WallTime time) { return to_rfc3339(time).substr(11, 10); }

// "5 accepted, 2 background": those that are not 0. `Name`: what the index of a count stands for.
template <typename Name>
std::string counts_text(std::span<const std::uint64_t> counts) {
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0)
      text +=
          format_text("{}{} {}", text.empty() ? "" : ", ", counts[i], to_string(Name{static_cast<std::uint8_t>(i)}));
  }
  return text.empty() ? "none" : text;
}

std::string outcomes_text(const ReplayReport& report) { return counts_text<visits::Outcome>(report.by_outcome); }

double json_seconds(SteadyClock::duration duration) {
  return static_cast<double>(std::chrono::round<std::chrono::milliseconds>(duration).count()) / 1e3;
}

Json to_json(const ReplayedVisit& replayed) {
  Json json = visits::to_json(replayed.visit);
  json["named_at_seconds"] = json_seconds(replayed.named_at);
  return json;
}

// As /api/v1/stats has it.
Json to_json(const daemon::DetectorTotals& totals) {
  Json found = Json::object();
  for (const auto being : {daemon::Being::kBird, daemon::Being::kAnimal, daemon::Being::kPerson}) {
    found[std::string(daemon::to_string(being))] = totals.found[std::to_underlying(being)];
  }
  return {{"looks_total", totals.looks},
          {"left_out_total", totals.left_out},
          {"found_total", std::move(found)},
          {"regions_total", {{"merged", totals.merged}, {"split", totals.split}, {"tightened", totals.tightened}}}};
}

Json to_json(const ReplayReport& report) {
  Json outcomes = Json::object();
  for (std::size_t i = 0; i < report.by_outcome.size(); ++i) {
    outcomes[std::string(visits::to_string(static_cast<visits::Outcome>(i)))] = report.by_outcome[i];
  }
  Json skipped = Json::object();
  for (std::size_t i = 0; i < report.skipped.size(); ++i) {
    skipped[std::string(daemon::to_string(static_cast<daemon::SkipReason>(i)))] = report.skipped[i];
  }
  Json left_out = Json::object();
  for (std::size_t i = 0; i < report.left_out.size(); ++i) {
    left_out[std::string(daemon::to_string(static_cast<daemon::LeftOut>(i)))] = report.left_out[i];
  }
  Json list = Json::array();
  for (const ReplayedVisit& replayed : report.visits) list.push_back(to_json(replayed));
  Json json{{"source", report.description},
            {"duration_seconds", json_seconds(report.length)},
            {"frames", report.frames},
            {"errors", report.errors},
            {"images", {{"total", report.predictions}, {"by_outcome", std::move(outcomes)}}},
            {"inferences", {{"total", report.inferences}, {"left_out_total", std::move(left_out)}}},
            {"skipped", std::move(skipped)},
            {"visits", std::move(list)}};
  if (report.detector.is_asked()) json["detector"] = to_json(report.detector);
  return json;
}

std::string remarks_text(const Visit& visit) {
  std::string text = visit.count > 1 ? format_text("{} at once", visit.count) : "";
  if (visit.unusual) text += text.empty() ? "unusual" : ", unusual";
  return text;
}

void print_text(const ReplayReport& report, Output& out) {
  Table table({"visit", "began", ">seconds", "bird", ">score", ">frames", ""});
  for (const auto& [visit, named_at] : report.visits) {
    const visits::ModelResult& result = visit.model_result;
    table.add({std::to_string(visit.seq), clock_text(visit.started_at), seconds_text(visit.duration),
               visit.species_id(), format_text("{:.3f}", result.score),
               format_text("{}/{}", result.frames_agreeing, result.frames_seen), remarks_text(visit)});
  }
  if (!report.visits.empty()) out.print(table.text(out));
  out.print(format_text("{} {} in {} s, {} frames; answers: {}; not looked at: {}\n", report.visits.size(),
                        report.visits.size() == 1 ? "visit" : "visits", seconds_text(report.length), report.frames,
                        outcomes_text(report), counts_text<daemon::SkipReason>(report.skipped)));
}

bool overlap(const Visit& a, const Visit& b) {
  using Duration = WallTime::duration;
  return a.started_at <= b.started_at + std::chrono::duration_cast<Duration>(b.duration) &&
         b.started_at <= a.started_at + std::chrono::duration_cast<Duration>(a.duration);
}

// Visits of `mine` that `other` has not, under the same name at the same time.
std::vector<const Visit*> missing_in(const std::vector<ReplayedVisit>& mine, const std::vector<ReplayedVisit>& other) {
  std::vector<const Visit*> missing;
  for (const auto& [visit, named_at] : mine) {
    const bool found = std::ranges::any_of(other, [&](const ReplayedVisit& candidate) {
      return candidate.visit.species_id() == visit.species_id() && overlap(visit, candidate.visit);
    });
    if (!found) missing.push_back(&visit);
  }
  return missing;
}

void print_comparison(const Options& options, const ReplayReport& a, const ReplayReport& b, Output& out) {
  std::map<std::string, std::array<std::size_t, 2>> counts;
  for (const auto& replayed : a.visits) ++counts[replayed.visit.species_id()][0];
  for (const auto& replayed : b.visits) ++counts[replayed.visit.species_id()][1];
  Table table({"visits", ">" + options.compare[0], ">" + options.compare[1]});
  for (const auto& [species, count] : counts) {
    table.add({species, std::to_string(count[0]), std::to_string(count[1])});
  }
  table.add({"all", std::to_string(a.visits.size()), std::to_string(b.visits.size())});
  out.print(table.text(out));
  const auto print_missing = [&](const std::string& name, const std::vector<const Visit*>& visits) {
    for (const Visit* visit : visits) {
      out.print(format_text("only {}: {} at {} for {} s, {:.3f}\n", name, visit->species_id(),
                            clock_text(visit->started_at), seconds_text(visit->duration), visit->model_result.score));
    }
  };
  print_missing(options.compare[0], missing_in(a.visits, b.visits));
  print_missing(options.compare[1], missing_in(b.visits, a.visits));
  out.print(
      format_text("{}: {}\n{}: {}\n", options.compare[0], outcomes_text(a), options.compare[1], outcomes_text(b)));
}

Json ids_of(const std::vector<const Visit*>& visits) {
  Json list = Json::array();
  for (const Visit* visit : visits) list.push_back(visit->id);
  return list;
}

Result<int> compare(const Options& options, SteadyClock::duration length, Output& out) {
  ConfigOptions first = options.config;
  first.file = options.compare[0];
  ConfigOptions second = options.config;
  second.file = options.compare[1];
  const ReplayReport a = KINGLET_TRY(replay_with(options, first, length, out));
  const ReplayReport b = KINGLET_TRY(replay_with(options, second, length, out));
  if (out.json()) {
    out.print_json(Json{{"a", to_json(a)},
                        {"b", to_json(b)},
                        {"only_in_a", ids_of(missing_in(a.visits, b.visits))},
                        {"only_in_b", ids_of(missing_in(b.visits, a.visits))}});
  } else {
    print_comparison(options, a, b, out);
  }
  return 0;
}

Result<int> run(const Options& options, Output& out) {
  const SteadyClock::duration length = KINGLET_TRY(length_of(options, out));
  if (!options.compare.empty()) return compare(options, length, out);
  const ReplayReport report = KINGLET_TRY(replay_with(options, options.config, length, out));
  if (out.json()) {
    out.print_json(to_json(report));
  } else {
    print_text(report, out);
  }
  return 0;
}

}  // namespace

Body replay_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("RECORDING", options->recording, "what `kinglet record` wrote, or demo:[SEED], or images:DIR")
      ->required()
      ->type_name("");
  add_config_options(app, options->config);
  app.add_option("--for", options->length, "so much of it, on its own clock")->type_name("TIME");
  app.add_option("--compare", options->compare, "two configurations on the same frames: what each makes of them")
      ->type_name("FILE")
      ->expected(2)
      ->excludes("--config");
  return [options](Output& out) { return run(*options, out); };
}

}  // namespace kinglet::cli
