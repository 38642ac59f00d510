// SPDX-License-Identifier: Apache-2.0
#include "engine/quantize/layer_noise.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "engine/passes/runner.h"
#include "engine/quantize/equalize.h"
#include "engine/quantize/judge.h"
#include "engine/session/session.h"

namespace kinglet::engine {
namespace {

constexpr std::size_t kMostSamples = 8;

// What equalisation changed on purpose.
std::set<std::string> rescaled(const Graph& graph) {
  std::set<std::string> names;
  for (const auto& [key, value] : graph.metadata.properties) {
    if (key != kRescaledProperty) continue;
    std::istringstream lines(value);
    for (std::string line; std::getline(lines, line);) names.insert(line);
  }
  return names;
}

// Values of interest, which neither border of the graph has.
std::vector<std::string> shared_values(const Graph& before, const Graph& after) {
  std::set<std::string> other_scale = rescaled(before);
  other_scale.merge(rescaled(after));
  std::vector<std::string> names;
  for (const NodeId id : before.nodes()) {
    for (const ValueId output : before.node(id).outputs) {
      if (output == kNoValue || before.is_output(output) || before.value(output).type != DataType::kF32) continue;
      const auto other = after.find_value(before.value(output).name);
      if (!other || after.is_output(*other) || after.value(*other).type != DataType::kF32) continue;
      if (other_scale.contains(before.value(output).name)) continue;
      if (after.value(*other).producer != kNoNode) names.push_back(before.value(output).name);
    }
  }
  return names;
}

Result<Session> session_with(const Graph& graph, const std::vector<std::string>& names) {
  Graph copy = graph;
  for (const std::string& name : names) copy.add_output(*copy.find_value(name));
  return Session::create(std::move(copy), {});
}

Result<void> run(Session& session, const Tensor& input) {
  KINGLET_TRY(session.set_input(0, input));
  return session.run();
}

}  // namespace

Result<std::vector<ValueNoise>> layer_noise(const Graph& given_before, const Graph& given_after, const Samples& samples,
                                            const Progress& progress) {
  // What folds into a layer gives its value another meaning: names are compared behind the same passes.
  Graph before = given_before;
  Graph after = given_after;
  KINGLET_TRY(run_passes(before));
  KINGLET_TRY(run_passes(after));
  const std::vector<std::string> names = shared_values(before, after);
  std::vector<ValueNoise> out;
  if (names.empty()) return out;
  Session a = KINGLET_TRY(session_with(before, names));
  Session b = KINGLET_TRY(session_with(after, names));
  std::vector<Noise> noise(names.size());
  const std::size_t count = std::min(samples.count, kMostSamples);
  for (std::size_t i = 0; i < count; ++i) {
    progress("layers", i, count);
    const Tensor input = KINGLET_TRY(samples.input(i));
    KINGLET_TRY(run(a, input));
    KINGLET_TRY(run(b, input));
    for (std::size_t v = 0; v < names.size(); ++v) {
      const Tensor x = a.get_output(before.outputs().size() + v);
      const Tensor y = b.get_output(after.outputs().size() + v);
      if (x.shape() == y.shape()) noise[v].add(x.data<float>(), y.data<float>());
    }
  }
  for (std::size_t v = 0; v < names.size(); ++v) {
    const NodeId maker = before.value(*before.find_value(names[v])).producer;
    out.push_back({.value = names[v], .op_type = before.node(maker).op_type, .signal_to_noise_db = noise[v].db()});
  }
  return out;
}

}  // namespace kinglet::engine
