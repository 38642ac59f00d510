// SPDX-License-Identifier: Apache-2.0
#include "cli/load_config.h"

namespace kinglet::cli {

void add_config_options(CLI::App& app, ConfigOptions& options) {
  app.add_option("--config", options.file, "this file instead of /etc/kinglet/kinglet.toml and conf.d")
      ->type_name("FILE");
  app.add_option("--set", options.assignments, "one key, as kingletd takes it; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->take_all();
}

std::expected<config::Loaded, config::Faults> load_config(const ConfigOptions& options) {
  config::LoadOptions load_options;
  if (!options.file.empty()) load_options.file = options.file;
  load_options.environment = config::process_environment();
  load_options.assignments = options.assignments;
  return config::load(load_options);
}

}  // namespace kinglet::cli
