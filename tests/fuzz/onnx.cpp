// SPDX-License-Identifier: Apache-2.0
// A model's whole life: load, passes, save and load again, plan, runs by evaluate and by XNNPACK. Beyond "no crash":
// an error is the file's fault and one line, a written file is read again, and every way of running gives one answer.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <random>

#include "engine/base/check.h"
#include "engine/graph/verify.h"
#include "engine/onnx/load.h"
#include "engine/onnx/save.h"
#include "engine/ops/op.h"
#include "engine/passes/runner.h"
#include "engine/session/session.h"
#include "tests/fuzz/targets.h"

namespace kinglet::fuzz {
namespace {

using namespace engine;

constexpr double kMostSteps = 1 << 18;
constexpr std::int64_t kMostElements = 1 << 14;
// Less than the tool allows: a fuzzer has no time for large numbers.
constexpr std::int64_t kFoldMemory = 1 << 20;
constexpr std::int64_t kSessionMemory = 16 << 20;
constexpr double kTolerance = 1e-2;  // of the largest number: what reordered sums of wild numbers may lose
constexpr float kLargest = 1e4F;     // beyond, sums may cancel what an answer consists of

using Tensors = std::vector<Tensor>;

// Whatever bytes say, it is never our mistake; and a person reads it in one line.
void check(const Error& error) {
  if (error.code == ErrorCode::kInternal) std::fprintf(stderr, "%s\n", describe(error).c_str());
  KINGLET_CHECK(error.code != ErrorCode::kInternal);
  KINGLET_CHECK(!error.message.empty());
  KINGLET_CHECK(describe(error).find('\n') == std::string::npos);
}

template <typename T>
bool holds(const Result<T>& result) {
  if (!result) check(result.error());
  return result.has_value();
}

bool bind_free_sizes(Graph& graph) {
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    std::optional<Shape> shape = graph.value(graph.inputs()[i].value).shape;
    if (!shape) return false;
    std::ranges::replace(*shape, kUnknownDim, Dim{2});
    graph.set_input_shape(i, std::move(*shape));
  }
  return holds(infer_shapes(graph));
}

bool is_cheap(const Graph& graph) {
  double steps = 0;
  const auto small = [&](ValueId id) {
    const std::optional<Shape>& shape = graph.value(id).shape;
    return shape && is_static(*shape) && element_count(*shape).value_or(kMostElements + 1) <= kMostElements;
  };
  for (const GraphInput& input : graph.inputs()) {
    if (!small(input.value)) return false;
  }
  for (const NodeId id : graph.nodes()) {
    for (const ValueId output : graph.node(id).outputs) {
      if (output != kNoValue && !small(output)) return false;
    }
    steps += evaluation_steps(graph, id);
  }
  return steps <= kMostSteps;
}

Tensors make_inputs(const Graph& graph) {
  std::minstd_rand random(7);
  Tensors inputs;
  for (const GraphInput& input : graph.inputs()) {
    Tensor tensor(graph.value(input.value).type, *graph.value(input.value).shape);
    if (tensor.type() == DataType::kF32) {
      for (float& x : tensor.mutable_data<float>()) x = static_cast<float>(random() % 33) / 8.0F - 2.0F;
    } else if (tensor.type() != DataType::kF16) {
      const std::size_t size = byte_size(tensor.type());
      const auto bytes = tensor.mutable_bytes();
      for (std::size_t i = 0; i < bytes.size(); i += size) bytes[i] = static_cast<std::byte>(random() % 2);
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

// Operators whose answer jumps, or whose slope has no bound: a last digit may decide.
bool is_smooth(const Node& node) {
  static constexpr std::array<std::string_view, 42> kSmooth{"Conv",
                                                            "Gemm",
                                                            "MatMul",
                                                            "Add",
                                                            "Sub",
                                                            "Mul",
                                                            "Relu",
                                                            "LeakyRelu",
                                                            "PRelu",
                                                            "Clip",
                                                            "Sigmoid",
                                                            "Tanh",
                                                            "HardSwish",
                                                            "HardSigmoid",
                                                            "MaxPool",
                                                            "AveragePool",
                                                            "GlobalAveragePool",
                                                            "GlobalMaxPool",
                                                            "BatchNormalization",
                                                            "Softmax",
                                                            "Elu",
                                                            "Reshape",
                                                            "Flatten",
                                                            "Squeeze",
                                                            "Unsqueeze",
                                                            "Transpose",
                                                            "Concat",
                                                            "Split",
                                                            "Slice",
                                                            "Pad",
                                                            "Identity",
                                                            "Dropout",
                                                            "Expand",
                                                            "Tile",
                                                            "Gather",
                                                            "Shape",
                                                            "ReduceMean",
                                                            "ReduceSum",
                                                            "DepthToSpace",
                                                            "SpaceToDepth",
                                                            "Min",
                                                            "Max"};
  return std::ranges::find(kSmooth, node.op_type) != kSmooth.end();
}

bool is_comparable(const Graph& graph) {
  const auto tame = [](float x) { return std::isfinite(x) && std::abs(x) <= kLargest; };
  for (const NodeId id : graph.nodes()) {
    if (!is_smooth(graph.node(id))) return false;
    for (const auto& [name, attribute] : graph.node(id).attributes) {
      const float* number = std::get_if<float>(&attribute);
      if (number != nullptr && !tame(*number)) return false;
    }
  }
  return std::ranges::all_of(graph.values(), [&](ValueId id) {
    const Tensor* constant = graph.constant(id);
    if (graph.value(id).type == DataType::kF16) return false;
    return constant == nullptr || constant->type() != DataType::kF32 ||
           std::ranges::all_of(constant->data<float>(), tame);
  });
}

void compare(const Tensor& expected, const Tensor& actual, bool numbers) {
  KINGLET_CHECK(expected.type() == actual.type());
  KINGLET_CHECK(expected.shape() == actual.shape());
  if (!numbers || expected.type() != DataType::kF32) return;
  float largest = 1.0F;
  for (const float x : expected.data<float>()) {
    if (!(std::abs(x) <= kLargest)) return;
    largest = std::max(largest, std::abs(x));
  }
  for (std::size_t i = 0; i < expected.data<float>().size(); ++i) {
    KINGLET_CHECK(std::abs(expected.data<float>()[i] - actual.data<float>()[i]) <= kTolerance * largest);
  }
}

void compare(const Tensors& expected, const Tensors& actual, bool numbers) {
  KINGLET_CHECK(expected.size() == actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i) compare(expected[i], actual[i], numbers);
}

Graph read_again(const Graph& graph) {
  const Result<std::string> bytes = to_onnx_bytes(graph);
  KINGLET_CHECK(bytes.has_value());
  Result<Graph> again = load_model(std::as_bytes(std::span(*bytes)));
  KINGLET_CHECK(again.has_value());
  return std::move(*again);
}

// Runs through a session as the daemon does; nothing when the file's shapes or indices do not allow it.
std::optional<Tensors> run_session(const Graph& graph, const Tensors& inputs, bool optimize, bool run) {
  Result<Session> session = Session::create(graph, {.optimize = optimize, .memory_limit = kSessionMemory});
  if (!holds(session) || !run) return std::nullopt;
  for (std::size_t i = 0; i < inputs.size(); ++i) KINGLET_CHECK(session->set_input(i, inputs[i]).has_value());
  if (!holds(session->run())) return std::nullopt;
  Tensors outputs;
  for (std::size_t i = 0; i < session->outputs().size(); ++i) outputs.push_back(session->get_output(i));
  return outputs;
}

}  // namespace

void onnx(std::span<const std::byte> bytes) {
  Result<Graph> loaded = load_model(bytes);
  if (!holds(loaded)) return;
  Graph graph = std::move(*loaded);
  if (!bind_free_sizes(graph)) return;
  const bool cheap = is_cheap(graph);

  Graph optimised = graph;
  if (!holds(run_passes(optimised, {.fold_memory = kFoldMemory, .verify = true}))) return;
  const Graph again = read_again(optimised);
  if (!cheap) {
    static_cast<void>(run_session(graph, {}, true, false));
    return;
  }
  const Tensors inputs = make_inputs(graph);
  const Result<Tensors> expected = evaluate_graph(graph, inputs);
  if (!holds(expected)) return;
  const bool comparable = is_comparable(graph);
  const Result<Tensors> actual = evaluate_graph(optimised, inputs);
  KINGLET_CHECK(actual.has_value());
  compare(*expected, *actual, comparable);
  const Result<Tensors> from_file = evaluate_graph(again, inputs);
  KINGLET_CHECK(from_file.has_value());
  compare(*expected, *from_file, comparable);
  for (const bool optimize : {true, false}) {
    const std::optional<Tensors> ran = run_session(graph, inputs, optimize, true);
    if (ran) compare(*expected, *ran, comparable);
  }
}

}  // namespace kinglet::fuzz
