// SPDX-License-Identifier: Apache-2.0
// Why: the short hash by which the text form names the numbers of a large constant. Not for security.
#pragma once

#include <string>

#include "engine/graph/tensor.h"

namespace kinglet::engine {

// Eight hex digits over type, shape and bits.
[[nodiscard]] std::string content_hash(const Tensor& tensor);

}  // namespace kinglet::engine
