// SPDX-License-Identifier: Apache-2.0
// Why: a graph of text with its shapes, ready to be planned.
#pragma once

#include <gtest/gtest.h>

#include "engine/ops/op.h"
#include "engine/plan/plan.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine {

inline Graph inferred(std::string_view text) {
  Graph graph = std::move(parse_text(text).value().graph);
  const auto done = infer_shapes(graph);
  EXPECT_TRUE(done) << describe(done.error());
  return graph;
}

}  // namespace kinglet::engine
