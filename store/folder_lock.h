// SPDX-License-Identifier: Apache-2.0
// Why: one program at a time writes a history.
#pragma once

#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/file.h"

namespace kinglet::store {

// Held while the descriptor lives, and never longer than the process. kBusy: another program has it; kNotPermitted,
// kIo: the folder cannot be written.
[[nodiscard]] Result<FileDescriptor> lock_folder(const std::filesystem::path& folder);

}  // namespace kinglet::store
