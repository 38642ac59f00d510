// SPDX-License-Identifier: Apache-2.0
// Why: parts of an ONNX message as short text, for differences and error messages.
#pragma once

#include <cstdint>
#include <string>

namespace onnx {
class AttributeProto;
class NodeProto;
class TensorProto;
class ValueInfoProto;
}  // namespace onnx

namespace kinglet::engine::edit {

// "node \"conv_3\" (Conv)"; the first output's name where the node has none.
[[nodiscard]] std::string place(const ::onnx::NodeProto& node);
[[nodiscard]] std::string name_of(const ::onnx::NodeProto& node);
// "Conv", "com.microsoft.FusedConv".
[[nodiscard]] std::string operator_of(const ::onnx::NodeProto& node);
// "[1, 1]", "0.5", "\"SAME_UPPER\"", "a tensor FLOAT [64,3,7,7]".
[[nodiscard]] std::string value_text(const ::onnx::AttributeProto& attribute);
// "FLOAT [N,3,224,224]".
[[nodiscard]] std::string type_text(const ::onnx::ValueInfoProto& value);
[[nodiscard]] std::string type_text(const ::onnx::TensorProto& tensor);
// Numbers in it, by its dimensions; 0 when they are no shape.
[[nodiscard]] std::int64_t count_of(const ::onnx::TensorProto& tensor);

}  // namespace kinglet::engine::edit
