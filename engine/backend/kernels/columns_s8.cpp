// SPDX-License-Identifier: Apache-2.0
// Why: XNNPACK's 8-bit depthwise convolutions on ARM and with AVX2 read and widen every number under a window anew.
// Here the columns of the input under a row of the output are brought together once, for all windows that they stand
// in, in the order that the products want: four rows side by side where a processor has products of four bytes, two
// with AVX2.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

#include "engine/backend/kernels/columns/form.h"
#include "engine/backend/kernels/convolution_parts.h"
#include "engine/backend/kernels/packed_layer_s8.h"
#include "engine/backend/kernels/rows.h"
#include "engine/backend/xnnpack/processor.h"

namespace kinglet::engine::kernels {
namespace {

using columns::Form;
using columns::kBlock;
using columns::kMostRows;

// Columns of a block of channels lie on the stack of their thread.
constexpr std::size_t kMostWoven = std::size_t{32} << 10;
// Outputs of a block that the channels do not fill, between their sums and their place.
constexpr std::size_t kAside = 64;

// The columns under a row of the output, the padding's among them.
struct Columns {
  explicit Columns(const ConvolutionShape& shape)
      : count((shape.output_width - 1) * shape.window.stride_width +
              std::size_t{shape.window.kernel_width - 1} * shape.window.dilation_width + 1),
        left(std::min<std::size_t>(shape.window.pad_left, count)),
        inside(std::min(shape.input_width, count - left)) {}

  std::size_t count;
  std::size_t left;    // in the padding
  std::size_t inside;  // in the input; what follows is padding again
};

// Of a block of channels: of the filter, and of what is woven.
std::size_t filter_bytes(const ConvolutionShape& shape, const Form& form) {
  return rounded_up(shape.window.kernel_height, form.group) * kBlock;
}
std::size_t column_bytes(const ConvolutionShape& shape, const Form& form) {
  return filter_bytes(shape, form) * form.number_bytes;
}

LayerS8Sizes sizes_of(const ConvolutionShape& shape, const Form& form) {
  const std::size_t channels = rounded_up(shape.output_channels, kBlock);
  return {.bias = channels,
          .factors = channels,
          .weights = channels / kBlock * shape.window.kernel_width * filter_bytes(shape, form)};
}

class ColumnsS8 final : public Kernel {
 public:
  ColumnsS8(const ConvolutionS8& work, const FormsS8<Form>& forms, PackedWeights& weights);

  void run(Inputs inputs, Outputs outputs, std::span<std::byte> scratch, pthreadpool_t pool) const override;

 private:
  void pack(const ConvolutionNumbers& numbers, const LayerS8& to) const;
  // Of all images. `first` and `end`: blocks of channels.
  void run_row(const std::int8_t* input, std::int8_t* output, std::size_t row, std::size_t first,
               std::size_t end) const;
  [[nodiscard]] columns::Weave rows_under(const std::int8_t* input, std::size_t row, std::size_t channel) const;
  void weave_padding(std::int8_t* woven) const;
  void multiply(const std::int8_t* woven, std::size_t block, std::int8_t* output) const;

  ConvolutionShape shape_;
  const Form* form_;
  Columns columns_;
  std::size_t filter_bytes_, column_bytes_;
  std::size_t blocks_;
  std::size_t chunks_;  // of blocks, so that threads have something to share
  LevelBounds bounds_;
  std::array<std::int8_t, kBlock> padding_{};  // the input's zero point
  PackedLayerS8 layer_;                        // weights: [blocks][columns of the window] of the form's columns
};

std::size_t chunks_of(const ConvolutionShape& shape, std::size_t blocks) {
  constexpr std::size_t kParts = 28;  // several for each of four threads
  const std::size_t rows = shape.batch * shape.output_height;
  return std::clamp<std::size_t>(kParts / rows, 1, blocks);
}

// Who packs: the order depends on the layer and on this of the form.
constexpr std::uint64_t kMaker = 0x434F'0000'0000U;

ColumnsS8::ColumnsS8(const ConvolutionS8& work, const FormsS8<Form>& forms, PackedWeights& weights)
    : shape_(work.shape),
      form_(forms.fits),
      columns_(work.shape),
      filter_bytes_(filter_bytes(work.shape, *forms.fits)),
      column_bytes_(column_bytes(work.shape, *forms.fits)),
      blocks_(rounded_up(work.shape.output_channels, kBlock) / kBlock),
      chunks_(chunks_of(work.shape, blocks_)),
      bounds_(work.numbers.output.zero_point, work.numbers.least, work.numbers.most) {
  padding_.fill(static_cast<std::int8_t>(work.numbers.input.zero_point));
  const FoundLayerS8 found = packed_layer_s8(weights, kMaker + form_->group, sizes_of(shape_, *form_), work,
                                             [&](const LayerS8& to) { pack(work.numbers, to); });
  layer_ = found.numbers;
  bounds_.open_for(largest_level(layer_, shape_.taps()));
  if (!found.fits) form_ = forms.wide;
}

void ColumnsS8::pack(const ConvolutionNumbers& numbers, const LayerS8& to) const {
  const std::size_t rows = shape_.window.kernel_height;
  const std::size_t taps = shape_.window.kernel_width;
  for (std::size_t channel = 0; channel < shape_.output_channels; ++channel) {
    std::int8_t* of_block = to.weights.data() + channel / kBlock * taps * filter_bytes_;
    std::int32_t sum = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t tap = 0; tap < taps; ++tap) {
        const std::int8_t weight = numbers.weights[(channel * rows + row) * taps + tap];
        const std::size_t group = row / form_->group * kBlock + channel % kBlock;
        of_block[tap * filter_bytes_ + group * form_->group + row % form_->group] = weight;
        sum += weight;
      }
    }
    to.bias[channel] = wrapping_difference(numbers.bias_of(channel),
                                           static_cast<std::int32_t>(std::int64_t{numbers.input.zero_point} * sum));
    to.factors[channel] = numbers.factor_of(channel);
  }
}

void ColumnsS8::run(Inputs inputs, Outputs outputs, std::span<std::byte> /*scratch*/, pthreadpool_t pool) const {
  const auto* input = reinterpret_cast<const std::int8_t*>(inputs[0].data());
  auto* output = reinterpret_cast<std::int8_t*>(outputs[0].data());
  run_parts(shape_.batch * shape_.output_height * chunks_, pool, [&](std::size_t part) {
    const std::size_t chunk = part % chunks_;
    run_row(input, output, part / chunks_, chunk * blocks_ / chunks_, (chunk + 1) * blocks_ / chunks_);
  });
}

// The rows of the input under one of the output, from `channel` on; above and below the input padding.
columns::Weave ColumnsS8::rows_under(const std::int8_t* input, std::size_t row, std::size_t channel) const {
  const xnn::Window& window = shape_.window;
  const std::size_t y = row % shape_.output_height;
  const std::size_t row_bytes = shape_.input_width * shape_.input_channels;
  input += row / shape_.output_height * shape_.input_height * row_bytes + channel;
  columns::Weave weave{};
  weave.row_count = window.kernel_height;
  weave.columns = columns_.inside;
  for (std::size_t tap = 0; tap < window.kernel_height; ++tap) {
    const std::size_t from =
        input_place(y, window.stride_height, tap, window.dilation_height, window.pad_top, shape_.input_height);
    weave.rows[tap] = from == kOutside ? padding_.data() : input + from * row_bytes;
    weave.steps[tap] = from == kOutside ? 0 : shape_.input_channels;
  }
  return weave;
}

// Left and right of the input, the same for all blocks.
void ColumnsS8::weave_padding(std::int8_t* woven) const {
  columns::Weave weave{};
  weave.row_count = shape_.window.kernel_height;
  std::ranges::fill(weave.rows, padding_.data());
  weave.columns = columns_.left;
  weave.to = woven;
  form_->weave(weave);
  const std::size_t behind = columns_.left + columns_.inside;
  weave.columns = columns_.count - behind;
  weave.to = woven + behind * column_bytes_;
  form_->weave(weave);
}

void ColumnsS8::run_row(const std::int8_t* input, std::int8_t* output, std::size_t row, std::size_t first,
                        std::size_t end) const {
  alignas(64) std::array<std::int8_t, kMostWoven + columns::kReadBehind> woven;
  weave_padding(woven.data());
  columns::Weave weave = rows_under(input, row, first * kBlock);
  weave.to = woven.data() + columns_.left * column_bytes_;
  output += row * shape_.output_width * shape_.output_channels;
  for (std::size_t block = first; block < end; ++block) {
    form_->weave(weave);
    multiply(woven.data(), block, output + block * kBlock);
    for (std::size_t tap = 0; tap < weave.row_count; ++tap) weave.rows[tap] += weave.steps[tap] == 0 ? 0 : kBlock;
  }
}

void ColumnsS8::multiply(const std::int8_t* woven, std::size_t block, std::int8_t* output) const {
  const xnn::Window& window = shape_.window;
  columns::Product product{.columns = woven,
                           .column_step = window.stride_width * column_bytes_,
                           .tap_step = window.dilation_width * column_bytes_,
                           .taps = window.kernel_width,
                           .row_count = window.kernel_height,
                           .weights = layer_.weights.data() + block * window.kernel_width * filter_bytes_,
                           .bias = layer_.bias.data() + block * kBlock,
                           .factors = layer_.factors.data() + block * kBlock,
                           .bounds = &bounds_,
                           .count = shape_.output_width,
                           .output = output,
                           .output_step = shape_.output_channels};
  const std::size_t channels = std::min(kBlock, shape_.output_channels - block * kBlock);
  if (channels == kBlock) return form_->multiply(product);
  std::array<std::int8_t, kAside * kBlock> aside;
  product.output = aside.data();
  product.output_step = kBlock;
  for (std::size_t done = 0; done < shape_.output_width; done += product.count) {
    product.count = std::min(kAside, shape_.output_width - done);
    product.columns = woven + done * product.column_step;
    form_->multiply(product);
    for (std::size_t i = 0; i < product.count; ++i, output += shape_.output_channels)
      std::memcpy(output, aside.data() + i * kBlock, channels);
  }
}

// --- The rows --------------------------------------------------------------------------------------------------------

// Instructions beside XNNPACK's, by what was counted; on cores that go in order cycles, by a model of a Cortex-A53
// (docs/benchmarks.md).
struct Costs {
  double column;   // woven, of a group of rows
  double group;    // of rows, of a column of a window
  double outputs;  // of a block beside its products
  double xnn_tap = 8.3;
  double xnn_outputs = 22;
};
constexpr double kStart = 3000;  // of a step of its own
constexpr double kOfRow = 70;    // of a block of channels

double cost_of(const ConvolutionShape& shape, const Form& form, const Costs& costs) {
  const auto rows = static_cast<double>(shape.batch * shape.output_height * divided_up(shape.output_channels, kBlock));
  const auto outputs = rows * static_cast<double>(shape.output_width);
  const auto groups = static_cast<double>(filter_bytes(shape, form)) / static_cast<double>(kBlock * form.group);
  const double own = kStart + rows * kOfRow + rows * static_cast<double>(Columns(shape).count) * groups * costs.column +
                     outputs * (static_cast<double>(shape.window.kernel_width) * groups * costs.group + costs.outputs);
  return own / (outputs * (static_cast<double>(shape.taps()) * costs.xnn_tap + costs.xnn_outputs));
}

// A processor that has a form.
struct Processor {
  FormsS8<Form> forms;
  Costs costs;
  bool (*takes)(const ConvolutionShape& shape);
  bool (*pays)() = [] { return !xnn::runs_in_order(); };
};

std::optional<Offer> offer_of(const Work& work, const Processor& processor) {
  const auto* convolution = std::get_if<ConvolutionS8>(&work.kind);
  if (convolution == nullptr) return std::nullopt;
  const ConvolutionShape& shape = convolution->shape;
  const bool depthwise =
      shape.groups > 1 && shape.groups == shape.input_channels && shape.groups == shape.output_channels;
  const bool has_outputs = shape.batch > 0 && shape.output_height > 0 && shape.output_width > 0;
  if (!depthwise || !has_outputs || shape.window.kernel_height > kMostRows || !processor.takes(shape) ||
      Columns(shape).count * column_bytes(shape, *processor.forms.fits) > kMostWoven)
    return std::nullopt;
  const double cost = cost_of(shape, *processor.forms.fits, processor.costs);
  return Offer{.cost = processor.forms.fits == &columns::kScalar ? kScalarCost
                       : processor.pays()                        ? cost
                                                                 : std::max(cost, 1.0),
               .packed_bytes = sizes_of(shape, *processor.forms.fits).bytes()};
}

template <const Processor& processor>
constexpr KernelRow row(std::string_view name) {
  return {.name = name,
          .offer = [](const Work& work) { return offer_of(work, processor); },
          .make = [](const Work& work, PackedWeights& weights) -> std::unique_ptr<Kernel> {
            return std::make_unique<ColumnsS8>(std::get<ConvolutionS8>(work.kind), processor.forms, weights);
          }};
}

constexpr Processor kScalar{.forms = {.fits = &columns::kScalar, .wide = &columns::kScalar},
                            .costs = {},
                            .takes = [](const ConvolutionShape&) { return true; }};
#if defined(__aarch64__)
constexpr Processor kNeonDot{.forms = {.fits = &columns::kNeonDot, .wide = &columns::kNeonDotWide},
                             .costs = {.column = 10, .group = 6, .outputs = 28},
                             .takes = [](const ConvolutionShape&) { return xnn::dot_products(); }};
bool is_three_wide(const ConvolutionShape& shape) {
  return shape.window.kernel_height == 3 && shape.window.kernel_width == 3;
}
constexpr Processor kNeon{.forms = {.fits = &columns::kNeon, .wide = &columns::kNeonWide},
                          .costs = {.column = 2, .group = 4.7, .outputs = 27},
                          .takes = is_three_wide};
constexpr Processor kNeonInOrder{
    .forms = {.fits = &columns::kNeonInOrder, .wide = &columns::kNeonInOrderWide},
    .costs = {.column = 5.7, .group = 6.2, .outputs = 27, .xnn_tap = 16, .xnn_outputs = 31},
    .takes =
        [](const ConvolutionShape& shape) {
          return !xnn::dot_products() && is_three_wide(shape) && shape.window.stride_width <= 2;
        },
    .pays = xnn::runs_in_order};
#else
constexpr Processor kNeonDot{.forms = {.fits = &columns::kScalar, .wide = &columns::kScalar},
                             .costs = {},
                             .takes = [](const ConvolutionShape&) { return false; }};
constexpr Processor kNeon = kNeonDot;
constexpr Processor kNeonInOrder = kNeonDot;
#endif

#if defined(__x86_64__)
constexpr Processor kAvx2{.forms = {.fits = &columns::kAvx2, .wide = &columns::kAvx2},
                          .costs = {.column = 6, .group = 5.3, .outputs = 16, .xnn_tap = 9, .xnn_outputs = 16},
                          .takes =
                              [](const ConvolutionShape& shape) {
                                return has_avx2() && shape.window.kernel_width <= columns::kMostTapsOfAvx2;
                              },
                          .pays = [] { return !has_avx512(); }};
#else
constexpr Processor kAvx2{.forms = {.fits = &columns::kScalar, .wide = &columns::kScalar},
                          .costs = {},
                          .takes = [](const ConvolutionShape&) { return false; }};
#endif

}  // namespace

const KernelRow kColumnsS8Avx2 = row<kAvx2>("columns_s8__avx2");
const KernelRow kColumnsS8NeonDot = row<kNeonDot>("columns_s8__neondot");
const KernelRow kColumnsS8Neon = row<kNeon>("columns_s8__neon");
const KernelRow kColumnsS8NeonInOrder = row<kNeonInOrder>("columns_s8__neoninorder");
const KernelRow kColumnsS8Scalar = row<kScalar>("columns_s8__scalar");

}  // namespace kinglet::engine::kernels
