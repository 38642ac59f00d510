// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings.h"

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

Result<std::optional<visits::SpeciesList>> read_region(const config::Config& config) {
  if (config.decide.region.empty()) {
    if (config.decide.region_overrides.empty()) return std::nullopt;
    return fail(ErrorCode::kConfig, "decide.region_overrides is set, decide.region is not", {},
                "name the list that is to be changed, or use decide.block and decide.always");
  }
  visits::SpeciesList list = KINGLET_TRY(read_list(config.decide.region));
  if (!config.decide.region_overrides.empty()) list.apply(KINGLET_TRY(read_list(config.decide.region_overrides)));
  return list;
}

}  // namespace

Result<ClassifierOptions> classifier_options(const config::Config& config) {
  ClassifierOptions options{.model = config.model.path,
                            .labels = config.model.labels,
                            .recipe = config.model.recipe,
                            .species = config.model.species,
                            .names = config.model.names,
                            .name = config.model.name,
                            .threads = config.inference.threads};
  if (options.model.empty()) {
    options.model = KINGLET_TRY(demonstration_model());
    options.demonstration = true;
  }
  return options;
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
                    .region = KINGLET_TRY(read_region(config)),
                    .unlisted = decide.unlisted == "flag" ? visits::Unlisted::kFlag : visits::Unlisted::kRefuse};
  options.track.consensus_frames = static_cast<int>(decide.consensus_frames);
  options.track.consensus_ratio = decide.consensus_ratio;
  options.track.min_gap = decide.min_gap;
  options.track.end_after = config.visits.end_after;
  options.track.new_after = config.visits.new_after;
  options.max_fps = config.gate.max_fps;
  return options;
}

camera::SourceOptions source_options(const config::Config& config, LogSink log) {
  return {.spec = config.source.spec,
          .width = config.source.size.width,
          .height = config.source.size.height,
          .frames_per_second = config.source.fps,
          .login_file = config.source.login_file,
          .certificates = config.source.certificates,
          .log = std::move(log)};
}

}  // namespace kinglet::daemon
