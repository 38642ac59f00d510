// SPDX-License-Identifier: Apache-2.0
// Why: one row an operator with a lowering: how a random case of it is made, and how far an answer may lie from
// evaluate's. A test fails where an operator of ops.def lowers and has no row.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tests/contract/random_lowering/draw.h"

namespace kinglet::engine::random_cases {

// The graph in the text form of tests/support/graph_text.h, and what decides how far its answers may differ. Floats
// have a unit of 2^-23 of the number that is rounded; each of `roundings` may move a result by that, at the size of
// `magnitude` or of the result itself, whichever is larger.
struct Case {
  std::string text;
  double roundings = 4;
  double magnitude = 0;
  // Sums of products: the size is what the same graph gives for absolute numbers, and `roundings` their count.
  bool sums = false;
  // Of 8-bit results: kernels round in fixed point or the other way half between two levels. In the output's numbers.
  double step = 0;
  // What a session with the passes may add to `step`: they round a bias to levels.
  double fused_step = 0;
  double scale = 3;         // float inputs lie in [-scale, scale)
  bool positive = false;    // ... or in [scale / 6, scale / 2)
  bool infinities = false;  // and now and then one is infinite
  bool half = false;        // float16: each node's result is rounded to 2^-10 of it
};

struct Verdict {
  bool valid = false;    // the graph is one that the engine takes
  bool lowered = false;  // the operator of the row ran in XNNPACK or in a kernel of our own
  std::string fault;     // empty: the answers agree
};

struct Row;
// Evaluate against sessions: with the passes and without.
[[nodiscard]] Verdict check_lowering(const Row& row, const Case& made);
// `kinglet optimize` proves what it made of the graph; a session answers as evaluate does.
[[nodiscard]] Verdict check_optimize(const Row& row, const Case& made);
// `kinglet quantize` makes a graph of it, and a session answers as evaluate does up to some levels.
[[nodiscard]] Verdict check_quantize(const Row& row, const Case& made);

enum class Group { kElementwise, kLayers, kShapes, kQuantized, kCombined, kGraphs };

struct Row {
  Group group;
  std::string_view domain, op_type;
  Case (*make)(Draw& draw);
  Verdict (*check)(const Row& row, const Case& made) = check_lowering;  // in this process: XNNPACK may end it
};

#define RANDOM_CASE(group, domain, op_type, make) [[nodiscard]] Case make(Draw& draw);
#define CHECKED_CASE(group, domain, op_type, make, check) RANDOM_CASE(group, domain, op_type, make)
#include "tests/contract/random_lowering/cases.def"
#undef RANDOM_CASE
#undef CHECKED_CASE

// In the order of cases.def.
[[nodiscard]] std::span<const Row> all_rows();

// --- Pieces of text ------------------------------------------------------------------------------------------------
[[nodiscard]] std::string list(const std::vector<int>& numbers);  // "1,2,3"
[[nodiscard]] std::string number(double value);                   // as the text form reads it
[[nodiscard]] std::vector<int> any_shape(Draw& draw, int low,
                                         int high);  // ranks; sides from 1 to 6, few numbers in all
// What broadcasts to `shape`: fewer axes, axes of 1.
[[nodiscard]] std::vector<int> broadcast_part(Draw& draw, const std::vector<int>& shape);
[[nodiscard]] std::string pick_type(Draw& draw, Case& made);  // "f32", now and then "f16"

// `inputs`, the lines of the inputs, of which %x has `rank`; `node`, the line that makes %1 of %x. In front of it may
// stand a node that makes pictures lie as [N,H,W,C]; behind it bounds, which XNNPACK joins with what is before them, or
// another reader of pictures. These are exact.
struct Body {
  std::string inputs, node;
  std::size_t rank = 0, output_rank = 0;
  std::string type = "f32";
};
[[nodiscard]] std::string with_neighbours(Draw& draw, const Body& body);
// The same for one input, %x, and a result with as many axes.
[[nodiscard]] std::string with_neighbours(Draw& draw, const std::string& type, const std::vector<int>& shape,
                                          std::string node);

}  // namespace kinglet::engine::random_cases
