// SPDX-License-Identifier: Apache-2.0
// Why: what the numbers of a detector mean, as a part of its recipe: which head wrote them and with which settings.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace kinglet::engine {

enum class BoxHead : std::uint8_t {
#define KINGLET_BOX_HEAD(id, name, reader) id,
#include "engine/recipe/box_heads.def"
#undef KINGLET_BOX_HEAD
};
[[nodiscard]] std::string_view to_string(BoxHead head);

// Of kNms: what four numbers are.
enum class BoxOrder : std::uint8_t { kXyxy, kYxyx, kCenter };  // two corners, or the middle and the size, x first
enum class BoxUnit : std::uint8_t { kPixels, kShares };        // of the model's input

struct BoxRecipe {
  BoxHead head = BoxHead::kYolox;
  std::vector<int> strides{8, 16, 32};  // pixels of the input a cell, a grid each, in the order of the rows
  int bins = 8;                         // kNanodet: places of a side's distribution, reg_max + 1
  double center = 0;                    // kNanodet: where in a cell its point is, in cells
  BoxOrder order = BoxOrder::kXyxy;     // kNms
  BoxUnit unit = BoxUnit::kPixels;      // kNms
  double least_score = 0.3;             // a box counts above it
  double most_overlap = 0.45;           // of one class: a box that has more in common with a better one goes; the
                                        // share of what both cover. 1: none goes

  bool operator==(const BoxRecipe&) const = default;
};

}  // namespace kinglet::engine
