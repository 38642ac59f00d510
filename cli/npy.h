// SPDX-License-Identifier: Apache-2.0
// Why: tensors in NumPy's file format (NEP 1), so that any Python script can make inputs and read outputs.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/graph/tensor.h"

namespace kinglet::cli {

// Little-endian, C order, versions 1.0 to 3.0: f4 f2 i8 i4 i1 u1 b1. kBadData names file and what does not fit; the
// bytes are hostile.
[[nodiscard]] Result<engine::Tensor> parse_npy(std::string_view bytes, std::string_view where);
[[nodiscard]] Result<engine::Tensor> read_npy(const std::filesystem::path& path);

// The whole file, version 1.0.
[[nodiscard]] std::string to_npy(const engine::Tensor& tensor);

}  // namespace kinglet::cli
