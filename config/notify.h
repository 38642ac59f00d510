// SPDX-License-Identifier: Apache-2.0
// Why: [[notify]], the one list of tables besides [[source]]: how it is read, by the rows of notify.def. Inside config/
// only.
#pragma once

#include <filesystem>
#include <toml++/toml.hpp>
#include <vector>

#include "config/config.h"

namespace kinglet::config {

enum class From : std::uint8_t { kFile, kHttp };  // kHttp: of settable keys only

// Faults are added to `faults`; tables with some are left out.
[[nodiscard]] std::vector<Notify> read_notify(const std::filesystem::path& path, const toml::node& node, From from,
                                              Faults& faults);

}  // namespace kinglet::config
