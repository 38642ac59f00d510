// SPDX-License-Identifier: Apache-2.0
// Why: do two graphs give the same answers? Run on made-up inputs: what the optimiser proves itself with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/graph/graph.h"

namespace kinglet::engine {

// Inputs for a model nobody gave any for: seeded, so that a failure can be repeated.
enum class MadeInput : std::uint8_t { kNormal, kLargeNegative, kZeros, kTwoInBatch };
[[nodiscard]] std::string_view to_string(MadeInput kind);

// The first dimension of an input is free.
[[nodiscard]] bool has_free_batch(const Graph& graph);

// A size for the other free dimensions with which the graph's shapes work out; the usual sides of pictures first.
[[nodiscard]] Result<Dim> find_side(const Graph& graph);

// The graph with all input dimensions fixed and shapes inferred. kBadData: an input of unknown rank.
[[nodiscard]] Result<Graph> bind_inputs(const Graph& graph, Dim batch, Dim side);

// One tensor an input of a graph with fixed dimensions.
[[nodiscard]] std::vector<Tensor> make_inputs(const Graph& bound, MadeInput kind);

struct Comparison {
  int inputs = 0;             // sets of inputs that were run through both
  double largest_output = 0;  // |largest finite number| of the first graph's outputs
  double max_error = 0;
  double limit = 0;       // 1e-4 * max(1, largest output of the same run), of the run with max_error; of float16 also
                          // four times what rounding to it costs both graphs' own answers, or may cost
                          // by the first's constants
  int top1_compared = 0;  // rows whose best class is clear in the first graph (margin above twice the limit)
  int top1_same = 0;
  bool same = true;
  std::string difference;     // of the first that differs: output, element, both numbers; empty when same
  int difference_input = -1;  // its set of inputs
  std::string backend;        // "xnnpack" or "evaluate"
};

// Inputs of the user's, one tensor a graph input, as its shape with batch 1 says.
struct NamedInputs {
  std::string name;
  std::vector<Tensor> tensors;
};

struct CompareOptions {
  int only_input = -1;                         // the number of one set; below 0: all of them
  std::span<const NamedInputs> pictures = {};  // numbered behind MadeInput
};

// Both have the same graph inputs and outputs by name, type and known shape: kBadData otherwise. Free dimensions are
// bound alike in both (batch 1, and 2 where it is free; other sides to one that infers). Errors of running either, and
// kBadData for one that asks for memory or work out of proportion to its weights (plan/needs.h).
// One graph runs after the other. Large ones run in sessions without the passes ("xnnpack"), unless those differ.
[[nodiscard]] Result<Comparison> compare_graphs(const Graph& first, const Graph& second,
                                                const CompareOptions& options = {});

}  // namespace kinglet::engine
