// SPDX-License-Identifier: Apache-2.0
// Why: XNNPACK's float depthwise layers load each number of the input, and each weight, anew for each window that it
// stands in. Here seven outputs of a row share the columns under them, and a part of the channels stays in the core's
// first cache from row to row. Each sum takes its products in XNNPACK's order.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/backend/kernels/convolution_parts.h"
#include "engine/backend/kernels/depthwise/form.h"
#include "engine/backend/kernels/rows.h"
#include "engine/graph/tensor.h"

namespace kinglet::engine::kernels {
namespace {

using depthwise::Form;
using depthwise::kBlock;

constexpr std::size_t kBlocksOfPart = 4;  // at most: rows of three or five lines lie in a first cache, mostly
constexpr std::size_t kParts = 16;        // at least, so that each thread has something

constexpr std::size_t divided_up(std::size_t value, std::size_t by) { return (value + by - 1) / by; }

// How a layer is cut for the threads: channels into strips of blocks, rows of all images into bands.
struct Cut {
  explicit Cut(const ConvolutionShape& shape)
      : channels(shape.output_channels),
        blocks(divided_up(channels, kBlock)),
        strips(divided_up(blocks, kBlocksOfPart)),
        rows(shape.batch * shape.output_height),
        bands(std::clamp<std::size_t>(divided_up(kParts, strips), 1, rows)) {}

  [[nodiscard]] std::size_t parts() const { return strips * bands; }
  [[nodiscard]] std::size_t first_row(std::size_t band) const { return band * rows / bands; }
  [[nodiscard]] std::size_t first_channel(std::size_t strip) const {
    return std::min(strip * blocks / strips * kBlock, channels);
  }

  std::size_t channels, blocks, strips, rows, bands;
};

// A line of the padding, and what is read behind it.
std::size_t size_of_zeros(const ConvolutionShape& shape) { return shape.input_width * shape.input_channels + kBlock; }

class DepthwiseF32 final : public Kernel {
 public:
  DepthwiseF32(const ConvolutionF32& work, const Form& form, PackedWeights& weights);

  void run(Inputs inputs, Outputs outputs, std::span<std::byte> scratch, pthreadpool_t pool) const override;

 private:
  [[nodiscard]] std::size_t of_block() const { return (1 + shape_.taps()) * kBlock; }
  [[nodiscard]] std::size_t packed_bytes() const { return cut_.blocks * of_block() * sizeof(float); }
  void pack(std::span<const float> filters, std::span<const float> bias, float* to) const;
  void run_row(const float* input, float* output, std::size_t row, std::size_t strip) const;

  ConvolutionShape shape_;
  xnn::Range range_;
  Cut cut_;
  depthwise::Walk walk_;
  const float* weights_;  // [blocks][1 + taps][kBlock]
  std::vector<float> zeros_;
};

depthwise::Walk walk_of(const Form& form, const xnn::Window& window) {
  if (window.kernel_width == 3) return form.side3;
  return window.stride_width == 1 ? form.side5 : form.side5_step2;
}

// Who packs: the order depends on the layer alone.
constexpr std::uint64_t kMaker = 0x4457'0000'0001U;

DepthwiseF32::DepthwiseF32(const ConvolutionF32& work, const Form& form, PackedWeights& weights)
    : shape_(work.shape),
      range_(work.range),
      cut_(work.shape),
      walk_(walk_of(form, work.shape.window)),
      weights_(nullptr),
      zeros_(size_of_zeros(work.shape)) {
  weights_ = reinterpret_cast<const float*>(packed_piece(weights, kMaker, packed_bytes(), [&](std::span<std::byte> to) {
    pack(work.weights.data<float>(), work.bias, reinterpret_cast<float*>(to.data()));
  }));
}

void DepthwiseF32::pack(std::span<const float> filters, std::span<const float> bias, float* to) const {
  const std::size_t side = shape_.window.kernel_width;
  std::fill_n(to, packed_bytes() / sizeof(float), 0.0F);
  for (std::size_t channel = 0; channel < cut_.channels; ++channel) {
    float* of_channel = to + channel / kBlock * of_block() + channel % kBlock;
    if (!bias.empty()) *of_channel = bias[channel];
    for (std::size_t tap = 0; tap < side * side; ++tap)
      of_channel[(1 + tap) * kBlock] = filters[channel * side * side + tap % side * side + tap / side];
  }
}

void DepthwiseF32::run(Inputs inputs, Outputs outputs, std::span<std::byte> /*scratch*/, pthreadpool_t pool) const {
  const auto* input = reinterpret_cast<const float*>(inputs[0].data());
  auto* output = reinterpret_cast<float*>(outputs[0].data());
  run_parts(cut_.parts(), pool, [&](std::size_t part) {
    const std::size_t band = part / cut_.strips;
    for (std::size_t row = cut_.first_row(band); row < cut_.first_row(band + 1); ++row)
      run_row(input, output, row, part % cut_.strips);
  });
}

void DepthwiseF32::run_row(const float* input, float* output, std::size_t row, std::size_t strip) const {
  const xnn::Window& window = shape_.window;
  const std::size_t line_size = shape_.input_width * cut_.channels;
  const std::size_t first = cut_.first_channel(strip);
  const float* image = input + row / shape_.output_height * shape_.input_height * line_size;
  std::array<const float*, depthwise::kMostSide> lines{};
  for (std::size_t tap = 0; tap < window.kernel_height; ++tap) {
    const std::size_t y =
        input_place(row % shape_.output_height, window.stride_height, tap, 1, window.pad_top, shape_.input_height);
    lines[tap] = (y == kOutside ? zeros_.data() : image + y * line_size) + first;
  }
  walk_({.lines = lines.data(),
         .left = -static_cast<std::ptrdiff_t>(window.pad_left),
         .columns = static_cast<std::ptrdiff_t>(shape_.input_width),
         .outputs = shape_.output_width,
         .step = cut_.channels,
         .weights = weights_ + first / kBlock * of_block(),
         .channels = cut_.first_channel(strip + 1) - first,
         .output = output + row * shape_.output_width * cut_.channels + first,
         .least = range_.min,
         .most = range_.max});
}

// --- The rows --------------------------------------------------------------------------------------------------------

// A processor that has a form.
struct Processor {
  const Form* form;
  bool (*is_here)();
  double pace;  // a product's time, in times of XNNPACK's (docs/benchmarks.md)
};

// A step of its own cuts a segment: what XNNPACK multiplies meanwhile.
constexpr double kStart = 60'000;

bool takes(const ConvolutionF32& work) {
  const ConvolutionShape& shape = work.shape;
  const xnn::Window& window = shape.window;
  const bool is_depthwise = shape.groups == shape.input_channels && shape.input_channels == shape.output_channels;
  const bool is_square = window.kernel_height == window.kernel_width && window.stride_height == window.stride_width;
  // 3x3 with a step of 2 shares too little: XNNPACK is as quick.
  const bool shares =
      window.kernel_width == 3 ? window.stride_width == 1 : window.kernel_width == 5 && window.stride_width <= 2;
  return is_depthwise && is_square && shares && window.dilation_height == 1 && window.dilation_width == 1 &&
         !work.adds && shape.outputs() > 0;
}

std::optional<Offer> offer_of(const Work& work, const Processor& processor) {
  const auto* convolution = std::get_if<ConvolutionF32>(&work.kind);
  if (convolution == nullptr || !processor.is_here() || !takes(*convolution)) return std::nullopt;
  const ConvolutionShape& shape = convolution->shape;
  const double products = static_cast<double>(shape.outputs() * shape.taps());
  const bool shares = shape.output_width > 1;  // a row of one output takes XNNPACK's time, or twice
  const double pace = shares ? processor.pace : std::max(processor.pace, 1.0);
  const double cost = pace * (1 + kStart / products);
  const std::size_t weights = Cut(shape).blocks * kBlock * (1 + shape.taps());
  return Offer{.cost = cost, .packed_bytes = (weights + size_of_zeros(shape)) * sizeof(float)};
}

template <const Processor& processor>
constexpr KernelRow row(std::string_view name) {
  return {.name = name,
          .offer = [](const Work& work) { return offer_of(work, processor); },
          .make = [](const Work& work, PackedWeights& weights) -> std::unique_ptr<Kernel> {
            return std::make_unique<DepthwiseF32>(std::get<ConvolutionF32>(work.kind), *processor.form, weights);
          }};
}

constexpr Processor kScalar{.form = &depthwise::kScalar, .is_here = [] { return true; }, .pace = kScalarCost};
#if defined(__x86_64__)
constexpr Processor kAvx512{
    .form = &depthwise::kAvx512, .is_here = [] { return __builtin_cpu_supports("avx512f") != 0; }, .pace = 0.6};
#else
constexpr Processor kAvx512{.form = &depthwise::kScalar, .is_here = [] { return false; }, .pace = kScalarCost};
#endif

}  // namespace

const KernelRow kDepthwiseF32Avx512 = row<kAvx512>("depthwise_f32__avx512");
const KernelRow kDepthwiseF32Scalar = row<kScalar>("depthwise_f32__scalar");

}  // namespace kinglet::engine::kernels
