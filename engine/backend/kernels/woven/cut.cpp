// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/kernels/woven/cut.h"

#include <algorithm>

#include "engine/backend/kernels/convolution_parts.h"

namespace kinglet::engine::kernels::woven {
namespace {

// Instructions of XNNPACK's product: for each multiplication (the second: where a tap has three numbers, as pictures
// have), and how large its tile is.
struct Xnnpack {
  double product, of_three;
  std::size_t rows, vectors;
};
constexpr Xnnpack kFloats{.product = 1.35, .of_three = 2.4, .rows = 4, .vectors = 2};
constexpr Xnnpack kHalves{.product = 1.33, .of_three = 2.3, .rows = 6, .vectors = 2};

bool is_padded(const xnn::Window& window) {
  return window.pad_top + window.pad_left + window.pad_bottom + window.pad_right > 0;
}

Tile tile_for(const ConvolutionShape& shape, Tile tile) {
  if (shape.output_channels / shape.groups <= tile.lanes) tile.rows = tile.rows_of_one;
  tile.most_numbers = std::min(tile.most_numbers, kMostPanelNumbers / tile.rows);
  return tile;
}

// A run that leaves more of a panel empty is not worth a panel of its own.
bool is_long(const InnerColumns& run, const Tile& tile) { return 2 * (run.end - run.begin) >= tile.rows; }

Lines lines_of(const ConvolutionShape& shape, const Cut& cut) {
  Lines lines{.count = 1, .width = cut.rows, .begin = 0, .end = cut.rows, .of_line = 0, .of_column = 0};
  const InnerColumns run = inner_columns(shape);
  if (cut.tile.together == 1 && !cut.in_place && is_long(run, cut.tile))
    lines = {
        .count = shape.batch * shape.output_height, .width = shape.output_width, .begin = run.begin, .end = run.end};
  lines.of_line = divided_up(lines.end - lines.begin, cut.tile.rows);
  lines.of_column = divided_up(lines.count, cut.tile.rows);
  return lines;
}

}  // namespace

Cut::Panel Cut::panel_of_lines(std::size_t index) const {
  const std::size_t in_lines = lines.count * lines.of_line;
  if (index < in_lines) {
    const std::size_t line = index / lines.of_line;
    const std::size_t part = index % lines.of_line;
    const std::size_t begin = share(part, lines.end - lines.begin, lines.of_line);
    return {.first = line * lines.width + lines.begin + begin,
            .rows = share(part + 1, lines.end - lines.begin, lines.of_line) - begin,
            .step = 1};
  }
  const std::size_t beside = (index - in_lines) / lines.of_column;
  const std::size_t part = (index - in_lines) % lines.of_column;
  const std::size_t begin = share(part, lines.count, lines.of_column);
  return {.first = begin * lines.width + beside + (beside < lines.begin ? 0 : lines.end - lines.begin),
          .rows = share(part + 1, lines.count, lines.of_column) - begin,
          .step = lines.width};
}

Cut::Cut(const ConvolutionShape& shape, const Tile& a_tile)
    : tile(tile_for(shape, a_tile)),
      channels(shape.input_channels / shape.groups),
      outputs(shape.output_channels / shape.groups),
      takes_groups(shape.groups == 1 || (shape.groups < shape.input_channels && shape.taps() <= kMostTapsOfGroups &&
                                         channels % tile.together == 0)),
      of_pixels(shape.groups == 1 && shape.taps() == 1 && shape.window.stride_height == 1 &&
                shape.window.stride_width == 1 && !is_padded(shape.window)),
      in_place(of_pixels && tile.together == 1),
      joined(shape.window.dilation_width == 1 &&
             (tile.together == 1 || (shape.groups == 1 && channels % tile.together != 0 && shape.taps() > 1 &&
                                     shape.taps() * channels <= kMostJoined))),
      tap(joined ? channels : rounded_up(channels, tile.together)),
      numbers(rounded_up(shape.taps() * tap, tile.together)),
      rows(shape.batch * shape.output_height * shape.output_width),
      lines(lines_of(shape, *this)),
      panels(lines.count * lines.of_line + (lines.width - (lines.end - lines.begin)) * lines.of_column),
      vectors(divided_up(outputs, tile.lanes)),
      wide(vectors / tile.vectors - (tile.vectors == 3 && vectors % 3 == 1 && vectors > 1 ? 1 : 0)),
      blocks(wide + divided_up(vectors - tile.vectors * wide, tile.vectors - 1)) {
  if (rows == 0) return;
  // Few panels are woven more than once, so that each thread has something.
  constexpr std::size_t kParts = 16;
  constexpr std::size_t kLeastBlocks = 4;  // that pay for weaving
  const std::size_t most = shape.groups > 1 ? shape.groups : std::max<std::size_t>(blocks / kLeastBlocks, 1);
  chunks = std::clamp<std::size_t>(divided_up(kParts, panels), 1, most);
  // But where weights are many.
  const std::size_t number_size = kVectorBytes / tile.lanes;
  const std::size_t weights = packed_numbers() * number_size;
  if (tile.together == 1 || shape.groups > 1 || panels == 1 || weights <= kFarWeights) return;
  chunks = std::min(divided_up(weights, kNearWeights), blocks);
  batches = divided_up(panels, std::max<std::size_t>(kNearPanels / (panel_numbers() * number_size), 1));
}

namespace {

// All in instructions, by what was counted (docs/benchmarks.md).

// Of several groups: what their vectors take that lie anywhere.
double instructions_of_vectors(const Cut& cut, const ConvolutionShape& shape) {
  constexpr double kFinding = 5;    // where a vector lies in the first group
  constexpr double kReading = 1.6;  // it, for each block of outputs
  constexpr double kOfGroup = 100;  // of a panel
  const auto vectors = static_cast<double>(cut.rows * cut.numbers) / static_cast<double>(cut.tile.lanes);
  const double of_group =
      vectors * static_cast<double>(cut.blocks) * kReading + static_cast<double>(cut.panels) * kOfGroup;
  return vectors * kFinding * static_cast<double>(cut.chunks) + static_cast<double>(shape.groups) * of_group;
}

double instructions_of(const Cut& cut, const ConvolutionShape& shape) {
  constexpr double kStart = 3000;                // of a step of its own
  constexpr double kOfPanel = 150;               // beside what follows
  constexpr double kJoining = 40, kTapRow = 26;  // of a row that is joined, and of each row of its taps
  constexpr double kEnd = 4;                     // of a vector of outputs
  const auto rows = static_cast<double>(cut.rows);
  const auto panels = static_cast<double>(cut.panels);
  const auto numbers = static_cast<double>(cut.numbers);
  const auto lanes = static_cast<double>(cut.tile.lanes);
  const auto chunks = static_cast<double>(cut.chunks);
  // Loads and counts for each vector of numbers and three of outputs; weaving takes one for a vector of numbers.
  const double product = 1 + (lanes + 3) / (3 * lanes * rows / panels);
  const double joining = cut.joined ? kJoining + kTapRow * static_cast<double>(shape.window.kernel_height) : 0;
  const double weaving = (cut.weaves_first() ? 1 : chunks) * (numbers / lanes + joining);
  const double of_group = rows * static_cast<double>(cut.vectors) * (numbers * product + kEnd);
  const double brought = shape.groups == 1 ? rows * weaving : instructions_of_vectors(cut, shape);
  return kStart + panels * chunks * kOfPanel + brought + static_cast<double>(shape.groups) * of_group;
}

double instructions_of(const Xnnpack& xnnpack, const Cut& cut, const ConvolutionShape& shape) {
  constexpr double kEnd = 4;
  const double product = cut.channels == 3 ? xnnpack.of_three : xnnpack.product;
  const auto numbers = static_cast<double>(shape.taps() * cut.channels);
  return static_cast<double>(shape.groups * rounded_up(cut.rows, xnnpack.rows) *
                             rounded_up(cut.vectors, xnnpack.vectors)) *
         (product * numbers + kEnd);
}

}  // namespace

double cost_of_woven(const Cut& cut, const ConvolutionShape& shape) {
  const Xnnpack& xnnpack = cut.tile.lanes == kLanes<Half> ? kHalves : kFloats;
  const double cost = instructions_of(cut, shape) / instructions_of(xnnpack, cut, shape);
  // Fewer rows than XNNPACK's tile has wait for their weights, not for instructions.
  return cut.rows < xnnpack.rows ? std::max(cost, 1.0) : cost;
}

}  // namespace kinglet::engine::kernels::woven
