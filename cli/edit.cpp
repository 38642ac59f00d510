// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet edit`: changes by hand, as a chain of verbs: one read, one write. The verbs are
// engine/edit/verbs.def's.
#include "engine/edit/edit.h"
#include "engine/base/format.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/npy.h"
#include "cli/tool_files.h"
#include "engine/base/text.h"
#include "engine/edit/diff.h"

namespace kinglet::cli {
namespace {

using engine::Document;
using engine::edit::Parameter;
using engine::edit::Verb;
using Json = nlohmann::ordered_json;

struct Options {
  std::string input, output;
  bool unchecked = false;
  bool external = false;
  bool force = false;
};

std::string usage_of(const Verb& verb) {
  std::string text(verb.name);
  for (const Parameter& parameter : verb.parameters) {
    std::string word(parameter.name);
    if (!parameter.value.empty()) word += " " + std::string(parameter.value);
    const bool positional = !parameter.name.starts_with("--");
    if (positional && parameter.take == engine::edit::Take::kMany) word += "...";
    text += parameter.required ? " " + word : " [" + word + "]";
  }
  return text;
}

std::string help_of(const Verb& verb) {
  std::string text =
      format_text("{}: {}\n\nusage: kinglet edit IN -o OUT {}\n", verb.name, verb.summary, usage_of(verb));
  for (const Parameter& parameter : verb.parameters) {
    const std::string word = format_text("{} {}", parameter.name, parameter.value);
    text += format_text("  {:<28} {}\n", word, parameter.help);
  }
  return text + format_text("\nexample: kinglet edit IN -o OUT {}\n", verb.example);
}

// For --help of the command: it stands behind the options.
std::string verb_list() {
  std::string text = "verbs, chained by a comma that stands alone (`kinglet edit --verb NAME` tells more of one):\n";
  for (const Verb& verb : engine::edit::all_verbs()) text += format_text("  {:<12} {}\n", verb.name, verb.summary);
  return text + "Options of edit itself stand before the first verb. `new` stands in the place of IN.";
}

Result<int> show_verb(const std::string& name, Output& out) {
  std::vector<std::string_view> names;
  for (const Verb& verb : engine::edit::all_verbs()) {
    names.push_back(verb.name);
    if (verb.name != name) continue;
    out.print(help_of(verb));
    return 0;
  }
  const std::string_view nearest = nearest_name(name, names);
  return fail(ErrorCode::kUsage, format_text("unknown verb \"{}\"", printable(name)), "edit",
              nearest.empty() ? "`kinglet edit --help` lists the verbs" : format_text("did you mean {}?", nearest));
}

Json to_json(const Options& options, const engine::ModelDiff& diff, const std::vector<std::string>& notes) {
  const auto rows = [](const std::vector<engine::NamedNode>& nodes) {
    Json out = Json::array();
    for (const auto& node : nodes) out.push_back({{"name", node.name}, {"operator", node.op_type}});
    return out;
  };
  return {{"model", options.input},  {"output", options.output},
          {"changed", !diff.same()}, {"nodes", {{"before", diff.before.nodes}, {"after", diff.after.nodes}}},
          {"gone", rows(diff.gone)}, {"came", rows(diff.came)},
          {"notes", notes}};
}

Result<Document> read_input(const Options& options) {
  if (options.input == "new") return engine::edit::empty_document();
  return Document::open(options.input);
}

Result<void> write_output(const Document& document, const Options& options, Output& out) {
  if (options.output == "-") {
    out.print(KINGLET_TRY(document.to_bytes()));
    return {};
  }
  return document.save(options.output, overwrite(options.force),
                       options.external ? engine::WeightPlace::kBeside : engine::WeightPlace::kAsFound);
}

Result<int> edit(const Options& options, std::vector<std::string> words, Output& out) {
  if (options.input.empty()) {
    return fail(ErrorCode::kUsage, "expected IN -o OUT and a verb", "edit", "`kinglet edit --help` lists the verbs");
  }
  if (!words.empty() && words.front().starts_with('-')) {
    return fail(ErrorCode::kUsage, format_text("unknown option \"{}\"", printable(words.front())), "edit",
                "`kinglet edit --help` lists its options");
  }
  KINGLET_TRY(check_output(options.input, options.output, options.force, "edit"));
  if (options.input == "new") words.insert(words.begin(), "new");
  const auto steps = KINGLET_TRY(engine::edit::parse_chain(words));
  const Document before = KINGLET_TRY(read_input(options));
  Document document = before;
  const engine::edit::Environment environment{
      .read_tensor = [](const std::filesystem::path& path) { return read_npy(path); }};
  const auto check = options.unchecked ? engine::edit::Check::kUnchecked : engine::edit::Check::kFull;
  const auto notes = engine::edit::apply(document, steps, environment, check);
  if (!notes) return std::unexpected(with_context(notes.error(), options.input));
  KINGLET_TRY(write_output(document, options, out));
  for (const std::string& note : *notes) out.note(note);
  const engine::ModelDiff diff = KINGLET_TRY(engine::diff_documents(before, document));
  if (diff.same()) out.note("nothing is different: the model was so already");
  if (out.json() && options.output != "-") {
    out.print_json(to_json(options, diff, *notes));
  } else if (options.output != "-") {
    out.note(format_text("{} nodes, {} before; wrote {}", diff.after.nodes, diff.before.nodes, options.output));
  }
  return 0;
}

}  // namespace

Body edit_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  auto verb = std::make_shared<std::string>();
  app.add_option("IN", options->input, "an ONNX file, or the verb `new`")->type_name("");
  app.add_option("-o,--output", options->output, "where the result goes; - is stdout")->type_name("OUT");
  app.add_option("--verb", *verb, "tell how a verb is called")->type_name("NAME");
  app.add_flag("--unchecked", options->unchecked, "write the result although kinglet cannot load it (its operators)");
  app.add_flag("--external-data", options->external, "weights into OUT.data beside the model");
  app.add_flag("--force", options->force, "replace an output file that is there");
  app.footer(verb_list() + "\n\n" + app.get_footer());
  app.prefix_command();  // the words from the first verb on are ours
  return [options, verb, &app](Output& out) {
    return verb->empty() ? edit(*options, app.remaining(), out) : show_verb(*verb, out);
  };
}

}  // namespace kinglet::cli
