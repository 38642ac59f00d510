// SPDX-License-Identifier: Apache-2.0
// A kernel may keep its weights in a form that is larger and quicker. Where a model has many weights, memory counts
// beside time.
#include <gtest/gtest.h>

#include <format>

#include "engine/backend/kernels/convolution_parts.h"
#include "engine/session/session.h"
#include "tests/support/graph_of.h"

namespace kinglet::engine {
namespace {

// Two products beside a convolution; each of their outputs takes 0.2 MB of weights.
constexpr char kNetwork[] = R"(
%x = input f32[1,256,14,14]
%1 = Conv(%x, w:f32[256,256,3,3]#a) {{kernel_shape=[3,3], pads=[1,1,1,1]}}
%2 = Reshape(%1, s:i64[2]{{1,50176}})
%3 = MatMul(%2, m:f32[50176,{0}]#b)
%4 = MatMul(%2, n:f32[50176,{0}]#c)
output %3
output %4
)";

// What the convolution keeps.
std::size_t bytes_of_winograd(std::size_t outputs) {
  const Session session = Session::create(graph_of(std::format(kNetwork, outputs)), {}).value();
  for (const StepInfo& step : session.plan().steps) {
    if (step.kernel && step.kernel->name.starts_with("winograd")) return step.kernel->packed_bytes;
  }
  return 0;
}

TEST(ManyWeights, LeaveKernelsLessMemory) {
  if (!kernels::has_near_memory()) GTEST_SKIP() << "memory counts as much for any model here";
  constexpr std::size_t kOfFilters = 256 * 256 * sizeof(float);
  EXPECT_EQ(bytes_of_winograd(10), 36 * kOfFilters) << "tiles of 4x4";
  EXPECT_EQ(bytes_of_winograd(170), 16 * kOfFilters) << "tiles of 2x2";
}

}  // namespace
}  // namespace kinglet::engine
