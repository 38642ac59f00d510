// SPDX-License-Identifier: Apache-2.0
// Why: the pictures a model is calibrated and judged on, made when they are asked for: a folder of thousands costs the
// memory of a few.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "engine/base/error.h"
#include "engine/graph/tensor.h"

namespace kinglet::engine {

struct Samples {
  std::size_t count = 0;
  // Number i as the model's first input, in the order of its shape. Each is asked for several times. An error ends what
  // asks. Thread-bound.
  std::function<Result<Tensor>(std::size_t i)> input;
};

// Told between samples, for a line that people see.
using Progress = std::function<void(std::string_view what, std::size_t done, std::size_t total)>;

}  // namespace kinglet::engine
