// SPDX-License-Identifier: Apache-2.0
#include "engine/onnx/late_numbers.h"

#include <sys/stat.h>

namespace kinglet::engine::onnx_format {

std::optional<LateNumbers::FileState> LateNumbers::state_of(const std::filesystem::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileState{.inode = status.st_ino,
                   .bytes = static_cast<std::uint64_t>(status.st_size),
                   .seconds = status.st_mtim.tv_sec,
                   .nanoseconds = status.st_mtim.tv_nsec};
}

LateNumbers::LateNumbers(InputFile file) : file_(std::move(file)), begun_(state_of(file_.path())) {}

Tensor LateNumbers::tensor_at(std::uint64_t offset, DataType type, Shape shape) const {
  return Tensor::later(
      type, std::move(shape),
      [from = shared_from_this(), offset](std::size_t first, std::span<std::byte> to) {
        if (from->file_.read_at(offset + first, to)) return true;
        from->failed_ = true;
        return false;
      },
      Tensor::Pieces::kAny);
}

Result<void> LateNumbers::outcome() const {
  const std::optional<FileState> now = state_of(file_.path());
  // Another file in its place does not matter: this one is still open.
  const bool written = begun_ && now && now->inode == begun_->inode && *now != *begun_;
  if (!failed_ && !written) return {};
  return fail(ErrorCode::kIo,
              failed_ ? "its weights could not be read to the end" : "somebody wrote to it while it was loaded",
              file_.path().string(), "copy the model again, and let nobody write to it while it is loaded");
}

}  // namespace kinglet::engine::onnx_format
