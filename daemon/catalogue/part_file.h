// SPDX-License-Identifier: Apache-2.0
// Why: a file that is not whole yet: what is there already, and more of it. One process at a time writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "engine/base/error.h"
#include "engine/base/file.h"

namespace kinglet::daemon {

class PartFile {
 public:
  // What is longer than `expected` is begun anew. kCannotCreate: there is no such folder, or it is not writable. kBusy:
  // somebody else writes it.
  [[nodiscard]] static Result<PartFile> open(const std::filesystem::path& path, std::uint64_t expected);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  // Bytes at `offset`, which is the end, or an earlier place to go on from. kIo: the disk is full.
  [[nodiscard]] Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes);
  [[nodiscard]] Result<void> sync();

 private:
  [[nodiscard]] Result<void> cut(std::uint64_t size);
  [[nodiscard]] std::unexpected<Error> io_error() const;

  std::filesystem::path path_;
  FileDescriptor fd_;
  std::uint64_t size_ = 0;
};

}  // namespace kinglet::daemon
