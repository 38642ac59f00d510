// SPDX-License-Identifier: Apache-2.0
// Why: how the kernel of woven rows cuts a layer, and what it would take so. The plan asks it of every convolution, and
// the kernel that is made has the same cut.
#pragma once

#include <algorithm>
#include <cstddef>

#include "engine/backend/kernels/work.h"
#include "engine/backend/kernels/woven/form.h"

namespace kinglet::engine::kernels::woven {

// Of one row whose taps have channels that fill nothing that is woven as one: its numbers are brought together before
// they are woven.
inline constexpr std::size_t kMostJoined = 512;
// Of a window of one of several groups.
inline constexpr std::size_t kMostTapsOfGroups = 49;

// Of a convolution whose rows are read where they lie, panels are cut of the run of columns whose windows lie in the
// input as a whole, line by line; what stands beside them, column by column. Otherwise all rows are one line.
struct Lines {
  std::size_t count, width;
  std::size_t begin, end;          // the run of a line
  std::size_t of_line, of_column;  // panels
};

// Rows (pixels of the output) into panels, outputs into blocks of the most vectors and, at the end, one of fewer, so
// that no lane of a vector stays empty; of blocks of three, two twos where one would be left.
struct Cut {
  // Pixels of the output: the first one, how many, and from one to the next.
  struct Panel {
    std::size_t first, rows, step;
  };

  Cut(const ConvolutionShape& shape, const Tile& a_tile);

  [[nodiscard]] Panel panel(std::size_t index) const {
    if (panels != lines.of_line) return panel_of_lines(index);
    const std::size_t first = share(index, rows, panels);
    return {.first = first, .rows = share(index + 1, rows, panels) - first, .step = 1};
  }
  // Of blocks, or of groups.
  [[nodiscard]] std::size_t first_of(std::size_t chunk, std::size_t count) const { return chunk * count / chunks; }
  // Before a block.
  [[nodiscard]] std::size_t vectors_before(std::size_t block) const {
    return std::min(vectors, tile.vectors * block - (block <= wide ? 0 : block - wide));
  }
  // Of a group.
  [[nodiscard]] std::size_t packed_numbers() const { return vectors * tile.lanes * numbers; }
  // Where weights are too many to stay in a cache: a batch of panels is woven before any is multiplied.
  [[nodiscard]] bool weaves_first() const { return batches > 0; }
  [[nodiscard]] std::size_t first_panel(std::size_t batch) const { return share(batch, panels, batches); }
  [[nodiscard]] std::size_t batch_numbers() const { return (panels + batches - 1) / batches * panel_numbers(); }
  // Of one, whatever rows it has.
  [[nodiscard]] std::size_t panel_numbers() const { return tile.rows * numbers; }
  [[nodiscard]] bool fits() const {
    const bool has_room = in_place || (numbers <= tile.most_numbers && (joined || tile.together > 1));
    return takes_groups && has_room && rows > 0 && numbers > 0 && vectors > 0;
  }

  Tile tile;
  std::size_t channels, outputs;  // of a group
  bool takes_groups;
  bool of_pixels;       // a row is a pixel of the input, the next one the next
  bool in_place;        // and wanted as it lies there
  bool joined;          // taps lie one behind the other, in what is woven as one as a whole
  std::size_t tap;      // numbers of one, in whole ones of what is woven where they are not joined
  std::size_t numbers;  // of a row
  std::size_t rows;     // all of the output
  Lines lines;
  std::size_t panels;
  std::size_t vectors;       // of outputs of a group
  std::size_t wide, blocks;  // of those: of the most vectors, and all
  std::size_t chunks = 1;    // of blocks, or of groups where there are several, each a thread's
  std::size_t batches = 0;   // of panels that are woven first; 0: each is woven where it is multiplied

 private:
  [[nodiscard]] static std::size_t share(std::size_t part, std::size_t all, std::size_t parts) {
    return part * all / parts;
  }
  [[nodiscard]] Panel panel_of_lines(std::size_t index) const;
};

// In times of XNNPACK's for the same, where rows are woven and fewer instructions are less time.
[[nodiscard]] double cost_of_woven(const Cut& cut, const ConvolutionShape& shape);

}  // namespace kinglet::engine::kernels::woven
