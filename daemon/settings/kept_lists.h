// SPDX-License-Identifier: Apache-2.0
// Why: lists of birds that were sent over HTTP lie in the state folder, in the form of those that the configuration may
// name: region.txt and names.tsv.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/error.h"

namespace kinglet::daemon {

enum class KeptList : std::uint8_t { kRegion, kNames };

// Empty where there is no folder.
[[nodiscard]] std::filesystem::path kept_list_file(const std::filesystem::path& folder, KeptList list);
// Nothing: there is none. kIo, kBadData, kNotPermitted: there is one that cannot be read.
[[nodiscard]] Result<std::optional<std::string>> read_kept_list(const std::filesystem::path& folder, KeptList list);
// Beside and renamed, on the disk when it returns; an empty text takes it away. kCannotCreate, kIo: all is as it was.
[[nodiscard]] Result<void> write_kept_list(const std::filesystem::path& folder, KeptList list, std::string_view text);

}  // namespace kinglet::daemon
