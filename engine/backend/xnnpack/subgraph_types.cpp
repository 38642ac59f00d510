// SPDX-License-Identifier: Apache-2.0
// Why: which operands XNNPACK has a node of, whatever their shapes (checks.h): their types, scales and ranges.
#include <algorithm>
#include <array>
#include <cmath>

#include "engine/backend/xnnpack/subgraph_builder.h"
#include "engine/graph/float16.h"
#include "engine/graph/quantization.h"

namespace kinglet::engine::xnn {
namespace {

// What XNNPACK (20241108) has of float16 element by element, without what soon leaves its range: squares.
constexpr std::array kHalfUnaries{xnn_unary_abs,         xnn_unary_bankers_rounding,
                                  xnn_unary_ceiling,     xnn_unary_clamp,
                                  xnn_unary_elu,         xnn_unary_floor,
                                  xnn_unary_hardswish,   xnn_unary_leaky_relu,
                                  xnn_unary_negate,      xnn_unary_sigmoid,
                                  xnn_unary_square_root, xnn_unary_tanh};
constexpr std::array kHalfBinaries{xnn_binary_add,     xnn_binary_subtract, xnn_binary_multiply, xnn_binary_divide,
                                   xnn_binary_maximum, xnn_binary_minimum,  xnn_binary_prelu};

bool is_float(xnn_datatype type) { return type == xnn_datatype_fp32 || type == xnn_datatype_fp16; }

std::unexpected<Error> no_half() { return fail(ErrorCode::kBadData, "XNNPACK has no float16 form of it"); }

}  // namespace

Result<void> SubgraphBuilder::check_float(std::initializer_list<Operand> operands) const {
  for (const Operand operand : operands) {
    const xnn_datatype type = record(operand).type;
    if (!is_float(type) || type != record(*operands.begin()).type) {
      return fail(ErrorCode::kBadData, "an operand is not float");
    }
  }
  return {};
}

Result<void> SubgraphBuilder::check_halves(const Tensor& numbers) const {
  constexpr float kMost = 65504;
  const auto fits = [](float number) { return std::abs(number) <= kMost; };  // not NaN, which packing might lose
  const auto too_large = [] { return fail(ErrorCode::kBadData, "a constant is too large for float16"); };
  if (!numbers.is_later()) {
    if (!std::ranges::all_of(numbers.data<float>(), fits)) return too_large();
    return {};
  }
  // Those of a layer that come later are a constant's of the graph in another order, which a probe has looked at.
  if (!probe_) return {};
  std::array<float, 4096> piece;
  for (std::size_t done = 0; done < static_cast<std::size_t>(numbers.element_count());) {
    const auto part =
        std::span(piece).first(std::min(piece.size(), static_cast<std::size_t>(numbers.element_count()) - done));
    numbers.copy_piece(done * sizeof(float), std::as_writable_bytes(part));
    if (!std::ranges::all_of(part, fits)) return too_large();
    done += part.size();
  }
  return {};
}

// XNNPACK computes with the real numbers that levels stand for, as the QLinear operators do; what other operators of
// ONNX compute with integers they compute with the levels themselves.
Result<void> SubgraphBuilder::check_numbers(Operand output) const {
  if (is_float(record(output).type) || node_ == kNoNode || rules_->form_of(graph_->node(node_)) != nullptr) {
    return {};
  }
  return fail(ErrorCode::kBadData, "arithmetic with whole numbers of 8 bits");
}

Result<void> SubgraphBuilder::check_same_type(std::initializer_list<Operand> operands) const {
  const Record& first = record(*operands.begin());
  for (const Operand operand : operands) {
    const Record& other = record(operand);
    if (other.type != first.type || other.quantization != first.quantization) {
      return fail(ErrorCode::kBadData, "operands differ in type, scale or zero point");
    }
  }
  return {};
}

// A layer's operands: all float; all 8-bit, int8 with scales for each channel or uint8; or rows quantised at each run.
Result<void> SubgraphBuilder::check_product(Operand input, Operand filter, std::optional<Operand> bias,
                                            Operand output) const {
  struct Types {
    xnn_datatype input, filter, bias, output;
  };
  constexpr std::array kTypes{
      Types{xnn_datatype_fp32, xnn_datatype_fp32, xnn_datatype_fp32, xnn_datatype_fp32},
      Types{xnn_datatype_fp16, xnn_datatype_fp32, xnn_datatype_fp32, xnn_datatype_fp16},
      Types{xnn_datatype_qint8, xnn_datatype_qcint8, xnn_datatype_qcint32, xnn_datatype_qint8},
      Types{xnn_datatype_quint8, xnn_datatype_quint8, xnn_datatype_qint32, xnn_datatype_quint8},
      Types{xnn_datatype_qdint8, xnn_datatype_qcint8, xnn_datatype_fp32, xnn_datatype_fp32},
  };
  const bool fits = std::ranges::any_of(kTypes, [&](const Types& types) {
    return record(input).type == types.input && record(filter).type == types.filter &&
           record(output).type == types.output && (!bias || record(*bias).type == types.bias);
  });
  if (!fits) return fail(ErrorCode::kBadData, "input, weights and output are not of types that go together");
  if (is_float(record(output).type)) return {};
  const auto check = [&](float scale) {
    return check_ratio(kLayerRatios, record(input).quantization.scale * scale / record(output).quantization.scale);
  };
  if (record(filter).type == xnn_datatype_quint8) return check(record(filter).quantization.scale);
  for (const float scale : record(filter).channel_scales.data<float>()) KINGLET_TRY(check(scale));
  return {};
}

Result<void> SubgraphBuilder::check_kind(Operand a, Operand b) const {
  if (record(a).type == record(b).type && record(a).type != xnn_datatype_qdint8) return {};
  return fail(ErrorCode::kBadData, "operands are not all float, all int8 or all uint8");
}

Result<void> SubgraphBuilder::check_arithmetic(xnn_binary_operator type, Operand a, Operand b, Operand output) const {
  KINGLET_TRY(check_kind(a, output));
  KINGLET_TRY(check_kind(b, output));
  if (record(output).type == xnn_datatype_fp16 && std::ranges::find(kHalfBinaries, type) == kHalfBinaries.end()) {
    return no_half();
  }
  if (is_float(record(output).type)) return {};
  const auto scale = [&](Operand operand) { return record(operand).quantization.scale; };
  switch (type) {
    case xnn_binary_add:
    case xnn_binary_subtract:
      KINGLET_TRY(check_ratio(kSumRatios, scale(a) / scale(output)));
      return check_ratio(kSumRatios, scale(b) / scale(output));
    case xnn_binary_multiply:
      return check_ratio(kProductRatios, scale(a) * scale(b) / scale(output));
    default:
      return fail(ErrorCode::kBadData, "8-bit arithmetic that only add, subtract and multiply are fast in");
  }
}

Result<void> SubgraphBuilder::check_unary(xnn_unary_operator type, const xnn_unary_params& params, Operand input,
                                          Operand output) const {
  KINGLET_TRY(check_kind(input, output));
  if (record(output).type == xnn_datatype_fp16 && std::ranges::find(kHalfUnaries, type) == kHalfUnaries.end()) {
    return no_half();
  }
  if (type != xnn_unary_leaky_relu || is_float(record(output).type)) return {};
  const float ratio = record(input).quantization.scale / record(output).quantization.scale;
  KINGLET_TRY(check_ratio(kConversionRatios, ratio));
  return check_slope(ratio * params.leaky_relu.negative_slope);
}

Result<void> SubgraphBuilder::check_conversion(Operand input, Operand output) const {
  const bool of_half = record(input).type == xnn_datatype_fp16 || record(output).type == xnn_datatype_fp16;
  const std::array floats{is_float(record(input).type), is_float(record(output).type)};
  if (of_half && (!floats[0] || !floats[1])) return no_half();
  if (floats[0] || floats[1]) return {};
  KINGLET_TRY(check_kind(input, output));
  return check_ratio(kConversionRatios, record(input).quantization.scale / record(output).quantization.scale);
}

// XNNPACK rounds the bounds of float16, and refuses when they meet.
Result<void> SubgraphBuilder::check_bounds(Operand output, const Range& range) const {
  if (record(output).type != xnn_datatype_fp16) return check_range(range);
  return check_range({.min = to_float(to_half(range.min)), .max = to_float(to_half(range.max))});
}

Result<void> SubgraphBuilder::set_range(Operand output, const Range& range) {
  KINGLET_TRY(check_bounds(output, range));
  records_[output.index].range = range;
  records_[output.index].clips_itself = true;
  return {};
}

Result<void> SubgraphBuilder::begin_layer(const Range& range, Operand input, Operand filter,
                                          std::optional<Operand> bias, Operand output) {
  KINGLET_TRY(set_range(output, range));
  KINGLET_TRY(check_product(input, filter, bias, output));
  if (record(filter).is_static && (!bias || record(*bias).is_static)) return {};
  return fail(ErrorCode::kBadData, "weights are not constant");
}

}  // namespace kinglet::engine::xnn
