// SPDX-License-Identifier: Apache-2.0
// Why: a model file as the tool and the daemon speak of it: its graph after loading, and facts of the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/graph/graph.h"
#include "engine/onnx/load.h"

namespace kinglet::engine {

struct ModelFile {
  std::filesystem::path path;
  std::uint64_t size_bytes = 0;
  Graph graph;  // inner form, shapes inferred, not optimised
};

// Opens, skims, checks and normalises. Errors name the file; see engine/onnx/load.h.
[[nodiscard]] Result<ModelFile> open_model(const std::filesystem::path& path);

// The same for who packs the weights and drops them: large ones are read when they are asked for.
[[nodiscard]] Result<LateModel> open_model_late(const std::filesystem::path& path);

// Names of the files beside the model that hold weights. Errors as of open_model.
[[nodiscard]] Result<std::vector<std::string>> data_files_of(const std::filesystem::path& model);
// One of them, with links followed; it may be missing.
// kBadData: no plain file name. kNotPermitted: a link that leads away from the model.
[[nodiscard]] Result<std::filesystem::path> data_file_of(const std::filesystem::path& model, const std::string& name);

// "sha256:" and 64 hex digits of the file's bytes.
[[nodiscard]] Result<std::string> file_digest(const std::filesystem::path& path);
[[nodiscard]] std::string text_digest(std::string_view text);  // the same of a text

}  // namespace kinglet::engine
