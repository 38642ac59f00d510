// SPDX-License-Identifier: Apache-2.0
// Why: what a graph's last operators say of its outputs: scores and of which kind, or the places that a TopK or ArgMax
// found. Nothing is run; engine/recipe/output_meaning.h chooses among them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/row_rules.h"
#include "engine/recipe/scores.h"

namespace kinglet::engine {

struct OutputForm {
  enum class Kind : std::uint8_t {
    kNumbers,
    kBest,     // the best numbers of a row, as a TopK gives them
    kIndices,  // where they stood: of a TopK, ArgMax or ArgMin
  };
  std::string name = {};
  DataType type = DataType::kF32;
  std::optional<Shape> shape = {};
  Dim batch = 1;  // how many pictures it is of
  Kind kind = Kind::kNumbers;
  std::string last_operator = {};  // the one that decides; what only moves numbers behind it does not count
  // Of kNumbers and kBest: every number is 0 to `most`, where the operators bound it; and `of_sum` of them, those of
  // one soft-max (0: all of a row), add up to `sum`.
  std::optional<double> most = {}, sum = {};
  Dim of_sum = 0;
  // Of kBest, of kIndices, and of a ReduceMax beside an ArgMax: the row they were picked from, and its length.
  ValueId row = kNoValue;
  Dim row_length = kUnknownDim;
  bool smallest = false;                 // picked were the smallest
  bool plain_integers = false;           // 8 bits, and nothing says what one step is worth
  std::vector<std::size_t> behind = {};  // outputs that are computed from this one

  // One number a class and picture: how many; nothing for boxes, maps and unknown shapes.
  [[nodiscard]] std::optional<std::size_t> length() const;
};

// One an output, in order; `rules` are those of the operators' rows (engine/ops/levels.h). Shapes as far as the graph
// knows them.
[[nodiscard]] std::vector<OutputForm> output_forms(const Graph& graph, const RowRules& rules);

}  // namespace kinglet::engine
