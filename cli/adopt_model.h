// SPDX-License-Identifier: Apache-2.0
// Why: a file that came from elsewhere as kinglet keeps models: one of TensorFlow Lite becomes ONNX, and which file it
// was stands in it.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "cli/bounded_child.h"
#include "cli/output.h"
#include "engine/base/error.h"

namespace kinglet::cli {

inline constexpr const char* kSourceProperty = "kinglet.source";

// True: `from` was of TensorFlow Lite, and `to` is written. False: it is something else, for which ONNX is the guess.
// `source`: its digest.
[[nodiscard]] Result<bool> convert_if_tflite(const std::filesystem::path& from, const std::filesystem::path& to,
                                             const std::string& source);

struct AdoptOptions {
  std::filesystem::path from;
  std::filesystem::path to;
  std::string source;
  ChildLimits limits;
};
void add_adopt_options(CLI::App& app, AdoptOptions& options);
// `kinglet models adopt`: the daemon starts it (daemon/models/model_prover.h).
[[nodiscard]] Result<int> adopt_model(const AdoptOptions& options, Output& out);

}  // namespace kinglet::cli
