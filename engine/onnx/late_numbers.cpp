// SPDX-License-Identifier: Apache-2.0
#include "engine/onnx/late_numbers.h"

namespace kinglet::engine::onnx_format {

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
  if (!failed_) return {};
  return fail(ErrorCode::kIo, "its weights could not be read to the end", file_.path().string(),
              "copy the model again, and let nobody write to it while it is loaded");
}

}  // namespace kinglet::engine::onnx_format
