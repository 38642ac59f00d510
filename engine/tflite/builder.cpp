// SPDX-License-Identifier: Apache-2.0
#include "engine/tflite/builder.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/graph/float16.h"
#include "engine/ops/op.h"
#include "engine/recipe/recipe.h"

namespace kinglet::engine::tflite {
namespace {

// The format's numbers of element types.
constexpr int kFloat32 = 0, kFloat16 = 1, kInt32 = 2, kUint8 = 3, kInt64 = 4, kInt8 = 9;
constexpr std::int64_t kMostElements = std::int64_t{1} << 28;
constexpr std::size_t kMostRank = 5;

bool is_8_bit(int type) { return type == kUint8 || type == kInt8; }

// Nothing for those that are not read.
std::optional<DataType> data_type(int type) {
  using enum DataType;
  static constexpr std::pair<int, DataType> kTypes[] = {{kFloat32, kF32}, {kFloat16, kF16}, {kInt32, kI32},
                                                        {kInt64, kI64},   {kUint8, kU8},    {kInt8, kI8}};
  const auto* row = std::ranges::find(kTypes, type, &std::pair<int, DataType>::first);
  return row == std::end(kTypes) ? std::nullopt : std::optional(row->second);
}

// [N,H,W,C] -> [N,C,H,W]; other ranks as they are.
Shape as_onnx(const Shape& shape) { return shape.size() == 4 ? Shape{shape[0], shape[3], shape[1], shape[2]} : shape; }

Tensor permuted(const Tensor& tensor, const std::vector<std::size_t>& perm) {
  Shape shape;
  std::vector<std::int64_t> from(perm.size(), 1);
  for (std::size_t i = perm.size(); i-- > 1;) from[i - 1] = from[i] * tensor.shape()[i];
  std::vector<std::int64_t> strides;
  for (const std::size_t axis : perm) {
    shape.push_back(tensor.shape()[axis]);
    strides.push_back(from[axis]);
  }
  Tensor out(tensor.type(), shape);
  const std::size_t size = byte_size(tensor.type());
  const std::byte* source = tensor.bytes().data();
  std::byte* target = out.mutable_bytes().data();
  std::vector<Dim> index(shape.size(), 0);
  for (std::int64_t i = 0; i < out.element_count(); ++i) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * strides[axis];
    std::copy_n(source + static_cast<std::size_t>(offset) * size, size, target + static_cast<std::size_t>(i) * size);
    for (std::size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
  return out;
}

}  // namespace

std::unexpected<Error> Builder::fail(ErrorCode code, std::string message, std::string hint) const {
  return kinglet::fail(code, std::move(message), printable(name_), std::move(hint));
}

// --- The file's tensors

Result<TensorFacts> Builder::read_tensor(const FileTensor& tensor, std::size_t number) const {
  TensorFacts out{.name = tensor.name() != nullptr ? tensor.name()->str() : "", .type = tensor.type(), .data = {}};
  if (out.name.empty()) out.name = format_text("tensor_{}", number);
  const auto bad = [&](std::string message) {
    return kinglet::fail(ErrorCode::kBadData, std::move(message), format_text("tensor \"{}\"", printable(out.name)));
  };
  for (std::size_t i = 0; tensor.shape() != nullptr && i < tensor.shape()->size(); ++i) {
    out.shape.push_back(tensor.shape()->Get(static_cast<flatbuffers::uoffset_t>(i)));
    if (out.shape.back() < 1 || i >= kMostRank) return bad("has a shape that is not fixed, or of more than five axes");
  }
  std::int64_t elements = 1;
  for (const Dim dim : out.shape) {
    elements *= dim;
    if (elements > kMostElements) return bad("has more than 2^28 elements");
  }
  const auto* buffers = model_.buffers();
  if (buffers == nullptr || tensor.buffer() >= buffers->size()) return bad("names a buffer that is not there");
  if (const auto* data = buffers->Get(tensor.buffer())->data(); data != nullptr && data->size() > 0) {
    out.data = {data->data(), data->size()};
    const std::optional<DataType> type = data_type(out.type);
    if (!type) return bad(format_text("has elements of type {}, which is not known here", out.type));
    if (out.data.size() != static_cast<std::size_t>(elements) * byte_size(*type)) {
      return bad(format_text("has {} bytes for {} elements", out.data.size(), elements));
    }
  }
  const QuantizationParameters* levels = tensor.quantization();
  if (levels == nullptr || levels->scale() == nullptr || levels->scale()->size() == 0) return out;
  out.scales.assign(levels->scale()->begin(), levels->scale()->end());
  out.zero_points.assign(out.scales.size(), 0);
  if (levels->zero_point() != nullptr && levels->zero_point()->size() == out.scales.size()) {
    out.zero_points.assign(levels->zero_point()->begin(), levels->zero_point()->end());
  }
  out.quantized_axis = static_cast<std::size_t>(std::max(0, levels->quantized_dimension()));
  const bool good = std::ranges::all_of(out.scales, [](float scale) { return std::isnormal(scale) && scale > 0; });
  if (!good) return bad("has a scale that is not a normal positive number");
  const bool fits = out.scales.size() == 1 || (out.quantized_axis < out.shape.size() &&
                                               out.shape[out.quantized_axis] == static_cast<Dim>(out.scales.size()));
  if (!fits) return bad(format_text("has {} scales that fit none of its axes", out.scales.size()));
  return out;
}

Result<void> Builder::read_tensors() {
  if (file_.tensors() == nullptr) return kinglet::fail(ErrorCode::kBadData, "the model has no tensors");
  for (std::size_t i = 0; i < file_.tensors()->size(); ++i) {
    const FileTensor* tensor = file_.tensors()->Get(static_cast<flatbuffers::uoffset_t>(i));
    tensors_.push_back(KINGLET_TRY(read_tensor(*tensor, i)));
  }
  values_.assign(tensors_.size(), kNoValue);
  return {};
}

Result<Tensor> Builder::numbers(int tensor) const {
  const TensorFacts& from = facts(tensor);
  Tensor out(data_type(from.type).value_or(DataType::kF32), from.shape);
  std::memcpy(out.mutable_bytes().data(), from.data.data(), from.data.size());
  if (out.type() != DataType::kF16) return out;
  Tensor wide(DataType::kF32, from.shape);
  std::ranges::transform(out.data<Half>(), wide.mutable_data<float>().begin(),
                         [](Half half) { return to_float(half); });
  return wide;
}

Result<std::vector<std::int64_t>> Builder::integers(int tensor) const {
  const TensorFacts& from = facts(tensor);
  if (from.data.empty() || (from.type != kInt32 && from.type != kInt64)) {
    return fail(ErrorCode::kUnsupported, format_text("\"{}\" is not a constant of integers", printable(from.name)));
  }
  const Tensor found = KINGLET_TRY(numbers(tensor));
  return found.to_int64s();
}

// --- Values

ValueId Builder::constant(std::string_view role, Tensor tensor) {
  return graph_.add_constant(format_text("{}_{}", name_, role), std::move(tensor));
}

std::string Builder::unique(std::string name) {
  std::string found = name;
  for (int i = 2; !node_names_.insert(found).second; ++i) found = format_text("{}_{}", name, i);
  return found;
}

ValueId Builder::add(std::string op_type, std::vector<ValueId> inputs, Attributes attributes) {
  const std::string name = unique(format_text("{}_{}", name_, op_type));
  const ValueId made = graph_.add_value(name, DataType::kF32, std::nullopt);
  graph_.add_node({.op_type = std::move(op_type),
                   .domain = {},
                   .name = name,
                   .inputs = std::move(inputs),
                   .outputs = {made},
                   .attributes = std::move(attributes)});
  return made;
}

// A constant: real numbers as they are, levels behind a DequantizeLinear.
Result<ValueId> Builder::stored(const TensorFacts& facts, Tensor numbers, std::int64_t axis) {
  if (facts.scales.empty()) {
    if (numbers.type() != DataType::kF32) {
      return fail(ErrorCode::kUnsupported,
                  format_text("\"{}\" is neither float nor has it a scale", printable(facts.name)));
    }
    return graph_.add_constant(facts.name, std::move(numbers));
  }
  const DataType type = numbers.type();
  if (type == DataType::kF32) return graph_.add_constant(facts.name, std::move(numbers));
  const bool one = facts.scales.size() == 1;
  Tensor scale = Tensor::of<float>({static_cast<Dim>(facts.scales.size())}, std::span(facts.scales));
  Tensor zero(type, {static_cast<Dim>(facts.scales.size())});
  for (std::size_t i = 0; i < facts.zero_points.size(); ++i) {
    if (type == DataType::kI8) zero.mutable_data<std::int8_t>()[i] = static_cast<std::int8_t>(facts.zero_points[i]);
    if (type == DataType::kU8) zero.mutable_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(facts.zero_points[i]);
  }
  if (one) {
    scale = scale.reshaped({});
    if (type != DataType::kI32) zero = zero.reshaped({});
  }
  std::vector<ValueId> inputs{graph_.add_constant(facts.name, std::move(numbers)),
                              graph_.add_constant(facts.name + "_scale", std::move(scale))};
  if (type != DataType::kI32) inputs.push_back(graph_.add_constant(facts.name + "_zero_point", std::move(zero)));
  Attributes attributes;
  if (!one) attributes.set("axis", axis);
  return add("DequantizeLinear", std::move(inputs), std::move(attributes));
}

Result<ValueId> Builder::real(int tensor) {
  ValueId& value = values_.at(static_cast<std::size_t>(tensor));
  if (value != kNoValue) return value;
  const TensorFacts& from = facts(tensor);
  if (from.data.empty()) {
    return fail(ErrorCode::kBadData, format_text("\"{}\" is read before it is made", printable(from.name)));
  }
  if (from.scales.size() > 1 && from.shape.size() == 4) {
    return fail(ErrorCode::kUnsupported, format_text("\"{}\" has several scales", printable(from.name)));
  }
  Tensor found = KINGLET_TRY(numbers(tensor));
  if (from.shape.size() == 4) found = permuted(found, {0, 3, 1, 2});
  value = KINGLET_TRY(stored(from, std::move(found), static_cast<std::int64_t>(from.quantized_axis)));
  return value;
}

Result<ValueId> Builder::weight(int tensor, std::vector<std::size_t> perm, Shape shape) {
  const TensorFacts& from = facts(tensor);
  if (from.data.empty()) {
    // float16 weights stand behind a DEQUANTIZE: real() has put their axes into this order.
    const ValueId value = values_.at(static_cast<std::size_t>(tensor));
    const Tensor* made = value == kNoValue ? nullptr : graph_.constant(value);
    if (made != nullptr && made->element_count() == element_count(shape)) {
      return graph_.add_constant(from.name, made->reshaped(std::move(shape)));
    }
    return fail(ErrorCode::kUnsupported, format_text("the weight \"{}\" is computed", printable(from.name)));
  }
  if (from.shape.size() != perm.size()) {
    return fail(ErrorCode::kBadData, format_text("the weight has shape {}", to_string(from.shape)));
  }
  const bool along = from.scales.size() < 2 || from.quantized_axis == perm.front() || from.shape[perm.front()] == 1;
  if (!along) return fail(ErrorCode::kUnsupported, "the scales of the weight do not lie along its output channels");
  const Tensor found = KINGLET_TRY(numbers(tensor));
  return stored(from, permuted(found, perm).reshaped(std::move(shape)), 0);
}

// What 8 bits make of the value, and back.
Result<ValueId> Builder::rounded(ValueId real, const TensorFacts& facts) {
  if (facts.scales.empty() || !is_8_bit(facts.type)) return real;
  if (facts.scales.size() != 1) return fail(ErrorCode::kUnsupported, "a computed tensor has several scales");
  const DataType type = data_type(facts.type).value_or(DataType::kF32);
  Tensor zero(type, {});
  const std::int64_t low = type == DataType::kI8 ? -128 : 0;
  if (facts.zero_points[0] < low || facts.zero_points[0] > low + 255) {
    return fail(ErrorCode::kBadData, format_text("the zero point {} is outside its type", facts.zero_points[0]));
  }
  if (type == DataType::kI8) zero.mutable_data<std::int8_t>()[0] = static_cast<std::int8_t>(facts.zero_points[0]);
  if (type == DataType::kU8) zero.mutable_data<std::uint8_t>()[0] = static_cast<std::uint8_t>(facts.zero_points[0]);
  const ValueId scale = graph_.add_constant(facts.name + "_scale", Tensor::of<float>({}, {facts.scales[0]}));
  const ValueId zeros = graph_.add_constant(facts.name + "_zero_point", std::move(zero));
  const ValueId levels = graph_.add_value(facts.name, type, std::nullopt);
  graph_.add_node({.op_type = "QuantizeLinear",
                   .domain = {},
                   .name = unique(facts.name + "_QuantizeLinear"),
                   .inputs = {real, scale, zeros},
                   .outputs = {levels},
                   .attributes = {}});
  return add("DequantizeLinear", {levels, scale, zeros});
}

Result<void> Builder::finish(ValueId made, int fused_activation) {
  const int tensor = KINGLET_TRY(output(0));
  const auto bound = [&](float number) { return constant("bound", Tensor::of<float>({}, {number})); };
  switch (fused_activation) {
    case 0:
      break;
    case 1:
      made = add("Relu", {made});
      break;
    case 2: {
      const std::vector<ValueId> inputs{made, bound(-1), bound(1)};
      made = add("Clip", inputs);
      break;
    }
    case 3: {
      const std::vector<ValueId> inputs{made, bound(0), bound(6)};
      made = add("Clip", inputs);
      break;
    }
    default:
      return fail(ErrorCode::kUnsupported, format_text("has a fused activation of kind {}", fused_activation));
  }
  values_.at(static_cast<std::size_t>(tensor)) = made;
  const bool answer = file_.outputs() != nullptr && std::ranges::contains(*file_.outputs(), tensor);
  const NodeId maker = graph_.value(made).producer;
  if (answer && maker != kNoNode && graph_.node(maker).op_type == "Softmax") return {};
  values_[static_cast<std::size_t>(tensor)] = KINGLET_TRY(rounded(made, facts(tensor)));
  return {};
}

// --- Borders

namespace {

Result<int> number_at(const flatbuffers::Vector<std::int32_t>* list, std::size_t i, std::size_t tensors) {
  if (list == nullptr || i >= list->size())
    return kinglet::fail(ErrorCode::kBadData, format_text("has no tensor {}", i));
  const std::int32_t number = list->Get(static_cast<flatbuffers::uoffset_t>(i));
  if (number < 0 || static_cast<std::size_t>(number) >= tensors) {
    return kinglet::fail(ErrorCode::kBadData, format_text("names tensor {} of {}", number, tensors));
  }
  return number;
}

}  // namespace

Result<int> Builder::input(std::size_t i) const {
  auto found = number_at(current().inputs(), i, tensors_.size());
  if (!found) return std::unexpected(with_context(found.error(), printable(name_)));
  return found;
}

Result<int> Builder::output(std::size_t i) const {
  auto found = number_at(current().outputs(), i, tensors_.size());
  if (!found) return std::unexpected(with_context(found.error(), printable(name_)));
  return found;
}

std::size_t Builder::input_count() const { return current().inputs() == nullptr ? 0 : current().inputs()->size(); }

Result<void> Builder::add_inputs() {
  name_ = "input";
  if (file_.inputs() == nullptr || file_.inputs()->size() != 1) {
    return fail(ErrorCode::kUnsupported, "the model does not have one input", "expected a classifier of pictures");
  }
  const int tensor = KINGLET_TRY(number_at(file_.inputs(), 0, tensors_.size()));
  const TensorFacts& from = facts(tensor);
  if (from.shape.size() != 4)
    return fail(ErrorCode::kUnsupported, "the input is no picture: its shape is " + to_string(from.shape));
  const ValueId value = graph_.add_input("input", DataType::kF32, as_onnx(from.shape), std::vector<std::string>(4));
  values_.at(static_cast<std::size_t>(tensor)) = KINGLET_TRY(rounded(value, from));
  if (from.scales.size() != 1 || !is_8_bit(from.type)) return {};
  // A pixel is a level of uint8, 128 more than one of int8.
  Recipe recipe;
  const auto zero = static_cast<double>(from.zero_points[0] + (from.type == kInt8 ? 128 : 0));
  recipe.mean.fill(zero);
  recipe.std.fill(1 / static_cast<double>(from.scales[0]));
  graph_.metadata.properties.emplace_back(std::string(kRecipeProperty), to_json(recipe));
  return {};
}

Result<void> Builder::add_outputs() {
  name_ = "output";
  if (file_.outputs() == nullptr || file_.outputs()->size() == 0)
    return fail(ErrorCode::kBadData, "the model has no output");
  for (std::size_t i = 0; i < file_.outputs()->size(); ++i) {
    const int tensor = KINGLET_TRY(number_at(file_.outputs(), i, tensors_.size()));
    const ValueId value = KINGLET_TRY(real(tensor));
    if (graph_.is_output(value)) return fail(ErrorCode::kBadData, "the same tensor is two outputs");
    graph_.add_output(value);
  }
  return {};
}

}  // namespace kinglet::engine::tflite
