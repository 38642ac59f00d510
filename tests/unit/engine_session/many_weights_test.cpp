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

// Of a size at which the two prices of memory differ.
#if defined(__aarch64__)
constexpr std::size_t kChannels = 512, kSide = 7;
#else
constexpr std::size_t kChannels = 256, kSide = 14;
#endif

// Two products beside a convolution.
constexpr char kNetwork[] = R"(
%x = input f32[1,{0},{1},{1}]
%1 = Conv(%x, w:f32[{0},{0},3,3]#a) {{kernel_shape=[3,3], pads=[1,1,1,1]}}
%2 = Reshape(%1, s:i64[2]{{1,{2}}})
%3 = MatMul(%2, m:f32[{2},{3}]#b)
%4 = MatMul(%2, n:f32[{2},{3}]#c)
output %3
output %4
)";

// What the convolution keeps, where the products have so many megabytes.
std::size_t bytes_of_winograd(std::size_t megabytes) {
  constexpr std::size_t kNumbers = kChannels * kSide * kSide;
  const std::size_t outputs = (megabytes << 20U) / (2 * kNumbers * sizeof(float));
  const Session session =
      Session::create(graph_of(std::format(kNetwork, kChannels, kSide, kNumbers, outputs)), {}).value();
  for (const StepInfo& step : session.plan().steps) {
    if (step.kernel && step.kernel->name.starts_with("winograd")) return step.kernel->packed_bytes;
  }
  return 0;
}

TEST(ManyWeights, LeaveKernelsLessMemory) {
#if defined(__x86_64__)
  if (!kernels::has_near_memory()) GTEST_SKIP() << "memory counts as much for any model here";
#endif
  constexpr std::size_t kOfFilters = kChannels * kChannels * sizeof(float);
  EXPECT_EQ(bytes_of_winograd(10), 36 * kOfFilters) << "tiles of 4x4";
  EXPECT_EQ(bytes_of_winograd(70), 16 * kOfFilters) << "tiles of 2x2";
}

}  // namespace
}  // namespace kinglet::engine
