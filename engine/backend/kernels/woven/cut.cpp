// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/kernels/woven/cut.h"

#include "engine/backend/kernels/convolution_parts.h"

namespace kinglet::engine::kernels::woven {
namespace {

// Instructions of XNNPACK's product: for each multiplication, and how large its tile is.
struct Xnnpack {
  double product;
  std::size_t rows, vectors;
};
constexpr Xnnpack kFloats{.product = 1.35, .rows = 4, .vectors = 2};
constexpr Xnnpack kHalves{.product = 1.33, .rows = 6, .vectors = 2};

}  // namespace

Cut::Cut(const ConvolutionShape& shape, std::size_t lanes_of_vector)
    : lanes(lanes_of_vector),
      joined(shape.input_channels % lanes != 0 && shape.taps() > 1 && shape.window.dilation_width == 1 &&
             shape.taps() * shape.input_channels <= kMostJoined),
      tap(joined ? shape.input_channels : rounded_up(shape.input_channels, lanes)),
      numbers(rounded_up(shape.taps() * tap, lanes)),
      rows(shape.batch * shape.output_height * shape.output_width),
      panels(divided_up(rows, kMostRows)),
      vectors(divided_up(shape.output_channels, lanes)),
      threes(vectors % 3 == 1 && vectors > 1 ? vectors / 3 - 1 : vectors / 3),
      blocks(threes + divided_up(vectors - 3 * threes, 2)) {
  if (rows == 0) return;
  // Few panels are woven more than once, so that each thread has something.
  constexpr std::size_t kParts = 16;
  constexpr std::size_t kLeastBlocks = 4;  // that pay for weaving
  chunks = std::clamp<std::size_t>(divided_up(kParts, panels), 1, std::max<std::size_t>(blocks / kLeastBlocks, 1));
}

// In instructions, by what was counted (docs/benchmarks.md).
double cost_of(const Cut& cut, const ConvolutionShape& shape) {
  const Xnnpack& xnnpack = cut.lanes == kLanes<Half> ? kHalves : kFloats;
  const auto rows = static_cast<double>(cut.rows);
  const auto vectors = static_cast<double>(cut.vectors);
  const auto numbers = static_cast<double>(cut.numbers);
  const auto lanes = static_cast<double>(cut.lanes);
  const double woven = static_cast<double>(cut.panels * cut.chunks);
  constexpr double kStart = 3000;   // of a step of its own
  constexpr double kOfPanel = 150;  // beside what follows
  constexpr double kWeaving = 1;    // of a vector of numbers
  constexpr double kEnd = 4;        // of a vector of outputs
  // Loads and counts for each vector of numbers and three of outputs.
  const double product = 1 + (lanes + 3) / (3 * lanes * rows / static_cast<double>(cut.panels));
  const double own = kStart + woven * kOfPanel + rows * numbers / lanes * kWeaving * static_cast<double>(cut.chunks) +
                     rows * vectors * (numbers * product + kEnd);

  const auto of_taps = static_cast<double>(shape.taps() * shape.input_channels);
  const auto xnn = static_cast<double>(rounded_up(cut.rows, xnnpack.rows) * rounded_up(cut.vectors, xnnpack.vectors)) *
                   (xnnpack.product * of_taps + kEnd);
  // Fewer rows than XNNPACK's tile has wait for their weights, not for instructions.
  return cut.rows < xnnpack.rows ? std::max(own / xnn, 1.0) : own / xnn;
}

}  // namespace kinglet::engine::kernels::woven
