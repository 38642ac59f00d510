// SPDX-License-Identifier: Apache-2.0
#include "engine/tflite/builder.h"

#include <algorithm>

#include "engine/base/format.h"

namespace kinglet::engine::tflite {
namespace {

constexpr int kSame = 0;  // padding
constexpr Dim kMostSide = 4096;

Attributes attributes(std::initializer_list<std::pair<std::string, std::vector<std::int64_t>>> lists) {
  Attributes out;
  for (const auto& [name, list] : lists) out.set(name, list);
  return out;
}

// --- Windows

struct Window {
  Dim kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int padding = kSame;
};

// SAME: output = ceil(input / stride), the odd pixel of padding behind.
std::pair<Dim, Dim> pads(Dim input, Dim kernel, Dim stride, Dim dilation, int padding) {
  if (padding != kSame) return {0, 0};
  const Dim output = (input + stride - 1) / stride;
  const Dim all = std::max<Dim>(0, (output - 1) * stride + (kernel - 1) * dilation + 1 - input);
  return {all / 2, all - all / 2};
}

Result<Attributes> window_attributes(const Builder& builder, const Window& window, const Shape& input) {
  const auto in_range = [](Dim side) { return side >= 1 && side <= kMostSide; };
  for (const Dim side :
       {window.kernel_h, window.kernel_w, window.stride_h, window.stride_w, window.dilation_h, window.dilation_w}) {
    if (!in_range(side)) return builder.fail(ErrorCode::kBadData, format_text("a side of its window is {}", side));
  }
  const auto [top, bottom] = pads(input[1], window.kernel_h, window.stride_h, window.dilation_h, window.padding);
  const auto [left, right] = pads(input[2], window.kernel_w, window.stride_w, window.dilation_w, window.padding);
  return attributes({{"kernel_shape", {window.kernel_h, window.kernel_w}},
                     {"strides", {window.stride_h, window.stride_w}},
                     {"pads", {top, left, bottom, right}}});
}

// The shape of an image; kUnsupported for other ranks.
Result<Shape> image(const Builder& builder, int tensor) {
  const Shape& shape = builder.facts(tensor).shape;
  if (shape.size() == 4) return shape;
  return builder.fail(ErrorCode::kUnsupported, "reads " + to_string(shape) + ", expected an image [N,H,W,C]");
}

template <typename Options>
Result<const Options*> needed(Builder& builder) {
  const Options* options = KINGLET_TRY(builder.options<Options>());
  if (options == nullptr) return builder.fail(ErrorCode::kBadData, "has no options");
  return options;
}

// x, weight and the bias, if there is one that is given.
Result<void> add_bias(Builder& builder, std::vector<ValueId>& inputs) {
  if (builder.input_count() < 3 || builder.current().inputs()->Get(2) < 0) return {};
  const int bias = KINGLET_TRY(builder.input(2));
  const Shape& shape = builder.facts(bias).shape;
  if (shape.size() != 1) return builder.fail(ErrorCode::kBadData, "the bias has shape " + to_string(shape));
  inputs.push_back(KINGLET_TRY(builder.weight(bias, {0}, {shape[0]})));
  return {};
}

template <typename Options>
Window conv_window(const Options& options, const Shape& weight) {
  return {.kernel_h = weight[1],
          .kernel_w = weight[2],
          .stride_h = options.stride_h(),
          .stride_w = options.stride_w(),
          .dilation_h = options.dilation_h(),
          .dilation_w = options.dilation_w(),
          .padding = options.padding()};
}

Result<void> convolve(Builder& builder, const Window& window, std::vector<std::size_t> perm, Shape shape, Dim group,
                      int activation) {
  const int x = KINGLET_TRY(builder.input(0));
  const int w = KINGLET_TRY(builder.input(1));
  const Shape input = KINGLET_TRY(image(builder, x));
  Attributes found = KINGLET_TRY(window_attributes(builder, window, input));
  found.set("dilations", std::vector<std::int64_t>{window.dilation_h, window.dilation_w});
  found.set("group", group);
  std::vector<ValueId> inputs{KINGLET_TRY(builder.real(x))};
  inputs.push_back(KINGLET_TRY(builder.weight(w, std::move(perm), std::move(shape))));
  KINGLET_TRY(add_bias(builder, inputs));
  return builder.finish(builder.add("Conv", std::move(inputs), std::move(found)), activation);
}

Result<void> pool(Builder& builder, std::string op_type) {
  const PoolOptions* options = KINGLET_TRY(needed<PoolOptions>(builder));
  const int x = KINGLET_TRY(builder.input(0));
  const Shape input = KINGLET_TRY(image(builder, x));
  const Window window{.kernel_h = options->filter_height(),
                      .kernel_w = options->filter_width(),
                      .stride_h = options->stride_h(),
                      .stride_w = options->stride_w(),
                      .padding = options->padding()};
  Attributes found = KINGLET_TRY(window_attributes(builder, window, input));
  const ValueId value = KINGLET_TRY(builder.real(x));
  const bool whole = window.kernel_h == input[1] && window.kernel_w == input[2] && window.padding != kSame;
  if (whole && op_type == "AveragePool") {
    return builder.finish(builder.add("GlobalAveragePool", {value}), options->fused_activation());
  }
  return builder.finish(builder.add(std::move(op_type), {value}, std::move(found)), options->fused_activation());
}

// --- Element by element

// A row of constants goes with the channels of an image, which are the last axis in the file.
Result<ValueId> operand(Builder& builder, int tensor, std::size_t rank) {
  const Shape& shape = builder.facts(tensor).shape;
  if (shape.size() == rank || shape.empty()) return builder.real(tensor);
  if (rank != 4 || shape.size() != 1 || !builder.is_constant(tensor)) {
    return builder.fail(ErrorCode::kUnsupported, "joins shapes of different ranks");
  }
  return builder.weight(tensor, {0}, {shape[0], 1, 1});
}

Result<void> arithmetic(Builder& builder, std::string op_type) {
  const ActivationOptions* options = KINGLET_TRY(builder.options<ActivationOptions>());
  const int a = KINGLET_TRY(builder.input(0));
  const int b = KINGLET_TRY(builder.input(1));
  const std::size_t rank = std::max(builder.facts(a).shape.size(), builder.facts(b).shape.size());
  std::vector<ValueId> inputs{KINGLET_TRY(operand(builder, a, rank))};
  inputs.push_back(KINGLET_TRY(operand(builder, b, rank)));
  return builder.finish(builder.add(std::move(op_type), std::move(inputs)),
                        options == nullptr ? 0 : options->fused_activation());
}

Result<void> function(Builder& builder, std::string op_type) {
  const int x = KINGLET_TRY(builder.input(0));
  const ValueId value = KINGLET_TRY(builder.real(x));
  return builder.finish(builder.add(std::move(op_type), {value}));
}

Result<void> clamp(Builder& builder, int kind) {
  const int x = KINGLET_TRY(builder.input(0));
  return builder.finish(KINGLET_TRY(builder.real(x)), kind);
}

ValueId int64s(Builder& builder, std::string_view role, const std::vector<std::int64_t>& numbers) {
  return builder.constant(role, Tensor::of<std::int64_t>({static_cast<Dim>(numbers.size())}, std::span(numbers)));
}

bool is_one_pixel(const Shape& shape) { return shape.size() != 4 || (shape[1] == 1 && shape[2] == 1) || shape[3] == 1; }

// The value in the order of the file's shape, where that is another.
ValueId in_file_order(Builder& builder, ValueId value, const Shape& shape) {
  if (is_one_pixel(shape)) return value;
  return builder.add("Transpose", {value}, attributes({{"perm", {0, 2, 3, 1}}}));
}

}  // namespace

// --- The table's functions

Result<void> import_conv(Builder& builder) {
  const ConvOptions* options = KINGLET_TRY(needed<ConvOptions>(builder));
  const int x = KINGLET_TRY(builder.input(0));
  const int weight = KINGLET_TRY(builder.input(1));
  const Shape w = builder.facts(weight).shape;
  const Shape input = KINGLET_TRY(image(builder, x));
  if (w.size() != 4 || input[3] % w[3] != 0) {
    return builder.fail(ErrorCode::kBadData, format_text("weights {} do not fit {} channels", to_string(w), input[3]));
  }
  return convolve(builder, conv_window(*options, w), {0, 3, 1, 2}, {w[0], w[3], w[1], w[2]}, input[3] / w[3],
                  options->fused_activation());
}

Result<void> import_depthwise_conv(Builder& builder) {
  const DepthwiseConvOptions* options = KINGLET_TRY(needed<DepthwiseConvOptions>(builder));
  const int x = KINGLET_TRY(builder.input(0));
  const int weight = KINGLET_TRY(builder.input(1));
  const Shape w = builder.facts(weight).shape;  // [1,H,W,C*m]
  const Shape input = KINGLET_TRY(image(builder, x));
  if (w.size() != 4 || w[0] != 1 || w[3] % input[3] != 0) {
    return builder.fail(ErrorCode::kBadData, format_text("weights {} do not fit {} channels", to_string(w), input[3]));
  }
  return convolve(builder, conv_window(*options, w), {3, 0, 1, 2}, {w[3], 1, w[1], w[2]}, input[3],
                  options->fused_activation());
}

Result<void> import_fully_connected(Builder& builder) {
  const ActivationOptions* options = KINGLET_TRY(builder.options<ActivationOptions>());
  const int x = KINGLET_TRY(builder.input(0));
  const int weight = KINGLET_TRY(builder.input(1));
  const Shape shape = builder.facts(x).shape;
  const Shape w = builder.facts(weight).shape;
  if (w.size() != 2) return builder.fail(ErrorCode::kBadData, "the weight has shape " + to_string(w));
  ValueId value = KINGLET_TRY(builder.real(x));
  if (shape.size() != 2) {
    value = in_file_order(builder, value, shape);
    value = builder.add("Reshape", {value, int64s(builder, "shape", {-1, w[1]})});
  }
  std::vector<ValueId> inputs{value, KINGLET_TRY(builder.weight(weight, {0, 1}, w))};
  KINGLET_TRY(add_bias(builder, inputs));
  Attributes found;
  found.set("transB", std::int64_t{1});
  return builder.finish(builder.add("Gemm", std::move(inputs), std::move(found)),
                        options == nullptr ? 0 : options->fused_activation());
}

Result<void> import_reshape(Builder& builder) {
  const int x = KINGLET_TRY(builder.input(0));
  const int y = KINGLET_TRY(builder.output(0));
  const Shape from = builder.facts(x).shape;
  const Shape to = builder.facts(y).shape;
  ValueId value = KINGLET_TRY(builder.real(x));
  value = in_file_order(builder, value, from);
  value = builder.add("Reshape", {value, int64s(builder, "shape", to)});
  if (to.size() == 4) value = builder.add("Transpose", {value}, attributes({{"perm", {0, 3, 1, 2}}}));
  return builder.finish(value);
}

Result<void> import_softmax(Builder& builder) {
  const SoftmaxOptions* options = KINGLET_TRY(builder.options<SoftmaxOptions>());
  const int x = KINGLET_TRY(builder.input(0));
  const std::size_t rank = builder.facts(x).shape.size();
  ValueId value = KINGLET_TRY(builder.real(x));
  const float beta = options == nullptr ? 1.0F : options->beta();
  if (beta != 1) value = builder.add("Mul", {value, builder.constant("beta", Tensor::of<float>({}, {beta}))});
  Attributes found;
  found.set("axis", std::int64_t{rank == 4 ? 1 : -1});
  return builder.finish(builder.add("Softmax", {value}, std::move(found)));
}

Result<void> import_mean(Builder& builder) {
  const ReducerOptions* options = KINGLET_TRY(builder.options<ReducerOptions>());
  const int x = KINGLET_TRY(builder.input(0));
  const int list = KINGLET_TRY(builder.input(1));
  KINGLET_TRY(image(builder, x));
  std::vector<std::int64_t> axes = KINGLET_TRY(builder.integers(list));
  for (std::int64_t& axis : axes) axis += axis < 0 ? 4 : 0;
  std::ranges::sort(axes);
  if (axes != std::vector<std::int64_t>{1, 2}) {
    return builder.fail(ErrorCode::kUnsupported, "takes the mean over other axes than height and width");
  }
  ValueId value = KINGLET_TRY(builder.real(x));
  value = builder.add("GlobalAveragePool", {value});
  if (options == nullptr || !options->keep_dims()) value = builder.add("Flatten", {value});
  return builder.finish(value);
}

Result<void> import_pad(Builder& builder) {
  const int x = KINGLET_TRY(builder.input(0));
  const int list = KINGLET_TRY(builder.input(1));
  KINGLET_TRY(image(builder, x));
  const std::vector<std::int64_t> amounts = KINGLET_TRY(builder.integers(list));
  const bool good =
      amounts.size() == 8 && std::ranges::all_of(amounts, [](std::int64_t n) { return n >= 0 && n <= kMostSide; });
  if (!good) return builder.fail(ErrorCode::kBadData, "does not have two amounts of 0 to 4096 for each of four axes");
  const auto at = [&](std::size_t axis, std::size_t end) { return amounts[axis * 2 + end]; };
  const ValueId pads =
      int64s(builder, "pads", {at(0, 0), at(3, 0), at(1, 0), at(2, 0), at(0, 1), at(3, 1), at(1, 1), at(2, 1)});
  const ValueId value = KINGLET_TRY(builder.real(x));
  return builder.finish(builder.add("Pad", {value, pads}));
}

Result<void> import_concatenation(Builder& builder) {
  const ConcatenationOptions* options = KINGLET_TRY(needed<ConcatenationOptions>(builder));
  std::vector<ValueId> inputs;
  std::size_t rank = 0;
  for (std::size_t i = 0; i < builder.input_count(); ++i) {
    const int x = KINGLET_TRY(builder.input(i));
    rank = builder.facts(x).shape.size();
    inputs.push_back(KINGLET_TRY(builder.real(x)));
  }
  const auto axes = static_cast<int>(rank);
  const int axis = options->axis() < 0 ? options->axis() + axes : options->axis();
  if (inputs.empty() || axis < 0 || axis >= axes)
    return builder.fail(ErrorCode::kBadData, format_text("joins along axis {}", axis));
  constexpr std::array<std::int64_t, 4> kOnnxAxis{0, 2, 3, 1};
  Attributes found;
  found.set("axis", rank == 4 ? kOnnxAxis[static_cast<std::size_t>(axis)] : std::int64_t{axis});
  return builder.finish(builder.add("Concat", std::move(inputs), std::move(found)), options->fused_activation());
}

Result<void> import_same(Builder& builder) {
  const int x = KINGLET_TRY(builder.input(0));
  return builder.finish(KINGLET_TRY(builder.real(x)));
}

Result<void> import_add(Builder& builder) { return arithmetic(builder, "Add"); }
Result<void> import_sub(Builder& builder) { return arithmetic(builder, "Sub"); }
Result<void> import_mul(Builder& builder) { return arithmetic(builder, "Mul"); }
Result<void> import_average_pool(Builder& builder) { return pool(builder, "AveragePool"); }
Result<void> import_max_pool(Builder& builder) { return pool(builder, "MaxPool"); }
Result<void> import_logistic(Builder& builder) { return function(builder, "Sigmoid"); }
Result<void> import_tanh(Builder& builder) { return function(builder, "Tanh"); }
Result<void> import_hard_swish(Builder& builder) { return function(builder, "HardSwish"); }
Result<void> import_relu(Builder& builder) { return clamp(builder, 1); }
Result<void> import_relu_n1_to_1(Builder& builder) { return clamp(builder, 2); }
Result<void> import_relu6(Builder& builder) { return clamp(builder, 3); }

}  // namespace kinglet::engine::tflite
