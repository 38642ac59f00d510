// SPDX-License-Identifier: Apache-2.0
// What XNNPACK would run silently on rubbish, abort on or refuse late: each is turned down before XNNPACK hears of it.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <format>
#include <functional>

#include "engine/backend/xnnpack/runtime.h"
#include "engine/ops/levels.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine::xnn {
namespace {

constexpr Window kThree{.kernel_height = 3, .kernel_width = 3};

// A builder over one input image [1,3,8,8] that lies as [1,8,8,3], and operands of any dimensions.
class BadInput : public ::testing::Test {
 protected:
  void SetUp() override {
    graph_ = parse_text("%x = input f32[1,3,8,8]\n%y:f32[1,3,8,8] = Relu(%x)\noutput %y\n").value().graph;
    const std::array inputs{graph_.inputs()[0].value};
    layouts_.set(inputs[0], Layout::kNhwc);
    auto builder = SubgraphBuilder::create(graph_, layouts_, kLevelRules, inputs, {});
    ASSERT_TRUE(builder.has_value()) << builder.error().message;
    builder_.emplace(std::move(*builder));
    image_ = builder_->input(inputs[0], Layout::kNhwc).value();
  }
  Operand weights(const Dims& dims) {
    Shape shape(dims.begin(), dims.end());
    return builder_->constant(seeded_tensor(DataType::kF32, shape, "w"), dims, Lifetime::kUntilPacked).value();
  }
  Operand result(const Dims& dims) { return builder_->temporary(dims).value(); }
  static void expect_refused(const Result<void>& done) {
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().code, ErrorCode::kBadData) << done.error().message;
    EXPECT_FALSE(done.error().message.empty());
  }

  Graph graph_;
  Layouts layouts_;
  std::optional<SubgraphBuilder> builder_;
  Operand image_;
};

TEST_F(BadInput, RightConvolutionIsTaken) {
  EXPECT_TRUE(builder_->convolution(kThree, 1, {}, image_, weights({4, 3, 3, 3}), weights({4}), result({1, 6, 6, 4})));
}

TEST_F(BadInput, FilterOfTheWrongSizeIsRefused) {
  expect_refused(builder_->convolution(kThree, 1, {}, image_, weights({4, 3, 3, 2}), {}, result({1, 6, 6, 4})));
  expect_refused(builder_->convolution(kThree, 1, {}, image_, weights({4, 5, 3, 3}), {}, result({1, 6, 6, 4})));
  expect_refused(builder_->convolution(kThree, 1, {}, image_, weights({4, 27}), {}, result({1, 6, 6, 4})));
  expect_refused(
      builder_->depthwise_convolution(kThree, 1, {}, image_, weights({1, 3, 3, 4}), {}, result({1, 6, 6, 3})));
}

TEST_F(BadInput, BiasOfTheWrongSizeIsRefused) {
  expect_refused(
      builder_->convolution(kThree, 1, {}, image_, weights({4, 3, 3, 3}), weights({3}), result({1, 6, 6, 4})));
}

TEST_F(BadInput, InputChannelsThatTheGroupsDoNotDivideAreRefused) {
  expect_refused(builder_->convolution(kThree, 2, {}, image_, weights({4, 3, 3, 1}), {}, result({1, 6, 6, 4})));
}

TEST_F(BadInput, OutputOfTheWrongSizeIsRefused) {
  expect_refused(builder_->convolution(kThree, 1, {}, image_, weights({4, 3, 3, 3}), {}, result({1, 8, 8, 4})));
  expect_refused(builder_->convolution(kThree, 1, {}, image_, weights({4, 3, 3, 3}), {}, result({1, 6, 6, 5})));
}

TEST_F(BadInput, ConvolutionOfThreeDimensionsIsRefused) {
  const Operand flat = result({8, 8, 3});
  ASSERT_TRUE(builder_->reshape(image_, flat));
  expect_refused(builder_->convolution(kThree, 1, {}, flat, weights({4, 3, 3, 3}), {}, result({1, 6, 6, 4})));
}

TEST_F(BadInput, ConcatenationOfOtherSizesIsRefused) {
  const Operand half = result({1, 4, 8, 3});
  ASSERT_TRUE(builder_->slice({0, 0, 0, 0}, {1, 4, 8, 3}, image_, half));
  const std::array both{image_, half};
  expect_refused(builder_->concatenate(3, both, result({1, 8, 8, 6})));
}

TEST_F(BadInput, ConcatenationAlongAnAxisThatDoesNotExistIsRefused) {
  const std::array both{image_, image_};
  expect_refused(builder_->concatenate(4, both, result({1, 8, 8, 6})));
}

TEST_F(BadInput, ValueThatNoNodeMadeIsRefused) {
  expect_refused(builder_->clamp({.min = 0}, result({1, 8, 8, 3}), result({1, 8, 8, 3})));
}

TEST_F(BadInput, NodeBeforeItsProducerIsRefused) {
  const Operand middle = result({1, 8, 8, 3});
  expect_refused(builder_->clamp({.min = 0}, middle, result({1, 8, 8, 3})));
  EXPECT_TRUE(builder_->clamp({.min = 0}, image_, middle));
}

TEST_F(BadInput, ValueMadeTwiceIsRefused) {
  const Operand middle = result({1, 8, 8, 3});
  ASSERT_TRUE(builder_->clamp({.min = 0}, image_, middle));
  expect_refused(builder_->clamp({.min = 0}, image_, middle));
}

TEST_F(BadInput, ClampToNoRangeIsRefused) {
  expect_refused(builder_->clamp({.min = 1, .max = 0}, image_, result({1, 8, 8, 3})));
  expect_refused(builder_->clamp({.min = std::nanf(""), .max = 0}, image_, result({1, 8, 8, 3})));
}

TEST_F(BadInput, KernelLargerThanThePaddedInputIsRefused) {
  const Window window{.kernel_height = 11, .kernel_width = 3, .pad_top = 1, .pad_bottom = 1};
  expect_refused(builder_->convolution(window, 1, {}, image_, weights({4, 11, 3, 3}), {}, result({1, 1, 6, 4})));
  expect_refused(builder_->average_pooling(window, {}, image_, result({1, 1, 6, 3})));
  expect_refused(builder_->max_pooling(window, {}, image_, result({1, 1, 6, 3})));
}

TEST_F(BadInput, EightBitScalesFarApartAreRefused) {
  EXPECT_FALSE(check_ratio(kSumRatios, 257));
  EXPECT_FALSE(check_ratio(kSumRatios, 256));
  EXPECT_FALSE(check_ratio(kSumRatios, 1.0F / 2048));
  EXPECT_TRUE(check_ratio(kSumRatios, 255));
}

TEST_F(BadInput, ScaleOrZeroPointOutOfRangeIsRefused) {
  EXPECT_FALSE(check_quantization({.scale = 0, .zero_point = 0}, true));
  EXPECT_FALSE(check_quantization({.scale = -1, .zero_point = 0}, true));
  EXPECT_FALSE(check_quantization({.scale = std::nanf(""), .zero_point = 0}, true));
  EXPECT_FALSE(check_quantization({.scale = 1, .zero_point = 128}, true));
  EXPECT_FALSE(check_quantization({.scale = 1, .zero_point = -1}, false));
  EXPECT_TRUE(check_quantization({.scale = 1, .zero_point = 255}, false));
}

TEST_F(BadInput, StrideOrDilationOfZeroIsRefused) {
  Window window = kThree;
  window.stride_height = 0;
  expect_refused(builder_->convolution(window, 1, {}, image_, weights({4, 3, 3, 3}), {}, result({1, 6, 6, 4})));
  window = kThree;
  window.dilation_width = 0;
  expect_refused(builder_->convolution(window, 1, {}, image_, weights({4, 3, 3, 3}), {}, result({1, 6, 6, 4})));
}

TEST_F(BadInput, ConvolutionClippedToNoRangeOrOneNumberIsRefused) {
  const Operand filter = weights({4, 3, 3, 3});
  for (const Range range : {Range{.min = 1, .max = 0}, Range{.min = std::nanf("")}, Range{.min = 2, .max = 2}}) {
    expect_refused(builder_->convolution(kThree, 1, range, image_, filter, {}, result({1, 6, 6, 4})));
  }
}

TEST_F(BadInput, ComputedWeightsAreRefused) {
  const Operand filter = result({3, 8, 8, 1});
  ASSERT_TRUE(builder_->reshape(image_, filter));
  const Window window{.kernel_height = 8, .kernel_width = 8};
  expect_refused(builder_->depthwise_convolution(window, 1, {}, image_, filter, {}, result({1, 1, 1, 3})));
}

TEST_F(BadInput, ShapesThatDoNotBroadcastAreRefused) {
  expect_refused(builder_->binary(xnn_binary_add, image_, weights({2}), result({1, 8, 8, 3})));
  expect_refused(builder_->binary(xnn_binary_add, image_, weights({3}), result({1, 8, 8, 1})));
}

TEST_F(BadInput, ReshapeToAnotherCountIsRefused) { expect_refused(builder_->reshape(image_, result({1, 191}))); }

TEST_F(BadInput, SliceOutOfBoundsIsRefused) {
  expect_refused(builder_->slice({0, 6, 0, 0}, {1, 3, 8, 3}, image_, result({1, 3, 8, 3})));
  expect_refused(builder_->slice({0, 9, 0, 0}, {1, 1, 8, 3}, image_, result({1, 1, 8, 3})));
  expect_refused(builder_->slice({0, 0, 0}, {1, 8, 8}, image_, result({1, 8, 8})));
}

TEST_F(BadInput, DimensionOfZeroIsRefused) {
  EXPECT_FALSE(builder_->temporary({1, 0, 8, 3}));
  EXPECT_FALSE(builder_->constant(Tensor(DataType::kF32, {0}), {0}, Lifetime::kForever));
}

TEST_F(BadInput, SevenDimensionsAreRefused) { EXPECT_FALSE(builder_->temporary({1, 1, 1, 1, 8, 8, 3})); }

TEST_F(BadInput, SizesBeyondMemoryAreRefused) {
  EXPECT_FALSE(builder_->temporary({std::size_t{1} << 31}));
  EXPECT_FALSE(builder_->temporary({std::size_t{1} << 30, std::size_t{1} << 30}));
}

TEST_F(BadInput, StaticDataOfAnotherCountIsRefused) {
  EXPECT_FALSE(builder_->constant(Tensor(DataType::kF32, {5}), {6}, Lifetime::kForever));
}

TEST_F(BadInput, PoolingOfOneElementOrWithLargeStridesIsRefused) {
  expect_refused(builder_->max_pooling({}, {}, image_, result({1, 8, 8, 3})));
  const Window strides{.kernel_height = 2, .kernel_width = 2, .stride_height = 3, .stride_width = 3};
  expect_refused(builder_->max_pooling(strides, {}, image_, result({1, 3, 3, 3})));
}

TEST_F(BadInput, PoolingWindowInsideThePaddingIsRefused) {
  const Window window{.kernel_height = 2, .kernel_width = 2, .pad_top = 2};
  expect_refused(builder_->average_pooling(window, {}, image_, result({1, 9, 7, 3})));
}

TEST_F(BadInput, MatrixOfAnotherSizeIsRefused) {
  expect_refused(builder_->fully_connected(false, {}, image_, weights({5, 4}), {}, result({1, 8, 8, 5})));
  expect_refused(builder_->fully_connected(false, {}, image_, weights({5, 3}), weights({4}), result({1, 8, 8, 5})));
  expect_refused(builder_->batch_matrix_multiply(image_, image_, result({1, 8, 8, 3})));
}

TEST_F(BadInput, TransposePadReduceAndResizeOfWrongShapesAreRefused) {
  expect_refused(builder_->transpose({0, 1, 1, 3}, image_, result({1, 8, 8, 3})));
  expect_refused(builder_->transpose({0, 3, 1, 2}, image_, result({1, 8, 8, 3})));
  expect_refused(builder_->pad({0, 1, 0, 0}, {0, 0, 0, 0}, 0, image_, result({1, 8, 8, 3})));
  expect_refused(builder_->reduce(xnn_reduce_mean, {1, 4}, true, image_, result({1, 1, 8, 3})));
  expect_refused(builder_->reduce(xnn_reduce_mean, {1, 1}, true, image_, result({1, 1, 8, 3})));
  expect_refused(builder_->resize_bilinear(SubgraphBuilder::ResizeGrid::kHalfPixel, image_, result({1, 4, 4, 2})));
  expect_refused(builder_->softmax(image_, result({1, 8, 3, 8})));
}

// A whole runtime, so that the border of XNNPACK is crossed in earnest.
TEST(Runtime, FewerBuffersThanValuesAreRefused) {
  Graph graph = parse_text("%x = input f32[1,4]\n%y:f32[1,4] = Relu(%x)\noutput %y\n").value().graph;
  const Layouts layouts;
  const std::array inputs{graph.inputs()[0].value};
  auto builder = SubgraphBuilder::create(graph, layouts, kLevelRules, inputs, graph.outputs()).value();
  const Operand x = builder.input(inputs[0], Layout::kLogical).value();
  const Operand y = builder.output(graph.outputs()[0]).value();
  ASSERT_TRUE(builder.clamp({.min = 0}, x, y));
  ASSERT_TRUE(builder.finish());
  const auto packed = packed_in_memory();
  auto runtime = Runtime::create(builder.take(), *packed, nullptr, {});
  ASSERT_TRUE(runtime.has_value()) << runtime.error().message;

  EXPECT_FALSE(runtime->invoke());
  std::array<float, 20> in{-1, 2, -3, 4};
  std::array<float, 20> out{};
  const std::array<void*, 1> one{in.data()};
  EXPECT_FALSE(runtime->bind(one));
  const std::array<void*, 2> missing{in.data(), nullptr};
  EXPECT_FALSE(runtime->bind(missing));
  const std::array<void*, 2> both{in.data(), out.data()};
  ASSERT_TRUE(runtime->bind(both));
  ASSERT_TRUE(runtime->invoke());
  EXPECT_EQ(out[1], 2.F);
  EXPECT_EQ(out[2], 0.F);
}

TEST(Runtime, OutputThatNoNodeMakesIsRefused) {
  Graph graph = parse_text("%x = input f32[1,4]\n%y:f32[1,4] = Relu(%x)\noutput %y\n").value().graph;
  const Layouts layouts;
  const std::array inputs{graph.inputs()[0].value};
  auto builder = SubgraphBuilder::create(graph, layouts, kLevelRules, inputs, graph.outputs()).value();
  EXPECT_FALSE(builder.finish());
}

// XNNPACK aborts on an 8-bit addition whose scales lie 256 apart, and refuses such a convolution only when the runtime
// is made. 8-bit arithmetic is not asked of it at all: these values are converted to float first.
class EightBit : public ::testing::Test {
 protected:
  static Graph graph_with_scales(std::string_view scale) {
    return parse_text(std::format(R"(
      %x = input f32[1,4,4,3]
      %1:u8[1,4,4,3] = QuantizeLinear(%x, s:f32[]{{{}}}, z:u8[]{{3}})
      %2:f32[1,4,4,3] = DequantizeLinear(%1, s, z)
      output %2
    )",
                                  scale))
        .value()
        .graph;
  }

  // A value in bytes, of one scale and of another.
  static void with_bytes(const std::function<void(SubgraphBuilder& builder, Operand bytes)>& check) {
    for (const char* scale : {"0.5", "300"}) {
      Graph graph = graph_with_scales(scale);
      const Layouts layouts;
      auto builder = SubgraphBuilder::probe(graph, layouts, kLevelRules);
      check(builder, builder.input(*graph.find_value("1"), Layout::kLogical).value());
    }
  }
};

TEST_F(EightBit, AdditionIsRefusedWhateverItsScales) {
  with_bytes([](SubgraphBuilder& builder, Operand bytes) {
    const Operand sum = builder.temporary({1, 4, 4, 3}).value();
    EXPECT_FALSE(builder.binary(xnn_binary_add, bytes, bytes, sum));
    EXPECT_FALSE(builder.binary(xnn_binary_add, bytes, bytes, bytes));
  });
}

TEST_F(EightBit, ConvolutionIsRefusedWhateverItsScales) {
  with_bytes([](SubgraphBuilder& builder, Operand bytes) {
    const Operand filter =
        builder.constant(Tensor(DataType::kF32, {2, 1, 1, 3}), {2, 1, 1, 3}, Lifetime::kUntilPacked).value();
    const Operand out = builder.temporary({1, 4, 4, 2}).value();
    EXPECT_FALSE(builder.convolution({}, 1, {}, bytes, filter, {}, out));
    EXPECT_FALSE(builder.depthwise_convolution({}, 1, {}, bytes, filter, {}, out));
    EXPECT_FALSE(builder.fully_connected(false, {}, bytes, filter, {}, out));
    EXPECT_FALSE(builder.average_pooling(kThree, {}, bytes, out));
  });
}

TEST_F(EightBit, WeightsAreRefusedWhateverTheirZeroPoint) {
  Graph graph = graph_with_scales("0.5");
  const Layouts layouts;
  auto builder = SubgraphBuilder::probe(graph, layouts, kLevelRules);
  for (const DataType type : {DataType::kI8, DataType::kU8}) {
    EXPECT_FALSE(builder.constant(Tensor(type, {2, 1, 1, 3}), {2, 1, 1, 3}, Lifetime::kUntilPacked));
  }
}

TEST_F(EightBit, ValueWithAScaleOfZeroIsRefused) {
  Graph graph = graph_with_scales("0");
  const Layouts layouts;
  auto builder = SubgraphBuilder::probe(graph, layouts, kLevelRules);
  EXPECT_FALSE(builder.input(*graph.find_value("1"), Layout::kLogical));
}

TEST_F(EightBit, ConversionToAnotherShapeIsRefused) {
  Graph graph = graph_with_scales("0.5");
  const Layouts layouts;
  auto builder = SubgraphBuilder::probe(graph, layouts, kLevelRules);
  const Operand bytes = builder.input(*graph.find_value("1"), Layout::kLogical).value();
  EXPECT_FALSE(builder.convert(bytes, builder.temporary({1, 4, 4, 4}).value()));
  EXPECT_TRUE(builder.convert(bytes, builder.temporary({1, 4, 4, 3}).value()));
}

TEST(SubgraphBuilder, QuantizationComesFromTheNodeThatMakesTheValue) {
  Graph graph = parse_text(R"(
    %x = input f32[4]
    %1:u8[4] = QuantizeLinear(%x, s:f32[]{0.5}, z:u8[]{3})
    %2:f32[4] = DequantizeLinear(%1, s, z)
    output %2
  )")
                    .value()
                    .graph;
  const auto found = quantization_of(graph, *graph.find_value("1"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(*found, (Quantization{.scale = 0.5F, .zero_point = 3}));
  EXPECT_FALSE(quantization_of(graph, graph.inputs()[0].value));
}

}  // namespace
}  // namespace kinglet::engine::xnn
