// SPDX-License-Identifier: Apache-2.0
// Why: XNNPACK's depthwise layers load each number of the input, and each weight, anew for each window that it stands
// in. Here outputs of a row share the columns under them, and a part of the channels stays in the core's first cache
// from row to row. Each sum takes its products in XNNPACK's order. The same for floats and for float16.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/backend/kernels/convolution_parts.h"
#include "engine/backend/kernels/depthwise/form.h"
#include "engine/backend/kernels/rows.h"
#include "engine/backend/xnnpack/processor.h"
#include "engine/graph/tensor.h"

namespace kinglet::engine::kernels {
namespace {

using depthwise::Form;
using depthwise::kBlock;

constexpr std::size_t kChannelsOfPart = 64;  // at most: rows of three or five lines lie in a first cache, mostly
constexpr std::size_t kParts = 16;           // at least, so that each thread has something

// How a layer is cut for the threads: channels into strips of blocks, rows of all images into bands.
struct Cut {
  Cut(const ConvolutionShape& shape, std::size_t channels_of_block)
      : block(channels_of_block),
        channels(shape.output_channels),
        blocks(divided_up(channels, block)),
        strips(divided_up(blocks, kChannelsOfPart / block)),
        rows(shape.batch * shape.output_height),
        bands(std::clamp<std::size_t>(divided_up(kParts, strips), 1, rows)) {}

  [[nodiscard]] std::size_t parts() const { return strips * bands; }
  [[nodiscard]] std::size_t first_row(std::size_t band) const { return band * rows / bands; }
  [[nodiscard]] std::size_t first_channel(std::size_t strip) const {
    return std::min(strip * blocks / strips * block, channels);
  }

  std::size_t block;  // channels whose weights lie together
  std::size_t channels, blocks, strips, rows, bands;
};

// A line of the padding, and what is read behind it.
std::size_t size_of_zeros(const ConvolutionShape& shape, std::size_t block) {
  return shape.input_width * shape.input_channels + block;
}

template <typename Number>
class Depthwise final : public Kernel {
 public:
  Depthwise(const ConvolutionF32& work, const Form<Number>& form, PackedWeights& weights);

  void run(Inputs inputs, Outputs outputs, std::span<std::byte> scratch, pthreadpool_t pool) const override;

 private:
  static constexpr std::size_t kEach = kBlock<Number>;

  [[nodiscard]] std::size_t of_block() const { return (1 + shape_.taps()) * kEach; }
  [[nodiscard]] std::size_t packed_bytes() const { return cut_.blocks * of_block() * sizeof(Number); }
  void pack(std::span<const float> filters, std::span<const float> bias, Number* to) const;
  void run_row(const Number* input, Number* output, std::size_t row, std::size_t strip) const;
  void run_over(Number* numbers, Number* kept, pthreadpool_t pool) const;
  void keep_row(const Number* row, Number* kept, std::size_t strip) const;
  void walk_row(const Number* const* lines, Number* output, std::size_t strip) const;

  ConvolutionShape shape_;
  bool clips_;
  Number least_, most_;
  Cut cut_;
  depthwise::Walk<Number> walk_;
  const Number* weights_;  // [blocks][1 + taps][kEach]
  std::vector<Number> zeros_;
};

template <typename Number>
depthwise::Walk<Number> walk_of(const Form<Number>& form, const xnn::Window& window) {
  if (window.kernel_width == 3) return window.stride_width == 1 ? form.side3 : form.side3_step2;
  return window.stride_width == 1 ? form.side5 : form.side5_step2;
}

// Who packs: the order depends on the layer, the kind of numbers and the processor alone.
template <typename Number>
constexpr std::uint64_t kMaker = 0x4457'0000'0001U + (sizeof(Number) == sizeof(Half) ? 1 : 0);

template <typename Number>
Depthwise<Number>::Depthwise(const ConvolutionF32& work, const Form<Number>& form, PackedWeights& weights)
    : shape_(work.shape),
      clips_(!work.range.open()),
      least_(to_number(work.range.min, Number{})),
      most_(to_number(work.range.max, Number{})),
      cut_(work.shape, kEach),
      walk_(walk_of(form, work.shape.window)),
      weights_(nullptr),
      zeros_(size_of_zeros(work.shape, kEach)) {
  weights_ = reinterpret_cast<const Number*>(
      packed_piece(weights, kMaker<Number>, packed_bytes(), [&](std::span<std::byte> to) {
        pack(work.weights.data<float>(), work.bias, reinterpret_cast<Number*>(to.data()));
      }));
}

template <typename Number>
void Depthwise<Number>::pack(std::span<const float> filters, std::span<const float> bias, Number* to) const {
  const std::size_t side = shape_.window.kernel_width;
  std::fill_n(to, packed_bytes() / sizeof(Number), Number{});
  for (std::size_t channel = 0; channel < cut_.channels; ++channel) {
    Number* of_channel = to + channel / kEach * of_block() + channel % kEach;
    if (!bias.empty()) *of_channel = to_number(bias[channel], Number{});
    for (std::size_t tap = 0; tap < side * side; ++tap)
      of_channel[(1 + tap) * kEach] =
          to_number(filters[channel * side * side + tap % side * side + tap / side], Number{});
  }
}

template <typename Number>
void Depthwise<Number>::run(Inputs inputs, Outputs outputs, std::span<std::byte> scratch, pthreadpool_t pool) const {
  const auto* input = reinterpret_cast<const Number*>(inputs[0].data());
  auto* output = reinterpret_cast<Number*>(outputs[0].data());
  if (input == output) return run_over(output, reinterpret_cast<Number*>(scratch.data()), pool);
  run_parts(cut_.parts(), pool, [&](std::size_t part) {
    const std::size_t band = part / cut_.strips;
    for (std::size_t row = cut_.first_row(band); row < cut_.first_row(band + 1); ++row)
      run_row(input, output, row, part % cut_.strips);
  });
}

template <typename Number>
void Depthwise<Number>::run_row(const Number* input, Number* output, std::size_t row, std::size_t strip) const {
  const xnn::Window& window = shape_.window;
  const std::size_t line_size = shape_.input_width * cut_.channels;
  const Number* image = input + row / shape_.output_height * shape_.input_height * line_size;
  std::array<const Number*, depthwise::kMostSide> lines{};
  for (std::size_t tap = 0; tap < window.kernel_height; ++tap) {
    const std::size_t y =
        input_place(row % shape_.output_height, window.stride_height, tap, 1, window.pad_top, shape_.input_height);
    lines[tap] = (y == kOutside ? zeros_.data() : image + y * line_size) + cut_.first_channel(strip);
  }
  walk_row(lines.data(), output + row * shape_.output_width * cut_.channels, strip);
}

// `lines` begin with the strip's first channel, `output` with the first of all.
template <typename Number>
void Depthwise<Number>::walk_row(const Number* const* lines, Number* output, std::size_t strip) const {
  const std::size_t first = cut_.first_channel(strip);
  walk_({.lines = lines,
         .left = -static_cast<std::ptrdiff_t>(shape_.window.pad_left),
         .columns = static_cast<std::ptrdiff_t>(shape_.input_width),
         .outputs = shape_.output_width,
         .step = cut_.channels,
         .weights = weights_ + first / kEach * of_block(),
         .channels = cut_.first_channel(strip + 1) - first,
         .output = output + first,
         .clips = clips_,
         .bounds = {least_, most_}});
}

template <typename Number>
void Depthwise<Number>::keep_row(const Number* row, Number* kept, std::size_t strip) const {
  const std::size_t first = cut_.first_channel(strip);
  const std::size_t count = cut_.first_channel(strip + 1) - first;
  for (std::size_t at = first; at < shape_.input_width * cut_.channels; at += cut_.channels)
    std::copy_n(row + at, count, kept + at);
}

// Each row of outputs over the row of the input in its middle. A band keeps as they were: the rows that its next
// windows look back to, which take turns, and those behind it, over which the next band writes.
template <typename Number>
void Depthwise<Number>::run_over(Number* numbers, Number* kept, pthreadpool_t pool) const {
  const std::size_t line = shape_.input_width * cut_.channels;
  const std::size_t height = shape_.input_height, half = shape_.window.kernel_height / 2;
  const std::size_t bands = pool == nullptr ? 1 : cut_.bands;
  const auto first_of = [&](std::size_t band) { return band * cut_.rows / bands; };
  const auto before = [&](std::size_t band, std::size_t row) {
    return kept + (band * shape_.window.kernel_height + row % (half + 1)) * line;
  };
  const auto behind = [&](std::size_t band, std::size_t row) {
    return kept + (band * shape_.window.kernel_height + half + 1 + row - first_of(band + 1)) * line;
  };
  run_parts(bands, bands == 1 ? nullptr : pool, [&](std::size_t band) {
    const std::size_t first = first_of(band), end = first_of(band + 1);
    for (std::size_t row = first - std::min(half, first); row < first; ++row)
      std::copy_n(numbers + row * line, line, before(band, row));
    for (std::size_t row = end; row < std::min(end + half, cut_.rows); ++row)
      std::copy_n(numbers + row * line, line, behind(band, row));
  });
  run_parts(cut_.strips * bands, pool, [&](std::size_t part) {
    const std::size_t band = part / cut_.strips, strip = part % cut_.strips;
    for (std::size_t row = first_of(band); row < first_of(band + 1); ++row) {
      keep_row(numbers + row * line, before(band, row), strip);
      std::array<const Number*, depthwise::kMostSide> lines{};
      for (std::size_t tap = 0; tap <= 2 * half; ++tap) {
        const std::size_t under = row + tap - half;  // wraps before the first image
        const bool outside = row % height + tap < half || row % height + tap - half >= height;
        const Number* found = outside                      ? zeros_.data()
                              : under <= row               ? before(band, under)
                              : under < first_of(band + 1) ? numbers + under * line
                                                           : behind(band, under);
        lines[tap] = found + cut_.first_channel(strip);
      }
      walk_row(lines.data(), numbers + row * line, strip);
    }
  });
}

// --- The rows --------------------------------------------------------------------------------------------------------

// A step of its own cuts a segment: what XNNPACK multiplies meanwhile.
constexpr double kStart = 60'000;

// In times of XNNPACK's, by what was measured and counted (docs/benchmarks.md).
double cost_of_avx512(const ConvolutionShape& shape) {
  const double products = static_cast<double>(shape.outputs() * shape.taps());
  const xnn::Window& window = shape.window;
  // A row of one output takes XNNPACK's time, or twice, and windows of 3x3 with a step of 2 share too little.
  const bool shares = shape.output_width > 1 && (window.kernel_width > 3 || window.stride_width == 1);
  return (shares ? 0.6 : 1) * (1 + kStart / products);
}

// In instructions.
double cost_of_neon(const ConvolutionShape& shape, std::size_t lanes) {
  const auto taps = static_cast<double>(shape.taps());
  const double side = shape.window.kernel_width;
  const double step = shape.window.stride_width;
  const auto rows = static_cast<double>(shape.batch * shape.output_height);
  const auto width = static_cast<double>(shape.output_width);
  const auto vectors = static_cast<double>(divided_up(shape.output_channels, lanes));
  constexpr double kOfStep = 3000;
  constexpr double kOfPart = 130;
  constexpr double kXnnPixel = 13;                                       // for each window's pointers
  constexpr double kXnnProduct = 2.2;                                    // with the loads of its numbers
  const auto left = static_cast<double>(shape.output_channels % lanes);  // one at a time
  const double own = kOfStep + rows * static_cast<double>(Cut(shape, lanes).strips) * kOfPart +
                     rows * vectors * (4 * taps + 10 + width * (side * step + taps + 5)) +
                     rows * left * width * 4 * taps;
  const double xnn = rows * width * (kXnnPixel * taps + vectors * (kXnnProduct * taps + 3));
  return own / xnn;
}

// A processor that has a form.
template <typename Number>
struct Processor {
  const Form<Number>* form;
  bool (*is_here)();
  double (*cost)(const ConvolutionShape&);
  bool writes_over =
      false;  // where it offers that: on ARM wider values, which nobody writes over, are what a MobileNet takes
};

bool takes(const ConvolutionF32& work) {
  const ConvolutionShape& shape = work.shape;
  const xnn::Window& window = shape.window;
  const bool is_depthwise = shape.groups == shape.input_channels && shape.input_channels == shape.output_channels;
  const bool is_square = window.kernel_height == window.kernel_width && window.stride_height == window.stride_width;
  const bool shares = (window.kernel_width == 3 || window.kernel_width == 5) && window.stride_width <= 2;
  return is_depthwise && is_square && shares && window.dilation_height == 1 && window.dilation_width == 1 &&
         !work.adds && shape.outputs() > 0;
}

// The output lies over the input where that spares much: rows that are kept meanwhile are another walk over them.
template <typename Number>
bool may_write_over(const ConvolutionShape& shape) {
  constexpr std::size_t kLeastBytes = std::size_t{1} << 20;
  const xnn::Window& window = shape.window;
  const std::size_t half = window.kernel_height / 2;
  return window.stride_height == 1 && window.pad_top == half && window.pad_left == half &&
         shape.output_height == shape.input_height && shape.output_width == shape.input_width &&
         shape.input_channels % kBlock<Number> == 0 && shape.outputs() * sizeof(Number) >= kLeastBytes;
}

template <typename Number>
std::optional<Offer> offer_of(const Work& work, const Processor<Number>& processor) {
  constexpr std::size_t kEach = kBlock<Number>;
  const auto* convolution = std::get_if<Convolution<Number>>(&work.kind);
  if (convolution == nullptr || !processor.is_here() || !takes(*convolution)) return std::nullopt;
  const ConvolutionShape& shape = convolution->shape;
  const Cut cut(shape, kEach);
  const std::size_t weights = cut.blocks * kEach * (1 + shape.taps());
  const std::size_t kept = cut.bands * shape.window.kernel_height * shape.input_width * cut.channels;
  const bool over = processor.writes_over && may_write_over<Number>(shape) && 2 * kept <= shape.outputs();
  return Offer{.cost = processor.cost(shape),
               .packed_bytes = (weights + size_of_zeros(shape, kEach)) * sizeof(Number),
               .scratch_bytes = over ? kept * sizeof(Number) : 0,
               .writes_over = over ? std::optional<std::size_t>(0) : std::nullopt};
}

template <typename Number, const Processor<Number>& processor>
constexpr KernelRow row(std::string_view name) {
  return {.name = name,
          .offer = [](const Work& work) { return offer_of(work, processor); },
          .make = [](const Work& work, PackedWeights& weights) -> std::unique_ptr<Kernel> {
            return std::make_unique<Depthwise<Number>>(std::get<Convolution<Number>>(work.kind), *processor.form,
                                                       weights);
          }};
}

// Where instructions wait for each other fewer of them are not less time.
double cost_of_neon_floats(const ConvolutionShape& shape) {
  const double cost = cost_of_neon(shape, kBlock<float>);
  return xnn::runs_in_order() ? std::max(cost, 1.0) : cost;
}
double cost_of_neon_halves(const ConvolutionShape& shape) {
  const double cost = cost_of_neon(shape, kBlock<Half>);
  return (xnn::runs_in_order() ? std::max(cost, 1.0) : cost) * kCostOfHalves;
}
double cost_of_scalar(const ConvolutionShape& /*shape*/) { return kScalarCost; }

constexpr Processor<float> kScalar{
    .form = &depthwise::kScalar, .is_here = always, .cost = cost_of_scalar, .writes_over = true};
constexpr Processor<Half> kScalarHalf{
    .form = &depthwise::kScalarHalf, .is_here = always, .cost = cost_of_scalar, .writes_over = true};
#if defined(__x86_64__)
constexpr Processor<float> kAvx512{
    .form = &depthwise::kAvx512, .is_here = has_avx512, .cost = cost_of_avx512, .writes_over = true};
double cost_of_avx2(const ConvolutionShape& shape) { return has_avx512() ? 1 : cost_of_avx512(shape); }
constexpr Processor<float> kAvx2{
    .form = &depthwise::kAvx2, .is_here = has_avx2, .cost = cost_of_avx2, .writes_over = true};
#else
constexpr Processor<float> kAvx512{.form = &depthwise::kScalar, .is_here = never, .cost = cost_of_avx512};
constexpr Processor<float> kAvx2 = kAvx512;
#endif
#if defined(__aarch64__)
constexpr Processor<float> kNeon{.form = &depthwise::kNeon, .is_here = always, .cost = cost_of_neon_floats};
constexpr Processor<Half> kNeonHalf{
    .form = &depthwise::kNeonHalf, .is_here = xnn::half_arithmetic, .cost = cost_of_neon_halves};
#else
constexpr Processor<float> kNeon{.form = &depthwise::kScalar, .is_here = never, .cost = cost_of_neon_floats};
constexpr Processor<Half> kNeonHalf{.form = &depthwise::kScalarHalf, .is_here = never, .cost = cost_of_neon_halves};
#endif

}  // namespace

const KernelRow kDepthwiseF32Avx512 = row<float, kAvx512>("depthwise_f32__avx512");
const KernelRow kDepthwiseF32Avx2 = row<float, kAvx2>("depthwise_f32__avx2");
const KernelRow kDepthwiseF32Neon = row<float, kNeon>("depthwise_f32__neon");
const KernelRow kDepthwiseF32Scalar = row<float, kScalar>("depthwise_f32__scalar");
const KernelRow kDepthwiseF16Neon = row<Half, kNeonHalf>("depthwise_f16__neon");
const KernelRow kDepthwiseF16Scalar = row<Half, kScalarHalf>("depthwise_f16__scalar");

}  // namespace kinglet::engine::kernels
