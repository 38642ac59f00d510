// SPDX-License-Identifier: Apache-2.0
// Why: the one table of sources of frames, and the way from what somebody wrote to its row.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
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
  Result<std::unique_ptr<FrameSource>> (*open)(std::string_view rest, const SourceOptions& options);
};

// Rows of sources.def.
[[nodiscard]] std::span<const SourceRow> source_table();

// By the scheme; nullptr: the table has no such.
[[nodiscard]] const SourceRow* find_source(std::string_view spec);
// "demo:, images:, ...": all of them.
[[nodiscard]] std::string known_schemes();
// What to write in the place of a scheme that the table does not have; empty: nobody knows.
[[nodiscard]] std::string scheme_hint(std::string_view spec);

// By the scheme; what has none of the table is looked for on this board ("auto").
[[nodiscard]] SourceKind kind_of(std::string_view spec);

// Picks the row by scheme and paints the masks. kUsage: unknown scheme (nearest named, all listed); else what the row's
// open says.
[[nodiscard]] Result<std::unique_ptr<FrameSource>> open_source(const SourceOptions& options);

}  // namespace kinglet::camera
