// SPDX-License-Identifier: Apache-2.0
// Why: a model file as the tool and the daemon speak of it: its graph after loading, and facts of the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "engine/base/error.h"
#include "engine/graph/graph.h"

namespace kinglet::engine {

struct ModelFile {
  std::filesystem::path path;
  std::uint64_t size_bytes = 0;
  Graph graph;  // inner form, shapes inferred, not optimised
};

// Opens, skims, checks and normalises. Errors name the file; see engine/onnx/load.h.
[[nodiscard]] Result<ModelFile> open_model(const std::filesystem::path& path);

// "sha256:" and 64 hex digits of the file's bytes.
[[nodiscard]] Result<std::string> file_digest(const std::filesystem::path& path);
[[nodiscard]] std::string text_digest(std::string_view text);  // the same of a text

}  // namespace kinglet::engine
