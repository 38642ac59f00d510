// SPDX-License-Identifier: Apache-2.0
// Why: what tests of kernels in whole networks share: the answer of a session, and how many of its steps are our own.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/session/session.h"
#include "tests/support/graph_of.h"

namespace kinglet::engine::kernels {

struct NetworkAnswer {
  Tensor numbers;
  std::ptrdiff_t own = 0;
};

// To numbers that are always the same.
inline NetworkAnswer answer_with(const Graph& graph, const SessionOptions& options) {
  auto session = Session::create(Graph(graph), options);
  if (!session) throw std::runtime_error(describe(session.error()));
  EXPECT_TRUE(session->set_input(0, seeded_tensor(DataType::kF32, session->inputs().front().shape, "x")));
  EXPECT_TRUE(session->run());
  return {.numbers = session->get_output(0),
          .own = std::ranges::count(session->plan().steps, "kinglet", &StepInfo::backend)};
}

}  // namespace kinglet::engine::kernels
