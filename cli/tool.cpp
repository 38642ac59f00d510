// SPDX-License-Identifier: Apache-2.0
// Why: the command line as a whole: the list of commands, wrong usage in our words, exit codes of the contract.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::cli {

#define KINGLET_COMMAND(name, function, summary, example) Body function(CLI::App& app);
#include "cli/commands.def"
#undef KINGLET_COMMAND

std::span<const Command> command_table() {
  static constexpr Command kCommands[] = {
#define KINGLET_COMMAND(name, function, summary, example) {name, summary, example, function},
#include "cli/commands.def"
#undef KINGLET_COMMAND
  };
  return kCommands;
}

void add_common_options(CLI::App& app, OutputOptions& options) {
  app.add_flag("--json", options.json, "one JSON object on stdout, errors as JSON on stderr")->group("output");
  app.add_flag("-q,--quiet", options.quiet, "no progress and no notes")->group("output");
  app.add_flag("-v,--verbose", options.verbosity, "more detail on stderr")->option_text(" ")->group("output");
  app.add_option("--color", options.color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->group("output")
      ->option_text("WHEN");
}

namespace {

std::string help_text() {
  std::string text =
      "kinglet: everything a person does with a model or a picture\n\n"
      "usage: kinglet COMMAND [OPTION...]\n\ncommands:\n";
  std::size_t width = 0;
  for (const Command& command : command_table()) width = std::max(width, command.name.size());
  for (const Command& command : command_table()) {
    text += format_text("  {:<{}}  {}\n", command.name, width, command.summary);
  }
  return text +
         "\n`kinglet COMMAND --help` shows its options with an example.\n"
         "exit codes: 0 done, 1 done and the answer is no, 64 wrong usage, 65 bad data, 66 input not found,\n"
         "            69 something needed is not there, 70 our fault, 73 and 74 cannot write, 78 configuration\n"
         "The daemon is kingletd.\n";
}

Error usage_error(std::string message, std::string where, std::string hint) {
  return {ErrorCode::kUsage, std::move(message), std::move(where), std::move(hint)};
}

Error unknown_command(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Command& command : command_table()) names.push_back(command.name);
  const std::string_view nearest = nearest_name(name, names);
  return usage_error(
      format_text("unknown {} \"{}\"", name.starts_with('-') ? "option" : "command", printable(name)), {},
      nearest.empty() ? "`kinglet --help` lists the commands" : format_text("did you mean {}?", nearest));
}

// "config check": without the tool's own name.
std::string path_of(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : path_of(*parent) + " " + app.get_name();
}

// Arguments that no option took: misspelt options, or too many positional ones.
Error unknown_argument(const CLI::App& app, const std::string& argument) {
  const std::string where = path_of(app);
  if (!argument.starts_with('-')) {
    std::vector<std::string> actions;
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
      actions.push_back(sub->get_name());
    const std::vector<std::string_view> names(actions.begin(), actions.end());
    const std::string_view near = nearest_name(argument, names);
    if (!near.empty()) {
      return usage_error(format_text("unknown command \"{}\"", printable(argument)), where,
                         format_text("did you mean {} {}?", where, near));
    }
    return usage_error(format_text("unexpected argument \"{}\"", printable(argument)), where,
                       format_text("`kinglet {} --help` shows what it takes", where));
  }
  const std::string name = argument.substr(0, argument.find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& known : option->get_lnames()) names.push_back("--" + known);
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view nearest = nearest_name(name, candidates);
  return usage_error(format_text("unknown option \"{}\"", printable(name)), where,
                     nearest.empty() ? format_text("`kinglet {} --help` lists its options", where)
                                     : format_text("did you mean {}?", nearest));
}

const CLI::App& deepest(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : deepest(*parsed.front());
}

// The summary, how to call it, then arguments and options.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() {
    column_width(30);
    label("Usage", "usage");
    label("Positionals", "arguments");
    label("Options", "options");
    label("OPTIONS", "OPTION...");
    label("Subcommands", "commands");
    label("SUBCOMMAND", "COMMAND");
    label("REQUIRED", "");
    label("Needs", "needs");
    label("Excludes", "not with");
  }
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    for (std::size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n", at)) text.erase(at, 1);
    return text;
  }
};

// What is wrong with the command line, or nothing.
std::optional<Error> parse(CLI::App& app, std::vector<std::string> arguments) {
  std::ranges::reverse(arguments);  // CLI11 takes a vector from its end
  std::string message;
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::Success&) {
    throw;
  } catch (const CLI::ParseError& error) {
    message = error.what();
  }
  const CLI::App& used = deepest(app);
  const std::vector<std::string> rest = used.get_prefix_command() ? std::vector<std::string>{} : used.remaining();
  for (const std::string& argument : rest) {
    if (argument != "--") return unknown_argument(used, argument);
  }
  if (message.empty()) return std::nullopt;
  std::ranges::replace(message, '\n', ' ');
  return usage_error(printable(message), path_of(used),
                     format_text("`kinglet {} --help` shows what it takes", path_of(used)));
}

void define(CLI::App& app, const Command& command, OutputOptions& options, Body& body) {
  app.name(std::string(command.name));
  app.description(std::string(command.summary));
  app.footer(format_text("example: {}", command.example));
  app.formatter(std::make_shared<HelpFormatter>());
  app.option_defaults()->group("options");
  app.set_help_flag("-h,--help", "this text");
  app.allow_extras();
  body = command.define(app);
  add_common_options(app, options);
  for (CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    sub->allow_extras();
    add_common_options(*sub, options);
  }
}

int run_command(const Command& command, std::vector<std::string> arguments) {
  CLI::App app;
  OutputOptions options;
  Body body;
  define(app, command, options, body);
  // An error of the command line itself is told as JSON too when that was asked for.
  options.json = std::ranges::contains(arguments, "--json");
  std::optional<Error> wrong;
  try {
    wrong = parse(app, std::move(arguments));
  } catch (const CLI::Success&) {
    const CLI::App& used = deepest(app);
    const std::string parent = &used == &app ? "kinglet" : "kinglet " + std::string(command.name);
    std::fputs(used.help(parent).c_str(), stdout);
    return 0;
  }
  Output out(options);
  Result<int> result = wrong ? std::unexpected(*wrong) : body(out);
  if (result) {
    if (const Result<void> finished = out.finish(); !finished) result = std::unexpected(finished.error());
  }
  if (result) return *result;
  out.error(result.error());
  return exit_code(result.error().code);
}

}  // namespace

int run_tool(int argc, const char* const* argv) {
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  const std::string first = arguments.empty() ? "" : arguments.front();
  if (first == "--help" || first == "-h" || first == "help") {
    std::fputs(help_text().c_str(), stdout);
    return 0;
  }
  const std::string_view name = first == "--version" ? "version" : std::string_view(first);
  for (const Command& command : command_table()) {
    if (command.name == name) return run_command(command, {arguments.begin() + 1, arguments.end()});
  }
  OutputOptions options;
  options.json = std::ranges::contains(arguments, "--json");
  Output out(options);
  const Error error = first.empty() ? usage_error("no command given", {}, "`kinglet --help` lists the commands")
                                    : unknown_command(first);
  out.error(error);
  return exit_code(error.code);
}

}  // namespace kinglet::cli
