// SPDX-License-Identifier: Apache-2.0
// The preparation of a picture becomes part of the model: resize, crop, scale, (x - mean) / std, in this order, in
// front of its input. The input keeps its name; it then takes what stands in front.

#include <cmath>

#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"
#include "engine/edit/graph_tools.h"
#include "engine/edit/proto_text.h"
#include "engine/edit/verbs.h"

namespace kinglet::engine::edit {
namespace {

struct Size {
  std::int64_t height = 0, width = 0;
};

struct Wishes {
  std::vector<float> mean, std, scale;
  std::optional<Size> resize, crop;  // sizes of what comes in there
};

Result<std::vector<float>> read_numbers(const Arguments& arguments, std::string_view option, std::size_t channels) {
  std::vector<float> out;
  for (const std::string& item : split_list(arguments.one(option))) {
    const auto value = parse_number<float>(item);
    if (!value) return fail(ErrorCode::kUsage, format_text("{} \"{}\" is no number", option, printable(item)));
    out.push_back(*value);
  }
  if (!out.empty() && out.size() != 1 && out.size() != channels) {
    return fail(ErrorCode::kUsage,
                format_text("{} has {} numbers, expected one, or one a channel ({})", option, out.size(), channels));
  }
  return out;
}

// "256x320" is a size, "0.5" the factor by which the picture is made smaller or larger to give `model`.
Result<Size> read_size(std::string_view option, std::string_view text, Size model, bool factor_allowed) {
  const auto fits = [](std::int64_t side) { return side > 0 && side <= 16384; };
  const auto sides = parse_sides<std::int64_t>(text);
  if (sides && fits(sides->first) && fits(sides->second)) return Size{.height = sides->first, .width = sides->second};
  const auto factor = parse_number<double>(text);
  if (factor_allowed && factor && *factor >= 0.01 && *factor <= 100) {
    const Size from{.height = std::llround(static_cast<double>(model.height) / *factor),
                    .width = std::llround(static_cast<double>(model.width) / *factor)};
    if (from.height > 0 && from.width > 0) return from;
  }
  return fail(ErrorCode::kUsage, format_text("{} \"{}\" is no size", option, printable(text)), {},
              factor_allowed ? "HEIGHTxWIDTH of the pictures that come in, or a factor: 0.5" : "HEIGHTxWIDTH: 256x256");
}

// Appends nodes in front of the readers of the input.
class Chain {
 public:
  Chain(Document& document, std::string input)
      : document_(document), graph_(*document.model().mutable_graph()), input_(std::move(input)), last_(input_) {}

  Result<void> add(std::string_view op_type, std::string_view role, const std::vector<std::string>& more,
                   const std::vector<std::pair<std::string, std::string>>& attributes) {
    NodeProto node;
    node.set_op_type(std::string(op_type));
    const std::string made = free_name(graph_, format_text("{}_{}", input_, role));
    node.set_name(made);
    node.add_input(last_);
    for (const std::string& name : more) node.add_input(name);
    node.add_output(made);
    for (const auto& [name, value] : attributes) KINGLET_TRY(set_attribute(node, name, value));
    *graph_.add_node() = std::move(node);
    made_.insert(last_ = made);
    return {};
  }
  std::string constant(std::string_view role, const Tensor& tensor) {
    return add_initializer(document_, format_text("{}_{}", input_, role), tensor);
  }
  // Everybody but the chain itself reads its end.
  void finish(int nodes_before) {
    for (int i = 0; i < nodes_before; ++i) {
      for (std::string& name : *graph_.mutable_node(i)->mutable_input()) {
        if (name == input_) name = last_;
      }
    }
  }

 private:
  Document& document_;
  GraphProto& graph_;
  std::string input_, last_;
  Names made_;
};

Tensor ints(std::initializer_list<std::int64_t> values) {
  return Tensor::of<std::int64_t>({static_cast<Dim>(values.size())}, values);
}

// One number, or one a channel as [1,C,1,1] (or [1,1,1,C]).
Tensor per_channel(const std::vector<float>& values, bool channels_first) {
  const auto count = static_cast<Dim>(values.size());
  if (count == 1) return Tensor::of<float>({}, values);
  return Tensor::of<float>(channels_first ? Shape{1, count, 1, 1} : Shape{1, 1, 1, count}, values);
}

Result<void> add_nodes(Chain& chain, const Wishes& wishes, Size model, bool channels_first, std::int64_t opset) {
  const std::int64_t row_axis = channels_first ? 2 : 1;
  const Size cropped = wishes.crop.value_or(model);
  if (wishes.resize) {
    const Size from = *wishes.resize;
    const float rows = static_cast<float>(cropped.height) / static_cast<float>(from.height);
    const float columns = static_cast<float>(cropped.width) / static_cast<float>(from.width);
    const Tensor scales =
        channels_first ? Tensor::of<float>({4}, {1, 1, rows, columns}) : Tensor::of<float>({4}, {1, rows, columns, 1});
    std::vector<std::pair<std::string, std::string>> attributes{{"mode", "linear"},
                                                                {"coordinate_transformation_mode", "half_pixel"}};
    if (opset >= 18) attributes.emplace_back("antialias", "1");
    KINGLET_TRY(chain.add("Resize", "resized", {"", chain.constant("scales", scales)}, attributes));
  }
  if (wishes.crop) {
    const std::int64_t top = (cropped.height - model.height) / 2;
    const std::int64_t left = (cropped.width - model.width) / 2;
    KINGLET_TRY(chain.add("Slice", "cropped",
                          {chain.constant("starts", ints({top, left})),
                           chain.constant("ends", ints({top + model.height, left + model.width})),
                           chain.constant("axes", ints({row_axis, row_axis + 1}))},
                          {}));
  }
  const auto arithmetic = [&](std::string_view op, std::string_view role, const std::vector<float>& values) {
    return chain.add(op, role, {chain.constant(format_text("{}_by", role), per_channel(values, channels_first))}, {});
  };
  if (!wishes.scale.empty()) KINGLET_TRY(arithmetic("Mul", "scaled", wishes.scale));
  if (!wishes.mean.empty()) KINGLET_TRY(arithmetic("Sub", "centred", wishes.mean));
  if (!wishes.std.empty()) KINGLET_TRY(arithmetic("Div", "normalised", wishes.std));
  return {};
}

Result<::onnx::ValueInfoProto*> picture_input(GraphProto& graph, std::string_view name) {
  Names weights;
  for (const auto& tensor : graph.initializer()) weights.insert(tensor.name());
  std::vector<::onnx::ValueInfoProto*> found;
  for (auto& input : *graph.mutable_input()) {
    if (!weights.contains(input.name()) && (name.empty() || input.name() == name)) found.push_back(&input);
  }
  if (found.size() == 1) return found.front();
  return fail(ErrorCode::kUsage, name.empty()
                                     ? format_text("the model has {} inputs: name one with --input", found.size())
                                     : format_text("\"{}\" is no input", printable(name)));
}

Result<Wishes> read_wishes(const Arguments& arguments, std::size_t channels, Size model) {
  Wishes wishes{.mean = KINGLET_TRY(read_numbers(arguments, "--mean", channels)),
                .std = KINGLET_TRY(read_numbers(arguments, "--std", channels)),
                .scale = KINGLET_TRY(read_numbers(arguments, "--scale", channels))};
  for (const float value : wishes.std) {
    if (!(value > 0)) return fail(ErrorCode::kUsage, format_text("--std {} is not above 0", value));
  }
  if (arguments.has("--crop")) wishes.crop = KINGLET_TRY(read_size("--crop", arguments.one("--crop"), model, false));
  if (wishes.crop && (wishes.crop->height < model.height || wishes.crop->width < model.width)) {
    return fail(ErrorCode::kUsage, format_text("--crop {}x{} is smaller than the model's {}x{}", wishes.crop->height,
                                               wishes.crop->width, model.height, model.width));
  }
  if (arguments.has("--resize")) {
    wishes.resize = KINGLET_TRY(read_size("--resize", arguments.one("--resize"), wishes.crop.value_or(model), true));
  }
  if (wishes.mean.empty() && wishes.std.empty() && wishes.scale.empty() && !wishes.crop && !wishes.resize) {
    return fail(ErrorCode::kUsage, "nothing to do", {}, "preprocess --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225");
  }
  return wishes;
}

Result<void> apply(Context& context, const Arguments& arguments) {
  GraphProto& graph = *context.document.model().mutable_graph();
  auto& input = *KINGLET_TRY(picture_input(graph, arguments.one("--input")));
  auto& shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
  const std::string where = format_text("input \"{}\"", printable(input.name()));
  if (input.type().tensor_type().elem_type() != ::onnx::TensorProto::FLOAT || shape.dim_size() != 4) {
    return fail(ErrorCode::kUsage, format_text("is {}, expected FLOAT and four dimensions", type_text(input)), where);
  }
  const bool channels_first = shape.dim(3).dim_value() != 3 || shape.dim(1).dim_value() == 3;
  const int row_axis = channels_first ? 2 : 1;
  const Size model{.height = shape.dim(row_axis).dim_value(), .width = shape.dim(row_axis + 1).dim_value()};
  const auto channels = static_cast<std::size_t>(shape.dim(channels_first ? 1 : 3).dim_value());
  const bool sized = arguments.has("--crop") || arguments.has("--resize");
  if (sized && (model.height < 1 || model.width < 1)) {
    return fail(ErrorCode::kUsage, format_text("is {}: its height and width are free", type_text(input)), where,
                "set them first: input --shape 1,3,224,224");
  }
  const Wishes wishes = KINGLET_TRY(read_wishes(arguments, channels, model));
  const std::int64_t opset = opset_of(context.document.model());
  if (sized && opset < 13) {
    return fail(ErrorCode::kUnsupported, format_text("--resize and --crop need opset 13, the model has {}", opset), {},
                "kinglet convert IN -o OUT --opset 17");
  }
  const int nodes_before = graph.node_size();
  Chain chain(context.document, input.name());
  KINGLET_TRY(add_nodes(chain, wishes, model, channels_first, opset));
  chain.finish(nodes_before);
  const Size outer = wishes.resize.value_or(wishes.crop.value_or(model));
  if (sized) {
    shape.mutable_dim(row_axis)->set_dim_value(outer.height);
    shape.mutable_dim(row_axis + 1)->set_dim_value(outer.width);
  }
  context.shapes_changed();
  return {};
}

}  // namespace

const VerbParts verbs::preprocess{{{"--input", "NAME", "which input (default: the only one)"},
                                   {"--resize", "HxW|FACTOR", "pictures of this size come in and are resized (linear)"},
                                   {"--crop", "HxW", "of this size the middle is taken, behind a resize"},
                                   {"--scale", "X[,X,X]", "pixels are multiplied by this"},
                                   {"--mean", "X[,X,X]", "subtracted behind the scale; one number, or one a channel"},
                                   {"--std", "X[,X,X]", "divided by behind the mean"}},
                                  apply};

}  // namespace kinglet::engine::edit
