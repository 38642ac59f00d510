// SPDX-License-Identifier: Apache-2.0
// Why: the body of `kinglet models prove`, the process in which a stranger's model is loaded and run: bounded, first to
// go when memory is short, gone with who asked for it. Its answer is one JSON object for
// daemon/models/model_prover.cpp.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/bounded_child.h"
#include "cli/output.h"
#include "daemon/models/model_folder.h"

namespace kinglet::cli {

struct ProveOptions {
  daemon::LineModelOptions model;
  ChildLimits limits;
};
void add_prove_options(CLI::App& app, ProveOptions& options);

// 0, whatever the model is: {"valid": true, "classes", "data_files"} or {"valid": false, "code", "message", ...}.
[[nodiscard]] Result<int> prove_model(const ProveOptions& options, Output& out);

}  // namespace kinglet::cli
