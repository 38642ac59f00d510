// SPDX-License-Identifier: Apache-2.0
#include "cli/load_config.h"

#include "daemon/settings/settings_check.h"

namespace kinglet::cli {

void add_config_options(CLI::App& app, ConfigOptions& options) {
  app.add_option("--config", options.file, "this file instead of /etc/kinglet/kinglet.toml and conf.d")
      ->type_name("FILE");
  app.add_option("--set", options.assignments, "one key, as kingletd takes it; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->take_all();
}

namespace {

config::LoadOptions load_options(const ConfigOptions& options) {
  config::LoadOptions load_options;
  if (!options.file.empty()) load_options.file = options.file;
  load_options.environment = config::process_environment();
  load_options.assignments = options.assignments;
  return load_options;
}

// The service's, where it runs with the files of /etc/kinglet.
std::filesystem::path state_elsewhere(const ConfigOptions& options) {
  return options.file.empty() ? "/var/lib/kinglet" : "";
}

}  // namespace

std::expected<config::Loaded, config::Faults> load_config(const ConfigOptions& options) {
  auto usable = daemon::load_usable_values(load_options(options), state_elsewhere(options));
  if (!usable) return std::unexpected(std::move(usable.error()));
  if (!usable->trouble.empty()) {
    const bool partly = !usable->loaded.left_out.empty();
    usable->loaded.warnings.push_back(
        (partly ? "of what was set on the page this is left out: " : "what was set on the page is left out: ") +
        usable->trouble);
  }
  return std::move(usable->loaded);
}

std::expected<config::Loaded, config::Faults> check_config(const ConfigOptions& options) {
  auto loaded = daemon::load_settings(load_options(options), state_elsewhere(options));
  if (!loaded) return loaded;
  if (auto fault = daemon::fault_of_detector(*loaded)) return std::unexpected(config::Faults{*std::move(fault)});
  return loaded;
}

}  // namespace kinglet::cli
