// SPDX-License-Identifier: Apache-2.0
// Why: attributes and constants as short text, for people.
#pragma once

#include <string>

#include "engine/graph/graph.h"

namespace kinglet::engine {

// i: 1, f: 1.0, s: "text", ints: [1,2], floats: [1.0,2.0], strings: ["a"], a tensor as below.
[[nodiscard]] std::string to_text(const Attribute& attribute);

// f32[2]{1,2}; beyond 16 elements f32[64,3,7,7]#HASH instead.
[[nodiscard]] std::string to_text(const Tensor& tensor);

// The eight hex digits of that, over type, shape and bits. Not for security.
[[nodiscard]] std::string content_hash(const Tensor& tensor);

}  // namespace kinglet::engine
