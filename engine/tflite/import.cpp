// SPDX-License-Identifier: Apache-2.0
#include "engine/tflite/import.h"

#include <algorithm>
#include <array>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/graph/verify.h"
#include "engine/ops/levels.h"
#include "engine/ops/op.h"
#include "engine/recipe/labels.h"
#include "engine/recipe/output_meaning.h"
#include "engine/recipe/recipe.h"
#include "engine/tflite/builder.h"
#include "engine/tflite/metadata.h"

namespace kinglet::engine {
namespace {

struct Row {
  int code;
  std::string_view name;
  tflite::ImportOperator* import;
};

using namespace tflite;  // NOLINT(google-build-using-namespace): the functions that the table names

constexpr std::array kRows{
#define KINGLET_TFLITE(code, name, function) Row{code, name, function},
#include "engine/tflite/operators.def"
#undef KINGLET_TFLITE
};

constexpr unsigned kVersion = 3;
constexpr std::size_t kMostOperators = 10000;
constexpr std::int64_t kOpset = 14;  // HardSwish
constexpr int kCustom = 32;
constexpr flatbuffers::uoffset_t kMostTables = 1 << 20;

const tflite::OperatorCode* code_of(const tflite::Model& model, const tflite::Operator& op) {
  const auto* codes = model.operator_codes();
  return codes == nullptr || op.opcode_index() >= codes->size() ? nullptr : codes->Get(op.opcode_index());
}

// Codes above 126 do not fit the older field.
int number_of(const tflite::OperatorCode& code) {
  return std::max(static_cast<int>(code.deprecated_builtin_code()), code.builtin_code());
}

std::string name_of(const tflite::OperatorCode& code) {
  if (number_of(code) == kCustom && code.custom_code() != nullptr) {
    return format_text("custom operator \"{}\"", printable(code.custom_code()->str()));
  }
  const auto found = std::ranges::find(kRows, number_of(code), &Row::code);
  return found == kRows.end() ? format_text("operator {}", number_of(code)) : std::string(found->name);
}

Result<const tflite::Model*> verified(std::string_view bytes) {
  if (!looks_like_tflite(bytes)) return fail(ErrorCode::kBadData, "not a TensorFlow Lite model (by its first bytes)");
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), 64, kMostTables);
  if (!tflite::VerifyModelBuffer(verifier)) {
    return fail(ErrorCode::kBadData, "the file is damaged: something points outside it", {}, "fetch it again");
  }
  const tflite::Model* model = tflite::GetModel(bytes.data());
  if (model->version() != kVersion) {
    return fail(ErrorCode::kUnsupported,
                format_text("version {} of the format, expected {}", model->version(), kVersion));
  }
  if (model->subgraphs() == nullptr || model->subgraphs()->size() != 1) {
    return fail(ErrorCode::kUnsupported, "the model does not have one graph", {}, "control flow is not known here");
  }
  return model;
}

Result<void> import_operators(const tflite::Model& model, tflite::Builder& builder) {
  const auto* operators = model.subgraphs()->Get(0)->operators();
  if (operators == nullptr || operators->size() == 0) return fail(ErrorCode::kBadData, "the model has no operators");
  if (operators->size() > kMostOperators) return fail(ErrorCode::kBadData, "the model has more than 10,000 operators");
  for (flatbuffers::uoffset_t i = 0; i < operators->size(); ++i) {
    const tflite::Operator& op = *operators->Get(i);
    const tflite::OperatorCode* code = code_of(model, op);
    if (code == nullptr) return fail(ErrorCode::kBadData, format_text("operator {} has no code", i));
    const auto row = std::ranges::find(kRows, number_of(*code), &Row::code);
    if (row == kRows.end() || row->import == nullptr) {
      return fail(ErrorCode::kUnsupported,
                  format_text("{} is not among the operators of classifiers known here", name_of(*code)),
                  format_text("operator {}", i),
                  "docs/tools.md lists them; detectors and sound models are other things");
    }
    builder.begin(op, format_text("{}_{}", row->name, i));
    KINGLET_TRY(row->import(builder));
  }
  return {};
}

// The recipe of a quantised input is there already: its levels say more than the metadata.
void add_properties(tflite::Metadata& metadata, Graph& graph) {
  auto& properties = graph.metadata.properties;
  if (metadata.normalization && properties.empty()) {
    const Recipe recipe{.mean = metadata.normalization->mean, .std = metadata.normalization->std};
    properties.emplace_back(kRecipeProperty, to_json(recipe));
  }
  if (metadata.labels) properties.emplace_back(kLabelsProperty, std::move(*metadata.labels));
}

}  // namespace

bool looks_like_tflite(std::string_view start) { return start.size() > 8 && start.substr(4, 4) == "TFL3"; }

Result<ImportedTflite> import_tflite(std::string_view bytes) {
  const tflite::Model* model = KINGLET_TRY(verified(bytes));
  tflite::Builder builder(*model, bytes);
  KINGLET_TRY(builder.read_tensors());
  KINGLET_TRY(builder.add_inputs());
  KINGLET_TRY(import_operators(*model, builder));
  KINGLET_TRY(builder.add_outputs());
  Graph graph = builder.take();
  graph.metadata.graph_name = "tflite";
  graph.metadata.opset = kOpset;
  KINGLET_TRY(infer_shapes(graph));
  KINGLET_TRY(verify(graph));
  tflite::Metadata metadata = tflite::read_metadata(*model, bytes, class_count(graph, kRowRules));
  add_properties(metadata, graph);
  return ImportedTflite{.graph = std::move(graph), .notes = std::move(metadata.notes)};
}

}  // namespace kinglet::engine
