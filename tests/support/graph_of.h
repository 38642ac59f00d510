// SPDX-License-Identifier: Apache-2.0
// Why: tests write their graphs in the text form of tests/support/graph_text.h.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "engine/ops/op.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine {

// With shapes inferred; a text that is wrong fails the test.
inline Graph graph_of(std::string_view text) {
  auto parsed = parse_text(text);
  if (!parsed) {
    ADD_FAILURE() << describe(parsed.error());
    return {};
  }
  EXPECT_TRUE(infer_shapes(parsed->graph));
  return std::move(parsed->graph);
}

}  // namespace kinglet::engine
