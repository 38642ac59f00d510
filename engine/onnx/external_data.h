// SPDX-License-Identifier: Apache-2.0
// Why: weights outside the model file. A hostile model must not read other files of the machine, so the data is a plain
// file beside the model: no folders in its name, no links, one hard link, and the range lies inside it.
#pragma once

#include <filesystem>

#include "engine/base/error.h"
#include "engine/graph/tensor.h"

namespace onnx {
class TensorProto;
}

namespace kinglet::engine::onnx_format {

// `folder` empty: refused. kBadData: a name or range that is not allowed. kNotFound: no such file. kIo: cut off.
[[nodiscard]] Result<Tensor> read_external_tensor(const ::onnx::TensorProto& proto, DataType type, Shape shape,
                                                  const std::filesystem::path& folder);

}  // namespace kinglet::engine::onnx_format
