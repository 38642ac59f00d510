// SPDX-License-Identifier: Apache-2.0
// AttributeProto to Attribute: operators read attributes by kind, so a file that says another kind is refused here.
#include <onnx/onnx.pb.h>

#include <array>
#include <cmath>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/onnx/import.h"

namespace kinglet::engine::onnx_format {
namespace {

using ::onnx::AttributeProto;

using Kind = AttributeProto::AttributeType;
constexpr Kind kInt = AttributeProto::INT, kFloat = AttributeProto::FLOAT, kString = AttributeProto::STRING,
               kInts = AttributeProto::INTS, kFloats = AttributeProto::FLOATS, kTensor = AttributeProto::TENSOR;

struct Row {
  std::string_view op_type;
  std::string_view name;
  Kind kind;
};
constexpr Row kRows[] = {
#define KINGLET_ATTRIBUTE(op_type, name, kind) {op_type, name, kind},
#include "engine/onnx/attributes.def"
#undef KINGLET_ATTRIBUTE
};

std::optional<Kind> expected_kind(std::string_view op_type, std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name && (row.op_type.empty() || row.op_type == op_type)) return row.kind;
  }
  return std::nullopt;
}

// Files of the first ONNX version leave the type out.
int kind_of(const AttributeProto& proto) {
  if (proto.type() != AttributeProto::UNDEFINED) return proto.type();
  if (proto.has_f()) return AttributeProto::FLOAT;
  if (proto.has_i()) return AttributeProto::INT;
  if (proto.has_s()) return AttributeProto::STRING;
  if (proto.has_t()) return AttributeProto::TENSOR;
  if (proto.floats_size() > 0) return AttributeProto::FLOATS;
  if (proto.ints_size() > 0) return AttributeProto::INTS;
  if (proto.strings_size() > 0) return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}

// Opset 1 wrote some integers otherwise: p as a whole float, the type that Cast makes by its name.
std::optional<std::int64_t> old_integer(const AttributeProto& proto, int kind) {
  if (kind == AttributeProto::FLOAT && proto.name() == "p" && proto.f() >= 1 && proto.f() <= 65536 &&
      proto.f() == std::floor(proto.f())) {
    return static_cast<std::int64_t>(proto.f());
  }
  if (kind == AttributeProto::STRING && proto.name() == "to") return type_number(proto.s());
  return std::nullopt;
}

}  // namespace

int attribute_kind(std::string_view op_type, std::string_view name) {
  return expected_kind(op_type, name).value_or(AttributeProto::UNDEFINED);
}

Result<Attribute> read_attribute(const AttributeProto& proto, std::string_view op_type, const TensorSource& tensors) {
  const int kind = kind_of(proto);
  const std::optional<Kind> expected = expected_kind(op_type, proto.name());
  if (expected == kInt && kind != AttributeProto::INT) {
    if (const std::optional<std::int64_t> value = old_integer(proto, kind)) return *value;
  }
  if (expected && *expected != kind) {
    return fail(ErrorCode::kBadData, format_text("attribute {} is of kind {}, the operator has kind {}",
                                                 printable(proto.name()), kind, int{*expected}));
  }
  switch (kind) {
    case AttributeProto::INT:
      return proto.i();
    case AttributeProto::FLOAT:
      return proto.f();
    case AttributeProto::STRING:
      return proto.s();
    case AttributeProto::TENSOR:
      return KINGLET_TRY(to_tensor(proto.t(), tensors));
    case AttributeProto::INTS:
      return std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end());
    case AttributeProto::FLOATS:
      return std::vector<float>(proto.floats().begin(), proto.floats().end());
    case AttributeProto::STRINGS:
      return std::vector<std::string>(proto.strings().begin(), proto.strings().end());
    default:
      return fail(ErrorCode::kUnsupported, format_text("attribute {} is of kind {}, which kinglet does not read",
                                                       printable(proto.name()), kind));
  }
}

}  // namespace kinglet::engine::onnx_format
