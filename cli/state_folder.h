// SPDX-License-Identifier: Apache-2.0
// Why: commands that speak for the daemon find its state where the daemon has it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/config.h"
#include "engine/base/error.h"

namespace kinglet::cli {

// store.path, or the service's own folder. kNotFound: it is not there.
[[nodiscard]] Result<std::filesystem::path> state_folder(const config::Config& config);

// Where a browser at home finds this machine: "http://feeder.local:8420/".
[[nodiscard]] std::string page_address(const config::Config& config);

// The same, then by number for networks that know no names; this machine's own where nobody else may ask.
[[nodiscard]] std::vector<std::string> page_addresses(const config::Config& config);

}  // namespace kinglet::cli
