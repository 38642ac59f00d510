// SPDX-License-Identifier: Apache-2.0
// Why: what a program found out or packed holds for this build on this kind of processor: a name for both.
#pragma once

#include <filesystem>
#include <string>

namespace kinglet::engine {

// Inode, size and times of a file, which another file or another content does not have; "-": there is none.
[[nodiscard]] std::string stamp_of_file(const std::filesystem::path& path);

// The program and the libraries that it has as this is first asked, and what the processor is and can do: "sha256:...".
// The same for the life of the process: libraries that are loaded later compute nothing.
[[nodiscard]] const std::string& build_and_processor();

}  // namespace kinglet::engine
