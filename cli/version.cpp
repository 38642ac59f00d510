// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "engine/base/format.h"

namespace kinglet::cli {
namespace {

#if defined(__clang__)
constexpr std::string_view kCompiler = "clang " __clang_version__;
#else
constexpr std::string_view kCompiler = "gcc " __VERSION__;
#endif

Result<int> print_version(Output& out) {
  if (out.json()) {
    out.print_json(nlohmann::ordered_json{
        {"name", "kinglet"}, {"version", KINGLET_VERSION}, {"api", "v1"}, {"build", {{"compiler", kCompiler}}}});
  } else {
    out.print(format_text("kinglet {}\nbuilt with {}\n", KINGLET_VERSION, kCompiler));
  }
  return 0;
}

}  // namespace

Body version_command(CLI::App& /*app*/) { return print_version; }

}  // namespace kinglet::cli
