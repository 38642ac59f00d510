// SPDX-License-Identifier: Apache-2.0
// The kernel of panels gives the bits of sums that take one product after the other, as XNNPACK's do, in every form and
// with any number of threads. Layers at random: rows, windows, what is left of numbers, what stands at the end.
//   KINGLET_KERNEL_SECONDS=N   for so long (float_layers.h)
#include "tests/contract/kernels/float_layers.h"
#include "tests/contract/kernels/networks.h"

namespace kinglet::engine::kernels {
namespace {

constexpr std::array kForms{"panels_f32__scalar", "panels_f32__avx512", "panels_f32__avx2"};

Layer panels_at_random(Random& random) {
  const auto pick = [&](std::size_t least, std::size_t most) { return pick_of(random, least, most); };
  xnn::Window window = window_at_random(random, square_window(pick(0, 1) == 0 ? 1 : 3, 3, 0));
  window.stride_height = std::max(window.stride_height, window.kernel_height);
  window.stride_width = std::max(window.stride_width, window.kernel_width);
  // More numbers than a panel has, now and then.
  const ConvolutionShape shape{.batch = pick(1, 2),
                               .input_height = pick(3, 8),
                               .input_width = pick(3, 8),
                               .input_channels = 4 * (pick(0, 3) == 0 ? pick(190, 210) : pick(1, 20)),
                               .output_channels = 32 * pick(1, 5),
                               .window = window};
  const xnn::Range range =
      pick(0, 1) == 0 ? xnn::Range{} : xnn::Range{.min = 0, .max = pick(0, 1) == 0 ? 6 : xnn::kNoMax};
  return finished(random, shape, pick(0, 3) > 0, pick(0, 1) == 0, range);
}

void expect_bits_of_all_forms(const Layer& layer, int threads) {
  expect_bits_in_forms(kForms, layer, threads, answers_of(layer, answer_in_order));
}

TEST(Panels, AreTheConvolutionToTheBitInEveryFormAndWithAnyThreads) {
  for_layers(panels_at_random, [](const Layer& layer) {
    for (const int threads : {1, 2 + static_cast<int>(layer.shape.input_channels % 3)})
      expect_bits_of_all_forms(layer, threads);
  });
}

// Groups of any number of rows.
TEST(Panels, TakeAnyRemainderOfRows) {
  Random random(7);
  for (std::size_t rows = 1; rows <= 40; ++rows) {
    const Layer layer = finished(random,
                                 {.input_height = 1,
                                  .input_width = rows,
                                  .input_channels = 4 * (rows % 7 + 1),
                                  .output_channels = 64,
                                  .window = {}},
                                 true, rows % 2 == 0, {});
    expect_bits_of_all_forms(layer, 1 + static_cast<int>(rows % 2));
  }
}

TEST(Panels, TakeNoPaddingNoOverlapAndNoPartOfAQuadOrPanel) {
  Random random(1);
  const auto takes = [&](const ConvolutionShape& shape) {
    return row_named(kForms[0]).offer(finished(random, shape, true, false, {}).work()).has_value();
  };
  const ConvolutionShape good{
      .input_height = 4, .input_width = 4, .input_channels = 8, .output_channels = 32, .window = {}};
  EXPECT_TRUE(takes(good));
  ConvolutionShape bad = good;
  bad.window = {.kernel_height = 2, .kernel_width = 2, .stride_height = 2, .stride_width = 2};
  EXPECT_TRUE(takes(bad));
  bad.window.pad_top = 1;
  EXPECT_FALSE(takes(bad));
  bad.window = {.kernel_height = 2, .kernel_width = 2, .stride_height = 2, .stride_width = 1};
  EXPECT_FALSE(takes(bad));
  bad = good;
  bad.input_channels = 6;
  EXPECT_FALSE(takes(bad));
  bad = good;
  bad.output_channels = 40;
  EXPECT_FALSE(takes(bad));
}

TEST(Panels, AreForWeightsThatNoCacheHoldsAndForSomeRows) {
  const auto pays = [](std::size_t rows, std::size_t numbers, std::size_t outputs) {
    const Work work{ProductF32{.rows = rows, .numbers = numbers, .outputs = outputs, .weights = {}, .bias = {}}};
    const auto offer = row_named("panels_f32__avx512").offer(work);
    return offer.has_value() && offer->cost < 1;
  };
  if (!pays(50, 768, 3072)) GTEST_SKIP() << "this processor has no form of it";
  EXPECT_TRUE(pays(196, 384, 1536));
  EXPECT_FALSE(pays(1, 768, 3072));
  EXPECT_FALSE(pays(3136, 384, 1536));
  EXPECT_FALSE(pays(196, 96, 384));
}

// Products of matrices in each of their spellings, also over values of four axes, which lie as their shapes say.
TEST(Panels, GiveTheBitsOfXnnpackInProductsOfMatrices) {
  if (!xnnpack_fuses()) GTEST_SKIP() << "XNNPACK rounds products and sums apart here";
  const Graph graph = graph_of(R"(
%x = input f32[1,5,7,36]
%1 = MatMul(%x, w1:f32[36,64]#w1)
%2 = Add(%1, b1:f32[64]#b1)
%3 = Relu(%2)
%4 = MatMul(%3, w2:f32[64,32]#w2)
%5 = Reshape(%4, s:i64[2]{35,32})
%6 = Gemm(%5, w3:f32[96,32]#w3, b3:f32[96]#b3) {transB=1}
%7 = Sigmoid(%6)
%8 = Gemm(%7, w4:f32[96,32]#w4)
%9 = Gemm(%8, w5:f32[32,32]#w5, b5:f32[32]#b5) {alpha=0.5}
output %9
)");
  const Work work{ProductF32{.rows = 1, .numbers = 4, .outputs = 32, .weights = {}, .bias = {}}};
  const std::vector<const char*> forms = forms_here(kForms, work);
  EXPECT_FALSE(forms.empty());
  expect_answer_of_xnnpack(input_of(graph), graph, forms, 4);
}

}  // namespace
}  // namespace kinglet::engine::kernels
