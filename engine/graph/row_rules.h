// SPDX-License-Identifier: Apache-2.0
// Why: what the rows of operators say of numbers (engine/ops/levels.h has it), told to rooms below those rows.
#pragma once

#include <cstdint>

#include "engine/graph/quantization.h"

namespace kinglet::engine {

// What the numbers of output 0 are; none lies outside of input 0's, but for what pads.
enum class Numbers : std::uint8_t {
  kOther,
  kMoved,   // each is one of input 0's, of another type or as a level perhaps
  kMeans,   // each is the mean of some of them
  kPicked,  // each is the largest or the least of some of them
};

struct RowRules : LevelRules {
  Numbers (*numbers_of)(const Node& node);      // of an 8-bit operator as of what it computes
  bool (*is_never_negative)(const Node& node);  // output 0, whatever the inputs are
};

}  // namespace kinglet::engine
