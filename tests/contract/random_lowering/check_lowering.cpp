// SPDX-License-Identifier: Apache-2.0
// One case run by evaluate and by sessions, and the answers compared within what rounding may do.
#include "tests/contract/random_lowering/cases.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "engine/backend/xnnpack/processor.h"
#include "engine/graph/float16.h"
#include "engine/ops/op.h"
#include "engine/session/session.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine::random_cases {
namespace {

constexpr double kFloatUnit = 0x1p-23;
constexpr double kHalfUnit = 0x1p-10;

// Sums of Winograd's are of a whole tile's numbers, and its transforms make them larger: what one of them may be off is
// in proportion to the largest beside it. Of infinities and their neighbours they make what is no number.
const std::set<std::string> kTileKernels{"winograd2_f32__scalar", "winograd4_f32__scalar", "winograd2s2_f32__scalar",
                                         "winograd2_f16__neon",   "winograd4_f16__neon",   "winograd2s2_f16__neon"};
constexpr double kTileRoundings = 64;

bool takes_tiles(const SessionOptions& options) {
  return std::ranges::any_of(options.forced_kernels, [](const auto& name) { return kTileKernels.contains(name); });
}

bool is_float(DataType type) { return type == DataType::kF32 || type == DataType::kF16; }

Tensor of_floats(DataType type, const Shape& shape, const std::vector<float>& numbers) {
  Tensor out(type, shape);
  if (type == DataType::kF32) {
    std::ranges::copy(numbers, out.mutable_data<float>().begin());
  } else {
    std::ranges::transform(numbers, out.mutable_data<Half>().begin(), to_half);
  }
  return out;
}

std::vector<Tensor> inputs_of(const Graph& graph, const Case& made) {
  std::vector<Tensor> inputs;
  for (const GraphInput& input : graph.inputs()) {
    const Value& value = graph.value(input.value);
    Tensor tensor = seeded_tensor(value.type, *value.shape, value.name, made.positive);
    if (is_float(value.type)) {
      std::vector<float> numbers = tensor.to_floats();
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] *= static_cast<float>(made.positive ? made.scale / 3 : made.scale);
        constexpr float kInfinity = std::numeric_limits<float>::infinity();
        if (made.infinities && i % 7 == 3) numbers[i] = i % 2 == 0 || made.positive ? kInfinity : -kInfinity;
        if (i % 11 == 5 && !made.positive) numbers[i] = i % 2 == 0 ? 0.0F : -0.0F;
      }
      tensor = of_floats(value.type, *value.shape, numbers);
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

Tensor absolute(const Tensor& tensor) {
  if (!is_float(tensor.type())) return tensor;
  std::vector<float> numbers = tensor.to_floats();
  for (float& x : numbers) x = std::abs(x);
  return of_floats(tensor.type(), tensor.shape(), numbers);
}

// The graph as it adds up absolute numbers; bounds stay out of it.
Result<std::vector<Tensor>> sizes_of(Graph graph, std::span<const Tensor> inputs) {
  for (const ValueId id : graph.values()) {
    if (const Tensor* constant = graph.constant(id)) graph.set_constant(id, absolute(*constant));
  }
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (node.op_type == "Clip" || node.op_type == "Relu") {
      graph.resize_inputs(id, 1);
      graph.set_op_type(id, "", "Identity");
    }
    for (const char* name : {"alpha", "beta"}) {
      if (node.attributes.find(name) != nullptr) {
        graph.attributes(id).set(name, std::abs(node.attributes.get_float(name, 0)));
      }
    }
  }
  std::vector<Tensor> positive;
  for (const Tensor& input : inputs) positive.push_back(absolute(input));
  return evaluate_graph(graph, positive);
}

std::string forced_text(const SessionOptions& options) {
  std::string text = options.forced_kernels.empty() ? "" : ", with kernels forced:";
  for (const std::string& name : options.forced_kernels) text += " " + name;
  return text;
}

struct Answers {
  std::vector<Tensor> expected;
  std::vector<Tensor> sizes;  // empty, or as `expected`
};

// What float16 computes with: conversions in and out are a rounding each, sums are added up in it, and numbers below
// the normal ones may be 0, also in front of a product with an input. What may leave its range is not compared.
std::optional<double> limit_of_halves(const Case& made, double size, bool tiles) {
  constexpr double kMost = 32000, kLeast = 0x1p-14;
  const double times = tiles ? kTileRoundings : 1;
  if (size * times > kMost) return std::nullopt;
  return (made.roundings + 4) * kHalfUnit * size * times + kLeast * times * (1 + made.scale);
}

std::string compare(const Case& made, const Answers& answers, std::size_t which, const Tensor& found,
                    const SessionOptions& options) {
  const double step = made.step + (options.optimize ? made.fused_step : 0);
  const Tensor& expected = answers.expected[which];
  if (found.shape() != expected.shape() || found.type() != expected.type()) return "another shape or type";
  if (!is_float(expected.type())) return found.bit_equal(expected) ? "" : "other whole numbers";
  const std::vector<float> want = expected.to_floats();
  const std::vector<float> got = found.to_floats();
  const std::vector<float> sizes =
      answers.sizes.empty() ? std::vector<float>(want.size(), 0) : answers.sizes[which].to_floats();
  const bool tiles = takes_tiles(options);
  const double beside = tiles && !sizes.empty() ? std::abs(double{std::ranges::max(sizes)}) : 0;
  const double roundings = made.roundings * (tiles ? kTileRoundings : 1);
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (want[i] == got[i] || std::isnan(want[i])) continue;
    const double size = std::max({std::abs(double{want[i]}), made.magnitude, std::abs(double{sizes[i]}), beside});
    double limit = roundings * kFloatUnit * size + step + (made.half ? 2 * kHalfUnit * size : 0) + 1e-37;
    if (options.half) {
      const std::optional<double> of_halves = limit_of_halves(made, size, tiles);
      if (!of_halves) continue;
      limit += *of_halves;
    }
    if (!(std::abs(double{got[i]} - double{want[i]}) <= limit)) {
      return std::format("output {} at {}: {} in place of {}, which may be {:.3g} off", which, i, got[i], want[i],
                         limit);
    }
  }
  return "";
}

std::string run(const Graph& graph, const Case& made, const Answers& answers, std::span<const Tensor> inputs,
                const SessionOptions& options, const std::string& op_type, bool& lowered) {
  auto session = Session::create(Graph(graph), options);
  if (!session) return "no session: " + describe(session.error());
  lowered = lowered || std::ranges::any_of(session->plan().steps, [&](const StepInfo& step) {
              return step.backend != "evaluate" && step.op_type.substr(0, step.op_type.find('+')) == op_type;
            });
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (auto set = session->set_input(i, inputs[i]); !set) return "set_input: " + describe(set.error());
  }
  // Twice: a run must not live on what the one before left.
  for (int times = 0; times < 2; ++times) {
    if (auto done = session->run(); !done) return "run: " + describe(done.error());
    for (std::size_t i = 0; i < answers.expected.size(); ++i) {
      const std::string fault = compare(made, answers, i, session->get_output(i), options);
      if (!fault.empty()) return fault;
    }
  }
  return "";
}

// Numbers that float16 has, so that no answer is another one for what was rounded on the way in.
void round_to_halves(Tensor& tensor) {
  if (tensor.type() != DataType::kF32) return;
  for (float& number : tensor.mutable_data<float>()) number = to_float(to_half(number));
}

Result<Answers> answers_of(const Graph& graph, const Case& made, std::span<const Tensor> inputs) {
  Answers answers{.expected = KINGLET_TRY(evaluate_graph(graph, inputs)), .sizes = {}};
  if (made.sums) answers.sizes = KINGLET_TRY(sizes_of(graph, inputs));
  return answers;
}

// The same in float16, where this processor computes with it.
std::string check_halves(const Row& row, const Case& made, Graph graph, std::vector<Tensor> inputs) {
  if (!xnn::half_arithmetic()) return "";
  for (Tensor& input : inputs) round_to_halves(input);
  for (const ValueId id : graph.values()) {
    const Tensor* constant = graph.constant(id);
    if (constant == nullptr || constant->type() != DataType::kF32) continue;
    Tensor rounded = *constant;
    round_to_halves(rounded);
    graph.set_constant(id, std::move(rounded));
  }
  const auto answers = answers_of(graph, made, inputs);
  if (!answers) return "";
  for (const SessionOptions& options :
       {SessionOptions{.optimize = false, .half = true, .half_everywhere = true}, SessionOptions{.half = true},
        SessionOptions{.half = true,
                       .forced_kernels = {made.text.size() % 2 == 0 ? "winograd2_f16__neon" : "winograd4_f16__neon",
                                          "winograd2s2_f16__neon"}}}) {
    if (made.infinities && takes_tiles(options)) continue;
    bool lowered = false;
    const std::string fault = run(graph, made, *answers, inputs, options, std::string(row.op_type), lowered);
    if (!fault.empty())
      return std::format("in float16{}: {}", options.half_everywhere ? "" : ", with the passes", fault);
  }
  return "";
}

}  // namespace

Verdict check_lowering(const Row& row, const Case& made) {
  Verdict verdict;
  auto parsed = parse_text(made.text);
  if (!parsed) {
    verdict.fault = "the generator wrote no graph: " + describe(parsed.error());
    return verdict;
  }
  Graph& graph = parsed->graph;
  if (!infer_shapes(graph)) return verdict;
  const std::vector<Tensor> inputs = inputs_of(graph, made);
  const auto answers = answers_of(graph, made, inputs);
  if (!answers) return verdict;
  verdict.valid = true;
  // Kernels for what no random case is large enough for, too, and those of other processors.
  const char* tiles = made.text.size() % 2 == 0 ? "winograd2_f32__scalar" : "winograd4_f32__scalar";
  for (const SessionOptions& options :
       {SessionOptions{.optimize = false}, SessionOptions{.optimize = false, .own_kernels = false},
        SessionOptions{
            .optimize = false,
            .forced_kernels = {"depthwise_f32__scalar", "panels_f32__scalar", "woven_f32__scalar", "silu_f32__scalar",
                               "depthwise_s8__scalar", "few_channels_s8__scalar", "winograd_s8__scalar"}},
        SessionOptions{
            .optimize = false,
            .forced_kernels = {"columns_s8__scalar", "products_s8__scalar", "winograd2s2_f32__scalar", tiles}},
        SessionOptions{}}) {
    if (made.infinities && takes_tiles(options)) continue;
    const std::string fault = run(graph, made, *answers, inputs, options, std::string(row.op_type), verdict.lowered);
    if (fault.empty()) continue;
    verdict.fault = std::format("{}{}{}: {}", options.optimize ? "with the passes" : "as it stands",
                                options.own_kernels ? "" : ", without own kernels", forced_text(options), fault);
    return verdict;
  }
  verdict.fault = check_halves(row, made, graph, inputs);
  return verdict;
}

}  // namespace kinglet::engine::random_cases
