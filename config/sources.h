// SPDX-License-Identifier: Apache-2.0
// Why: the [[source]] tables after the first, each a camera of its own, read by the rows of keys.def. Inside config/
// only.
#pragma once

#include <filesystem>
#include <toml++/toml.hpp>
#include <vector>

#include "config/config.h"

namespace kinglet::config {

// `tables`: all of them, the first too, which is passed by. Faults are added to `faults`.
[[nodiscard]] std::vector<FurtherSource> read_further_sources(const std::filesystem::path& path,
                                                              const toml::array& tables, Faults& faults);
// Each camera has a name of its own.
void check_source_names(const Config& config, Faults& faults);

}  // namespace kinglet::config
