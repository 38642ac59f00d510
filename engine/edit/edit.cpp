// SPDX-License-Identifier: Apache-2.0
#include "engine/edit/edit.h"

#include <onnx/onnx.pb.h>

#include <algorithm>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/edit/graph_tools.h"
#include "engine/edit/verbs.h"

namespace kinglet::engine::edit {
namespace {

const Parameter* find_parameter(const Verb& verb, std::string_view name) {
  const auto at = std::ranges::find(verb.parameters, name, &Parameter::name);
  return at == verb.parameters.end() ? nullptr : &*at;
}

std::unexpected<Error> unknown_option(const Verb& verb, std::string_view word) {
  std::vector<std::string_view> names;
  for (const Parameter& parameter : verb.parameters) {
    if (parameter.name.starts_with("--")) names.push_back(parameter.name);
  }
  const std::string_view nearest = nearest_name(word, names);
  return fail(ErrorCode::kUsage, format_text("unknown option \"{}\"", printable(word)), std::string(verb.name),
              nearest.empty() ? format_text("`kinglet edit --help {}` lists its options; those of edit itself stand "
                                            "before the first verb",
                                            verb.name)
                              : format_text("did you mean {}?", nearest));
}

// Positional parameters in order; the last may take many.
const Parameter* next_positional(const Verb& verb, const Arguments& arguments) {
  for (const Parameter& parameter : verb.parameters) {
    if (parameter.name.starts_with("--")) continue;
    if (parameter.take == Take::kMany || !arguments.has(parameter.name)) return &parameter;
  }
  return nullptr;
}

Result<void> require_all(const Verb& verb, const Arguments& arguments) {
  for (const Parameter& parameter : verb.parameters) {
    if (!parameter.required || arguments.has(parameter.name)) continue;
    return fail(ErrorCode::kUsage, format_text("{} is missing", parameter.name), std::string(verb.name),
                format_text("for example: {}", verb.example));
  }
  return {};
}

// The result as kinglet would run it. In an unchecked chain what kinglet does not have is only noted.
Result<std::optional<Graph>> load_result(const Document& document, Check check, std::vector<std::string>& notes) {
  Result<Graph> graph = document.to_graph();
  if (graph) return std::move(*graph);
  Error error = std::move(graph).error();
  if (error.code != ErrorCode::kUnsupported) return std::unexpected(std::move(error));
  if (check == Check::kUnchecked) {
    notes.push_back(format_text("the shapes are not checked: {}", describe(error)));
    return std::nullopt;
  }
  error.hint = "--unchecked writes it although kinglet cannot load it";
  return std::unexpected(std::move(error));
}

std::string title(std::span<const Step> steps, std::size_t index) {
  return steps.size() == 1 ? std::string(steps[index].verb->name)
                           : format_text("edit {} of {} ({})", index + 1, steps.size(), steps[index].verb->name);
}

Result<void> apply_step(Context& context, const Step& step) {
  KINGLET_TRY(step.verb->apply(context, step.arguments));
  context.forget();
  KINGLET_TRY(check_connections(context.document.model().graph()));
  return sort_nodes(*context.document.model().mutable_graph());
}

// The first step after which the document no longer loads; for the message alone.
std::size_t find_culprit(Document document, std::span<const Step> steps, const Environment& environment) {
  Context context(document, environment);
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    if (!apply_step(context, steps[i])) return i;
    const Result<Graph> graph = document.to_graph();
    if (!graph && graph.error().code != ErrorCode::kUnsupported) return i;
  }
  return steps.size() - 1;
}

}  // namespace

std::span<const std::string> Arguments::all(std::string_view name) const {
  const auto at = values_.find(name);
  if (at == values_.end()) return {};
  return at->second;
}

std::string_view Arguments::one(std::string_view name) const {
  const auto values = all(name);
  return values.empty() ? std::string_view() : std::string_view(values.back());
}

std::span<const Verb> all_verbs() {
  static const Verb kVerbs[] = {
#define KINGLET_VERB(identifier, name, summary, example) \
  {name, summary, example, verbs::identifier.parameters, verbs::identifier.apply},
#include "engine/edit/verbs.def"
#undef KINGLET_VERB
  };
  return kVerbs;
}

Result<Step> parse_step(std::span<const std::string> words) {
  if (words.empty())
    return fail(ErrorCode::kUsage, "a verb is missing", "edit", "`kinglet edit --help` lists the verbs");
  std::vector<std::string_view> names;
  Step step;
  for (const Verb& verb : all_verbs()) {
    names.push_back(verb.name);
    if (verb.name == words.front()) step.verb = &verb;
  }
  if (step.verb == nullptr) {
    const std::string_view nearest = nearest_name(words.front(), names);
    return fail(ErrorCode::kUsage, format_text("unknown verb \"{}\"", printable(words.front())), "edit",
                nearest.empty() ? "`kinglet edit --help` lists the verbs" : format_text("did you mean {}?", nearest));
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::string word = words[i];
    const Parameter* parameter = nullptr;
    std::optional<std::string> value;
    if (word.starts_with("--")) {
      const std::size_t equals = word.find('=');
      if (equals != std::string::npos) value = word.substr(equals + 1);
      parameter = find_parameter(*step.verb, std::string_view(word).substr(0, equals));
      if (parameter == nullptr) return unknown_option(*step.verb, word);
      if (parameter->take == Take::kFlag) value = "";
      if (!value) {
        if (++i == words.size()) {
          return fail(ErrorCode::kUsage, format_text("{} needs a value: {}", word, parameter->value),
                      std::string(step.verb->name));
        }
        value = words[i];
      }
    } else {
      parameter = next_positional(*step.verb, step.arguments);
      if (parameter == nullptr) {
        return word.starts_with('-')
                   ? Result<Step>(unknown_option(*step.verb, word))
                   : fail(ErrorCode::kUsage, format_text("unexpected word \"{}\"", printable(word)),
                          std::string(step.verb->name), "verbs are separated by a comma of its own: ,");
      }
      value = std::move(word);
    }
    if (parameter->take == Take::kOne && step.arguments.has(parameter->name)) {
      return fail(ErrorCode::kUsage, format_text("{} is given twice", parameter->name), std::string(step.verb->name));
    }
    step.arguments.add(parameter->name, std::move(*value));
  }
  KINGLET_TRY(require_all(*step.verb, step.arguments));
  return step;
}

Result<std::vector<Step>> parse_chain(std::span<const std::string> words) {
  std::vector<Step> steps;
  while (true) {
    const auto end = std::ranges::find(words, ",");
    steps.push_back(KINGLET_TRY(parse_step(words.first(static_cast<std::size_t>(end - words.begin())))));
    if (end == words.end()) return steps;
    words = words.subspan(static_cast<std::size_t>(end - words.begin()) + 1);
  }
}

Result<std::vector<std::string>> apply(Document& document, std::span<const Step> steps, const Environment& environment,
                                       Check check) {
  const Document before = document;
  Context context(document, environment);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (auto done = apply_step(context, steps[i]); !done) {
      return std::unexpected(with_context(std::move(done).error(), title(steps, i)));
    }
  }
  auto graph = load_result(document, check, context.notes);
  if (!graph) {
    const std::size_t culprit = find_culprit(before, steps, environment);
    return std::unexpected(with_context(std::move(graph).error(), title(steps, culprit)));
  }
  if (*graph) declare_types(*document.model().mutable_graph(), **graph, context.shapes_were_changed());
  return std::move(context.notes);
}

Document empty_document() {
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("kinglet");
  model.mutable_graph()->set_name("model");
  return Document::from_bytes(model.SerializeAsString()).value();
}

}  // namespace kinglet::engine::edit
