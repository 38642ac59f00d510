// SPDX-License-Identifier: Apache-2.0
// Why: every command that needs the daemon's configuration takes it in one way: --config and --set.
#pragma once

#include <CLI/CLI.hpp>
#include <expected>
#include <string>
#include <vector>

#include "config/config.h"

namespace kinglet::cli {

struct ConfigOptions {
  std::string file;  // empty: /etc/kinglet
  std::vector<std::string> assignments;
};
void add_config_options(CLI::App& app, ConfigOptions& options);
[[nodiscard]] std::expected<config::Loaded, config::Faults> load_config(const ConfigOptions& options);
// The same with every fault that the daemon's start would find.
[[nodiscard]] std::expected<config::Loaded, config::Faults> check_config(const ConfigOptions& options);

}  // namespace kinglet::cli
