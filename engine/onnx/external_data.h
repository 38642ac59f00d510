// SPDX-License-Identifier: Apache-2.0
// Why: weights outside the model file. A hostile model must not read other files of the machine, so the data is a plain
// file beside the model: no folders in its name, no links, one hard link, and the range lies inside it. Nor may it make
// much of little: a piece that several weights name is read once, and pieces together are no larger than their file.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <tuple>

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/graph/tensor.h"

namespace onnx {
class TensorProto;
}

namespace kinglet::engine::onnx_format {

// The data files of one model while it is loaded. Thread-bound.
class ExternalData {
 public:
  // `folder` empty: every read is refused.
  explicit ExternalData(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // kBadData: a name or range that is not allowed. kNotFound: no such file. kNotPermitted: a link. kIo: cut off.
  [[nodiscard]] Result<Tensor> read(const ::onnx::TensorProto& proto, DataType type, Shape shape);

 private:
  using Piece = std::tuple<std::uint64_t, std::uint64_t, DataType>;  // offset, bytes
  struct Opened {
    InputFile file;
    std::uint64_t bytes_read = 0;
    std::map<Piece, Tensor> pieces;
  };
  [[nodiscard]] Result<Opened*> open(const std::string& name);

  std::filesystem::path folder_;
  std::map<std::string, Opened> files_;
};

// --- Writing: the data file is named after the model, with ".data" behind
// ----------------------------------------------

inline constexpr std::uint64_t kBesideFrom = 1024;  // bytes of a weight; smaller ones are shapes and scalars

// Where the next weight begins when `end` bytes are taken: aligned to 64.
[[nodiscard]] constexpr std::uint64_t beside_offset(std::uint64_t end) { return (end + 63) / 64 * 64; }

// The tensor's numbers lie in `file` beside the model.
void set_external(::onnx::TensorProto& tensor, const std::string& file, std::uint64_t offset, std::uint64_t length);

}  // namespace kinglet::engine::onnx_format
