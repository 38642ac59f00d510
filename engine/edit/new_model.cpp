// SPDX-License-Identifier: Apache-2.0
// A model of one operator, for tests and as a part to merge.

#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"
#include "engine/edit/new_node.h"
#include "engine/edit/verbs.h"
#include "engine/onnx/import.h"

namespace kinglet::engine::edit {
namespace {

Result<std::int64_t> wanted_opset(const Arguments& arguments) {
  const std::string_view text = arguments.has("--opset") ? arguments.one("--opset") : "17";
  const auto opset = parse_number<std::int64_t>(text);
  if (opset && *opset >= 1 && *opset <= onnx_format::kNewestOpset) return *opset;
  return fail(ErrorCode::kUsage,
              format_text("opset \"{}\", expected 1 to {}", printable(text), onnx_format::kNewestOpset));
}

Result<void> apply(Context& context, const Arguments& arguments) {
  ::onnx::ModelProto& model = context.document.model();
  GraphProto& graph = *model.mutable_graph();
  if (graph.node_size() > 0) {
    return fail(ErrorCode::kUsage, "stands in the place of a model: kinglet edit -o OUT new OP ...", {},
                "`add-node` adds a node to a model");
  }
  auto& opset = *model.add_opset_import();
  opset.set_domain("");
  opset.set_version(KINGLET_TRY(wanted_opset(arguments)));
  NewNode node{.op_type = std::string(arguments.one("OP")),
               .name = std::string(arguments.one("OP")),
               .inputs = {},
               .outputs = split_list(arguments.one("--out")),
               .attributes = {arguments.all("--attr").begin(), arguments.all("--attr").end()}};
  if (const std::size_t dot = node.op_type.rfind('.'); dot != std::string::npos) {
    auto& other = *model.add_opset_import();
    other.set_domain(node.op_type.substr(0, dot));
    other.set_version(1);
  }
  for (const std::string& text : arguments.all("--in")) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0) {
      return fail(ErrorCode::kUsage, format_text("\"{}\" is not NAME:TYPE", printable(text)), {},
                  "for example --in x:f32[1,3,8,8]");
    }
    auto& input = *graph.add_input();
    input.set_name(text.substr(0, colon));
    KINGLET_TRY(parse_type(std::string_view(text).substr(colon + 1), input));
    node.inputs.push_back(input.name());
  }
  for (const std::string& text : arguments.all("--const")) {
    const Assignment constant = KINGLET_TRY(split_assignment(text, "NAME=FILE.npy"));
    const Tensor numbers = KINGLET_TRY(context.environment.read_tensor(constant.value));
    node.inputs.push_back(add_initializer(context.document, constant.name, numbers));
  }
  KINGLET_TRY(add_new_node(graph, node));
  for (const std::string& name : node.outputs) graph.add_output()->set_name(name);
  context.shapes_changed();
  return {};
}

}  // namespace

const VerbParts verbs::new_model{{{"OP", "", "the operator", Take::kOne, true},
                                  {"--in", "NAME:TYPE", "an input: x:f32[N,3,224,224]", Take::kMany},
                                  {"--const", "NAME=FILE.npy", "a weight, read behind the inputs", Take::kMany},
                                  {"--out", "NAME[,NAME]", "names for what it makes", Take::kOne, true},
                                  {"--attr", "NAME=VALUE", "an attribute", Take::kMany},
                                  {"--opset", "N", "version of the operators (default 17)"}},
                                 apply};

}  // namespace kinglet::engine::edit
