// SPDX-License-Identifier: Apache-2.0
// Why: changes of a model file by hand. A verb is one small function on the file's own messages (docs/decisions), so
// that what it does not touch stays as it was; a chain of verbs is one read and one write.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/onnx/document.h"

namespace onnx {
class ValueInfoProto;
}

namespace kinglet::engine::edit {

// How verbs get at files that are named in their arguments.
struct Environment {
  std::function<Result<Tensor>(const std::filesystem::path&)> read_tensor;
};

enum class Take : std::uint8_t { kFlag, kOne, kMany };

// A positional parameter has no "--" in front of its name and stands before the options.
struct Parameter {
  std::string_view name;   // "--from", "NAME"
  std::string_view value;  // "TENSOR"; empty for flags and positional ones
  std::string_view help;
  Take take = Take::kOne;
  bool required = false;
};

// The words behind a verb, by the verb's parameters.
class Arguments {
 public:
  [[nodiscard]] bool has(std::string_view name) const { return values_.contains(name); }
  // All values of a parameter, also those given as "a,b" where commas join; empty when absent.
  [[nodiscard]] std::span<const std::string> all(std::string_view name) const;
  // The value, or "" when absent.
  [[nodiscard]] std::string_view one(std::string_view name) const;
  void add(std::string_view name, std::string value) { values_[std::string(name)].push_back(std::move(value)); }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

// What a verb works on. Thread-bound.
class Context {
 public:
  Context(Document& edited, const Environment& files) : document(edited), environment(files) {}

  Document& document;
  const Environment& environment;
  std::vector<std::string> notes;  // for the user: what was done beside what was asked for

  // Type and shape of a value: as the file declares it, else inferred. kBadData when neither tells.
  [[nodiscard]] Result<::onnx::ValueInfoProto> type_of(const std::string& value);
  // The verb changed types or shapes: what the file says of them is made anew after the chain.
  void shapes_changed() { shapes_changed_ = true; }
  [[nodiscard]] bool shapes_were_changed() const { return shapes_changed_; }
  // After each verb: what was inferred before it holds no more.
  void forget() { inferred_.reset(); }

 private:
  bool shapes_changed_ = false;
  std::shared_ptr<const Result<Graph>> inferred_;
};

// What a verb's file holds.
struct VerbParts {
  std::vector<Parameter> parameters;
  Result<void> (*apply)(Context& context, const Arguments& arguments);
};

// A row of verbs.def with its parts.
struct Verb {
  std::string_view name;  // as on the command line
  std::string_view summary;
  std::string_view example;  // behind `kinglet edit IN -o OUT`
  std::span<const Parameter> parameters;
  Result<void> (*apply)(Context& context, const Arguments& arguments);
};
[[nodiscard]] std::span<const Verb> all_verbs();

// One verb with its words, read but not applied.
struct Step {
  const Verb* verb = nullptr;
  Arguments arguments;
};

// kUsage: an unknown verb, option or a missing word, with the nearest name.
[[nodiscard]] Result<Step> parse_step(std::span<const std::string> words);
// Steps are separated by the word ",".
[[nodiscard]] Result<std::vector<Step>> parse_chain(std::span<const std::string> words);

// kUnchecked: a result that is well connected but that kinglet cannot load is a note instead of an error.
enum class Check : std::uint8_t { kFull, kUnchecked };

// Applies the steps in order. After each the connections are checked; after the last the result is loaded as a model
// would be, with all shapes inferred, and declared types are made right. Errors name the step and the node; the
// document is then in no defined state. Gives the notes.
[[nodiscard]] Result<std::vector<std::string>> apply(Document& document, std::span<const Step> steps,
                                                     const Environment& environment, Check check = Check::kFull);

// A model without nodes, for `new`.
[[nodiscard]] Document empty_document();

}  // namespace kinglet::engine::edit

namespace kinglet::engine {

// Both as the engine loads them, so that a caller can run them side by side.
struct OpsetChange {
  bool changed = false;  // false: the file had that opset, nothing was touched
  std::int64_t from = 0;
  Graph before, after;
};

// Goes through the engine's inner form, so operators of any opset get the form of `opset`. Names, weights, metadata and
// declared inputs and outputs stay; doc strings of nodes and declared inner types do not. Errors: those of the loader,
// and of take_forms_of_opset.
[[nodiscard]] Result<OpsetChange> change_opset(Document& document, std::int64_t opset);

// Adds or replaces an entry of the model's metadata.
void set_property(Document& document, std::string_view key, std::string value);
// The entry's text; empty where there is none.
[[nodiscard]] std::string property(const Document& document, std::string_view key);

}  // namespace kinglet::engine
