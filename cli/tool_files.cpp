// SPDX-License-Identifier: Apache-2.0
#include "cli/tool_files.h"

#include <filesystem>

#include "engine/base/format.h"
#include "engine/onnx/save.h"

namespace kinglet::cli {

Result<void> check_output(const std::string& input, const std::string& output, bool force, const std::string& command) {
  if (output.empty()) {
    return fail(ErrorCode::kUsage, "expected -o OUT", command,
                format_text("`kinglet {} --help` shows an example", command));
  }
  if (output == "-") return {};
  std::error_code ignored;
  if (std::filesystem::equivalent(input, output, ignored)) {
    return fail(ErrorCode::kUsage, "input and output are the same file", command,
                "name another output: the input is never changed");
  }
  if (!force && std::filesystem::exists(output, ignored)) {
    return fail(ErrorCode::kCannotCreate, "the file exists already", output, "add --force to replace it");
  }
  return {};
}

Result<void> write_model(const engine::Graph& graph, const std::string& output, bool force, Output& out) {
  if (output == "-") {
    out.print(KINGLET_TRY(engine::to_onnx_bytes(graph)));
    return {};
  }
  return engine::save_model(graph, output, overwrite(force));
}

Result<void> write_output(const std::string& output, const std::function<Result<void>(const PutBytes& put)>& make,
                          bool force, Output& out, Readers readers) {
  if (output != "-") return write_file(output, make, overwrite(force), readers);
  return make([&](std::string_view bytes) -> Result<void> {
    out.print(bytes);
    return {};
  });
}

}  // namespace kinglet::cli
