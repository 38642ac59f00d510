// SPDX-License-Identifier: Apache-2.0
// Why: 3x3 convolutions of 8 bits by Winograd's minimal filtering, 36 products for 4x4 outputs in place of 144, in
// whole numbers: the sums are those of the direct way to the bit. Products are of 16 bits, which pays where those of 8
// have to be widened and added up by instructions of their own, or an instruction has half as many of them, and packed
// weights are eight times the filter's: that pays where a layer has pixels for them.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/backend/kernels/convolution_parts.h"
#include "engine/backend/kernels/packed_layer_s8.h"
#include "engine/backend/kernels/rows.h"
#include "engine/backend/kernels/winograd_s8/form.h"
#include "engine/backend/xnnpack/processor.h"

namespace kinglet::engine::kernels {
namespace {

using winograd_s8::Form, winograd_s8::kMostBitsLost;
using winograd_s8::kOutputs, winograd_s8::kPoints, winograd_s8::kSide, winograd_s8::kSize;
using winograd_s8::kPairedLanes, winograd_s8::kTogether, winograd_s8::kWideLanes;

constexpr std::size_t kLine = 64 / sizeof(std::int16_t);  // numbers in a line of a cache

// A block's transformed input is written once and read for every block of outputs: it should stay in a core's own
// cache. The wide form takes its time for a block of outputs, so that a part may lie behind that cache.
template <std::size_t kLanes>
constexpr std::size_t kBlockBytes = std::size_t{kLanes == kWideLanes ? 1536 : 768} << 10;

// How a layer is cut: tiles into groups that one product takes, groups into blocks that lie transformed at a time.
template <std::size_t kLanes>  // winograd_s8::kLanes, kPairedLanes or kWideLanes
struct Cut {
  explicit Cut(const ConvolutionShape& shape)
      : rows(divided_up(shape.output_height, kSize)),
        columns(divided_up(shape.output_width, kSize)),
        tiles(shape.batch * rows * columns),
        groups(divided_up(tiles, kTiles)),
        vectors(divided_up(shape.input_channels, kLanes)),
        output_blocks(divided_up(shape.output_channels, kLanes)),
        // Without the line more the points of a tile would lie in few sets of a cache.
        point_step(vectors * kTiles * kLanes + kLine),
        blocks(divided_up(groups, std::max<std::size_t>(kBlockBytes<kLanes> / group_bytes(), 1))) {}

  [[nodiscard]] std::size_t group_bytes() const { return kPoints * point_step * sizeof(std::int16_t); }
  [[nodiscard]] std::size_t first_group(std::size_t block) const { return block * groups / blocks; }
  [[nodiscard]] std::size_t first_tile(std::size_t group) const { return group * tiles / groups; }
  [[nodiscard]] std::size_t group_of(std::size_t tile) const { return ((tile + 1) * groups - 1) / tiles; }
  [[nodiscard]] std::size_t scratch_bytes() const { return divided_up(groups, blocks) * group_bytes(); }

  static constexpr std::size_t kTiles = winograd_s8::kTilesOf<kLanes>;  // of a group, at most

  std::size_t rows, columns, tiles;  // of an image, and of all
  std::size_t groups;
  std::size_t vectors;        // of input channels
  std::size_t output_blocks;  // of kLanes outputs
  std::size_t point_step;     // in numbers
  std::size_t blocks;
};

// Behind the biases stands how many vectors of channels are added up at once.
template <std::size_t kLanes>
LayerS8Sizes sizes_of(const Cut<kLanes>& cut) {
  const std::size_t outputs = cut.output_blocks * kLanes;
  return {.bias = outputs + kLanes,
          .factors = outputs,
          .weights = kPoints * cut.vectors * kLanes * outputs * sizeof(std::int16_t)};
}

// --- Weights ---------------------------------------------------------------------------------------------------------

// What makes a filter's points, as whole numbers: what is over is in the outputs (bits_lost, kInverseOfNine).
constexpr int kFilterRows[kSide][3] = {{3, 0, 0}, {-2, -2, -2}, {-2, 2, -2}, {1, 2, 4}, {1, -2, 4}, {0, 0, 12}};

// Writes the points of one filter, `step` numbers apart.
void transform_filter(std::span<const std::int8_t> filter, std::int16_t* to, std::size_t step) {
  std::size_t point = 0;
  for (const auto& row : kFilterRows) {
    std::array<int, 3> line{};
    for (std::size_t x = 0; x < 3; ++x) line[x] = row[0] * filter[x] + row[1] * filter[3 + x] + row[2] * filter[6 + x];
    for (const auto& column : kFilterRows)
      to[point++ * step] = static_cast<std::int16_t>(line[0] * column[0] + line[1] * column[1] + line[2] * column[2]);
  }
}

// Vectors of channels whose sums have room in the bits that are not lost: all where the weights say so, else as many as
// whatever weights there are leave room for.
template <std::size_t kLanes>
std::size_t vectors_at_once(const ConvolutionS8& work, const Cut<kLanes>& cut) {
  constexpr std::int64_t kMostOfSum = (std::int64_t{1} << (31 - kMostBitsLost)) - 1;
  constexpr std::int64_t kMostOfVector = std::int64_t{kLanes} * 9 * 128 * 128;
  const std::size_t each = work.shape.input_channels * 9;
  std::int64_t most = 0;
  for (std::size_t output = 0; output < work.shape.output_channels; ++output) {
    std::int64_t sum = 0;
    for (const std::int8_t weight : work.numbers.weights.subspan(output * each, each)) sum += std::abs(weight);
    most = std::max(most, sum * 128);
  }
  return most <= kMostOfSum ? cut.vectors : static_cast<std::size_t>(kMostOfSum / kMostOfVector);
}

// --- The kernel ------------------------------------------------------------------------------------------------------

template <std::size_t kLanes>
class WinogradS8 final : public Kernel {
 public:
  WinogradS8(const ConvolutionS8& work, const FormsS8<Form>& forms, PackedWeights& weights);

  void run(Inputs inputs, Outputs outputs, std::span<std::byte> scratch, pthreadpool_t pool) const override;

 private:
  // The groups that lie transformed at a time.
  struct Block {
    std::size_t first_group = 0;
    std::int16_t* memory = nullptr;
  };
  // The first output of a tile.
  struct Place {
    std::size_t image = 0, top = 0, left = 0;
  };

  void pack(const ConvolutionS8& work, const LayerS8& to) const;
  [[nodiscard]] Place place_of(std::size_t tile) const {
    return {.image = tile / (cut_.rows * cut_.columns),
            .top = tile / cut_.columns % cut_.rows * kSize,
            .left = tile % cut_.columns * kSize};
  }
  [[nodiscard]] std::int16_t* memory_of(const Block& block, std::size_t group) const {
    return block.memory + (group - block.first_group) * kPoints * cut_.point_step;
  }
  void transform_tile(const std::int8_t* input, const Block& block, std::size_t tile) const;
  void multiply_group(std::int8_t* output, const Block& block, std::size_t group, std::size_t index) const;
  void multiply_points(const std::int16_t* tiles, std::size_t count, std::size_t index, std::int32_t* sums) const;
  void write_tile(const std::int32_t* sums, std::size_t tile, std::size_t index, std::int8_t* output) const;

  ConvolutionShape shape_;
  const Form* form_;
  Cut<kLanes> cut_;
  LevelBounds bounds_;
  std::vector<std::int8_t> padding_;  // the channels of a pixel, in whole vectors
  PackedLayerS8 layer_;
  const std::int16_t* weights_;  // [blocks of outputs][points][input channels in whole vectors][outputs of the block]
  std::size_t vectors_at_once_;
};

// Who packs.
constexpr std::uint64_t kMaker = 0x5753'0000'0000U;

template <std::size_t kLanes>
WinogradS8<kLanes>::WinogradS8(const ConvolutionS8& work, const FormsS8<Form>& forms, PackedWeights& weights)
    : shape_(work.shape),
      form_(forms.fits),
      cut_(work.shape),
      bounds_(work.numbers.output.zero_point, work.numbers.least, work.numbers.most),
      padding_(cut_.vectors * kLanes, static_cast<std::int8_t>(work.numbers.input.zero_point)) {
  const FoundLayerS8 found =
      packed_layer_s8(weights, kMaker + kLanes, sizes_of(cut_), work, [&](const LayerS8& to) { pack(work, to); });
  layer_ = found.numbers;
  weights_ = reinterpret_cast<const std::int16_t*>(layer_.weights.data());
  vectors_at_once_ = static_cast<std::size_t>(layer_.bias[cut_.output_blocks * kLanes]);
  if (!found.fits) form_ = forms.wide;
}

// Of a channel's and an output's weight in those of a point and a block of outputs.
template <std::size_t kLanes>
constexpr std::size_t weight_place(std::size_t channel, std::size_t output) {
  constexpr std::size_t kEach = kLanes == winograd_s8::kLanes ? 1 : kTogether;
  return (channel / kEach * kLanes + output) * kEach + channel % kEach;
}

template <std::size_t kLanes>
void WinogradS8<kLanes>::pack(const ConvolutionS8& work, const LayerS8& to) const {
  const ConvolutionNumbers& numbers = work.numbers;
  const std::size_t channels = shape_.input_channels;
  const std::size_t of_point = cut_.vectors * kLanes * kLanes;
  auto* points = reinterpret_cast<std::int16_t*>(to.weights.data());
  for (std::size_t output = 0; output < shape_.output_channels; ++output) {
    std::int16_t* of_block = points + output / kLanes * kPoints * of_point;
    std::int32_t sum = 0;
    for (std::size_t channel = 0; channel < channels; ++channel) {
      const auto filter = numbers.weights.subspan((output * channels + channel) * 9, 9);
      transform_filter(filter, of_block + weight_place<kLanes>(channel, output % kLanes), of_point);
      for (const std::int8_t weight : filter) sum += weight;
    }
    to.bias[output] = wrapping_difference(numbers.bias_of(output),
                                          static_cast<std::int32_t>(std::int64_t{numbers.input.zero_point} * sum));
    to.factors[output] = numbers.factor_of(output);
  }
  to.bias[cut_.output_blocks * kLanes] = static_cast<std::int32_t>(vectors_at_once(work, cut_));
}

template <std::size_t kLanes>
void WinogradS8<kLanes>::run(Inputs inputs, Outputs outputs, std::span<std::byte> scratch, pthreadpool_t pool) const {
  const auto* input = reinterpret_cast<const std::int8_t*>(inputs[0].data());
  auto* output = reinterpret_cast<std::int8_t*>(outputs[0].data());
  for (std::size_t index = 0; index < cut_.blocks; ++index) {
    const Block block{.first_group = cut_.first_group(index),
                      .memory = reinterpret_cast<std::int16_t*>(scratch.data())};
    const std::size_t groups = cut_.first_group(index + 1) - block.first_group;
    const std::size_t first = cut_.first_tile(block.first_group);
    run_parts(cut_.first_tile(block.first_group + groups) - first, pool,
              [&](std::size_t tile) { transform_tile(input, block, first + tile); });
    run_groups(groups, cut_.output_blocks, pool, [&](std::size_t group, std::size_t of_outputs) {
      multiply_group(output, block, block.first_group + group, of_outputs);
    });
  }
}

template <std::size_t kLanes>
void WinogradS8<kLanes>::transform_tile(const std::int8_t* input, const Block& block, std::size_t tile) const {
  const auto [image, top, left] = place_of(tile);
  const std::size_t channels = shape_.input_channels;
  const std::int8_t* of_image = input + image * shape_.input_height * shape_.input_width * channels;
  std::array<std::size_t, kSide> rows;
  std::array<std::size_t, kSide> columns;
  for (std::size_t i = 0; i < kSide; ++i) {
    rows[i] = input_place(top, 1, i, 1, shape_.window.pad_top, shape_.input_height);
    columns[i] = input_place(left, 1, i, 1, shape_.window.pad_left, shape_.input_width);
  }
  std::array<const std::int8_t*, kPoints> pixels;
  for (std::size_t i = 0; i < kPoints; ++i) {
    const std::size_t y = rows[i / kSide];
    const std::size_t x = columns[i % kSide];
    const bool inside = y != kOutside && x != kOutside;
    pixels[i] = inside ? of_image + (y * shape_.input_width + x) * channels : padding_.data();
  }
  const std::size_t group = cut_.group_of(tile);
  const std::size_t first = cut_.first_tile(group);
  form_->input({.pixels = pixels.data(),
                .vectors = cut_.vectors,
                .points = memory_of(block, group) + (tile - first) * kLanes,
                .point_step = cut_.point_step,
                .vector_step = (cut_.first_tile(group + 1) - first) * kLanes});
}

template <std::size_t kLanes>
void WinogradS8<kLanes>::multiply_group(std::int8_t* output, const Block& block, std::size_t group,
                                        std::size_t index) const {
  const std::size_t first = cut_.first_tile(group);
  const std::size_t tiles = cut_.first_tile(group + 1) - first;
  alignas(64) std::array<std::int32_t, Cut<kLanes>::kTiles * kOutputs * kLanes> sums;
  multiply_points(memory_of(block, group), tiles, index, sums.data());
  for (std::size_t tile = 0; tile < tiles; ++tile)
    write_tile(sums.data() + tile * kOutputs * kLanes, first + tile, index, output);
}

// Sums of all outputs of `count` tiles, as many channels at a time as the bits that are lost allow.
template <std::size_t kLanes>
void WinogradS8<kLanes>::multiply_points(const std::int16_t* tiles, std::size_t count, std::size_t index,
                                         std::int32_t* sums) const {
  alignas(64) std::array<std::int32_t, kPoints * Cut<kLanes>::kTiles * kLanes> points;
  const std::int16_t* weights = weights_ + index * kPoints * cut_.vectors * kLanes * kLanes;
  const std::int32_t* bias = layer_.bias.data() + index * kLanes;
  for (std::size_t first = 0; first < cut_.vectors; first += vectors_at_once_) {
    for (std::size_t point = 0; point < kPoints; ++point) {
      form_->multiply[count - 1]({.tiles = tiles + point * cut_.point_step + first * count * kLanes,
                                  .weights = weights + (point * cut_.vectors + first) * kLanes * kLanes,
                                  .vectors = std::min(vectors_at_once_, cut_.vectors - first),
                                  .sums = points.data() + point * count * kLanes});
    }
    for (std::size_t tile = 0; tile < count; ++tile) {
      std::int32_t* of_tile = sums + tile * kOutputs * kLanes;
      form_->output({.sums = points.data() + tile * kLanes,
                     .point_step = count * kLanes,
                     .begin = first == 0 ? bias : of_tile,
                     .begin_step = first == 0 ? 0 : kLanes,
                     .to = of_tile});
    }
  }
}

template <std::size_t kLanes>
void WinogradS8<kLanes>::write_tile(const std::int32_t* sums, std::size_t tile, std::size_t index,
                                    std::int8_t* output) const {
  std::array<std::int8_t, kOutputs * kLanes> levels;
  form_->levels(
      {.sums = sums, .factors = layer_.factors.data() + index * kLanes, .bounds = &bounds_, .to = levels.data()});
  const auto [image, top, left] = place_of(tile);
  const std::size_t channels = shape_.output_channels;
  const std::size_t rows = std::min(kSize, shape_.output_height - top);
  const std::size_t columns = std::min(kSize, shape_.output_width - left);
  const std::size_t count = std::min(kLanes, channels - index * kLanes);
  output += ((image * shape_.output_height + top) * shape_.output_width + left) * channels + index * kLanes;
  for (std::size_t y = 0; y < rows; ++y) {
    for (std::size_t x = 0; x < columns; ++x) {
      const std::int8_t* from = levels.data() + (y * kSize + x) * kLanes;
      std::int8_t* to = output + (y * shape_.output_width + x) * channels;
      if (count == kLanes) {
        std::memcpy(to, from, kLanes);
      } else {
        std::memcpy(to, from, count);
      }
    }
  }
}

// --- The rows --------------------------------------------------------------------------------------------------------

// A processor that has a form.
struct Processor {
  FormsS8<Form> forms;
  bool (*is_here)();
  double (*cost)(const ConvolutionShape& shape);  // in times of XNNPACK's
};

double cost_of_twin(const ConvolutionShape& /*shape*/) { return kScalarCost; }

// Instructions over XNNPACK's, by what was counted (docs/benchmarks.md).
[[maybe_unused]] double cost_on_arm(const ConvolutionShape& shape) {
  constexpr double kStart = 6000;                         // of the threads, for each block of tiles
  constexpr double kInput = 340;                          // of a tile and eight channels
  constexpr double kOutput = 830;                         // of a tile and eight outputs
  constexpr double kVector = 6, kTile = 16, kPoint = 50;  // of a product: eight channels, of each tile, and the rest
  // While a byte comes from memory, for which the threads of a board wait together (docs/decisions/0049).
  constexpr double kByte = 1;
  const Cut<winograd_s8::kLanes> cut(shape);
  const auto tiles = static_cast<double>(cut.tiles);
  const auto groups = static_cast<double>(cut.groups);
  const auto vectors = static_cast<double>(cut.vectors);
  const auto outputs = static_cast<double>(cut.output_blocks);
  const double products =
      static_cast<double>(kPoints) * outputs * (vectors * (groups * kVector + tiles * kTile) + groups * kPoint);
  const double transforms = tiles * (vectors * kInput + outputs * kOutput);
  const double cost = static_cast<double>(cut.blocks) * kStart + products + transforms +
                      static_cast<double>(sizes_of(cut).bytes()) * kByte;
  const double of_xnnpack = cost / xnn_cost(shape, kXnnWithoutDot);
  return xnn::runs_in_order() ? std::max(of_xnnpack, 1.0) : of_xnnpack;
}

// Cycles of a form with registers of 256 or 512 bits, as they were measured (docs/benchmarks.md).
struct Cycles {
  double input;            // of a tile and a vector of channels
  double output;           // of a tile and a block of outputs
  double tile, point;      // of a product: a vector of each tile, and the rest
  double least_tiles;      // of a group, as sums wait for each other
  double byte;             // while a byte comes from behind a core's own cache
  double products_of_xnn;  // a cycle, channels and outputs filled up
};

template <std::size_t kLanes>
double cost_of_cycles(const ConvolutionShape& shape, const Cycles& of) {
  constexpr double kStart = 8000;  // of the threads, for each block of tiles
  const Cut<kLanes> cut(shape);
  const auto tiles = static_cast<double>(cut.tiles);
  const auto groups = static_cast<double>(cut.groups);
  const auto vectors = static_cast<double>(cut.vectors);
  const auto outputs = static_cast<double>(cut.output_blocks);
  const double products = static_cast<double>(kPoints) * outputs *
                          (vectors * of.tile * std::max(tiles, groups * of.least_tiles) + groups * of.point);
  const double transforms = tiles * (vectors * of.input + outputs * of.output);
  const double cost = static_cast<double>(cut.blocks) * kStart + products + transforms +
                      static_cast<double>(sizes_of(cut).bytes()) * of.byte;
  const std::size_t of_xnnpack = shape.batch * shape.output_height * shape.output_width * shape.taps() *
                                 rounded_up(shape.input_channels, 8) * rounded_up(shape.output_channels, 16);
  return cost * of.products_of_xnn / static_cast<double>(of_xnnpack);
}

// Nothing where XNNPACK multiplies whole tiles of bytes.
[[maybe_unused]] double cost_of_vnni(const ConvolutionShape& shape) {
  constexpr Cycles kCycles{.input = 92,
                           .output = 470,
                           .tile = 16,
                           .point = 10,
                           .least_tiles = 5,
                           .byte = 0.2,
                           .products_of_xnn = 0.86 * 2 * 64};
  const double ratio = cost_of_cycles<kWideLanes>(shape, kCycles);
  return has_byte_tiles() ? std::max(ratio, 1.0) : ratio;
}

[[maybe_unused]] double cost_of_avx2(const ConvolutionShape& shape) {
  constexpr Cycles kCycles{
      .input = 92, .output = 420, .tile = 10.5, .point = 10, .least_tiles = 3, .byte = 0.2, .products_of_xnn = 14.3};
  return xnnpack_has_byte_products() ? 1 : cost_of_cycles<kPairedLanes>(shape, kCycles);
}

template <std::size_t kLanes>
std::optional<Offer> offer_of(const Work& work, const Processor& processor) {
  const auto* convolution = std::get_if<ConvolutionS8>(&work.kind);
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
  const Cut<kLanes> cut(shape);
  return Offer{
      .cost = processor.cost(shape), .packed_bytes = sizes_of(cut).bytes(), .scratch_bytes = cut.scratch_bytes()};
}

template <const Processor& processor, std::size_t kLanes = winograd_s8::kLanes>
constexpr KernelRow row(std::string_view name) {
  return {.name = name,
          .offer = [](const Work& work) { return offer_of<kLanes>(work, processor); },
          .make = [](const Work& work, PackedWeights& weights) -> std::unique_ptr<Kernel> {
            return std::make_unique<WinogradS8<kLanes>>(std::get<ConvolutionS8>(work.kind), processor.forms, weights);
          }};
}

constexpr FormsS8<Form> kTwins{.fits = &winograd_s8::kScalar, .wide = &winograd_s8::kScalar};
constexpr Processor kScalarTwin{.forms = kTwins, .is_here = always, .cost = cost_of_twin};
#if defined(__aarch64__)
constexpr Processor kAnyNeon{.forms = {.fits = &winograd_s8::kNeon, .wide = &winograd_s8::kNeonWide},
                             .is_here = [] { return !xnn::dot_products(); },
                             .cost = cost_on_arm};
constexpr Processor kVnni{.forms = kTwins, .is_here = never, .cost = cost_of_twin};
constexpr Processor kAvx2 = kVnni;
#elif defined(__x86_64__)
constexpr Processor kAnyNeon{.forms = kTwins, .is_here = never, .cost = cost_of_twin};
constexpr Processor kVnni{.forms = {.fits = &winograd_s8::kAvx512Vnni, .wide = &winograd_s8::kAvx512Vnni},
                          .is_here = has_byte_products,
                          .cost = cost_of_vnni};
constexpr Processor kAvx2{
    .forms = {.fits = &winograd_s8::kAvx2, .wide = &winograd_s8::kAvx2}, .is_here = has_avx2, .cost = cost_of_avx2};
#else
constexpr Processor kAnyNeon{.forms = kTwins, .is_here = never, .cost = cost_of_twin};
constexpr Processor kVnni = kAnyNeon;
constexpr Processor kAvx2 = kAnyNeon;
#endif

}  // namespace

const KernelRow kWinogradS8Neon = row<kAnyNeon>("winograd_s8__neon");
const KernelRow kWinogradS8Avx512Vnni = row<kVnni, winograd_s8::kWideLanes>("winograd_s8__avx512vnni");
const KernelRow kWinogradS8Avx2 = row<kAvx2, kPairedLanes>("winograd_s8__avx2");
const KernelRow kWinogradS8Scalar = row<kScalarTwin>("winograd_s8__scalar");

}  // namespace kinglet::engine::kernels
