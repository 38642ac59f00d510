// SPDX-License-Identifier: Apache-2.0
// Why: what of a configuration the table of keys cannot judge, judged in one place: `kinglet config check`, the start,
// a reload and POST /api/v1/config/validate say the same of the same file.
#pragma once

#include <expected>
#include <filesystem>
#include <string_view>

#include "config/config.h"
#include "engine/base/error.h"

namespace kinglet::daemon {

// config::load() and all faults of what it gives, lists of birds and certificates included. Codes: kConfig; kNotFound
// only as config::load() has it.
[[nodiscard]] std::expected<config::Loaded, config::Faults> load_settings(const config::LoadOptions& options);

// The faults of this text as the only configuration file. It came from somewhere else: no file it names is opened.
[[nodiscard]] config::Faults faults_of_text(std::string_view toml, const std::filesystem::path& name);

}  // namespace kinglet::daemon
