// SPDX-License-Identifier: Apache-2.0
// Why: the commands that write a file treat it alike.
#pragma once

#include <functional>
#include <string>

#include "cli/output.h"
#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/graph/graph.h"

namespace kinglet::cli {

// Before any work: the output is named, is not the input, and is not there unless `force`. kUsage, kCannotCreate.
[[nodiscard]] Result<void> check_output(const std::string& input, const std::string& output, bool force,
                                        const std::string& command);

// The model goes to that file, or to stdout ("-").
[[nodiscard]] Result<void> write_model(const engine::Graph& graph, const std::string& output, bool force, Output& out);

// What `make` makes goes to that file, or to stdout ("-"). Errors as write_file's.
[[nodiscard]] Result<void> write_output(const std::string& output,
                                        const std::function<Result<void>(const PutBytes& put)>& make, bool force,
                                        Output& out, Readers readers = Readers::kAll);

[[nodiscard]] inline Overwrite overwrite(bool force) { return force ? Overwrite::kReplace : Overwrite::kRefuse; }

}  // namespace kinglet::cli
