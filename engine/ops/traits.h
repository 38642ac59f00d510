// SPDX-License-Identifier: Apache-2.0
// Why: what passes, planner and quantiser ask of an operator stands in its row as plain values, so that one more
// operator is asked everywhere and no list of names elsewhere forgets it. The defaults promise nothing but float16:
// who asks an operator of unknown traits declines. No function and no kernel comes in here; those are members of Op.
#pragma once

#include <cstdint>

#include "engine/graph/graph.h"
#include "engine/graph/row_rules.h"

namespace kinglet::engine {

// Each number of output 0 follows from the numbers at its place alone.
enum class Elementwise : std::uint8_t {
  kNo,
  kUnary,      // of input 0; further inputs are one number for all places (bounds of Clip)
  kBroadcast,  // of all inputs, broadcast to each other
};

// min(max(x, low), high) and nothing else; engine/passes/bounds.h reads the bounds.
enum class Clamp : std::uint8_t {
  kNo,
  kAboveZero,  // low is 0, there is no high
  kByInputs,   // inputs 1 and 2, either may be absent
};

// When output 0 is >= 0 (or NaN) at every place, whatever the numbers are.
enum class NeverNegative : std::uint8_t {
  kUnknown,
  kAlways,
  kLikeFirst,   // where input 0 never is
  kLikeInputs,  // where no input ever is
};

// Where the dimensions of the outputs come from while some are known only when the model runs. Elementwise operators
// need no rule; those with one of their own (Reshape, Concat ...) have it in engine/passes/symbolic_dims.cpp.
enum class DimRule : std::uint8_t {
  kUnknown,
  kLikeFirst,  // output 0 has those of input 0
  kBatch,      // axis 0 is that of input 0 (windows)
  kReduced,    // those of input 0, less or 1 along the axes of attribute or input 1
};

// Each number of the outputs is one of the inputs', so that 8-bit levels keep their meaning.
enum class Levels : std::uint8_t {
  kOther,
  kOfFirst,  // of input 0
  kOfAll,    // of all inputs, when they have one scale
};

struct Traits {
  Elementwise elementwise = Elementwise::kNo;
  Clamp clamp = Clamp::kNo;
  NeverNegative never_negative = NeverNegative::kUnknown;
  DimRule dims = DimRule::kUnknown;
  Levels levels = Levels::kOther;
  Numbers numbers = Numbers::kOther;
  // Output 0 is the sum of inputs 0 and 1.
  bool adds = false;
  // Output 0 is the inputs one behind the other along attribute axis.
  bool joins = false;
  // f(c * x) = c * f(x) for every c > 0, one c a channel (axis 1).
  bool homogeneous = false;
  // The numbers of input 0 in the same order under another shape.
  bool reshapes = false;
  // A window that lies in the padding as a whole, as dilation allows, gives the type's least number.
  bool pads_with_least = false;
  // XNNPACK clamps the result on its way out: fuse_activation may leave bounds on the node (graph/fused_clip.h).
  bool takes_clip = false;
  // float16 is computed with by other runtimes, and its range holds what the operator adds up.
  bool fits_half = true;
};

// Of the node's row; the defaults for an operator that kinglet does not know.
[[nodiscard]] const Traits& traits_of(const Node& node);

[[nodiscard]] bool is_clamp(const Node& node);
[[nodiscard]] bool is_reshape(const Node& node);
// No window lies in the padding as a whole, or it does not matter to the operator.
[[nodiscard]] bool windows_hold_data(const Node& node);

}  // namespace kinglet::engine
