// SPDX-License-Identifier: Apache-2.0
// Whole graphs through what the tool does with them.
#include <algorithm>
#include <cmath>

#include "engine/ops/op.h"
#include "engine/quantize/quantize.h"
#include "engine/session/optimize.h"
#include "engine/session/session.h"
#include "tests/contract/random_lowering/cases.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine::random_cases {
namespace {

// Nothing when the graph is none that the engine takes.
std::optional<Graph> graph_of(const Case& made, Verdict& verdict) {
  auto parsed = parse_text(made.text);
  if (!parsed) {
    verdict.fault = "the generator wrote no graph: " + describe(parsed.error());
    return std::nullopt;
  }
  if (const auto inferred = infer_shapes(parsed->graph); !inferred) {
    verdict.fault = "the generator wrote a wrong graph: " + describe(inferred.error());
    return std::nullopt;
  }
  verdict.valid = true;
  return std::move(parsed->graph);
}

Tensor picture(const Graph& graph, const Case& made, std::size_t number) {
  const Value& value = graph.value(graph.inputs().front().value);
  Tensor out = seeded_tensor(DataType::kF32, *value.shape, std::format("picture{}", number));
  for (float& x : out.mutable_data<float>()) x *= static_cast<float>(made.scale);
  return out;
}

double largest_of(const Tensor& tensor) {
  double largest = 1;
  for (const float x : tensor.to_floats()) largest = std::max(largest, std::abs(double{x}));
  return largest;
}

// A session's answers against evaluate's; each may be `relative` of the largest number off.
std::string session_fault(const Graph& graph, const Tensor& input, bool optimize, double relative) {
  const std::vector<Tensor> given{input};
  const auto expected = evaluate_graph(graph, given);
  if (!expected) return "evaluate: " + describe(expected.error());
  auto session = Session::create(Graph(graph), {.optimize = optimize});
  if (!session) return "no session: " + describe(session.error());
  if (auto set = session->set_input(0, input); !set) return describe(set.error());
  if (auto done = session->run(); !done) return describe(done.error());
  for (std::size_t i = 0; i < expected->size(); ++i) {
    const Tensor found = session->get_output(i);
    if (found.shape() != (*expected)[i].shape()) return "another shape";
    const double limit = relative * largest_of((*expected)[i]);
    const std::vector<float> want = (*expected)[i].to_floats();
    const std::vector<float> got = found.to_floats();
    for (std::size_t at = 0; at < want.size(); ++at) {
      if (want[at] == got[at] || std::isnan(want[at])) continue;
      if (std::abs(want[at] - got[at]) <= limit) continue;
      return std::format("session{}: output {} at {}: {} in place of {}, which may be {:.3g} off",
                         optimize ? " with the passes" : "", i, at, got[at], want[at], limit);
    }
  }
  return "";
}

// A run leaves its numbers in the memory of the next, and every count of threads cuts the work in another way: none of
// it shows in the answers.
std::string bits_fault(const Graph& graph, const Tensor& input) {
  std::vector<Tensor> expected;
  for (const int threads : {1, 2, 3, 4}) {
    auto session = Session::create(Graph(graph), {.threads = threads});
    if (!session) return "no session: " + describe(session.error());
    for (int run = 0; run < 2; ++run) {
      if (auto set = session->set_input(0, input); !set) return describe(set.error());
      if (auto done = session->run(); !done) return describe(done.error());
      for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
        if (expected.size() == i) expected.push_back(session->get_output(i));
        if (!session->get_output(i).bit_equal(expected[i]))
          return std::format("output {} has other bits with {} threads in run {}", i, threads, run);
      }
    }
  }
  return "";
}

}  // namespace

Verdict check_optimize(const Row& /*row*/, const Case& made) {
  Verdict verdict;
  const std::optional<Graph> graph = graph_of(made, verdict);
  if (!graph) return verdict;
  const auto done = optimize_model(*graph, {.allow_growth = true});
  if (!done) {
    verdict.fault = "optimize: " + describe(done.error());
    return verdict;
  }
  verdict.lowered = true;
  if (made.half) return verdict;
  verdict.fault = bits_fault(*graph, picture(*graph, made, 0));
  if (!verdict.fault.empty()) return verdict;
  for (const bool optimize : {false, true}) {
    verdict.fault = session_fault(*graph, picture(*graph, made, 0), optimize, 1e-4);
    if (!verdict.fault.empty()) return verdict;
  }
  return verdict;
}

Verdict check_quantize(const Row& /*row*/, const Case& made) {
  Verdict verdict;
  const std::optional<Graph> graph = graph_of(made, verdict);
  if (!graph) return verdict;
  constexpr std::size_t kSamples = 4;
  const Samples samples{.count = kSamples,
                        .input = [&](std::size_t i) -> Result<Tensor> { return picture(*graph, made, i); }};
  const auto quantized = quantize_model(*graph, samples, {.method = RangeMethod::kMinMax}, [](auto, auto, auto) {});
  if (!quantized) {
    // Some graphs have nothing that runs in integers, or no finite numbers.
    if (quantized.error().code != ErrorCode::kBadData) verdict.fault = "quantize: " + describe(quantized.error());
    return verdict;
  }
  verdict.lowered = true;
  // A level that goes the other way in a layer is a part of 255 of its range, and as many may as there are layers.
  constexpr double kLevels = 24.0 / 255;
  for (const bool optimize : {false, true}) {
    verdict.fault = session_fault(quantized->graph, picture(*graph, made, 0), optimize, kLevels);
    if (!verdict.fault.empty()) return verdict;
  }
  return verdict;
}

}  // namespace kinglet::engine::random_cases
