// SPDX-License-Identifier: Apache-2.0
// Why: XNNPACK multiplies each input of a 3x3 convolution nine times an output. Winograd's minimal filtering multiplies
// 36 times for 4x4 outputs and 16 times for 2x2, after transforms that only add: a quarter and 1/2.25. It pays with
// weights of 36/9 and 16/9 the size, which decides where a layer has many weights and few pixels. At the end of the
// kernel stand the addition and the clip that end a residual block. The same for floats and for float16.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/backend/kernels/convolution_parts.h"
#include "engine/backend/kernels/rows.h"
#include "engine/backend/kernels/winograd/error.h"
#include "engine/backend/kernels/winograd/form.h"
#include "engine/backend/kernels/winograd/transforms.h"
#include "engine/backend/xnnpack/processor.h"
#include "engine/graph/tensor.h"

namespace kinglet::engine::kernels {
namespace {

using winograd::Form;

template <typename Number>
constexpr std::size_t kLine = 64 / sizeof(Number);  // numbers in a line of a cache

template <typename Number>
constexpr const Form<Number>* kTwin = nullptr;
template <>
constexpr const Form<float>* kTwin<float> = &winograd::kScalar;
template <>
constexpr const Form<Half>* kTwin<Half> = &winograd::kScalarHalf;

// A block's transformed input is written once and read for every block of outputs: it should stay in a core's own
// cache.
constexpr std::size_t kBlockBytes = std::size_t{768} << 10;

// How a layer is cut into tiles, groups of tiles that one product takes, and blocks of groups.
struct Cut {
  std::size_t size = 0;                         // of a tile's output
  std::size_t rows = 0, columns = 0;            // of tiles in an image
  std::size_t tiles = 0;                        // in all images
  std::size_t block_tiles = 0;                  // at most
  std::size_t point_step = 0, group_bytes = 0;  // of a whole group
  std::size_t block_groups = 0;                 // at most

  [[nodiscard]] std::size_t side() const { return size + 2; }
  [[nodiscard]] std::size_t points() const { return side() * side(); }
};

template <typename Number>
Cut cut_of(const ConvolutionShape& shape, const Form<Number>& form, std::size_t size) {
  Cut cut{.size = size, .rows = divided_up(shape.output_height, size), .columns = divided_up(shape.output_width, size)};
  cut.tiles = shape.batch * cut.rows * cut.columns;
  // Without the line more the points of a tile would lie in few sets of a cache.
  cut.point_step = rounded_up(shape.input_channels, form.lanes) * form.tiles + kLine<Number>;
  cut.group_bytes = cut.points() * cut.point_step * sizeof(Number);
  const std::size_t most_groups = std::max<std::size_t>(kBlockBytes / cut.group_bytes, 1);
  std::size_t blocks = divided_up(cut.tiles, most_groups * form.tiles);
  // Each block reads all weights again; as one it would read its own numbers for each block of outputs.
  if (cut.tiles <= (blocks - 1) * winograd::kMostVectors * form.lanes) blocks = 1;
  cut.block_tiles = divided_up(cut.tiles, blocks);
  cut.block_groups = divided_up(cut.block_tiles, form.tiles);
  return cut;
}

template <typename Number>
std::size_t packed_numbers(const ConvolutionShape& shape, const Form<Number>& form, std::size_t size) {
  return (size + 2) * (size + 2) * shape.input_channels * rounded_up(shape.output_channels, form.lanes);
}

// --- Weights ---------------------------------------------------------------------------------------------------------

// The rows of the matrix that makes a filter's points, in double: what a filter is rounded to is its points.
using FilterRow = std::array<double, 3>;

std::vector<FilterRow> filter_rows(std::size_t size) {
  if (size == 2) return {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
  constexpr double kA = winograd::kA;
  constexpr double kB = winograd::kB;
  constexpr double kOfA = 1 / (2 * kA * kA * (kA * kA - kB * kB));
  constexpr double kOfB = winograd::kUp / (2 * kB * kB * (kB * kB - kA * kA));
  return {{1 / (kA * kA * kB * kB), 0, 0},   {kOfA, kOfA * kA, kOfA * kA * kA},  {kOfA, -kOfA * kA, kOfA * kA * kA},
          {kOfB, kOfB * kB, kOfB * kB * kB}, {kOfB, -kOfB * kB, kOfB * kB * kB}, {0, 0, 1}};
}

// Writes the points of one filter, `step` numbers apart.
template <typename Number>
void transform_filter(std::span<const FilterRow> rows, std::span<const float> filter, Number* to, std::size_t step) {
  std::array<FilterRow, winograd::kMostSide> half;  // [points of a column][columns]
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t x = 0; x < 3; ++x)
      half[i][x] = rows[i][0] * filter[x] + rows[i][1] * filter[3 + x] + rows[i][2] * filter[6 + x];
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const FilterRow& row : rows) {
      *to = to_number(static_cast<float>(half[i][0] * row[0] + half[i][1] * row[1] + half[i][2] * row[2]), Number{});
      to += step;
    }
  }
}

// --- The kernel ------------------------------------------------------------------------------------------------------

// Outputs are computed in blocks of so many channels: two vectors, where there are as many.
struct OutputBlock {
  std::size_t first = 0, vectors = 0, channels = 0;
};

template <typename Number>
class Winograd final : public Kernel {
 public:
  Winograd(const ConvolutionF32& work, const Form<Number>& form, std::size_t size, PackedWeights& weights);

  void run(Inputs inputs, Outputs outputs, std::span<std::byte> scratch, pthreadpool_t pool) const override;

 private:
  // The tiles that lie transformed at a time, in groups of about as many tiles each.
  struct Block {
    std::size_t first = 0, tiles = 0, groups = 0;
    std::byte* memory = nullptr;

    [[nodiscard]] std::size_t begin(std::size_t group) const { return group * tiles / groups; }
    [[nodiscard]] std::size_t group_of(std::size_t tile) const { return ((tile + 1) * groups - 1) / tiles; }
  };
  struct Borders {
    const Number* input = nullptr;
    const Number* added = nullptr;
    Number* output = nullptr;
  };

  // The first output of a tile.
  struct Place {
    std::size_t image = 0, top = 0, left = 0;
  };

  void pack(std::span<const float> filters, Number* to) const;
  [[nodiscard]] std::size_t output_blocks() const { return divided_up(vectors_, winograd::kMostVectors); }
  [[nodiscard]] OutputBlock output_block(std::size_t index) const;
  [[nodiscard]] Place place_of(std::size_t tile) const {
    return {.image = tile / (cut_.rows * cut_.columns),
            .top = tile / cut_.columns % cut_.rows * cut_.size,
            .left = tile % cut_.columns * cut_.size};
  }
  void transform_tile(const Borders& borders, const Block& block, std::size_t tile) const;
  void multiply_group(const Borders& borders, const Block& block, std::size_t group, std::size_t index) const;
  [[nodiscard]] Number* group_memory(const Block& block, std::size_t group) const {
    return reinterpret_cast<Number*>(block.memory + group * cut_.group_bytes);
  }

  ConvolutionShape shape_;
  Number least_, most_;
  const Form<Number>* form_;
  const winograd::Transforms<Number>* transforms_;
  Cut cut_;
  std::size_t vectors_;          // of output channels
  const Number* weights_;        // [blocks of outputs][points][input channels][outputs of the block]
  std::vector<Number> bias_;     // in whole vectors
  std::vector<Number> padding_;  // the channels of a pixel, in whole vectors
};

// Who packs: the form's lanes and the kind of numbers are what an order depends on beside the layer.
template <typename Number>
std::uint64_t maker_of(const Form<Number>& form, std::size_t size) {
  return 0x5749'0000'0000U + form.lanes * 256 + size * 8 + sizeof(Number);
}

template <typename Number>
Winograd<Number>::Winograd(const ConvolutionF32& work, const Form<Number>& form, std::size_t size,
                           PackedWeights& weights)
    : shape_(work.shape),
      least_(to_number(work.range.min, Number{})),
      most_(to_number(work.range.max, Number{})),
      form_(&form),
      transforms_(size == 2 ? &form.two : &form.four),
      cut_(cut_of(work.shape, form, size)),
      vectors_(divided_up(work.shape.output_channels, form.lanes)),
      weights_(nullptr),
      bias_(vectors_ * form.lanes),
      padding_(rounded_up(work.shape.input_channels, form.lanes)) {
  std::ranges::transform(work.bias, bias_.begin(), [](float number) { return to_number(number, Number{}); });
  const std::size_t bytes = packed_numbers(work.shape, form, size) * sizeof(Number);
  weights_ =
      reinterpret_cast<const Number*>(packed_piece(weights, maker_of(form, size), bytes, [&](std::span<std::byte> to) {
        std::ranges::fill(to, std::byte{0});
        pack(work.weights.data<float>(), reinterpret_cast<Number*>(to.data()));
      }));
}

template <typename Number>
void Winograd<Number>::pack(std::span<const float> filters, Number* to) const {
  const std::vector<FilterRow> rows = filter_rows(cut_.size);
  const std::size_t channels = shape_.input_channels;
  for (std::size_t index = 0; index < output_blocks(); ++index) {
    const OutputBlock block = output_block(index);
    const std::size_t width = block.vectors * form_->lanes;
    for (std::size_t channel = 0; channel < channels; ++channel) {
      for (std::size_t i = 0; i < block.channels; ++i)
        transform_filter(rows, filters.subspan(((block.first + i) * channels + channel) * 9, 9),
                         to + channel * width + i, channels * width);
    }
    to += cut_.points() * channels * width;
  }
}

template <typename Number>
OutputBlock Winograd<Number>::output_block(std::size_t index) const {
  const std::size_t first = index * winograd::kMostVectors;
  const std::size_t vectors = std::min(winograd::kMostVectors, vectors_ - first);
  const std::size_t channel = first * form_->lanes;
  return {.first = channel,
          .vectors = vectors,
          .channels = std::min(vectors * form_->lanes, shape_.output_channels - channel)};
}

template <typename Number>
void Winograd<Number>::run(Inputs inputs, Outputs outputs, std::span<std::byte> scratch, pthreadpool_t pool) const {
  const Borders borders{.input = reinterpret_cast<const Number*>(inputs[0].data()),
                        .added = inputs.size() > 1 ? reinterpret_cast<const Number*>(inputs[1].data()) : nullptr,
                        .output = reinterpret_cast<Number*>(outputs[0].data())};
  for (std::size_t first = 0; first < cut_.tiles; first += cut_.block_tiles) {
    const std::size_t tiles = std::min(cut_.block_tiles, cut_.tiles - first);
    const Block block{
        .first = first, .tiles = tiles, .groups = divided_up(tiles, form_->tiles), .memory = scratch.data()};
    run_parts(tiles, pool, [&](std::size_t tile) { transform_tile(borders, block, tile); });
    run_groups(block.groups, output_blocks(), pool,
               [&](std::size_t group, std::size_t index) { multiply_group(borders, block, group, index); });
  }
}

template <typename Number>
void Winograd<Number>::transform_tile(const Borders& borders, const Block& block, std::size_t tile) const {
  const auto [image, top, left] = place_of(block.first + tile);
  const std::size_t channels = shape_.input_channels;
  const Number* of_image = borders.input + image * shape_.input_height * shape_.input_width * channels;
  std::array<const Number*, winograd::kMostPoints> pixels;
  for (std::size_t i = 0; i < cut_.points(); ++i) {
    const std::size_t y = input_place(top, 1, i / cut_.side(), 1, shape_.window.pad_top, shape_.input_height);
    const std::size_t x = input_place(left, 1, i % cut_.side(), 1, shape_.window.pad_left, shape_.input_width);
    const bool inside = y != kOutside && x != kOutside;
    pixels[i] = inside ? of_image + (y * shape_.input_width + x) * channels : padding_.data();
  }
  const std::size_t group = block.group_of(tile);
  const std::size_t tiles = block.begin(group + 1) - block.begin(group);
  transforms_->input({.pixels = pixels.data(),
                      .channels = channels,
                      .points = group_memory(block, group) + (tile - block.begin(group)) * form_->lanes,
                      .point_step = cut_.point_step,
                      .vector_step = tiles * form_->lanes});
}

template <typename Number>
void Winograd<Number>::multiply_group(const Borders& borders, const Block& block, std::size_t group,
                                      std::size_t index) const {
  const OutputBlock outputs = output_block(index);
  const std::size_t tiles = block.begin(group + 1) - block.begin(group);
  const std::size_t width = outputs.vectors * form_->lanes;
  const std::size_t channels = shape_.input_channels;
  alignas(64)
      std::array<Number, winograd::kMostPoints * winograd::kMostTiles * winograd::kMostVectors * winograd::kMostLanes>
          sums;
  const winograd::Multiply<Number> multiply = form_->multiply[outputs.vectors - 1][tiles - 1];
  const Number* weights = weights_ + cut_.points() * channels * outputs.first;
  for (std::size_t point = 0; point < cut_.points(); ++point) {
    multiply({.tiles = group_memory(block, group) + point * cut_.point_step,
              .weights = weights + point * channels * width,
              .channels = channels,
              .sums = sums.data() + point * tiles * width});
  }
  const std::size_t pixel_step = shape_.output_channels;
  const std::size_t row_step = shape_.output_width * pixel_step;
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    const auto [image, top, left] = place_of(block.first + block.begin(group) + tile);
    const std::size_t at = (image * shape_.output_height + top) * row_step + left * pixel_step + outputs.first;
    transforms_->output({.sums = sums.data() + tile * width,
                         .point_step = tiles * width,
                         .rows = std::min(cut_.size, shape_.output_height - top),
                         .columns = std::min(cut_.size, shape_.output_width - left),
                         .channels = outputs.channels,
                         .output = borders.output + at,
                         .added = borders.added == nullptr ? nullptr : borders.added + at,
                         .row_step = row_step,
                         .pixel_step = pixel_step,
                         .bias = bias_.data() + outputs.first,
                         .least = least_,
                         .most = most_});
  }
}

// --- The rows --------------------------------------------------------------------------------------------------------

struct Speed {
  double products_a_byte = 1;  // that XNNPACK multiplies and adds while a byte comes from memory
  double saved_byte = 1;       // the same where a model has to save memory (Work::saves_memory)
  double product = 1;          // what one with the processor's widest vectors takes, in times of XNNPACK's
  double pace = 1;             // what one takes, in times of one with those
};

// A processor that has a form.
template <typename Number>
struct Processor {
  const Form<Number>* form;
  bool (*is_here)();
  Speed (*speed)();
};

// In products of XNNPACK's with floats, by what was counted and measured (docs/benchmarks.md).
template <typename Number>
double cost_of(const ConvolutionShape& shape, const Processor<Number>& processor, std::size_t size, bool saves_memory) {
  const Form<Number>& form = *processor.form;
  const Speed speed = processor.speed();
  const double of_byte = saves_memory ? speed.saved_byte : speed.products_a_byte;
  const double pace = speed.pace * (sizeof(Number) == sizeof(Half) ? kCostOfHalves : 1);
  const auto channels = static_cast<double>(shape.input_channels);
  const auto outputs = static_cast<double>(rounded_up(shape.output_channels, form.lanes));
  const Cut cut = cut_of(shape, form, size);
  const auto tiles = static_cast<double>(cut.tiles);
  constexpr double kStart = 100'000;  // of the threads, for each block
  const double start = kStart * std::ceil(tiles / static_cast<double>(cut.block_tiles));
  const double transforms = (size == 4 ? 250 : 80) * tiles * (channels + outputs);
  const double products = static_cast<double>(cut.points()) * tiles * channels * outputs;
  const auto bytes = static_cast<double>(packed_numbers(shape, form, size) * sizeof(Number));
  const double pixels = static_cast<double>(shape.batch * shape.output_height * shape.output_width);
  const double of_xnnpack = 9 * channels * static_cast<double>(shape.output_channels);
  return speed.product * (start + (products + transforms) * pace + bytes * of_byte) /
         (of_xnnpack * (pixels + sizeof(float) * of_byte));
}

template <typename Number>
std::optional<Offer> offer_of(const Work& work, const Processor<Number>& processor, std::size_t size) {
  const auto* convolution = std::get_if<Convolution<Number>>(&work.kind);
  if (convolution == nullptr || !processor.is_here()) return std::nullopt;
  const ConvolutionShape& shape = convolution->shape;
  const xnn::Window& window = shape.window;
  const auto is = [](std::uint32_t value, std::uint32_t height, std::uint32_t width) {
    return height == value && width == value;
  };
  const bool takes = shape.groups == 1 && is(3, window.kernel_height, window.kernel_width) &&
                     is(1, window.stride_height, window.stride_width) &&
                     is(1, window.dilation_height, window.dilation_width);
  if (!takes || shape.outputs() == 0 || shape.input_channels == 0) return std::nullopt;
  if (size == 4 && winograd::relative_error<Number>(4, shape.input_channels) > winograd::kMostError<Number>)
    return std::nullopt;
  const Cut cut = cut_of(shape, *processor.form, size);
  const bool whole = shape.output_channels % processor.form->lanes == 0;  // what is added is read in whole vectors
  return Offer{
      .cost = processor.form == kTwin<Number> ? kScalarCost : cost_of(shape, processor, size, work.saves_memory),
      .packed_bytes = packed_numbers(shape, *processor.form, size) * sizeof(Number),
      .scratch_bytes = cut.block_groups * cut.group_bytes,
      .writes_over = convolution->adds && whole ? kOverAdded : std::nullopt};
}

template <typename Number, const Processor<Number>& processor, std::size_t size>
constexpr KernelRow row(std::string_view name) {
  return {.name = name,
          .offer = [](const Work& work) { return offer_of(work, processor, size); },
          .make = [](const Work& work, PackedWeights& weights) -> std::unique_ptr<Kernel> {
            return std::make_unique<Winograd<Number>>(std::get<Convolution<Number>>(work.kind), *processor.form, size,
                                                      weights);
          }};
}

Speed speed_of_one() { return {}; }
constexpr Processor<float> kScalar{.form = kTwin<float>, .is_here = always, .speed = speed_of_one};
constexpr Processor<Half> kScalarHalf{.form = kTwin<Half>, .is_here = always, .speed = speed_of_one};
#if defined(__x86_64__)
double products_a_byte(double elsewhere) { return has_near_memory() ? 2 : elsewhere; }
Speed speed_of_avx512() { return {.products_a_byte = products_a_byte(8), .saved_byte = 8}; }
Speed speed_of_avx2() {
  if (has_avx512()) return {.products_a_byte = products_a_byte(8), .saved_byte = 8, .pace = 2};  // of half the lanes
  return {.products_a_byte = products_a_byte(4), .saved_byte = 4, .product = kAvx2Product};
}
constexpr Processor<float> kAvx512{.form = &winograd::kAvx512, .is_here = has_avx512, .speed = speed_of_avx512};
constexpr Processor<float> kAvx2{.form = &winograd::kAvx2, .is_here = has_avx2, .speed = speed_of_avx2};
#else
constexpr Processor<float> kAvx512{.form = kTwin<float>, .is_here = never, .speed = speed_of_one};
constexpr Processor<float> kAvx2 = kAvx512;
#endif
#if defined(__aarch64__)
Speed speed_of_neon() { return {.saved_byte = 1.5}; }
constexpr Processor<float> kNeon{.form = &winograd::kNeon, .is_here = always, .speed = speed_of_neon};
constexpr Processor<Half> kNeonHalf{
    .form = &winograd::kNeonHalf, .is_here = xnn::half_arithmetic, .speed = speed_of_neon};
#else
constexpr Processor<float> kNeon{.form = kTwin<float>, .is_here = never, .speed = speed_of_one};
constexpr Processor<Half> kNeonHalf{.form = kTwin<Half>, .is_here = never, .speed = speed_of_one};
#endif

}  // namespace

const KernelRow kWinograd4F32Avx512 = row<float, kAvx512, 4>("winograd4_f32__avx512");
const KernelRow kWinograd4F32Avx2 = row<float, kAvx2, 4>("winograd4_f32__avx2");
const KernelRow kWinograd4F32Neon = row<float, kNeon, 4>("winograd4_f32__neon");
const KernelRow kWinograd4F32Scalar = row<float, kScalar, 4>("winograd4_f32__scalar");
const KernelRow kWinograd4F16Neon = row<Half, kNeonHalf, 4>("winograd4_f16__neon");
const KernelRow kWinograd4F16Scalar = row<Half, kScalarHalf, 4>("winograd4_f16__scalar");
const KernelRow kWinograd2F32Avx512 = row<float, kAvx512, 2>("winograd2_f32__avx512");
const KernelRow kWinograd2F32Avx2 = row<float, kAvx2, 2>("winograd2_f32__avx2");
const KernelRow kWinograd2F32Neon = row<float, kNeon, 2>("winograd2_f32__neon");
const KernelRow kWinograd2F32Scalar = row<float, kScalar, 2>("winograd2_f32__scalar");
const KernelRow kWinograd2F16Neon = row<Half, kNeonHalf, 2>("winograd2_f16__neon");
const KernelRow kWinograd2F16Scalar = row<Half, kScalarHalf, 2>("winograd2_f16__scalar");

}  // namespace kinglet::engine::kernels
