// SPDX-License-Identifier: Apache-2.0
// Channels of an 8-bit layer with weights of nine bits: sums in whole numbers, rounded once, to the bit, with any
// number of threads, over the layer's own result and beside it, where every other channel stays. Layers at random:
// groups, windows, steps, paddings, borders, levels.
//   KINGLET_KERNEL_SECONDS=N   for so long (float_layers.h)
#include "tests/contract/kernels/byte_layers.h"

namespace kinglet::engine::kernels {
namespace {

struct WideLayer {
  ByteLayer layer;  // whose weights are what the channels that are not computed have
  std::vector<std::size_t> channels;
  std::vector<std::int16_t> weights;
  std::vector<std::int32_t> bias;  // of `channels`; may be empty
  std::vector<float> scales;       // one, or of `channels`
  Tensor narrow;                   // what lies there before

  [[nodiscard]] Work work() const {
    return {WideChannelsS8{.shape = layer.shape,
                           .channels = channels,
                           .weights = weights,
                           .numbers = {.weights = {},
                                       .bias = bias,
                                       .scales = scales,
                                       .input = layer.from,
                                       .output = layer.to,
                                       .least = layer.least,
                                       .most = layer.most}}};
  }
};

WideLayer wide_channels_of(Random& random, const ConvolutionShape& sizes) {
  WideLayer wide{
      .layer = finished(random, sizes), .channels = {}, .weights = {}, .bias = {}, .scales = {}, .narrow = {}};
  const ConvolutionShape& shape = wide.layer.shape;
  const std::size_t products = shape.taps() * shape.input_channels / shape.groups;
  for (std::size_t channel = 0; channel < shape.output_channels; ++channel) {
    if (pick_of(random, 0, 3) == 0) wide.channels.push_back(channel);
  }
  if (wide.channels.empty()) wide.channels.push_back(shape.output_channels - 1);
  for (std::size_t i = 0; i < wide.channels.size() * products; ++i)
    wide.weights.push_back(static_cast<std::int16_t>(std::uniform_int_distribution<int>(-255, 255)(random)));
  for (const std::size_t channel : wide.channels) {
    if (!wide.layer.bias.empty()) wide.bias.push_back(wide.layer.bias[channel]);
    if (wide.layer.scales.size() > 1) wide.scales.push_back(wide.layer.scales[channel]);
  }
  if (wide.scales.empty()) wide.scales = wide.layer.scales;
  wide.narrow = Tensor(DataType::kI8, {static_cast<Dim>(shape.outputs())});
  for (std::int8_t& level : wide.narrow.mutable_data<std::int8_t>())
    level = static_cast<std::int8_t>(std::uniform_int_distribution<int>(-128, 127)(random));
  return wide;
}

WideLayer at_random(Random& random) {
  const auto pick = [&](std::size_t least, std::size_t most) { return pick_of(random, least, most); };
  const xnn::Window window = window_at_random(random, square_window(4, 3, 3, 2));
  const std::size_t kind = pick(0, 3);  // all inputs twice, a few of a group, depthwise
  const std::size_t groups = kind < 2 ? 1 : pick(2, 20);
  const std::size_t in_group = kind < 2 ? pick(1, 70) : kind == 2 ? pick(1, 20) : 1;
  const auto least = [](std::size_t side, std::size_t dilation) { return (side - 1) * dilation + 1; };
  return wide_channels_of(
      random, {.batch = pick(1, 2),
               .input_height = least(window.kernel_height, window.dilation_height) + pick(0, 6),
               .input_width = least(window.kernel_width, window.dilation_width) + pick(0, pick(0, 3) == 0 ? 150 : 12),
               .input_channels = groups * in_group,
               .output_channels = groups * pick(1, 3),
               .groups = groups,
               .window = window});
}

std::vector<std::int8_t> answers_of(const WideLayer& wide) {
  const ConvolutionShape& shape = wide.layer.shape;
  const std::size_t products = shape.taps() * shape.input_channels / shape.groups;
  const ConvolutionNumbers numbers = std::get<WideChannelsS8>(wide.work().kind).numbers;
  const auto narrow = wide.narrow.data<std::int8_t>();
  std::vector<std::int8_t> answers(narrow.begin(), narrow.end());
  for (std::size_t index = 0; index < answers.size(); ++index) {
    const auto found = std::ranges::find(wide.channels, index % shape.output_channels);
    if (found == wide.channels.end()) continue;
    const auto at = static_cast<std::size_t>(found - wide.channels.begin());
    std::int64_t sum = numbers.bias_of(at);
    for_places(shape, index, [&](std::size_t number, std::size_t weight) {
      sum += std::int64_t{wide.layer.input.data<std::int8_t>()[number] - wide.layer.from.zero_point} *
             wide.weights[at * products + weight - *found * products];
    });
    const float scaled = std::clamp(static_cast<float>(sum) * numbers.factor_of(at), -1000.0F, 1000.0F);
    const auto level = static_cast<std::int64_t>(std::nearbyint(scaled)) + wide.layer.to.zero_point;
    answers[index] = static_cast<std::int8_t>(std::clamp<std::int64_t>(level, wide.layer.least, wide.layer.most));
  }
  return answers;
}

void expect_answers(const WideLayer& wide, int threads) {
  const std::vector<std::int8_t> expected = answers_of(wide);
  for (const Lies lies : {Lies::kApart, Lies::kOver}) {
    const TensorBuffer output =
        run_kernel(row_named("wide_channels_s8__scalar"), wide.work(), {wide.narrow.bytes(), wide.layer.input.bytes()},
                   expected.size(), threads, lies);
    const auto* levels = reinterpret_cast<const std::int8_t*>(output.data());
    EXPECT_EQ(std::vector(levels, levels + expected.size()), expected)
        << wide.layer.text() << ", " << threads << " threads";
  }
}

TEST(WideChannels, AreTheConvolutionToTheBitWithAnyThreadsAndLeaveTheOthers) {
  for_layers_of<WideLayer>(at_random, [](const WideLayer& wide) {
    for (const int threads : {1, 2 + static_cast<int>(wide.layer.shape.input_width % 3)}) expect_answers(wide, threads);
  });
}

WideLayer small_layer(Random random) {
  return wide_channels_of(random, {.input_height = 5,
                                   .input_width = 9,
                                   .input_channels = 40,
                                   .output_channels = 16,
                                   .window = square_window(3, 1, 1)});
}

TEST(WideChannels, HoldTheNumbersThatAreFarthestFrom0) {
  for (const int weight : {-255, 255}) {
    for (const int level : {-128, 127}) {
      WideLayer wide = small_layer(Random(3));
      std::ranges::fill(wide.weights, static_cast<std::int16_t>(weight));
      std::ranges::fill(wide.layer.input.mutable_data<std::int8_t>(), static_cast<std::int8_t>(level));
      expect_answers(wide, 1);
    }
  }
}

TEST(WideChannels, HoldSumsThatAreFarFromAnyLevel) {
  for (const float times : {1e3F, 1e7F}) {
    WideLayer wide = small_layer(Random(4));
    for (float& scale : wide.scales) scale *= times;
    expect_answers(wide, 1);
  }
}

}  // namespace
}  // namespace kinglet::engine::kernels
