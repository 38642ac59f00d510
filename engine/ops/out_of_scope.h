// SPDX-License-Identifier: Apache-2.0
// Why: the table of what kinglet refuses (out_of_scope.def), asked by operator and by type.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kinglet::engine {

// Why an operator is refused; empty for one that the table does not have.
[[nodiscard]] std::string_view out_of_scope_reason(std::string_view domain, std::string_view op_type);

// "DOUBLE (is float64: ...)" for a TensorProto.DataType that kinglet refuses; "type 99" for one ONNX does not have.
[[nodiscard]] std::string describe_refused_type(std::int64_t number);

// Each reason once, in the order of the table.
[[nodiscard]] const std::vector<std::string_view>& out_of_scope_reasons();

}  // namespace kinglet::engine
