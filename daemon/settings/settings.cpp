// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings/settings.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "daemon/settings/kept_lists.h"
#include "engine/base/text.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;

// share/kinglet beside the program's own folder, in /usr as in a build tree.
Result<fs::path> demonstration_model() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  const fs::path prefix = program.parent_path().parent_path();
  fs::path path = prefix / "share" / "kinglet" / "models" / "demo" / "kinglet-demo.onnx";
  if (!failed && fs::is_regular_file(path, failed)) return path;
  return fail(ErrorCode::kNotFound, "the demonstration model is not installed", path.string(),
              "set model.path to an ONNX file");
}

Result<visits::SpeciesList> read_list(const fs::path& path) {
  return visits::SpeciesList::parse(KINGLET_TRY(visits::read_table(path.string())), printable(path.string()));
}

// systemd's StateDirectory=, or the same folder for who owns it. Empty: neither.
fs::path state_folder() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment
  if (const char* folders = std::getenv("STATE_DIRECTORY"); folders != nullptr && *folders == '/') {
    const std::string_view list = folders;
    return fs::path(list.substr(0, list.find(':')));
  }
  constexpr const char* kFolder = "/var/lib/kinglet";
  struct stat status{};
  if (::stat(kFolder, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid()) return kFolder;
  return {};
}

}  // namespace

Result<std::optional<visits::SpeciesList>> region_of(const config::Config& config) {
  if (config.decide.region.empty()) {
    if (config.decide.region_overrides.empty()) return std::nullopt;
    return fail(ErrorCode::kConfig, "decide.region_overrides is set, decide.region is not", {},
                "name the list that is to be changed, or use decide.block and decide.always");
  }
  visits::SpeciesList list = KINGLET_TRY(read_list(config.decide.region));
  if (!config.decide.region_overrides.empty()) list.apply(KINGLET_TRY(read_list(config.decide.region_overrides)));
  return list;
}

std::optional<visits::SpeciesList> kept_region(const config::Config& config) {
  const auto text = read_kept_list(state_folder_of(config), KeptList::kRegion);
  if (!text || !*text) return std::nullopt;
  auto list = visits::SpeciesList::parse(**text, "region.txt");
  return list ? std::optional(std::move(*list)) : std::nullopt;
}

Result<TimeZone> zone_of(const config::Config& config) {
  Result<TimeZone> zone = TimeZone::find(config.time.zone);
  if (zone) return zone;
  zone.error().code = ErrorCode::kConfig;
  return std::unexpected(with_context(std::move(zone).error(), "time.zone"));
}

Result<Schedule> schedule_of(const config::Config& config) {
  const auto& gate = config.gate;
  if (gate.hours == "always") return Always{};
  if (gate.hours == "daylight") {
    const Place place{.latitude = gate.latitude, .longitude = gate.longitude};
    if (place == Place{}) {
      return fail(ErrorCode::kConfig, "gate.hours is daylight, but nobody said where", {},
                  "set gate.latitude and gate.longitude, for Berlin 52.5 and 13.4");
    }
    return Daylight{place, std::chrono::duration_cast<std::chrono::minutes>(gate.daylight_margin)};
  }
  Result<Hours> hours = parse_hours(gate.hours, KINGLET_TRY(zone_of(config)));
  if (hours) return *hours;
  hours.error().code = ErrorCode::kConfig;
  hours.error().hint = "always, daylight, or two times such as 06:30-20:00";
  return std::unexpected(with_context(std::move(hours).error(), "gate.hours"));
}

Result<store::StoreOptions> store_options(const config::Config& config, LogSink log) {
  store::StoreOptions options;
  options.folder = state_folder_of(config);
  options.retention.keep_visits = config.visits.keep_for;
  options.retention.keep_frames = config.privacy.keep_full_frames;
  options.retention.quota = config.store.quota;
  options.first_days = static_cast<std::uint64_t>(config.visits.first_days);
  options.write_budget = config.store.write_budget;
  options.flush_interval = config.store.flush_interval;
  options.zone = KINGLET_TRY(zone_of(config));
  options.log = std::move(log);
  return options;
}

engine::Precision model_precision(const config::Config& config) {
  return engine::precision_of(config.model.precision).value_or(engine::Precision::kAuto);
}

Result<LineModelOptions> line_model_options(const config::Config& config) {
  LineModelOptions options{.model = config.model.path,
                           .labels = config.model.labels,
                           .recipe = config.model.recipe,
                           .tables = name_tables(config),
                           .output = config.model.output,
                           .precision = model_precision(config),
                           .name = config.model.name,
                           .threads = config.inference.threads};
  options.tables.species = config.model.species;
  if (options.model.empty()) {
    options.model = KINGLET_TRY(demonstration_model());
    options.demonstration = true;
  }
  return options;
}

LineDetectorOptions line_detector_options(const config::Config& config) {
  return {.model = config.detector.path,
          .labels = config.detector.labels,
          .recipe = config.detector.recipe,
          .threads = config.inference.threads};
}

visits::TableFiles name_tables(const config::Config& config) {
  return {.species = {},
          .names = config.model.names,
          .kept_names = kept_list_file(state_folder_of(config), KeptList::kNames)};
}

fs::path state_folder_of(const config::Config& config) {
  return config.store.path.empty() ? state_folder() : config.store.path;
}

fs::path model_folder(const config::Config& config, const fs::path& state_folder) {
  if (!config.model.folder.empty()) return config.model.folder;
  return state_folder.empty() ? fs::path{} : state_folder / "models";
}

Result<RegionOptions> region_options(const config::Config& config) {
  const auto& look = config.look;
  if (look.propose == "fixed" && look.fixed.empty()) {
    return fail(ErrorCode::kConfig, "look.propose is fixed, but look.fixed has no part of the picture", {},
                "set look.fixed, such as [[0.3, 0.2, 0.4, 0.6]]");
  }
  return RegionOptions{.most = static_cast<int>(look.regions),
                       .budget = look.budget,
                       .propose = proposed_by(look.propose),
                       .fixed = look.fixed};
}

Result<LineOptions> line_options(const config::Config& config) {
  const auto& decide = config.decide;
  LineOptions options;
  options.decide = {.min_score = decide.min_score,
                    .min_margin = decide.min_margin,
                    .max_rest = decide.max_rest,
                    .genus_score = decide.genus_score,
                    .scores = decide.scores,
                    .allow = decide.allow,
                    .block = decide.block,
                    .always = decide.always,
                    .ignore = decide.ignore,
                    .region = KINGLET_TRY(region_of(config)),
                    .unlisted = decide.unlisted == "flag" ? visits::Unlisted::kFlag : visits::Unlisted::kRefuse};
  if (!options.decide.region) options.decide.region = kept_region(config);
  options.track.end_after = config.visits.end_after;
  options.track.new_after = config.visits.new_after;
  options.gate = {.max_fps = config.gate.max_fps,
                  .motion = config.gate.motion,
                  .hold = config.gate.hold,
                  .look_every = config.gate.look_every,
                  .region = config.gate.region,
                  .schedule = KINGLET_TRY(schedule_of(config))};
  options.look = KINGLET_TRY(region_options(config));
  return options;
}

camera::SourceOptions source_options(const config::Config& config, LogSink log) {
  return {.spec = config.source.spec,
          .width = config.source.size.width,
          .height = config.source.size.height,
          .small_width = static_cast<int>(config.source.small_width),
          .frames_per_second = config.source.fps,
          .camera = {.exposure = config.camera.exposure,
                     .gain = config.camera.gain,
                     .exposure_value = config.camera.exposure_value,
                     .white_balance = config.camera.white_balance,
                     .focus = config.camera.focus,
                     .lens_position = config.camera.lens_position,
                     .rotation = static_cast<int>(config.camera.rotation),
                     .hflip = config.camera.hflip,
                     .vflip = config.camera.vflip,
                     .crop = config.camera.crop.value_or(Area{})},
          .rpicam_arguments = config.source.rpicam_arguments,
          .login_file = config.source.login_file,
          .certificates = config.source.certificates,
          .masks = config.privacy.masks,
          .log = std::move(log)};
}

}  // namespace kinglet::daemon
