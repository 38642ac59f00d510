// SPDX-License-Identifier: Apache-2.0
// Why: ONNX's TensorProto becomes a Tensor: types, sizes and where the numbers lie are checked here, once.
#pragma once

#include <optional>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/graph/tensor.h"
#include "engine/onnx/external_data.h"
#include "engine/onnx/late_numbers.h"
#include "engine/onnx/wire/byte_source.h"
#include "engine/onnx/wire/skim.h"

namespace onnx {
class TensorProto;
}

namespace kinglet::engine::onnx_format {

// TensorProto.DataType numbers: the DataType, or nothing for a type kinglet does not compute with.
[[nodiscard]] std::optional<DataType> data_type(int onnx_type);
[[nodiscard]] int onnx_type(DataType type);
// The number of "FLOAT", "BFLOAT16" ...
[[nodiscard]] std::optional<std::int64_t> type_number(std::string_view name);
// "FLOAT", "BFLOAT16" ...; "type 99" for a number ONNX does not have.
[[nodiscard]] std::string type_name(int onnx_type);

// Where the numbers of a model's tensors come from.
struct TensorSource {
  const ByteSource& source;
  const Skeleton& skeleton;
  ExternalData* external = nullptr;  // null: external data is refused
  // Of the same bytes: large tensors are read when they are asked for. Null: all are read now.
  const LateNumbers* late = nullptr;
};

// kBadData: dimensions, type and data contradict each other. kUnsupported: a type out of scope. kNotFound, kIo:
// external data. The tensor's name is in where.
[[nodiscard]] Result<Tensor> to_tensor(const ::onnx::TensorProto& proto, const TensorSource& source);

// 16-bit integers, which stand in quantised models as zero points and weights: the least and the greatest.
struct WideLevels {
  std::int64_t low = 0, high = 0;
};
[[nodiscard]] std::optional<WideLevels> wide_levels(int onnx_type);
// The numbers of such a tensor as i32.
[[nodiscard]] Result<Tensor> to_wide_tensor(const ::onnx::TensorProto& proto, const TensorSource& source);

// A file that holds one TensorProto (ONNX's test data).
[[nodiscard]] Result<Tensor> load_tensor(const InputFile& file);

}  // namespace kinglet::engine::onnx_format
