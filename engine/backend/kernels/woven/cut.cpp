// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/kernels/woven/cut.h"

#include <algorithm>

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
      takes_groups(shape.groups == 1 || (shape.groups < shape.input_channels && shape.taps() <= kMostTapsOfGroups)),
      channels(shape.input_channels / shape.groups),
      outputs(shape.output_channels / shape.groups),
      in_place(tile.together == 1 && shape.groups == 1 && shape.taps() == 1 && shape.window.stride_height == 1 &&
               shape.window.stride_width == 1 && !is_padded(shape.window)),
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

// In instructions, by what was counted (docs/benchmarks.md).
double cost_of_woven(const Cut& cut, const ConvolutionShape& shape) {
  const Xnnpack& xnnpack = cut.tile.lanes == kLanes<Half> ? kHalves : kFloats;
  const auto rows = static_cast<double>(cut.rows);
  const auto vectors = static_cast<double>(cut.vectors);
  const auto numbers = static_cast<double>(cut.numbers);
  const auto lanes = static_cast<double>(cut.tile.lanes);
  const auto parts = static_cast<double>(cut.panels * cut.chunks);
  const auto times_woven = static_cast<double>(cut.weaves_first() ? 1 : cut.chunks);
  constexpr double kStart = 3000;   // of a step of its own
  constexpr double kOfPanel = 150;  // beside what follows
  constexpr double kWeaving = 1;    // of a vector of numbers
  constexpr double kEnd = 4;        // of a vector of outputs
  // Loads and counts for each vector of numbers and three of outputs.
  const double product = 1 + (lanes + 3) / (3 * lanes * rows / static_cast<double>(cut.panels));
  const double own = kStart + parts * kOfPanel + times_woven * rows * numbers / lanes * kWeaving +
                     rows * vectors * (numbers * product + kEnd);

  const auto of_taps = static_cast<double>(shape.taps() * shape.input_channels);
  const auto xnn = static_cast<double>(rounded_up(cut.rows, xnnpack.rows) * rounded_up(cut.vectors, xnnpack.vectors)) *
                   (xnnpack.product * of_taps + kEnd);
  // Fewer rows than XNNPACK's tile has wait for their weights, not for instructions.
  return cut.rows < xnnpack.rows ? std::max(own / xnn, 1.0) : own / xnn;
}

}  // namespace kinglet::engine::kernels::woven
