// SPDX-License-Identifier: Apache-2.0
// Why: weights outside the model file. A hostile model must not read other files of the machine, so the data is a plain
// file beside the model: no folders in its name, one hard link, no symbolic link but to a file beside the model (caches
// of model hubs hold model and data so), and the range lies inside it. Nor may it make much of little: a piece that
// several weights name is read once, and pieces together are no larger than their file.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/graph/tensor.h"

namespace onnx {
class TensorProto;
}

namespace kinglet::engine::onnx_format {

// Where the data of a model may lie: beside the name of its file, and where that is a link, beside the file that it
// leads to.
struct DataFolders {
  DataFolders() = default;
  DataFolders(const std::filesystem::path& folder) : named(folder), home(folder) {}  // NOLINT: both are one
  [[nodiscard]] static DataFolders of(const std::filesystem::path& model);

  std::filesystem::path named;  // empty: every read is refused
  std::filesystem::path home;
};

// No folders in it.
[[nodiscard]] bool is_plain_name(const std::string& name);
// The data file that is called so, with links followed; it may be missing. kNotPermitted: a link that leads away.
[[nodiscard]] Result<std::filesystem::path> find_data_file(const DataFolders& folders, const std::string& name);

// Of the file that holds the numbers of a weight, as the model has it; nothing: they lie in the model.
[[nodiscard]] std::optional<std::string> data_file_name(const ::onnx::TensorProto& proto);

// The data files of one model while it is loaded. Thread-bound.
class ExternalData {
 public:
  explicit ExternalData(DataFolders folders) : folders_(std::move(folders)) {}

  // kBadData: a name or range that is not allowed. kNotFound: no such file. kNotPermitted: a link that leads away from
  // the model. kIo: cut off.
  [[nodiscard]] Result<Tensor> read(const ::onnx::TensorProto& proto, DataType type, Shape shape);

 private:
  using Piece = std::tuple<std::uint64_t, std::uint64_t, DataType>;  // offset, bytes
  struct Opened {
    InputFile file;
    std::uint64_t bytes_read = 0;
    std::map<Piece, Tensor> pieces;
  };
  [[nodiscard]] Result<Opened*> open(const std::string& name);

  DataFolders folders_;
  std::map<std::string, Opened> files_;
};

// --- Writing: the data file is named after the model, with ".data" behind

inline constexpr std::uint64_t kBesideFrom = 1024;  // bytes of a weight; smaller ones are shapes and scalars

// Where the next weight begins when `end` bytes are taken: aligned to 64.
[[nodiscard]] constexpr std::uint64_t beside_offset(std::uint64_t end) { return (end + 63) / 64 * 64; }

// The tensor's numbers lie in `file` beside the model.
void set_external(::onnx::TensorProto& tensor, const std::string& file, std::uint64_t offset, std::uint64_t length);

}  // namespace kinglet::engine::onnx_format
