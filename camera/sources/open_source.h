// SPDX-License-Identifier: Apache-2.0
// Why: the one table of sources of frames, and the way from what somebody wrote to its row.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "camera/source/source.h"
#include "engine/base/error.h"

namespace kinglet::camera {

// Where to look when it is not there.
enum class SourceKind : std::uint8_t { kAttached, kNetwork, kProgram, kFile, kDrawn };
[[nodiscard]] std::string_view to_string(SourceKind kind);

struct SourceRow {
  std::string_view scheme;
  SourceKind kind;
  std::string_view help;  // one line for --help and errors
  Result<std::unique_ptr<FrameSource>> (*open)(std::string_view rest, const SourceOptions& options);
};

// Rows of sources.def.
[[nodiscard]] std::span<const SourceRow> source_table();

// By the scheme; what has none of the table is looked for on this board ("auto").
[[nodiscard]] SourceKind kind_of(std::string_view spec);

// Picks the row by scheme and paints the masks. kUsage: unknown scheme (nearest named, all listed); else what the row's
// open says.
[[nodiscard]] Result<std::unique_ptr<FrameSource>> open_source(const SourceOptions& options);

}  // namespace kinglet::camera
