// SPDX-License-Identifier: Apache-2.0
// Why: what the tests of convolutions share: layers at random, a run of one kernel, sums in float64.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <format>
#include <functional>
#include <list>
#include <random>

#include "engine/backend/kernels/kernel.h"
#include "engine/graph/tensor.h"
#include "engine/session/thread_pool.h"
#include "tests/contract/kernels/guarded_memory.h"

namespace kinglet::engine::kernels {

inline std::string text_of(const ConvolutionShape& shape) {
  const xnn::Window& window = shape.window;
  return std::format("{}x{}x{}x{} to {} channels, window {}x{}, steps {} {}, dilations {} {}, paddings {} {} {} {}",
                     shape.batch, shape.input_height, shape.input_width, shape.input_channels, shape.output_channels,
                     window.kernel_height, window.kernel_width, window.stride_height, window.stride_width,
                     window.dilation_height, window.dilation_width, window.pad_top, window.pad_left, window.pad_bottom,
                     window.pad_right);
}

// The window fits into the padded input.
inline ConvolutionShape with_output(ConvolutionShape shape) {
  const xnn::Window& window = shape.window;
  const auto places = [](std::size_t padded, std::uint32_t kernel, std::uint32_t stride, std::uint32_t dilation) {
    return (padded - (kernel - 1) * dilation - 1) / stride + 1;
  };
  shape.output_height = places(shape.input_height + window.pad_top + window.pad_bottom, window.kernel_height,
                               window.stride_height, window.dilation_height);
  shape.output_width = places(shape.input_width + window.pad_left + window.pad_right, window.kernel_width,
                              window.stride_width, window.dilation_width);
  return shape;
}

struct Layer {
  ConvolutionShape shape;
  xnn::Range range;
  bool adds = false;
  std::vector<float> weights, bias;  // the bias may be empty
  Tensor input, added;               // with the memory behind them that kernels may read

  [[nodiscard]] Work work() const {
    const Tensor numbers = Tensor::of<float>({static_cast<Dim>(weights.size())}, std::span(weights));
    return {ConvolutionF32{.shape = shape, .weights = numbers, .bias = bias, .adds = adds, .range = range}};
  }
  [[nodiscard]] std::string text() const {
    return text_of(shape) + (adds ? ", adds" : "") + (range.open() ? "" : ", clips");
  }
  [[nodiscard]] std::size_t outputs() const { return shape.outputs(); }
};

using Random = std::mt19937_64;

inline std::size_t pick_of(Random& random, std::size_t least, std::size_t most) {
  return std::uniform_int_distribution<std::size_t>(least, most)(random);
}

constexpr xnn::Window square_window(std::uint32_t side, std::uint32_t stride, std::uint32_t padding,
                                    std::uint32_t dilation = 1) {
  return {side, side, stride, stride, dilation, dilation, padding, padding, padding, padding};
}

// Each of its numbers at most that of `most`.
inline xnn::Window window_at_random(Random& random, const xnn::Window& most) {
  const auto up_to = [&](std::size_t least, std::uint32_t number) {
    return static_cast<std::uint32_t>(pick_of(random, least, number));
  };
  return {up_to(1, most.kernel_height), up_to(1, most.kernel_width),    up_to(1, most.stride_height),
          up_to(1, most.stride_width),  up_to(1, most.dilation_height), up_to(1, most.dilation_width),
          up_to(0, most.pad_top),       up_to(0, most.pad_left),        up_to(0, most.pad_bottom),
          up_to(0, most.pad_right)};
}

inline Tensor normal_tensor(Random& random, std::size_t count) {
  Tensor tensor(DataType::kF32, {static_cast<Dim>(count)});
  std::normal_distribution<float> normal;
  for (float& number : tensor.mutable_data<float>()) number = normal(random);
  return tensor;
}

inline std::vector<float> normal_numbers(Random& random, std::size_t count) {
  const Tensor tensor = normal_tensor(random, count);
  return {tensor.data<float>().begin(), tensor.data<float>().end()};
}

// Fills in what follows from the sizes.
inline Layer finished(Random& random, const ConvolutionShape& sizes, bool has_bias, bool adds, xnn::Range range) {
  const ConvolutionShape shape = with_output(sizes);
  Layer layer{.shape = shape, .range = range, .adds = adds, .weights = {}, .bias = {}, .input = {}, .added = {}};
  layer.weights = normal_numbers(random, shape.taps() * shape.input_channels / shape.groups * shape.output_channels);
  if (has_bias) layer.bias = normal_numbers(random, shape.output_channels);
  layer.input = normal_tensor(random, shape.batch * shape.input_height * shape.input_width * shape.input_channels);
  if (adds) layer.added = normal_tensor(random, layer.outputs());
  return layer;
}

inline const KernelRow& row_named(std::string_view name) {
  const auto found = std::ranges::find(all_kernels(), name, &KernelRow::name);
  if (found == all_kernels().end()) throw std::runtime_error(std::format("no kernel {}", name));
  return **found;
}

// Where an output lies. kOver: over an input; kAmong: among others' (ConvolutionShape::output_step). A kernel has to
// offer either.
enum class Lies { kApart, kOver, kAmong };
inline std::string_view text_of(Lies lies) {
  return lies == Lies::kOver ? ", over an input: " : lies == Lies::kAmong ? ", among others: " : ": ";
}

using Inputs = std::vector<std::span<const std::byte>>;
using MakeKernel = std::function<std::unique_ptr<Kernel>(PackedWeights& weights)>;

inline TensorBuffer run_made(std::string_view name, const Offer& offer, const MakeKernel& make, const Inputs& inputs,
                             std::size_t output_bytes, int threads, Lies lies = Lies::kApart,
                             std::size_t output_begin = 0) {
  GuardedWeights packed;
  const auto kernel = make(packed);
  const auto pool = ThreadPool::make(threads).value();
  const GuardedMemory output(output_bytes);
  std::list<GuardedMemory> given;
  std::vector<std::span<const std::byte>> from;
  for (const std::span<const std::byte> input : inputs) {
    const bool over = lies == Lies::kOver && from.size() == offer.writes_over;
    const std::span<std::byte> place = over ? output.bytes() : given.emplace_back(input.size()).bytes();
    std::ranges::copy(input, place.begin());
    from.emplace_back(place);
  }
  const GuardedMemory scratch(offer.scratch_bytes);
  std::ranges::fill(scratch.bytes(), std::byte{0xFF});  // every one is no number
  const std::array to{output.bytes().subspan(output_begin)};
  kernel->run(from, to, scratch.bytes(), pool->get());
  EXPECT_TRUE(output.is_untouched_around() && scratch.is_untouched_around() && packed.are_untouched_around() &&
              std::ranges::all_of(given, &GuardedMemory::is_untouched_around))
      << name << " writes where it has nothing to write";
  TensorBuffer found(output_bytes);
  std::ranges::copy(output.bytes(), found.data());
  return found;
}

// Others' numbers before and behind each pixel's.
constexpr std::size_t kBefore = 3, kBehind = 5;
// The shape of a convolution's work, among others.
inline ConvolutionShape put_among(Work& work) {
  ConvolutionShape among;
  const auto put = [&](auto& kind) {
    if constexpr (requires { kind.adds; }) {
      kind.shape.output_step = kBefore + kind.shape.output_channels + kBehind;
      among = kind.shape;
    }
  };
  std::visit(put, work.kind);
  return among;
}

// Of the whole, the kernel's own; the others are as they were.
inline TensorBuffer run_among(const KernelRow& row, Work work, const Inputs& inputs, std::size_t output_bytes,
                              int threads) {
  const ConvolutionShape shape = put_among(work);
  const std::size_t number = output_bytes / shape.outputs();
  const std::size_t pixels = shape.outputs() / shape.output_channels;
  const std::size_t step = shape.output_step * number;
  const std::size_t own = shape.output_channels * number;
  const TensorBuffer whole = run_made(
      row.name, row.offer(work).value(), [&](PackedWeights& weights) { return row.make(work, weights); }, inputs,
      pixels * step, threads, Lies::kAmong, kBefore * number);
  TensorBuffer found(output_bytes);
  for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
    const std::span<const std::byte> of_pixel(whole.data() + pixel * step, step);
    std::ranges::copy(of_pixel.subspan(kBefore * number, own), found.data() + pixel * own);
    const auto is_others = [](std::byte value) { return value == GuardedMemory::kUntouched; };
    EXPECT_TRUE(std::ranges::all_of(of_pixel.first(kBefore * number), is_others) &&
                std::ranges::all_of(of_pixel.last(kBehind * number), is_others))
        << row.name << " writes over others";
  }
  return found;
}

inline TensorBuffer run_kernel(const KernelRow& row, const Work& work, const Inputs& inputs, std::size_t output_bytes,
                               int threads, Lies lies = Lies::kApart) {
  if (lies == Lies::kAmong) return run_among(row, work, inputs, output_bytes, threads);
  const auto offer = row.offer(work);
  if (!offer) throw std::runtime_error(std::format("{} does not take the layer", row.name));
  if (lies == Lies::kOver && !offer->writes_over)
    throw std::runtime_error(std::format("{} does not write over its input", row.name));
  const auto make = [&](PackedWeights& weights) { return row.make(work, weights); };
  return run_made(row.name, *offer, make, inputs, output_bytes, threads, lies);
}

inline std::vector<float> run(const KernelRow& row, const Layer& layer, int threads = 1, Lies lies = Lies::kApart) {
  std::vector<std::span<const std::byte>> inputs{layer.input.bytes()};
  if (layer.adds) inputs.push_back(layer.added.bytes());
  const TensorBuffer output = run_kernel(row, layer.work(), inputs, layer.outputs() * sizeof(float), threads, lies);
  const auto* numbers = reinterpret_cast<const float*>(output.data());
  return {numbers, numbers + layer.outputs()};
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Calls take(number, weight), places in the input and among the weights, for each product of an output, taps in their
// order and the channels of each.
inline void for_places(const ConvolutionShape& shape, std::size_t index,
                       const std::function<void(std::size_t, std::size_t)>& take) {
  const xnn::Window& window = shape.window;
  const std::size_t taps = shape.taps();
  const std::size_t place = index / shape.output_channels;
  const std::size_t output = index % shape.output_channels;
  const std::size_t x = place % shape.output_width * window.stride_width;
  const std::size_t y = place / shape.output_width % shape.output_height * window.stride_height;
  const std::size_t image = place / shape.output_width / shape.output_height;
  const std::size_t channels = shape.input_channels / shape.groups;  // of a group
  const std::size_t first = output / (shape.output_channels / shape.groups) * channels;
  for (std::size_t i = 0; i < taps; ++i) {
    // Wraps where it is outside.
    const std::size_t from_y = y + i / window.kernel_width * window.dilation_height - window.pad_top;
    const std::size_t from_x = x + i % window.kernel_width * window.dilation_width - window.pad_left;
    if (from_y >= shape.input_height || from_x >= shape.input_width) continue;
    const std::size_t pixel =
        ((image * shape.input_height + from_y) * shape.input_width + from_x) * shape.input_channels;
    for (std::size_t channel = 0; channel < channels; ++channel)
      take(pixel + first + channel, (output * channels + channel) * taps + i);
  }
}

// The same with the numbers themselves.
inline void for_terms(const Layer& layer, std::size_t index, const std::function<void(float, float)>& take) {
  const float* numbers = layer.input.data<float>().data();
  for_places(layer.shape, index,
             [&](std::size_t number, std::size_t weight) { take(numbers[number], layer.weights[weight]); });
}

// The convolution's sums in float64, without what stands at its end.
inline std::vector<double> sums_of(const Layer& layer) {
  std::vector<double> sums(layer.outputs());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    for_terms(layer, i, [&](float number, float weight) {
      sums[i] += static_cast<double>(number) * static_cast<double>(weight);
    });
  }
  return sums;
}

// One sum after the other, in the order that XNNPACK has: taps, and the channels of each.
inline float answer_in_order(const Layer& layer, std::size_t index) {
  float sum = layer.bias.empty() ? 0 : layer.bias[index % layer.shape.output_channels];
  for_terms(layer, index, [&](float number, float weight) { sum = std::fma(number, weight, sum); });
  if (layer.adds) sum += layer.added.data<float>()[index];
  return std::min(std::max(sum, layer.range.min), layer.range.max);
}

using AnswerOf = float (*)(const Layer& layer, std::size_t index);
inline std::vector<float> answers_of(const Layer& layer, AnswerOf answer_of) {
  std::vector<float> answers;
  for (std::size_t i = 0; i < layer.outputs(); ++i) answers.push_back(answer_of(layer, i));
  return answers;
}

// Of a kernel's forms, the twin first: those that this processor has.
using Forms = std::span<const char* const>;
inline std::vector<const char*> forms_here(Forms forms, const Work& work) {
  std::vector<const char*> here(forms.begin(), forms.end());
  std::erase_if(here, [&](const char* form) { return !row_named(form).offer(work); });
  return here;
}

// Where the output of a kernel that takes the work may lie.
inline std::vector<Lies> lies_of(const KernelRow& row, const Work& work) {
  const Offer offer = row.offer(work).value();
  std::vector<Lies> lies{Lies::kApart};
  if (offer.writes_over) lies.push_back(Lies::kOver);
  if (offer.writes_among) lies.push_back(Lies::kAmong);
  return lies;
}

inline void expect_bits_in_forms(Forms forms, const Layer& layer, int threads, const std::vector<float>& expected) {
  EXPECT_TRUE(row_named(forms[0]).offer(layer.work())) << layer.text();
  for (const char* const form : forms_here(forms, layer.work())) {
    for (const Lies lies : lies_of(row_named(form), layer.work())) {
      EXPECT_TRUE(same_bits(run(row_named(form), layer, threads, lies), expected))
          << form << ", " << threads << " threads" << text_of(lies) << layer.text();
    }
  }
}

// Calls check(layer) for layers at random: 24, always the same, or for KINGLET_KERNEL_SECONDS from a new seed, which a
// failure prints.
template <typename OneLayer>
void for_layers_of(OneLayer (*at_random)(Random&), const std::function<void(const OneLayer&)>& check) {
  using Clock = std::chrono::steady_clock;
  const char* seconds = std::getenv("KINGLET_KERNEL_SECONDS");
  const std::uint64_t seed = seconds == nullptr ? 28 : std::random_device{}();
  SCOPED_TRACE(std::format("seed {}", seed));
  Random random(seed);
  const auto end = Clock::now() + std::chrono::seconds(seconds == nullptr ? 0 : std::atoi(seconds));
  for (int i = 0; i < 24 || Clock::now() < end; ++i) {
    check(at_random(random));
    if (::testing::Test::HasFailure()) return;
  }
}

inline void for_layers(Layer (*at_random)(Random&), const std::function<void(const Layer&)>& check) {
  for_layers_of<Layer>(at_random, check);
}

}  // namespace kinglet::engine::kernels
