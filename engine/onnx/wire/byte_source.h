// SPDX-License-Identifier: Apache-2.0
// Why: the loader reads a file and, in tests and fuzzers, plain memory, through one narrow interface.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "engine/base/error.h"
#include "engine/base/file.h"

namespace kinglet::engine::onnx_format {

// Reentrant: one may be read by several threads.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  // Fills all of `out` from `offset`; kIo when the source is shorter.
  [[nodiscard]] virtual Result<void> read_at(std::uint64_t offset, std::span<std::byte> out) const = 0;
};

// The file outlives it.
class FileSource final : public ByteSource {
 public:
  explicit FileSource(const InputFile& file) : file_(file) {}
  [[nodiscard]] std::uint64_t size() const override { return file_.size(); }
  [[nodiscard]] Result<void> read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    return file_.read_at(offset, out);
  }

 private:
  const InputFile& file_;
};

// The bytes outlive it.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  [[nodiscard]] Result<void> read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset)
      return fail(ErrorCode::kIo, "the data ends early");
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return {};
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace kinglet::engine::onnx_format
