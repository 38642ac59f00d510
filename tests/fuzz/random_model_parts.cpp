// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/random_model_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace kinglet::fuzz {
namespace {

using ::onnx::AttributeProto;
using ::onnx::TensorProto;

constexpr std::array<std::int64_t, 14> kLargeNumbers{64,
                                                     255,
                                                     4096,
                                                     65536,
                                                     1 << 20,
                                                     1 << 24,
                                                     (std::int64_t{1} << 31) - 1,
                                                     std::int64_t{1} << 31,
                                                     std::int64_t{1} << 32,
                                                     std::int64_t{1} << 40,
                                                     std::int64_t{1} << 62,
                                                     std::numeric_limits<std::int64_t>::max(),
                                                     std::numeric_limits<std::int64_t>::min(),
                                                     -(std::int64_t{1} << 31)};
constexpr std::array<float, 12> kFloats{0.0F, -0.0F, 1.0F, -1.0F, 0.5F, 3.0F, 6.0F, 1e-7F, 1e30F, -2.5F, INFINITY, NAN};
constexpr std::array<std::string_view, 28> kWords{"NOTSET",       "SAME_UPPER",
                                                  "SAME_LOWER",   "VALID",
                                                  "constant",     "reflect",
                                                  "edge",         "wrap",
                                                  "nearest",      "linear",
                                                  "cubic",        "half_pixel",
                                                  "floor",        "ceil",
                                                  "none",         "tanh",
                                                  "add",          "mul",
                                                  "max",          "min",
                                                  "DCR",          "CRD",
                                                  "asymmetric",   "align_corners",
                                                  "bij,bjk->bik", "...ij,...jk->...ik",
                                                  "ii->i",        "tf_crop_and_resize"};

}  // namespace

std::string RandomModelParts::any_value() {
  std::vector<std::string> names;
  for (const auto& input : graph_.input()) names.push_back(input.name());
  for (const auto& weight : graph_.initializer()) names.push_back(weight.name());
  for (const auto& node : graph_.node()) names.insert(names.end(), node.output().begin(), node.output().end());
  return names.empty() ? std::string() : names[below(names.size())];
}
std::int64_t RandomModelParts::number() {
  if (one_in(12)) return pick(kLargeNumbers);
  return static_cast<std::int64_t>(below(12)) - 3;
}

float RandomModelParts::real() { return pick(kFloats); }

std::string RandomModelParts::word() { return std::string(pick(kWords)); }

void RandomModelParts::fill_attribute(AttributeProto& attribute, std::string_view kind) {
  if (kind == "kInt") {
    attribute.set_type(AttributeProto::INT);
    attribute.set_i(number());
  } else if (kind == "kFloat") {
    attribute.set_type(AttributeProto::FLOAT);
    attribute.set_f(real());
  } else if (kind == "kString") {
    attribute.set_type(AttributeProto::STRING);
    attribute.set_s(word());
  } else if (kind == "kFloats") {
    attribute.set_type(AttributeProto::FLOATS);
    for (std::size_t i = below(5); i > 0; --i) attribute.add_floats(real());
  } else if (kind == "kTensor") {
    attribute.set_type(AttributeProto::TENSOR);
    fill_weight(*attribute.mutable_t(), TensorProto::FLOAT, {1});
  } else {
    attribute.set_type(AttributeProto::INTS);
    for (std::size_t i = below(5); i > 0; --i) attribute.add_ints(number());
  }
}

void RandomModelParts::fill_weight(TensorProto& tensor, int type, const std::vector<Dim>& dims) {
  const std::string name = tensor.name();
  tensor.Clear();
  tensor.set_name(name);
  tensor.set_data_type(type);
  std::int64_t count = 1;
  for (const Dim dim : dims) {
    tensor.add_dims(dim);
    count *= dim;
  }
  const bool small = one_in(2);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto step = static_cast<float>(below(9));
    switch (type) {
      case TensorProto::FLOAT:
        tensor.add_float_data(small ? (step - 4.0F) / 4.0F : one_in(9) ? real() : step - 4.0F);
        break;
      case TensorProto::INT64:
        tensor.add_int64_data(number());
        break;
      default:
        tensor.add_int32_data(static_cast<std::int32_t>(below(7)) - (type == TensorProto::UINT8 ? 0 : 3));
    }
  }
}

bool RandomModelParts::has_numbers(int type) {
  constexpr std::array kTypes{int{TensorProto::FLOAT}, int{TensorProto::INT64}, int{TensorProto::INT32},
                              int{TensorProto::UINT8}, int{TensorProto::INT8},  int{TensorProto::BOOL}};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

}  // namespace kinglet::fuzz
