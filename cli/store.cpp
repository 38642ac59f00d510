// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet store`: the history without the daemon: look, check, take out, make smaller, forget.
#include "store/options.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/load_config.h"
#include "cli/tool_files.h"
#include "daemon/settings/settings.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/base/units.h"
#include "store/export.h"
#include "store/tend.h"

namespace kinglet::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Options {
  ConfigOptions config;
  std::string path;
  std::string action;
  std::string output = "-";
  std::string format = "csv";
  std::string since;
  std::string until;
  std::string older_than;
  std::string to;
  std::string visit;
  std::string before;
  std::vector<std::string> species;
  std::string source;
  bool force = false;
  bool all = false;
  bool yes = false;
  store::ExportOptions ebird;
};

Result<store::StoreOptions> read_config(const Options& options) {
  const auto loaded = load_config(options.config);
  if (!loaded) return std::unexpected(loaded.error().front());
  store::StoreOptions settings = KINGLET_TRY(daemon::store_options(loaded->config, {}));
  if (!options.path.empty()) settings.folder = options.path;
  if (settings.folder.empty()) settings.folder = "/var/lib/kinglet";
  std::error_code missing;
  if (!fs::exists(store::database_file(settings.folder), missing)) {
    return fail(ErrorCode::kNotFound, "there is no history of visits", store::database_file(settings.folder).string(),
                "name its folder: --path DIR");
  }
  return settings;
}

Result<int> show_info(const store::StoreOptions& settings, Output& out) {
  const store::StoreInfo info = KINGLET_TRY(store::read_info(settings.folder));
  if (out.json()) {
    Json json{{"path", settings.folder.string()},
              {"version", info.version},
              {"visits", info.visits},
              {"species", info.species},
              {"database_bytes", info.database_bytes},
              {"picture_files", info.pictures.files},
              {"picture_bytes", info.pictures.bytes},
              {"quota_bytes", settings.retention.quota.count},
              {"highest_seq", info.highest_seq}};
    if (info.first_at) json["first_at"] = to_rfc3339(*info.first_at);
    if (info.last_at) json["last_at"] = to_rfc3339(*info.last_at);
    json["damaged"] = info.damaged;
    out.print_json(json);
    return 0;
  }
  out.print(format_text("{}: version {}\n", settings.folder.string(), info.version));
  out.print(format_text("visits    {} of {} species", grouped(static_cast<std::int64_t>(info.visits)), info.species));
  if (info.first_at && info.last_at) {
    out.print(format_text(", from {} to {}", to_rfc3339(*info.first_at), to_rfc3339(*info.last_at)));
  }
  out.print(format_text("\ndatabase  {}\npictures  {} in {} files\nquota     {}\n", human_bytes(info.database_bytes),
                        human_bytes(info.pictures.bytes), info.pictures.files, format_bytes(settings.retention.quota)));
  for (const std::string& name : info.damaged) out.print(format_text("damaged   {} (moved aside)\n", name));
  return 0;
}

Result<int> check(const store::StoreOptions& settings, Output& out) {
  constexpr int kFaults = 1;
  constexpr int kStraysOnly = 2;
  const store::Checked checked = KINGLET_TRY(store::check_folder(settings.folder));
  if (out.json()) {
    out.print_json(Json{{"sound", checked.faults.empty()}, {"faults", checked.faults}, {"strays", checked.strays}});
  } else {
    for (const std::string& fault : checked.faults) out.print(printable(fault, 1000) + "\n");
    if (checked.faults.empty()) out.print("sound\n");
    if (checked.strays > 0) {
      out.print(format_text("{} picture {} to no visit; {}\n", checked.strays,
                            checked.strays == 1 ? "file belongs" : "files belong",
                            checked.strays_stay ? "the daemon lets them be" : "the daemon removes them at its start"));
    }
  }
  return !checked.faults.empty() ? kFaults : checked.strays > 0 ? kStraysOnly : 0;
}

// A local day as the moment when it begins.
Result<std::optional<WallTime>> begin_of(const std::string& day, const TimeZone& zone, std::string_view option) {
  if (day.empty()) return std::nullopt;
  const std::optional<WallTime> time = zone.begin_of(day);
  if (time) return time;
  return fail(ErrorCode::kUsage, format_text("{} is \"{}\"", option, printable(day)), "store export",
              "a day such as 2026-05-04");
}

Result<int> export_history(const Options& options, const store::StoreOptions& settings, Output& out) {
  store::ExportOptions wish = options.ebird;
  wish.zone = settings.zone;
  wish.format = options.format == "ebird"  ? store::ExportFormat::kEbird
                : options.format == "json" ? store::ExportFormat::kJson
                                           : store::ExportFormat::kCsv;
  wish.query.species = options.species;
  wish.query.source = options.source;
  wish.query.since = KINGLET_TRY(begin_of(options.since, settings.zone, "--since"));
  wish.query.until = KINGLET_TRY(begin_of(options.until, settings.zone, "--until"));
  store::Queries queries = KINGLET_TRY(store::Queries::open(store::database_file(settings.folder)));
  std::uint64_t rows = 0;
  const auto make = [&](const PutBytes& put) -> Result<void> {
    rows = KINGLET_TRY(store::export_visits(queries, wish, put));
    return {};
  };
  KINGLET_TRY(write_output(options.output, make, options.force, out));
  out.note(format_text("{} {}", rows, rows == 1 ? "row" : "rows"));
  if (rows == 0 && wish.format == store::ExportFormat::kEbird) {
    out.note(
        format_text("eBird wants what a person has seen{} and dates: visits from before the clock was set have none",
                    wish.unreviewed ? "" : ": only reviewed visits are exported (--unreviewed: all);"));
  }
  return 0;
}

Result<int> prune(const Options& options, store::StoreOptions settings, Output& out) {
  store::RetentionRule& rule = settings.retention;
  if (!options.older_than.empty()) rule.keep_visits = KINGLET_TRY(parse_duration(options.older_than));
  if (!options.to.empty()) rule.quota = KINGLET_TRY(parse_bytes(options.to));
  const store::RetentionResult result =
      KINGLET_TRY(store::prune_folder(settings.folder, rule, std::chrono::system_clock::now()));
  if (out.json()) {
    out.print_json(Json{{"visits_removed", result.visits_removed},
                        {"frames_removed", result.frames_removed},
                        {"picture_bytes_removed", result.picture_bytes_removed}});
  } else {
    out.print(format_text("{} visits and the whole frames of {} removed, {} of pictures\n", result.visits_removed,
                          result.frames_removed, human_bytes(result.picture_bytes_removed)));
  }
  return 0;
}

Result<int> forget(const Options& options, const store::StoreOptions& settings, Output& out) {
  const int wishes = (options.all ? 1 : 0) + (options.visit.empty() ? 0 : 1) + (options.before.empty() ? 0 : 1);
  if (wishes != 1) {
    return fail(ErrorCode::kUsage, "expected one of --all, --visit ID, --before DAY", "store forget");
  }
  if (!options.before.empty() && !is_day(options.before)) {
    return fail(ErrorCode::kUsage, format_text("--before is \"{}\"", printable(options.before)), "store forget",
                "a day such as 2026-05-04");
  }
  if (!options.yes) {
    return fail(ErrorCode::kUsage, "what is forgotten cannot be had back", "store forget", "add --yes");
  }
  store::Forgotten forgotten;
  if (options.all) {
    forgotten = KINGLET_TRY(store::forget_everything(settings.folder));
  } else {
    forgotten.visits = KINGLET_TRY(store::forget_visits(settings.folder, options.visit, options.before));
  }
  const std::uint64_t visits = forgotten.visits;
  if (visits == 0 && !options.visit.empty()) {
    return fail(ErrorCode::kNotFound, format_text("there is no visit \"{}\"", printable(options.visit)));
  }
  if (forgotten.pictures_left > 0) {
    out.note(format_text("{} picture files of no visit are left: \"pictures\" is a link, remove them where it leads",
                         forgotten.pictures_left));
  }
  if (out.json()) {
    out.print_json(Json{{"visits_forgotten", visits}});
  } else {
    out.print(format_text("{} {} forgotten\n", visits, visits == 1 ? "visit" : "visits"));
  }
  return 0;
}

Result<int> run(const Options& options, Output& out) {
  store::StoreOptions settings = KINGLET_TRY(read_config(options));
  if (options.action == "info") return show_info(settings, out);
  if (options.action == "check") return check(settings, out);
  if (options.action == "export") return export_history(options, settings, out);
  if (options.action == "prune") return prune(options, std::move(settings), out);
  return forget(options, settings, out);
}

void add_export_options(CLI::App& app, Options& options) {
  app.add_option("--format", options.format, "csv, ebird or json (default csv)")
      ->check(CLI::IsMember({"csv", "ebird", "json"}))
      ->option_text("FORMAT");
  app.add_option("-o", options.output, "the file to write; - is stdout (default)")->type_name("OUT");
  app.add_flag("--force", options.force, "replace the file");
  app.add_option("--since", options.since, "from this local day on")->type_name("DAY");
  app.add_option("--until", options.until, "before this local day")->type_name("DAY");
  app.add_option("--species", options.species, "only this species_id; may be repeated")
      ->type_name("ID")
      ->allow_extra_args(false);
  app.add_option("--source", options.source, "only this camera")->type_name("NAME");
  app.add_flag("--unreviewed", options.ebird.unreviewed, "ebird: also visits that no person has confirmed");
  app.add_option("--location", options.ebird.location, "ebird: name of the place (default Feeder)")->type_name("TEXT");
  app.add_option("--latitude", options.ebird.latitude, "ebird: decimal degrees")->type_name("N");
  app.add_option("--longitude", options.ebird.longitude, "ebird: decimal degrees")->type_name("N");
  app.add_option("--state", options.ebird.state, "ebird: state or province, such as BY")->type_name("CODE");
  app.add_option("--country", options.ebird.country, "ebird: country, such as DE")->type_name("CODE");
}

}  // namespace

Body store_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  const auto action = [&](const std::string& name, const std::string& summary) {
    CLI::App* sub = add_action(app, options, name, summary);
    sub->add_option("--path", options->path, "folder of the history instead of the configured one")->type_name("DIR");
    add_config_options(*sub, options->config);
    return sub;
  };
  action("info", "what is kept, and how large it is");
  action("check",
         "read all of it and tell every fault; exit code 1 when there is one, 2 for nothing but stray pictures");
  add_export_options(*action("export", "visits as CSV, for eBird, or as JSON"), *options);
  CLI::App* smaller = action("prune", "remove what is too old or too much, as the daemon does by itself");
  smaller->add_option("--older-than", options->older_than, "visits, such as 30d (default visits.keep_for)")
      ->type_name("TIME");
  smaller->add_option("--to", options->to, "to this size, such as 200MiB (default store.quota)")->type_name("SIZE");
  CLI::App* forgetting = action("forget", "remove visits for good: rows, counts and pictures");
  forgetting->add_flag("--all", options->all, "everything, and databases that were moved aside");
  forgetting->add_option("--visit", options->visit, "one visit")->type_name("ID");
  forgetting->add_option("--before", options->before, "all before this local day")->type_name("DAY");
  forgetting->add_flag("--yes", options->yes, "really");
  app.require_subcommand(1);
  return [options](Output& out) { return run(*options, out); };
}

}  // namespace kinglet::cli
