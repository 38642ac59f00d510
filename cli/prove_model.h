// SPDX-License-Identifier: Apache-2.0
// Why: the body of `kinglet models prove`, the process in which a stranger's model is loaded and run: bounded, first to
// go when memory is short, gone with who asked for it. Its answer is one JSON object for
// daemon/models/model_prover.cpp.
#pragma once

#include <sys/types.h>
#include <CLI/CLI.hpp>
#include <cstdint>

#include "cli/output.h"
#include "daemon/models/model_folder.h"

namespace kinglet::cli {

struct ProveOptions {
  daemon::LineModelOptions model;
  pid_t owner = 0;            // who asked; 0: nobody in particular
  std::uint64_t memory = 0;   // bytes; 0: not bounded
  std::uint64_t seconds = 0;  // of processor time; 0: not bounded
};
void add_prove_options(CLI::App& app, ProveOptions& options);

// 0, whatever the model is: {"valid": true, "classes", "data_files"} or {"valid": false, "code", "message", ...}.
[[nodiscard]] Result<int> prove_model(const ProveOptions& options, Output& out);

}  // namespace kinglet::cli
