// SPDX-License-Identifier: Apache-2.0
#include "engine/onnx/tensor_proto.h"

#include <onnx/onnx.pb.h>

#include <array>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/ops/out_of_scope.h"

namespace kinglet::engine::onnx_format {
namespace {

using ::onnx::TensorProto;

struct TypeRow {
  int number;
  std::string_view name;
  std::optional<DataType> type;
};
constexpr std::array kTypes{
    TypeRow{TensorProto::FLOAT, "FLOAT", DataType::kF32},
    TypeRow{TensorProto::UINT8, "UINT8", DataType::kU8},
    TypeRow{TensorProto::INT8, "INT8", DataType::kI8},
    TypeRow{TensorProto::UINT16, "UINT16", {}},
    TypeRow{TensorProto::INT16, "INT16", {}},
    TypeRow{TensorProto::INT32, "INT32", DataType::kI32},
    TypeRow{TensorProto::INT64, "INT64", DataType::kI64},
    TypeRow{TensorProto::STRING, "STRING", {}},
    TypeRow{TensorProto::BOOL, "BOOL", DataType::kBool},
    TypeRow{TensorProto::FLOAT16, "FLOAT16", DataType::kF16},
    TypeRow{TensorProto::DOUBLE, "DOUBLE", {}},
    TypeRow{TensorProto::UINT32, "UINT32", {}},
    TypeRow{TensorProto::UINT64, "UINT64", {}},
    TypeRow{TensorProto::COMPLEX64, "COMPLEX64", {}},
    TypeRow{TensorProto::COMPLEX128, "COMPLEX128", {}},
    TypeRow{TensorProto::BFLOAT16, "BFLOAT16", {}},
    TypeRow{TensorProto::FLOAT8E4M3FN, "FLOAT8E4M3FN", {}},
    TypeRow{TensorProto::FLOAT8E5M2, "FLOAT8E5M2", {}},
    TypeRow{TensorProto::UINT4, "UINT4", {}},
    TypeRow{TensorProto::INT4, "INT4", {}},
};

constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 31;
constexpr int kMaxRank = 16;
constexpr std::uint64_t kLeastLateBytes = 4096;  // below, what keeps track takes more than the numbers

std::string place(const TensorProto& proto) { return format_text("tensor \"{}\"", printable(proto.name())); }

Result<Shape> checked_shape(const TensorProto& proto, DataType type) {
  for (const Dim dim : proto.dims()) {
    if (dim < 0) return fail(ErrorCode::kBadData, format_text("has a dimension of {}", dim), place(proto));
  }
  Shape shape(proto.dims().begin(), proto.dims().end());
  if (proto.dims_size() > kMaxRank) {
    return fail(ErrorCode::kBadData, format_text("has {} dimensions, the limit is {}", proto.dims_size(), kMaxRank),
                place(proto));
  }
  const std::optional<std::int64_t> count = element_count(shape);
  if (!count || *count > kMaxTensorBytes / static_cast<std::int64_t>(byte_size(type))) {
    return fail(ErrorCode::kBadData, format_text("the dimensions {} make no tensor of at most 2 GiB", to_string(shape)),
                place(proto));
  }
  return shape;
}

std::unexpected<Error> wrong_size(const TensorProto& proto, const Shape& shape, std::uint64_t got,
                                  std::string_view unit) {
  return fail(ErrorCode::kBadData,
              format_text("has {} {} of data, its shape is {} of {}", got, unit, to_string(shape),
                          type_name(proto.data_type())),
              place(proto));
}

// The size is checked against what is really there before any memory is taken.
Result<Tensor> read_raw(const TensorProto& proto, const TensorSource& source, DataType type, Shape shape) {
  const std::size_t index = payload_index(proto.raw_data(), source.skeleton);
  if (index >= source.skeleton.payloads.size()) {
    return fail(ErrorCode::kBadData, "its numbers are stored where none may be", place(proto));
  }
  const Payload payload = source.skeleton.payloads[index];
  if (payload.size != static_cast<std::uint64_t>(*element_count(shape)) * byte_size(type)) {
    return wrong_size(proto, shape, payload.size, "bytes");
  }
  if (source.late != nullptr && payload.size >= kLeastLateBytes && type != DataType::kBool)
    return source.late->tensor_at(payload.offset, type, std::move(shape));
  Tensor tensor(type, std::move(shape));
  KINGLET_TRY(source.source.read_at(payload.offset, tensor.mutable_bytes()));
  return tensor;
}

// Element by element: float_data, int32_data (which also holds 8-bit, 16-bit and bool) or int64_data.
template <typename T, typename Field>
void convert(const Field& field, Tensor& tensor) {
  const std::span<T> out = tensor.mutable_data<T>();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(field.Get(static_cast<int>(i)));
}

std::uint64_t typed_count(const TensorProto& proto, DataType type) {
  switch (type) {
    case DataType::kF32:
      return static_cast<std::uint64_t>(proto.float_data_size());
    case DataType::kI64:
      return static_cast<std::uint64_t>(proto.int64_data_size());
    default:
      return static_cast<std::uint64_t>(proto.int32_data_size());
  }
}

Result<Tensor> read_typed(const TensorProto& proto, DataType type, Shape shape) {
  const std::uint64_t count = typed_count(proto, type);
  if (count != static_cast<std::uint64_t>(*element_count(shape))) return wrong_size(proto, shape, count, "numbers");
  Tensor tensor(type, std::move(shape));
  with_element(type, [&]<typename T>() {
    if constexpr (std::is_same_v<T, float>) {
      convert<T>(proto.float_data(), tensor);
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      convert<T>(proto.int64_data(), tensor);
    } else {
      convert<T>(proto.int32_data(), tensor);
    }
  });
  return tensor;
}

Result<Tensor> read_numbers(const TensorProto& proto, const TensorSource& source, DataType type, Shape shape) {
  if (proto.data_location() == TensorProto::EXTERNAL) {
    ExternalData none({});
    return (source.external != nullptr ? *source.external : none).read(proto, type, std::move(shape));
  }
  if (proto.has_raw_data()) return read_raw(proto, source, type, std::move(shape));
  return read_typed(proto, type, std::move(shape));
}

// Stored bytes other than 0 and 1 are no value of a C++ bool.
void clean_bools(Tensor& tensor) {
  if (tensor.type() != DataType::kBool) return;
  for (std::byte& byte : tensor.mutable_bytes()) byte = byte == std::byte{0} ? std::byte{0} : std::byte{1};
}

}  // namespace

std::optional<DataType> data_type(int onnx_type) {
  for (const TypeRow& row : kTypes) {
    if (row.number == onnx_type) return row.type;
  }
  return std::nullopt;
}

int onnx_type(DataType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return row.number;
  }
  return TensorProto::UNDEFINED;
}

std::optional<std::int64_t> type_number(std::string_view name) {
  for (const TypeRow& row : kTypes) {
    if (row.name == name) return row.number;
  }
  return std::nullopt;
}

std::string type_name(int onnx_type) {
  for (const TypeRow& row : kTypes) {
    if (row.number == onnx_type) return std::string(row.name);
  }
  return format_text("type {}", onnx_type);
}

Result<Tensor> to_tensor(const TensorProto& proto, const TensorSource& source) {
  const std::optional<DataType> type = data_type(proto.data_type());
  if (!type) {
    return fail(ErrorCode::kUnsupported,
                format_text("holds {}, which kinglet does not compute with", describe_refused_type(proto.data_type())),
                place(proto), "export the model in float32, or quantised to 8 bits");
  }
  if (proto.has_segment()) return fail(ErrorCode::kUnsupported, "is stored in segments", place(proto));
  Shape shape = KINGLET_TRY(checked_shape(proto, *type));
  Tensor tensor = KINGLET_TRY(read_numbers(proto, source, *type, std::move(shape)));
  clean_bools(tensor);
  return tensor;
}

std::optional<WideLevels> wide_levels(int onnx_type) {
  if (onnx_type == TensorProto::UINT16) return WideLevels{0, 65535};
  if (onnx_type == TensorProto::INT16) return WideLevels{-32768, 32767};
  return std::nullopt;
}

Result<Tensor> to_wide_tensor(const TensorProto& proto, const TensorSource& source) {
  Shape shape = KINGLET_TRY(checked_shape(proto, DataType::kI32));
  // Stored as any type of 16 bits is.
  const Tensor stored = KINGLET_TRY(read_numbers(proto, source, DataType::kF16, shape));
  Tensor wide(DataType::kI32, std::move(shape));
  const auto from = stored.data<Half>();
  const auto to = wide.mutable_data<std::int32_t>();
  const bool is_signed = proto.data_type() == TensorProto::INT16;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto bits = std::to_underlying(from[i]);
    to[i] = is_signed ? std::int32_t{static_cast<std::int16_t>(bits)} : std::int32_t{bits};
  }
  return wide;
}

Result<Tensor> load_tensor(const InputFile& file) {
  const FileSource source(file);
  const Skeleton skeleton = KINGLET_TRY(skim(source, MessageKind::kTensor));
  TensorProto proto;
  if (!proto.ParseFromString(skeleton.bytes)) {
    return fail(ErrorCode::kBadData, "is not an ONNX tensor", file.path().string());
  }
  return to_tensor(proto, {source, skeleton});
}

}  // namespace kinglet::engine::onnx_format
