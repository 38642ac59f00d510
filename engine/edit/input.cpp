// SPDX-License-Identifier: Apache-2.0
// What the model takes: sizes, batch, order of axes, order of colours.
//
// --swap-rb: where a convolution alone reads the input, its weights change places and no node is added; x_r * w_r +
// x_g * w_g + x_b * w_b is the same sum. Elsewhere a Gather picks the channels.
#include <algorithm>
#include <charconv>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/edit/graph_tools.h"
#include "engine/edit/proto_text.h"
#include "engine/edit/verbs.h"
#include "engine/onnx/import.h"
#include "engine/onnx/tensor_proto.h"

namespace kinglet::engine::edit {
namespace {

using ::onnx::TensorShapeProto;
using ::onnx::ValueInfoProto;

// Inputs that are no weights; those named, or all.
Result<std::vector<ValueInfoProto*>> chosen_inputs(GraphProto& graph, const Arguments& arguments) {
  Names weights;
  for (const auto& tensor : graph.initializer()) weights.insert(tensor.name());
  std::vector<ValueInfoProto*> all;
  std::string listed;
  for (ValueInfoProto& input : *graph.mutable_input()) {
    if (weights.contains(input.name())) continue;
    all.push_back(&input);
    listed += (listed.empty() ? "" : ", ") + printable(input.name(), 60);
  }
  if (!arguments.has("NAME")) return all;
  std::vector<ValueInfoProto*> out;
  for (const std::string& name : arguments.all("NAME")) {
    const auto found = std::ranges::find_if(all, [&](const ValueInfoProto* input) { return input->name() == name; });
    if (found == all.end()) {
      return fail(ErrorCode::kUsage, format_text("\"{}\" is no input", printable(name)), {}, "inputs: " + listed);
    }
    out.push_back(*found);
  }
  return out;
}

Result<ValueInfoProto*> the_input(const std::vector<ValueInfoProto*>& inputs, std::string_view option) {
  if (inputs.size() == 1) return inputs.front();
  return fail(ErrorCode::kUsage, format_text("{} changes one input, the model has {}", option, inputs.size()), {},
              "name the input: input NAME --shape ...");
}

std::string where(const ValueInfoProto& input) { return format_text("input \"{}\"", printable(input.name())); }

Result<TensorShapeProto*> shape_of(ValueInfoProto& input, int rank) {
  auto& tensor = *input.mutable_type()->mutable_tensor_type();
  if (tensor.has_shape() && (rank == 0 ? tensor.shape().dim_size() > 0 : tensor.shape().dim_size() == rank)) {
    return tensor.mutable_shape();
  }
  return fail(
      ErrorCode::kUsage,
      format_text("is {}, expected {} dimensions", type_text(input), rank == 0 ? "at least 1" : std::to_string(rank)),
      where(input), "set its shape first: input --shape 1,3,224,224");
}

Result<void> set_batch(const std::vector<ValueInfoProto*>& inputs, const std::string& text) {
  TensorShapeProto wanted;
  KINGLET_TRY(parse_dims(text, wanted));
  if (wanted.dim_size() != 1)
    return fail(ErrorCode::kUsage, format_text("batch \"{}\" is not one size", printable(text)));
  for (ValueInfoProto* input : inputs) *KINGLET_TRY(shape_of(*input, 0))->mutable_dim(0) = wanted.dim(0);
  return {};
}

// Who reads `from`, reads `to`, which the new node in front makes of it.
NodeProto& insert_behind(GraphProto& graph, const std::string& from, std::string_view op_type, std::string_view role) {
  const std::string to = free_name(graph, format_text("{}_{}", from, role));
  replace_reads(graph, from, to);
  NodeProto node;
  node.set_op_type(std::string(op_type));
  node.set_name(to);
  node.add_input(from);
  node.add_output(to);
  NodeProto& added = *graph.add_node();
  added = std::move(node);
  return added;
}

Result<void> set_layout(GraphProto& graph, ValueInfoProto& input, std::string_view layout) {
  if (layout != "nhwc" && layout != "nchw") {
    return fail(ErrorCode::kUsage, format_text("layout \"{}\", expected nhwc or nchw", printable(layout)));
  }
  TensorShapeProto& shape = *KINGLET_TRY(shape_of(input, 4));
  const TensorShapeProto old = shape;
  const bool nhwc = layout == "nhwc";
  // A new outer axis i is the old axis order[i]; the node behind turns it back.
  const int order[2][4] = {{0, 3, 1, 2}, {0, 2, 3, 1}};
  for (int i = 0; i < 4; ++i) *shape.mutable_dim(i) = old.dim(order[nhwc ? 1 : 0][i]);
  NodeProto& transpose = insert_behind(graph, input.name(), "Transpose", nhwc ? "nchw" : "nhwc");
  auto& perm = *transpose.add_attribute();
  perm.set_name("perm");
  perm.set_type(::onnx::AttributeProto::INTS);
  for (const int axis : order[nhwc ? 0 : 1]) perm.add_ints(axis);
  return {};
}

// The convolution whose weights can take the swap; nullptr where none can.
NodeProto* first_convolution(GraphProto& graph, const std::string& input) {
  NodeProto* reader = nullptr;
  for (NodeProto& node : *graph.mutable_node()) {
    Names inner;
    names_in_subgraphs(node, inner);
    const auto reads = std::ranges::count(node.input(), input);
    if (reads == 0 && !inner.contains(input)) continue;
    const bool takes_it = reader == nullptr && reads == 1 && node.op_type() == "Conv" && node.input_size() > 1 &&
                          node.input(0) == input && !inner.contains(input) &&
                          onnx_format::canonical_domain(node.domain()).empty();
    if (!takes_it) return nullptr;
    reader = &node;
  }
  if (reader == nullptr) return nullptr;
  const bool grouped = std::ranges::any_of(
      reader->attribute(), [](const auto& attribute) { return attribute.name() == "group" && attribute.i() != 1; });
  return grouped ? nullptr : reader;
}

// [M,3,...] with channels 0 and 2 in each other's place.
void swap_channels(Tensor& weight) {
  const auto filters = static_cast<std::size_t>(weight.shape()[0]);
  const std::size_t plane = weight.byte_count() / std::max<std::size_t>(1, filters * 3);
  const auto bytes = weight.mutable_bytes();
  for (std::size_t m = 0; m < filters; ++m) {
    const auto filter = bytes.subspan(m * 3 * plane, 3 * plane);
    std::ranges::swap_ranges(filter.first(plane), filter.last(plane));
  }
}

Result<bool> swap_in_weights(Document& document, const std::string& input) {
  GraphProto& graph = *document.model().mutable_graph();
  NodeProto* conv = first_convolution(graph, input);
  if (conv == nullptr) return false;
  const std::string name = conv->input(1);
  const auto found = std::ranges::find_if(graph.initializer(), [&](const auto& row) { return row.name() == name; });
  if (found == graph.initializer().end() || found->dims_size() < 3 || found->dims(1) != 3) return false;
  Tensor weight = KINGLET_TRY(document.tensor(*found));
  swap_channels(weight);
  std::size_t reads = 0;
  for (const NodeProto& node : graph.node()) reads += static_cast<std::size_t>(std::ranges::count(node.input(), name));
  const auto listed = [&](const auto& rows) {
    return std::ranges::any_of(rows, [&](const auto& row) { return row.name() == name; });
  };
  if (reads == 1 && !listed(graph.input()) && !listed(graph.output())) {
    document.set_tensor(*graph.mutable_initializer(static_cast<int>(found - graph.initializer().begin())), weight);
  } else {
    conv->set_input(1, add_initializer(document, name + "_bgr", weight));
  }
  return true;
}

Result<void> swap_colours(Context& context, ValueInfoProto& input) {
  const TensorShapeProto& shape = *KINGLET_TRY(shape_of(input, 4));
  const int axis = shape.dim(1).dim_value() == 3 ? 1 : 3;
  if (shape.dim(axis).dim_value() != 3) {
    return fail(ErrorCode::kUsage, format_text("is {}: no axis of three colours", type_text(input)), where(input));
  }
  if (axis == 1 && KINGLET_TRY(swap_in_weights(context.document, input.name()))) {
    context.notes.emplace_back("red and blue change places in the weights of the first convolution");
    return {};
  }
  GraphProto& graph = *context.document.model().mutable_graph();
  const std::string indices =
      add_initializer(context.document, input.name() + "_bgr_order", Tensor::of<std::int64_t>({3}, {2, 1, 0}));
  NodeProto& gather = insert_behind(graph, input.name(), "Gather", "swapped");
  gather.add_input(indices);
  KINGLET_TRY(set_attribute(gather, "axis", std::to_string(axis)));
  context.notes.emplace_back("red and blue change places in a Gather behind the input");
  return {};
}

Result<void> apply(Context& context, const Arguments& arguments) {
  GraphProto& graph = *context.document.model().mutable_graph();
  const std::vector<ValueInfoProto*> inputs = KINGLET_TRY(chosen_inputs(graph, arguments));
  const bool any =
      arguments.has("--shape") || arguments.has("--batch") || arguments.has("--swap-rb") || arguments.has("--layout");
  if (!any) return fail(ErrorCode::kUsage, "nothing to change", {}, "input --batch 1, input --layout nhwc ...");
  if (arguments.has("--shape")) {
    ValueInfoProto& input = *KINGLET_TRY(the_input(inputs, "--shape"));
    KINGLET_TRY(parse_dims(arguments.one("--shape"), *input.mutable_type()->mutable_tensor_type()->mutable_shape()));
  }
  if (arguments.has("--batch")) KINGLET_TRY(set_batch(inputs, std::string(arguments.one("--batch"))));
  if (arguments.has("--swap-rb")) {
    ValueInfoProto& input = *KINGLET_TRY(the_input(inputs, "--swap-rb"));
    KINGLET_TRY(swap_colours(context, input));
  }
  if (arguments.has("--layout")) {
    ValueInfoProto& input = *KINGLET_TRY(the_input(inputs, "--layout"));
    KINGLET_TRY(set_layout(graph, input, arguments.one("--layout")));
  }
  context.shapes_changed();
  return {};
}

}  // namespace

const VerbParts verbs::input{{{"NAME", "", "which input (default: all, or the only one)", Take::kMany},
                              {"--shape", "DIMS", "its size: 1,3,224,224; a name or ? is free"},
                              {"--batch", "N", "the first size of every input; a name makes it free"},
                              {"--layout", "nhwc|nchw", "the order in which it is given; it is turned inside"},
                              {"--swap-rb", "", "it is given as BGR instead of RGB, or the other way", Take::kFlag}},
                             apply};

}  // namespace kinglet::engine::edit
