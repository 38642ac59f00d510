// SPDX-License-Identifier: Apache-2.0
// Why: what the tests of 8-bit convolutions share: layers at random, a run of one kernel, sums in whole numbers.
#pragma once

#ifdef __aarch64__
#include <sys/auxv.h>
#endif

#include <cmath>

#include "tests/contract/kernels/float_layers.h"

namespace kinglet::engine::kernels {

struct ByteLayer {
  ConvolutionShape shape;
  std::vector<std::int8_t> weights;
  std::vector<std::int32_t> bias;  // may be empty
  std::vector<float> scales;
  LinearQuantization from, to;
  std::int8_t least = -128, most = 127;
  Tensor input;  // with the memory behind it that kernels may read

  [[nodiscard]] Work work() const {
    return {ConvolutionS8{.shape = shape,
                          .numbers = {.weights = weights,
                                      .bias = bias,
                                      .scales = scales,
                                      .input = from,
                                      .output = to,
                                      .least = least,
                                      .most = most}}};
  }
  [[nodiscard]] std::string text() const { return text_of(shape) + (least > -128 || most < 127 ? ", clips" : ""); }
  [[nodiscard]] std::size_t outputs() const { return shape.outputs(); }
};

// Fills in what follows from the sizes.
inline ByteLayer finished(Random& random, const ConvolutionShape& sizes) {
  const auto pick = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  ByteLayer layer;
  layer.shape = with_output(sizes);
  const ConvolutionShape& shape = layer.shape;
  const std::size_t products = shape.taps() * shape.input_channels / shape.groups;
  const int weakest = pick(0, 7) == 0 ? -128 : -127;
  for (std::size_t i = 0; i < products * shape.output_channels; ++i)
    layer.weights.push_back(static_cast<std::int8_t>(pick(weakest, 127)));
  if (pick(0, 3) > 0) {
    for (std::size_t i = 0; i < shape.output_channels; ++i) layer.bias.push_back(pick(-60000, 60000));
  }
  // So that outputs reach their bounds and mostly do not lie there.
  const float scale = 60.0F / (5000.0F * std::sqrt(static_cast<float>(products)));
  layer.scales.resize(pick(0, 1) == 0 ? 1 : shape.output_channels);
  for (float& of_channel : layer.scales) of_channel = scale * static_cast<float>(pick(50, 150)) / 100.0F;
  layer.from = {.scale = 1, .zero_point = pick(-128, 127)};
  layer.to = {.scale = 1, .zero_point = pick(-128, 127)};
  if (pick(0, 1) == 0) layer.least = static_cast<std::int8_t>(pick(-128, 0));
  if (pick(0, 1) == 0) layer.most = static_cast<std::int8_t>(pick(1, 127));
  layer.input = Tensor(DataType::kI8,
                       {static_cast<Dim>(shape.batch * shape.input_height * shape.input_width * shape.input_channels)});
  for (std::int8_t& level : layer.input.mutable_data<std::int8_t>()) level = static_cast<std::int8_t>(pick(-128, 127));
  return layer;
}

inline ByteLayer depthwise_bytes(Random& random, ConvolutionShape shape) {
  shape.groups = shape.output_channels = shape.input_channels;
  return finished(random, shape);
}

inline std::int8_t answer_of(const ByteLayer& layer, std::size_t index) {
  const ConvolutionShape& shape = layer.shape;
  const std::size_t output = index % shape.output_channels;
  std::int64_t sum = layer.bias.empty() ? 0 : layer.bias[output];
  const std::int8_t* input = layer.input.data<std::int8_t>().data();
  for_places(shape, index, [&](std::size_t number, std::size_t weight) {
    sum += std::int64_t{input[number] - layer.from.zero_point} * layer.weights[weight];
  });
  const ConvolutionNumbers numbers = std::get<ConvolutionS8>(layer.work().kind).numbers;
  const float scaled = std::clamp(static_cast<float>(sum) * numbers.factor_of(output), -1000.0F, 1000.0F);
  const auto level = static_cast<std::int64_t>(std::nearbyint(scaled)) + layer.to.zero_point;
  return static_cast<std::int8_t>(std::clamp<std::int64_t>(level, layer.least, layer.most));
}

inline std::vector<std::int8_t> answers_of(const ByteLayer& layer) {
  std::vector<std::int8_t> answers;
  for (std::size_t i = 0; i < layer.outputs(); ++i) answers.push_back(answer_of(layer, i));
  return answers;
}

inline std::vector<std::int8_t> run(const KernelRow& row, const ByteLayer& layer, int threads = 1) {
  const TensorBuffer output = run_kernel(row, layer.work(), {layer.input.bytes()}, layer.outputs(), threads);
  const auto* levels = reinterpret_cast<const std::int8_t*>(output.data());
  return {levels, levels + layer.outputs()};
}

// The forms of a kernel, "columns_s8": its twin everywhere, the fast ones where they are offered.
inline void expect_bits(std::string_view kernel, const ByteLayer& layer, int threads) {
  const std::vector<std::int8_t> expected = answers_of(layer);
  EXPECT_TRUE(row_named(std::format("{}__scalar", kernel)).offer(layer.work())) << layer.text();
  for (const KernelRow* row : all_kernels()) {
    if (!row->name.starts_with(std::format("{}__", kernel)) || !row->offer(layer.work())) continue;
    EXPECT_EQ(run(*row, layer, threads), expected) << row->name << ", " << threads << " threads: " << layer.text();
  }
}

// A product of two of them is more than 16 bits hold once it is added to another.
inline void expect_bits_of_least_numbers(std::string_view kernel, ByteLayer layer) {
  std::ranges::fill(layer.weights, std::int8_t{-128});
  std::ranges::fill(layer.input.mutable_data<std::int8_t>(), std::int8_t{-128});
  expect_bits(kernel, layer, 1);
}

// Sums times their factors are more than 16 bits hold, and than 32; cut at the layer's levels, and at those of a byte.
inline void expect_bits_far_from_any_level(std::string_view kernel, const ByteLayer& layer) {
  for (const float times : {1e3F, 1e9F}) {
    ByteLayer far = layer;
    for (float& scale : far.scales) scale *= times;
    expect_bits(kernel, far, 1);
    far.least = -128;
    far.most = 127;
    expect_bits(kernel, far, 1);
  }
}

// The instructions of the fast forms, as Linux tells them: a form that is not offered is not tried above.
#ifdef __aarch64__
constexpr bool kHasNeon = true;
inline bool has_dot_products() { return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0; }
#else
constexpr bool kHasNeon = false;
inline bool has_dot_products() { return false; }
#endif

inline bool is_offered(std::string_view row, const ByteLayer& layer) {
  return row_named(row).offer(layer.work()).has_value();
}

}  // namespace kinglet::engine::kernels
