// SPDX-License-Identifier: Apache-2.0
// Why: reading values inside a graph while it answers pictures: what calibration is made of.
#pragma once

#include <functional>
#include <set>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/graph/graph.h"
#include "engine/quantize/calibration/samples.h"
#include "engine/session/session.h"

namespace kinglet::engine {

class Watch {
 public:
  // The values of `graph`, its first input perhaps among them.
  [[nodiscard]] static Result<Watch> create(const Graph& graph, const std::set<ValueId>& values);

  // Each value with its numbers on each sample, in the order of samples. An error of `visit` ends it.
  using Visit = std::function<Result<void>(std::size_t sample, ValueId value, const Tensor& numbers)>;
  [[nodiscard]] Result<void> each(const Samples& samples, const Progress& progress, std::string_view what,
                                  const Visit& visit);

 private:
  Watch(Session session, std::vector<ValueId> outputs, ValueId input, bool watches_input)
      : session_(std::move(session)), outputs_(std::move(outputs)), input_(input), watches_input_(watches_input) {}

  Session session_;
  std::vector<ValueId> outputs_;  // of the session; kNoValue: not asked for
  ValueId input_;
  bool watches_input_;
};

}  // namespace kinglet::engine
