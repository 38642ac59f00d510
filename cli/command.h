// SPDX-License-Identifier: Apache-2.0
// Why: what a subcommand is: a row of commands.def and one function that declares its options and gives its body.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cli/output.h"
#include "engine/base/error.h"

namespace kinglet::cli {

// Runs after the options were read. 0: done. 1: done, and the answer is no. Errors end with their own exit code.
using Body = std::function<Result<int>(Output& out)>;

struct Command {
  std::string_view name;
  std::string_view summary;  // one line, no full stop
  std::string_view example;
  Body (*define)(CLI::App& app);
};

// Rows of commands.def.
[[nodiscard]] std::span<const Command> command_table();

// The tool's whole main(): reads the command line, runs the command, reports errors. Gives the exit code.
[[nodiscard]] int run_tool(int argc, const char* const* argv);

// A command under `app`; options->action is then its name.
template <typename Options>
CLI::App* add_action(CLI::App& app, const std::shared_ptr<Options>& options, const std::string& name,
                     const std::string& summary) {
  CLI::App* action = app.add_subcommand(name, summary);
  action->callback([options, name] { options->action = name; });
  return action;
}

// The tool's own options of every command.
void add_common_options(CLI::App& app, OutputOptions& options);

}  // namespace kinglet::cli
