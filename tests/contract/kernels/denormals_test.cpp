// SPDX-License-Identifier: Apache-2.0
// Numbers too small for a float's full precision are zero to kernels of our own as they are to XNNPACK, on the caller's
// thread and on any other: else they would take many times as long where a network has many, and give other bits.
#include "tests/contract/kernels/float_layers.h"
#include "tests/contract/kernels/networks.h"

namespace kinglet::engine::kernels {
namespace {

constexpr float kTiny = 1e-40F;

Layer layer_of_window(std::uint32_t side) {
  Random random(side);
  const ConvolutionShape shape{.input_height = 8,
                               .input_width = 8,
                               .input_channels = 32,
                               .output_channels = 160,
                               .window = square_window(side, 1, side / 2)};
  return finished(random, shape, false, false, {});
}

// Returns how many kernels take the layer.
int expect_zeros(const Layer& layer) {
  int taken = 0;
  for (const KernelRow* row : all_kernels()) {
    if (!row->offer(layer.work())) continue;
    ++taken;
    for (const int threads : {1, 2, 3, 4}) {
      EXPECT_TRUE(std::ranges::all_of(run(*row, layer, threads), [](float number) { return number == 0; }))
          << row->name << ", " << threads << " threads: " << layer.text();
    }
  }
  return taken;
}

TEST(Denormals, AreZeroAmongTheNumbersAndTheWeightsOfEveryKernel) {
  for (const std::uint32_t side : {1, 3}) {
    Layer numbers = layer_of_window(side);
    std::ranges::fill(numbers.input.mutable_data<float>(), kTiny);
    EXPECT_GE(expect_zeros(numbers), 2);
    Layer weights = layer_of_window(side);
    std::ranges::fill(weights.weights, kTiny);
    EXPECT_GE(expect_zeros(weights), 2);
  }
}

// Of pixels that have no other numbers, and of pixels that have some.
TEST(Denormals, GiveTheBitsOfXnnpack) {
  if (!xnnpack_fuses()) GTEST_SKIP() << "XNNPACK rounds products and sums apart here";
  const Graph graph = graph_of(R"(
%x = input f32[1,32,12,12]
%1 = Conv(%x, w:f32[320,32,1,1]#w)
%2 = Abs(%1)
output %2
)");
  Tensor input = seeded_tensor(DataType::kF32, {1, 32, 12, 12}, "x");
  const auto numbers = input.mutable_data<float>();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i % 144 < 72 || i % 3 == 0) numbers[i] *= kTiny;
  }
  constexpr std::array kKernels{"panels_f32__scalar", "woven_f32__scalar"};
  EXPECT_EQ(expect_answer_of_xnnpack(input, graph, kKernels, 1).data<float>()[0], 0);
}

}  // namespace
}  // namespace kinglet::engine::kernels
