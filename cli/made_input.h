// SPDX-License-Identifier: Apache-2.0
// Why: made-up inputs that can be repeated: `run --made-up`, `bench` and `verify` fill models with them.
#pragma once

#include <random>

#include "engine/graph/tensor.h"
#include "engine/session/session.h"

namespace kinglet::cli {

// In the logical order of the input. f32 and f16: the normal distribution; u8 and i8: any byte; i32, i64 and bool: 0 or
// 1, which every index, shape and condition takes. The same seed gives the same numbers on every machine.
[[nodiscard]] engine::Tensor made_tensor(const engine::TensorInfo& info, std::mt19937& random);

}  // namespace kinglet::cli
