// SPDX-License-Identifier: Apache-2.0
// Why: `backup` and `restore` say in one way which box they mean: its configuration, its state and the owner's files.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/load_config.h"
#include "daemon/backup/parts.h"
#include "engine/base/error.h"

namespace kinglet::cli {

struct BoxOptions {
  ConfigOptions config;
  std::string etc = "/etc/kinglet";
};
void add_box_options(CLI::App& app, BoxOptions& options);
// kNotFound: there is no state folder; kConfig.
[[nodiscard]] Result<daemon::backup::Places> places_of(const BoxOptions& options);

}  // namespace kinglet::cli
