// SPDX-License-Identifier: Apache-2.0
// Why: the weights of a model are most of its file, and whoever packs them needs each once: they are read when they are
// asked for, which may be never.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/graph/tensor.h"

namespace kinglet::engine::onnx_format {

// Keeps the file open. Reentrant.
class LateNumbers : public std::enable_shared_from_this<LateNumbers> {
 public:
  explicit LateNumbers(InputFile file);

  [[nodiscard]] const InputFile& file() const { return file_; }
  // A tensor whose bytes lie in the file as they are, from `offset` on. Keeps this alive until they are read.
  [[nodiscard]] Tensor tensor_at(std::uint64_t offset, DataType type, Shape shape) const;
  // kIo: something that was asked for could not be read, and has been zeros, or somebody wrote to the file meanwhile.
  [[nodiscard]] Result<void> outcome() const;

 private:
  struct FileState {
    std::uint64_t inode = 0, bytes = 0;
    std::int64_t seconds = 0, nanoseconds = 0;  // of the last writing
    bool operator==(const FileState&) const = default;
  };
  [[nodiscard]] static std::optional<FileState> state_of(const std::filesystem::path& path);

  InputFile file_;
  std::optional<FileState> begun_;
  mutable std::atomic<bool> failed_ = false;
};

}  // namespace kinglet::engine::onnx_format
