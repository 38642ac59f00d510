// SPDX-License-Identifier: Apache-2.0
// Why: what `kinglet compare` found as one self-contained page: no script, nothing fetched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/quantize/judge.h"
#include "engine/quantize/layer_noise.h"

namespace kinglet::cli {

struct Comparison {
  std::string a, b;                // paths
  std::vector<std::string> files;  // the pictures
  std::uint64_t a_bytes = 0, b_bytes = 0;
  double a_ms = 0, b_ms = 0;
  engine::Judgement judgement = {};
  std::vector<engine::ValueNoise> layers = {};  // in the order of the model
};

[[nodiscard]] std::string comparison_page(const Comparison& found);

}  // namespace kinglet::cli
