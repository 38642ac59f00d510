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

// As many outputs as channels, with a window of 3x3.
struct Layer {
  std::size_t channels, side, stride;  // side: of the output
};
// Of sizes at which the two prices of memory differ.
#if defined(__aarch64__)
constexpr Layer kLayer{.channels = 512, .side = 7, .stride = 1};
#else
constexpr Layer kLayer{.channels = 256, .side = 14, .stride = 1};
#endif
constexpr Layer kStrided{.channels = 256, .side = 14, .stride = 2};

constexpr std::size_t bytes_of_filters(const Layer& layer) { return layer.channels * layer.channels * sizeof(float); }

// Two products beside a convolution.
constexpr char kNetwork[] = R"(
%x = input f32[1,{0},{1},{1}]
%1 = Conv(%x, w:f32[{0},{0},3,3]#a) {{kernel_shape=[3,3], pads=[1,1,1,1], strides=[{2},{2}]}}
%2 = Reshape(%1, s:i64[2]{{1,{3}}})
%3 = MatMul(%2, m:f32[{3},{4}]#b)
%4 = MatMul(%2, n:f32[{3},{4}]#c)
output %3
output %4
)";

// What the convolution keeps by Winograd's way, where the products have so many megabytes.
std::size_t bytes_of_winograd(const Layer& layer, std::size_t megabytes) {
  const std::size_t numbers = layer.channels * layer.side * layer.side;
  const std::size_t outputs = (megabytes << 20U) / (2 * numbers * sizeof(float));
  const Session session =
      Session::create(
          graph_of(std::format(kNetwork, layer.channels, layer.side * layer.stride, layer.stride, numbers, outputs)),
          {})
          .value();
  for (const StepInfo& step : session.plan().steps) {
    if (step.kernel && step.kernel->name.starts_with("winograd")) return step.kernel->packed_bytes;
  }
  return 0;
}

class ManyWeights : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__x86_64__)
    if (!kernels::has_near_memory()) GTEST_SKIP() << "memory counts as much for any model here";
#endif
  }
};

TEST_F(ManyWeights, LeaveKernelsLessMemory) {
  EXPECT_EQ(bytes_of_winograd(kLayer, 10), 36 * bytes_of_filters(kLayer)) << "tiles of 4x4";
  EXPECT_EQ(bytes_of_winograd(kLayer, 70), 16 * bytes_of_filters(kLayer)) << "tiles of 2x2";
}

TEST_F(ManyWeights, LeaveNoneToStridedLayersOfManyChannels) {
  EXPECT_EQ(bytes_of_winograd(kStrided, 10), 25 * bytes_of_filters(kStrided));
  EXPECT_EQ(bytes_of_winograd(kStrided, 70), 0);
}

}  // namespace
}  // namespace kinglet::engine
