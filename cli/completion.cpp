// SPDX-License-Identifier: Apache-2.0
// Why: completions for three shells, made from the commands' own declarations, so that they cannot fall behind.
#include <memory>

#include "cli/command.h"
#include "engine/base/format.h"
#include "engine/edit/edit.h"

namespace kinglet::cli {
namespace {

struct OptionRow {
  std::string name;  // "--top"
  std::string help;
};

struct CommandRow {
  std::string name;
  std::string summary;
  std::vector<OptionRow> options;
  std::vector<std::string> words;  // subcommands
};

CommandRow describe_command(const Command& command) {
  CLI::App app;
  OutputOptions output;
  app.set_help_flag("--help", "its options with an example");
  const Body body = command.define(app);
  add_common_options(app, output);
  CommandRow row{
      .name = std::string(command.name), .summary = std::string(command.summary), .options = {}, .words = {}};
  std::vector<const CLI::App*> apps{&app};
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); })) {
    row.words.push_back(sub->get_name());
    apps.push_back(sub);
  }
  if (command.name == "edit") {
    for (const engine::edit::Verb& verb : engine::edit::all_verbs()) row.words.emplace_back(verb.name);
  }
  for (const CLI::App* each : apps) {
    for (const CLI::Option* option : each->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        const bool known = std::ranges::contains(row.options, "--" + name, &OptionRow::name);
        if (!known) row.options.push_back({"--" + name, option->get_description()});
      }
    }
  }
  return row;
}

std::vector<CommandRow> describe_commands() {
  std::vector<CommandRow> rows;
  for (const Command& command : command_table()) rows.push_back(describe_command(command));
  return rows;
}

std::string joined(const CommandRow& row) {
  std::string text;
  for (const std::string& word : row.words) text += word + " ";
  for (const OptionRow& option : row.options) text += option.name + " ";
  if (!text.empty()) text.pop_back();
  return text;
}

// For single quotes in a shell.
std::string shell_quoted(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "'" + out + "'";
}

std::string bash(const std::vector<CommandRow>& rows) {
  std::string names;
  std::string cases;
  for (const CommandRow& row : rows) {
    names += (names.empty() ? "" : " ") + row.name;
    cases += format_text("    {}) words={} ;;\n", row.name, shell_quoted(joined(row)));
  }
  return format_text(
      "# bash completion of kinglet\n"
      "_kinglet() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" words=''\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W {} -- \"$current\")\n"
      "    return\n"
      "  fi\n"
      "  case \"${{COMP_WORDS[1]}}\" in\n{}  esac\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
      "}}\n"
      "complete -o default -F _kinglet kinglet\n",
      shell_quoted(names), cases);
}

std::string zsh(const std::vector<CommandRow>& rows) {
  std::string commands;
  std::string cases;
  for (const CommandRow& row : rows) {
    commands += format_text("    {}\n", shell_quoted(row.name + ":" + row.summary));
    cases += format_text("    {}) compadd -- {} ;;\n", row.name, joined(row));
  }
  return format_text(
      "#compdef kinglet\n"
      "_kinglet() {{\n"
      "  local -a commands=(\n{}  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  case \"$words[2]\" in\n{}  esac\n"
      "  _files\n"
      "}}\n"
      "compdef _kinglet kinglet\n",
      commands, cases);
}

std::string fish(const std::vector<CommandRow>& rows) {
  std::string text = "# fish completion of kinglet\n";
  for (const CommandRow& row : rows) {
    text += format_text("complete -c kinglet -f -n __fish_use_subcommand -a {} -d {}\n", row.name,
                        shell_quoted(row.summary));
    const std::string seen = format_text("-n '__fish_seen_subcommand_from {}'", row.name);
    for (const std::string& word : row.words) text += format_text("complete -c kinglet -f {} -a {}\n", seen, word);
    for (const OptionRow& option : row.options) {
      text +=
          format_text("complete -c kinglet {} -l {} -d {}\n", seen, option.name.substr(2), shell_quoted(option.help));
    }
  }
  return text;
}

}  // namespace

Body completion_command(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->option_text(" ");
  return [shell](Output& out) -> Result<int> {
    const std::vector<CommandRow> rows = describe_commands();
    out.print(*shell == "bash" ? bash(rows) : *shell == "zsh" ? zsh(rows) : fish(rows));
    return 0;
  };
}

}  // namespace kinglet::cli
