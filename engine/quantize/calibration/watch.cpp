// SPDX-License-Identifier: Apache-2.0
#include "engine/quantize/calibration/watch.h"

namespace kinglet::engine {

Result<Watch> Watch::create(const Graph& graph, const std::set<ValueId>& values) {
  Graph copy = graph;
  std::vector<ValueId> outputs = copy.outputs();
  for (const ValueId value : values) {
    if (copy.is_input(value) || copy.is_output(value)) continue;
    copy.add_output(value);
    outputs.push_back(value);
  }
  for (ValueId& output : outputs) {
    if (!values.contains(output)) output = kNoValue;
  }
  const ValueId input = graph.inputs().front().value;
  return Watch(KINGLET_TRY(Session::create(std::move(copy), {})), std::move(outputs), input, values.contains(input));
}

Result<void> Watch::each(const Samples& samples, const Progress& progress, std::string_view what, const Visit& visit) {
  for (std::size_t i = 0; i < samples.count; ++i) {
    progress(what, i, samples.count);
    const Tensor input = KINGLET_TRY(samples.input(i));
    KINGLET_TRY(session_.set_input(0, input));
    KINGLET_TRY(session_.run());
    if (watches_input_) KINGLET_TRY(visit(i, input_, input));
    for (std::size_t output = 0; output < outputs_.size(); ++output) {
      if (outputs_[output] != kNoValue) KINGLET_TRY(visit(i, outputs_[output], session_.get_output(output)));
    }
  }
  return {};
}

}  // namespace kinglet::engine
