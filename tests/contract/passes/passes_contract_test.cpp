// SPDX-License-Identifier: Apache-2.0
// What every pass owes, checked on every golden case and every row of passes.def: the graph stays whole, the border
// keeps names and types, the numbers stay, a second run finds nothing, and a declined graph is not touched.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "engine/graph/float16.h"
#include "engine/passes/runner.h"
#include "tests/golden/pass_case.h"

namespace kinglet::engine {
namespace {

using testing::PassCase;

enum class Fill { kNormal, kLargeNegative, kZeros };
constexpr Fill kFills[] = {Fill::kNormal, Fill::kLargeNegative, Fill::kZeros};

Graph load(const PassCase& given) {
  auto parsed = testing::load_pass_case(given);
  EXPECT_TRUE(parsed) << describe(parsed.error());
  return parsed ? std::move(parsed->graph) : Graph{};
}

Tensor make_input(const Value& value, Fill fill, std::mt19937& random) {
  Shape shape = value.shape.value_or(Shape{});
  std::ranges::replace(shape, kUnknownDim, Dim{2});
  Tensor tensor(value.type, std::move(shape));
  if (fill == Fill::kZeros || value.type != DataType::kF32) return tensor;
  std::normal_distribution<float> normal;
  for (float& x : tensor.mutable_data<float>()) {
    x = fill == Fill::kNormal ? normal(random) : -50.0F - 25.0F * std::abs(normal(random));
  }
  return tensor;
}

std::vector<Tensor> make_inputs(const Graph& graph, Fill fill) {
  std::mt19937 random(20240229);
  std::vector<Tensor> inputs;
  for (const GraphInput& input : graph.inputs()) inputs.push_back(make_input(graph.value(input.value), fill, random));
  return inputs;
}

// A mean of levels lies half way between two of them often, and goes to either: a level of the coarsest.
float level_of_means(const Graph& graph) {
  float level = 0;
  bool has_mean = false;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    has_mean = has_mean || node.op_type == "AveragePool";
    if (node.op_type != "QuantizeLinear" || graph.constant(node.inputs[1]) == nullptr) continue;
    for (const float scale : graph.constant(node.inputs[1])->to_floats()) level = std::max(level, 1.01F * scale);
  }
  return has_mean ? level : 0;
}

// Float16 in the middle rounds to 11 bits, dynamic quantisation to 8: passes may leave either out.
float tolerance_of(const Graph& graph) {
  if (const float level = level_of_means(graph); level > 0) return level;
  const auto is_dynamic = [&](NodeId id) { return graph.node(id).op_type == "DynamicQuantizeLinear"; };
  if (std::ranges::any_of(graph.nodes(), is_dynamic)) return 1e-2F;
  const auto is_half = [&](ValueId id) { return graph.value(id).type == DataType::kF16; };
  return std::ranges::any_of(graph.values(), is_half) ? 2e-3F : 1e-5F;
}

void expect_same_numbers(const Tensor& before, const Tensor& after, float tolerance, std::string_view what) {
  ASSERT_EQ(before.type(), after.type()) << what;
  ASSERT_EQ(before.shape(), after.shape()) << what;
  if (before.type() != DataType::kF32) {
    EXPECT_TRUE(before.bit_equal(after)) << what;
    return;
  }
  float largest = 1.0F;
  for (const float x : before.data<float>()) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  }
  for (std::size_t i = 0; i < before.data<float>().size(); ++i) {
    const float a = before.data<float>()[i];
    const float b = after.data<float>()[i];
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b) continue;
    ASSERT_LE(std::abs(a - b), tolerance * largest) << what << ", element " << i;
  }
}

// What a caller sees of one input or output. A pass may learn a dimension that was open, never change one.
void expect_same_border(const Value& before, const Value& after) {
  EXPECT_EQ(before.name, after.name);
  EXPECT_EQ(before.type, after.type);
  if (!before.shape) return;
  ASSERT_TRUE(after.shape) << before.name;
  ASSERT_EQ(before.shape->size(), after.shape->size()) << before.name;
  for (std::size_t i = 0; i < before.shape->size(); ++i) {
    const Dim known = (*before.shape)[i];
    EXPECT_TRUE(known == kUnknownDim || known == (*after.shape)[i]) << before.name;
  }
}

void expect_same_border(const Graph& before, const Graph& after) {
  ASSERT_EQ(before.inputs().size(), after.inputs().size());
  ASSERT_EQ(before.outputs().size(), after.outputs().size());
  for (std::size_t i = 0; i < before.inputs().size(); ++i) {
    expect_same_border(before.value(before.inputs()[i].value), after.value(after.inputs()[i].value));
  }
  for (std::size_t i = 0; i < before.outputs().size(); ++i) {
    expect_same_border(before.value(before.outputs()[i]), after.value(after.outputs()[i]));
  }
}

void expect_contract(const Graph& before, const Graph& after) {
  const auto whole = verify(after);
  EXPECT_TRUE(whole) << describe(whole.error());
  expect_same_border(before, after);
  for (const Fill fill : kFills) {
    const std::vector<Tensor> inputs = make_inputs(before, fill);
    const auto expected = evaluate_graph(before, inputs);
    const auto actual = evaluate_graph(after, inputs);
    ASSERT_TRUE(expected) << describe(expected.error());
    ASSERT_TRUE(actual) << describe(actual.error());
    for (std::size_t i = 0; i < expected->size(); ++i) {
      expect_same_numbers((*expected)[i], (*actual)[i], tolerance_of(before),
                          "fill " + std::to_string(static_cast<int>(fill)));
    }
  }
}

class PassContract : public ::testing::TestWithParam<PassCase> {};

TEST_P(PassContract, KeepsBorderAndNumbers) {
  const Graph before = load(GetParam());
  Graph after = before;
  const auto report = run_passes(after, {.only = {GetParam().pass}, .verify = true});
  ASSERT_TRUE(report) << describe(report.error());
  expect_contract(before, after);
}

TEST_P(PassContract, FindsNothingASecondTime) {
  Graph graph = load(GetParam());
  const PassOptions only{.only = {GetParam().pass}, .verify = true};
  ASSERT_TRUE(run_passes(graph, only));
  const std::string once = to_text(graph, {.types = true});
  const auto again = run_passes(graph, only);
  ASSERT_TRUE(again) << describe(again.error());
  EXPECT_EQ(again->rewrite_count(), 0);
  EXPECT_EQ(to_text(graph, {.types = true}), once);
}

TEST_P(PassContract, StopsAfterTheGivenRewrites) {
  const Graph before = load(GetParam());
  Graph full = before;
  const auto all = run_passes(full, {.only = {GetParam().pass}});
  ASSERT_TRUE(all);
  for (int limit = 0; limit < all->rewrite_count(); ++limit) {
    Graph part = before;
    const auto report = run_passes(part, {.only = {GetParam().pass}, .stop_after_rewrites = limit, .verify = true});
    ASSERT_TRUE(report) << describe(report.error());
    EXPECT_EQ(report->rewrite_count(), limit);
    expect_contract(before, part);
  }
}

TEST_P(PassContract, AllPassesTogetherKeepBorderAndNumbers) {
  const Graph before = load(GetParam());
  for (const bool for_session : {false, true}) {
    Graph after = before;
    const auto report = run_passes(after, {.for_session = for_session, .verify = true});
    ASSERT_TRUE(report) << describe(report.error());
    EXPECT_TRUE(report->settled);
    expect_contract(before, after);
  }
}

INSTANTIATE_TEST_SUITE_P(Passes, PassContract, ::testing::ValuesIn(testing::all_pass_cases()), testing::case_name);

}  // namespace
}  // namespace kinglet::engine
