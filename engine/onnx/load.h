// SPDX-License-Identifier: Apache-2.0
// Why: bytes of an ONNX file become a Graph in inner form. Every byte is hostile.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/graph/graph.h"
#include "engine/onnx/late_numbers.h"

namespace kinglet::engine {

// Skims the file (skim.h), checks and converts it, normalises every node to the newest form of its operator and infers
// shapes. Weights are read once, each into memory of its own.
// kBadData: not an ONNX model, cut off, contradictory (names, shapes, cycles), too large for its own numbers.
// kUnsupported: operators or types that kinglet does not know; all of them are listed.
[[nodiscard]] Result<Graph> load_model(const InputFile& file);

// The same, but large weights are read when somebody asks for them: ask `numbers` for its outcome when all that wants
// them is done.
struct LateModel {
  Graph graph;
  std::shared_ptr<const onnx_format::LateNumbers> numbers;
};
[[nodiscard]] Result<LateModel> load_model_late(InputFile file);

// The same from memory, for tests and fuzzing; `folder` is where external data would lie (empty: refused).
[[nodiscard]] Result<Graph> load_model(std::span<const std::byte> bytes, const std::filesystem::path& folder = {});

// Names of the files beside the model that hold some of its weights, as the file has them. Errors as above.
[[nodiscard]] Result<std::vector<std::string>> data_files(const InputFile& file);

}  // namespace kinglet::engine
