// SPDX-License-Identifier: Apache-2.0
// Why: passwords and keys are in files of their own, which only their owner may read: never in the configuration.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "engine/base/error.h"

namespace kinglet::daemon {

// The first line. kNotFound; kNotPermitted: others may read the file; kConfig: the line is empty.
[[nodiscard]] Result<std::string> read_secret(const std::filesystem::path& file);

// `file`, or systemd's credential of this name when `file` is empty and there is one; else empty.
[[nodiscard]] std::filesystem::path secret_path(const std::filesystem::path& file, std::string_view credential);

}  // namespace kinglet::daemon
