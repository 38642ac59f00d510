// SPDX-License-Identifier: Apache-2.0
// Traits (engine/ops/traits.h) are promises that passes rely on without looking: each is held against the operator's
// own evaluate, on the nodes of the random graphs of this folder.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

#include "engine/ops/op.h"
#include "tests/contract/random_lowering/cases.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine::random_cases {
namespace {

constexpr int kRounds = 40;

// One node of a random graph with what it reads and what evaluate makes of it.
struct Run {
  const Graph& graph;
  NodeId id;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;

  const Node& node() const { return graph.node(id); }
  // Output 0 for these inputs; absent ones stay so.
  Tensor of(const std::vector<Tensor>& changed) const {
    std::vector<const Tensor*> pointers;
    for (std::size_t i = 0; i < changed.size(); ++i) {
      pointers.push_back(node().inputs[i] == kNoValue ? nullptr : &changed[i]);
    }
    return evaluate_node(graph, id, pointers).value().front();
  }
};

template <typename F>
Tensor mapped(const Tensor& x, F f) {
  if (x.type() != DataType::kF32) return x;
  Tensor out = x;
  for (float& number : out.mutable_data<float>()) number = f(number);
  return out;
}

bool is_never_negative(const Tensor& x) {
  return x.type() != DataType::kF32 || std::ranges::none_of(x.data<float>(), [](float number) { return number < 0; });
}

Tensor backwards(const Tensor& x) {
  Tensor out = x;
  const std::size_t size = byte_size(x.type());
  const auto bytes = out.mutable_bytes();
  for (std::size_t i = 0; i < bytes.size() / size; ++i) {
    std::memcpy(bytes.data() + bytes.size() - (i + 1) * size, x.bytes().data() + i * size, size);
  }
  return out;
}

std::set<std::string> numbers_in(const Tensor& x) {
  std::set<std::string> out;
  const std::size_t size = byte_size(x.type());
  for (std::size_t i = 0; i < x.bytes().size(); i += size) {
    out.emplace(reinterpret_cast<const char*>(x.bytes().data()) + i, size);
  }
  return out;
}

bool holds_never_negative(const Run& run) {
  const auto positive = [&](std::size_t count) {
    std::vector<Tensor> inputs = run.inputs;
    for (std::size_t i = 0; i < count; ++i) inputs[i] = mapped(inputs[i], [](float x) { return std::abs(x); });
    return is_never_negative(run.of(inputs));
  };
  switch (traits_of(run.node()).never_negative) {
    case NeverNegative::kAlways:
      return is_never_negative(run.outputs[0]);
    case NeverNegative::kLikeFirst:
      return !windows_hold_data(run.node()) || positive(1);
    case NeverNegative::kLikeInputs:
      return positive(run.inputs.size());
    case NeverNegative::kUnknown:
      break;
  }
  return true;
}

bool holds_elementwise(const Run& run) {
  const Elementwise elementwise = traits_of(run.node()).elementwise;
  if (elementwise == Elementwise::kNo) return true;
  const Tensor& y = run.outputs[0];
  std::vector<Tensor> inputs = run.inputs;
  if (elementwise == Elementwise::kUnary) {
    inputs[0] = backwards(inputs[0]);
    return y.shape() == inputs[0].shape() && run.of(inputs).bit_equal(backwards(y));
  }
  for (Tensor& input : inputs) {  // to those of one shape that lie the same way
    if (input.shape() != y.shape()) return true;
    input = backwards(input);
  }
  return run.of(inputs).bit_equal(backwards(y));
}

bool holds_homogeneous(const Run& run) {
  if (!traits_of(run.node()).homogeneous || run.outputs[0].type() != DataType::kF32) return true;
  std::vector<Tensor> inputs = run.inputs;
  const auto twice = [](float x) { return 2 * x; };
  inputs[0] = mapped(inputs[0], twice);
  return run.of(inputs).bit_equal(mapped(run.outputs[0], twice));
}

bool holds_dims(const Run& run) {
  const Shape& x = run.inputs[0].shape();
  const Shape& y = run.outputs[0].shape();
  switch (traits_of(run.node()).dims) {
    case DimRule::kLikeFirst:
      return x == y;
    case DimRule::kBatch:
      return x[0] == y[0];
    case DimRule::kReduced:
      if (run.node().attributes.get_int("keepdims", 1) == 0) return y.size() <= x.size();
      return std::ranges::equal(x, y, [](Dim before, Dim after) { return after == before || after == 1; });
    case DimRule::kUnknown:
      break;
  }
  return true;
}

bool holds_levels(const Run& run) {
  const Traits& traits = traits_of(run.node());
  if (traits.reshapes && !std::ranges::equal(run.inputs[0].bytes(), run.outputs[0].bytes())) return false;
  if (traits.levels == Levels::kOther || !windows_hold_data(run.node())) return true;
  std::set<std::string> read;
  const std::size_t count = traits.levels == Levels::kOfAll ? run.inputs.size() : 1;
  for (std::size_t i = 0; i < count; ++i) read.merge(numbers_in(run.inputs[i]));
  return std::ranges::includes(read, numbers_in(run.outputs[0]));
}

// Between 0 and 1 where the inputs are; one of them may be what pads.
bool holds_numbers(const Run& run) {
  const bool floats = run.outputs[0].type() == DataType::kF32 && run.inputs[0].type() == DataType::kF32;
  if (!floats || traits_of(run.node()).numbers == Numbers::kOther || !windows_hold_data(run.node())) return true;
  std::vector<Tensor> inputs = run.inputs;
  for (Tensor& input : inputs)
    input = mapped(input, [](float x) { return std::isnan(x) ? x : std::abs(std::tanh(x)); });
  constexpr float kRounding = 1e-6F;
  const Tensor y = run.of(inputs);
  return std::ranges::none_of(y.data<float>(), [](float number) { return number < 0 || number > 1 + kRounding; });
}

using Check = bool (*)(const Run& run);

// What does not hold, and for every operator that was met how often it was.
struct Seen {
  std::map<std::string, int> met;
  std::vector<std::string> faults;
};

void check_graph(const std::string& text, Check check, Seen& seen) {
  auto parsed = parse_text(text);
  if (!parsed || !infer_shapes(parsed->graph)) return;
  const Graph& graph = parsed->graph;
  std::unordered_map<std::uint32_t, Tensor> values;
  for (const GraphInput& input : graph.inputs()) {
    const Value& value = graph.value(input.value);
    if (!value.shape || !is_static(*value.shape)) return;
    values[std::to_underlying(input.value)] = seeded_tensor(value.type, *value.shape, value.name);
  }
  for (const NodeId id : graph.nodes()) {
    Run run{.graph = graph, .id = id, .inputs = {}, .outputs = {}};
    std::vector<const Tensor*> pointers;
    for (const ValueId input : run.node().inputs) {
      const Tensor* constant = graph.constant(input);
      run.inputs.push_back(input == kNoValue     ? Tensor()
                           : constant != nullptr ? *constant
                                                 : values.at(std::to_underlying(input)));
    }
    for (std::size_t i = 0; i < run.inputs.size(); ++i) {
      pointers.push_back(run.node().inputs[i] == kNoValue ? nullptr : &run.inputs[i]);
    }
    Result<std::vector<Tensor>> outputs = evaluate_node(graph, id, pointers);
    if (!outputs) return;
    run.outputs = *std::move(outputs);
    for (std::size_t i = 0; i < run.outputs.size(); ++i) {
      const ValueId output = run.node().outputs[i];
      if (output != kNoValue) values[std::to_underlying(output)] = run.outputs[i];
    }
    ++seen.met[run.node().op_type];
    if (!check(run)) seen.faults.push_back(run.node().op_type + " in\n" + text);
  }
}

Seen check_all(Check check) {
  Seen seen;
  std::uint64_t seed = 20'261'124;
  for (const Row& row : all_rows()) {
    if (row.group > Group::kShapes) continue;
    for (int round = 0; round < kRounds; ++round) {
      Draw draw(++seed);
      check_graph(row.make(draw).text, check, seen);
    }
  }
  return seen;
}

void expect_held(Check check, std::initializer_list<const char*> met) {
  const Seen seen = check_all(check);
  for (const char* name : met) EXPECT_TRUE(seen.met.contains(name)) << name;
  EXPECT_TRUE(seen.faults.empty()) << seen.faults.front();
}

TEST(Traits, NeverNegativeHoldsForRandomNodes) { expect_held(holds_never_negative, {"Relu", "MaxPool", "Concat"}); }

TEST(Traits, ElementwiseNumbersMoveWithTheirInputs) { expect_held(holds_elementwise, {"HardSwish", "Clip", "Mul"}); }

TEST(Traits, HomogeneousOperatorsLetAFactorPass) { expect_held(holds_homogeneous, {"LeakyRelu", "AveragePool"}); }

TEST(Traits, DimensionsComeFromWhereTheRowSays) { expect_held(holds_dims, {"Conv", "Softmax", "ReduceMean"}); }

TEST(Traits, WhatKeepsLevelsMakesNoNumberOfItsOwn) { expect_held(holds_levels, {"MaxPool", "Split", "Slice"}); }

TEST(Traits, WhatMovesNumbersOrTakesMeansStaysWithinThem) {
  expect_held(holds_numbers, {"Pad", "Gather", "ReduceMean", "MaxPool"});
}

}  // namespace
}  // namespace kinglet::engine::random_cases
