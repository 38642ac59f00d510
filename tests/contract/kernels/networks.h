// SPDX-License-Identifier: Apache-2.0
// Why: what tests of kernels in whole networks share: the answer of a session, how many of its nodes are our own, and
// that both are as they should be in every form.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <utility>

#include "engine/session/session.h"
#include "tests/support/graph_of.h"

namespace kinglet::engine::kernels {

struct NetworkAnswer {
  Tensor numbers;
  std::ptrdiff_t own = 0;
  std::size_t steps = 0;  // of the plan: what runs as one
};

// Always the same numbers.
inline Tensor input_of(const Graph& graph) {
  return seeded_tensor(DataType::kF32, *graph.value(graph.inputs().front().value).shape, "x");
}

inline NetworkAnswer answer_to(const Tensor& input, const Graph& graph, const SessionOptions& options) {
  auto session = Session::create(Graph(graph), options);
  if (!session) throw std::runtime_error(describe(session.error()));
  EXPECT_TRUE(session->set_input(0, input));
  EXPECT_TRUE(session->run());
  return {.numbers = session->get_output(0),
          .own = std::ranges::count(session->plan().steps, "kinglet", &StepInfo::backend),
          .steps = session->plan().steps.back().segment + 1};
}

// A product and its sum are rounded once.
inline bool xnnpack_fuses() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("fma") != 0;
#else
  return true;
#endif
}

// In each of these forms, with several threads, `own` steps are ours and the answer has XNNPACK's bits. Returns that.
inline Tensor expect_answer_of_xnnpack(const Tensor& input, const Graph& graph, std::span<const char* const> forms,
                                       std::ptrdiff_t own, bool half = false) {
  NetworkAnswer expected = answer_to(input, graph, {.own_kernels = false, .half = half});
  EXPECT_EQ(expected.own, 0);
  for (const char* const form : forms) {
    for (const int threads : {1, 2, 3, 4}) {
      const NetworkAnswer found =
          answer_to(input, graph, {.threads = threads, .own_kernels = false, .half = half, .forced_kernels = {form}});
      EXPECT_EQ(found.own, own) << form;
      EXPECT_TRUE(std::ranges::equal(found.numbers.bytes(), expected.numbers.bytes()))
          << form << ", " << threads << " threads";
    }
  }
  return std::move(expected.numbers);
}

}  // namespace kinglet::engine::kernels
