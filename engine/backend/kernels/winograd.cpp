// SPDX-License-Identifier: Apache-2.0
// Why: XNNPACK multiplies each input of a 3x3 convolution nine times an output. Winograd's minimal filtering multiplies
// 36 times for 4x4 outputs and 16 times for 2x2, after transforms that only add: a quarter and 1/2.25; with a step of
// two 25 times for 2x2, which is 1/1.44. It pays with weights of 36/9, 16/9 and 25/9 the size, which decides where a
// layer has many weights and few pixels. At the end of the kernel stand the addition and the clip that end a residual
// block. The same for floats and for float16.
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
#include "engine/backend/kernels/winograd/scheme.h"
#include "engine/backend/xnnpack/processor.h"
#include "engine/graph/tensor.h"

namespace kinglet::engine::kernels {
namespace {

using winograd::Form;
using winograd::kLine;
using winograd::Scheme;

template <typename Number>
constexpr const Form<Number>* kTwin = nullptr;
template <>
constexpr const Form<float>* kTwin<float> = &winograd::kScalar;
template <>
constexpr const Form<Half>* kTwin<Half> = &winograd::kScalarHalf;

// A block's transformed input is written once and read for every block of outputs: it should stay in a core's own
// cache. So much is all of 14x14 with 256 channels in tiles of 2x2, in groups of six with AVX2 and of seven on boards.
#if defined(__x86_64__)
constexpr std::size_t kBlockBytes = std::size_t{896} << 10;
#else
constexpr std::size_t kBlockBytes = std::size_t{832} << 10;
#endif

// A second cache of a megabyte, and how much of what lies anywhere in memory stays in it together (decision 64).
constexpr std::size_t kStays = std::size_t{704} << 10;
constexpr std::size_t kSecondCache = std::size_t{1} << 20;

// How a layer is cut into tiles, groups of tiles that one product takes, and blocks of groups.
struct Cut {
  std::size_t rows = 0, columns = 0;  // of tiles in an image
  std::size_t tiles = 0;              // in all images
  std::size_t blocks = 0;
  std::size_t block_tiles = 0;   // at most
  std::size_t block_groups = 0;  // at most
  std::size_t channels = 0;      // of the input, in whole vectors
  std::size_t group_bytes = 0;   // of a whole group
  std::size_t vectors = 0;       // of a block of outputs, at most
};

template <typename Number>
Cut cut_of(const ConvolutionShape& shape, const Form<Number>& form, const Scheme& scheme) {
  Cut cut{.rows = divided_up(shape.output_height, scheme.size),
          .columns = divided_up(shape.output_width, scheme.size),
          .channels = rounded_up(shape.input_channels, form.lanes)};
  cut.tiles = shape.batch * cut.rows * cut.columns;
  const std::size_t group_numbers = scheme.all_points() * cut.channels * form.tiles + scheme.all_sums() * kLine<Number>;
  cut.group_bytes = group_numbers * sizeof(Number);
  const std::size_t most_groups = std::max<std::size_t>(kBlockBytes / cut.group_bytes, 1);
  cut.blocks = divided_up(cut.tiles, most_groups * form.tiles);
  // Each block reads all weights again; as one it would read its own numbers for each block of outputs.
  if (cut.tiles <= (cut.blocks - 1) * form.vectors * form.lanes) cut.blocks = 1;
  cut.block_tiles = divided_up(cut.tiles, cut.blocks);
  cut.block_groups = divided_up(cut.block_tiles, form.tiles);
  // What lies transformed is read for each block of outputs, from memory where the weights of a wide one pushed it out.
  const std::size_t a_channel = scheme.all_points() * sizeof(Number);
  const std::size_t transformed = a_channel * cut.block_tiles * cut.channels;
  const std::size_t weights = a_channel * shape.input_channels * form.vectors * form.lanes;
  const bool narrow = transformed <= kSecondCache && transformed + weights > kStays;
  cut.vectors = narrow ? std::min<std::size_t>(form.vectors, 2) : form.vectors;
  return cut;
}

template <typename Number>
std::size_t packed_numbers(const ConvolutionShape& shape, const Form<Number>& form, const Scheme& scheme) {
  return scheme.all_points() * shape.input_channels * rounded_up(shape.output_channels, form.lanes);
}

// --- The kernel ------------------------------------------------------------------------------------------------------

// Outputs are computed in blocks of about as many channels each.
struct OutputBlock {
  std::size_t first = 0, vectors = 0, channels = 0;
};

template <typename Number>
class Winograd final : public Kernel {
 public:
  Winograd(const ConvolutionF32& work, const Form<Number>& form, const Scheme& scheme, PackedWeights& weights);

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

  // Side by side, of so many points each.
  struct Sums {
    std::size_t count = 0, points = 0;
  };

  // The first output of a tile.
  struct Place {
    std::size_t image = 0, top = 0, left = 0;
  };

  void pack(std::span<const float> filters, Number* to) const;
  [[nodiscard]] std::size_t output_blocks() const { return divided_up(vectors_, cut_.vectors); }
  [[nodiscard]] OutputBlock output_block(std::size_t index) const;
  [[nodiscard]] Place place_of(std::size_t tile) const {
    return {.image = tile / (cut_.rows * cut_.columns),
            .top = tile / cut_.columns % cut_.rows * scheme_->size,
            .left = tile % cut_.columns * scheme_->size};
  }
  void transform_tile(const Borders& borders, const Block& block, std::size_t tile) const;
  void multiply_group(const Borders& borders, const Block& block, std::size_t group, std::size_t index) const;
  [[nodiscard]] Number* group_memory(const Block& block, std::size_t group) const {
    return reinterpret_cast<Number*>(block.memory + group * cut_.group_bytes);
  }

  ConvolutionShape shape_;
  Number least_, most_;
  bool has_most_;
  const Form<Number>* form_;
  const Scheme* scheme_;
  const winograd::Transforms<Number>* transforms_;
  Cut cut_;
  std::vector<Sums> sums_;
  std::size_t vectors_;          // of output channels
  const Number* weights_;        // [blocks of outputs][places][input channels][outputs of the block]
  std::vector<Number> bias_;     // in whole vectors
  std::vector<Number> padding_;  // the channels of a pixel, in whole vectors
};

template <typename Number>
const winograd::Transforms<Number>& transforms_of(const Form<Number>& form, const Scheme& scheme) {
  if (scheme.step == 2) return form.strided_two;
  return scheme.size == 2 ? form.two : form.four;
}

// Who packs: the form's blocks and the kind of numbers are what an order depends on beside the layer.
template <typename Number>
std::uint64_t maker_of(const Form<Number>& form, const Cut& cut, const Scheme& scheme) {
  return 0x5749'0001'0000U + cut.vectors * 8192 + form.lanes * 256 + scheme.step * 64 + scheme.size * 8 +
         sizeof(Number);
}

template <typename Number>
Winograd<Number>::Winograd(const ConvolutionF32& work, const Form<Number>& form, const Scheme& scheme,
                           PackedWeights& weights)
    : shape_(work.shape),
      least_(to_number(work.range.min, Number{})),
      most_(to_number(work.range.max, Number{})),
      has_most_(work.range.max != xnn::kNoMax),
      form_(&form),
      scheme_(&scheme),
      transforms_(&transforms_of(form, scheme)),
      cut_(cut_of(work.shape, form, scheme)),
      vectors_(divided_up(work.shape.output_channels, form.lanes)),
      weights_(nullptr),
      bias_(vectors_ * form.lanes),
      padding_(cut_.channels) {
  for (std::size_t sum = 0; sum < scheme.all_sums(); ++sum) {
    const std::size_t points = scheme.points_of(sum);
    if (sums_.empty() || sums_.back().points != points) sums_.push_back({.points = points});
    ++sums_.back().count;
  }
  std::ranges::transform(work.bias, bias_.begin(), [](float number) { return to_number(number, Number{}); });
  const std::size_t bytes = packed_numbers(work.shape, form, scheme) * sizeof(Number);
  weights_ = reinterpret_cast<const Number*>(
      packed_piece(weights, maker_of(form, cut_, scheme), bytes, [&](std::span<std::byte> to) {
        std::ranges::fill(to, std::byte{0});
        pack(work.weights.data<float>(), reinterpret_cast<Number*>(to.data()));
      }));
}

template <typename Number>
void Winograd<Number>::pack(std::span<const float> filters, Number* to) const {
  const std::size_t channels = shape_.input_channels;
  const std::size_t points = scheme_->all_points();
  std::array<std::size_t, winograd::kMostPoints> places{};
  for (std::size_t i = 0; i < points; ++i) places[i] = scheme_->place_of(i / scheme_->side, i % scheme_->side);
  for (std::size_t index = 0; index < output_blocks(); ++index) {
    const OutputBlock block = output_block(index);
    const std::size_t width = block.vectors * form_->lanes;
    for (std::size_t channel = 0; channel < channels; ++channel) {
      for (std::size_t i = 0; i < block.channels; ++i) {
        const auto filter = filters.subspan(((block.first + i) * channels + channel) * 9).first<9>();
        const auto of_filter = winograd::filter_points(*scheme_, filter);
        for (std::size_t point = 0; point < points; ++point)
          to[(places[point] * channels + channel) * width + i] =
              to_number(static_cast<float>(of_filter[point]), Number{});
      }
    }
    to += points * channels * width;
  }
}

template <typename Number>
OutputBlock Winograd<Number>::output_block(std::size_t index) const {
  const std::size_t blocks = output_blocks();
  const std::size_t first = index * vectors_ / blocks;
  const std::size_t vectors = (index + 1) * vectors_ / blocks - first;
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
  const std::uint32_t step = shape_.window.stride_height;
  for (std::size_t i = 0; i < scheme_->all_points(); ++i) {
    const std::size_t y = input_place(top, step, i / scheme_->side, 1, shape_.window.pad_top, shape_.input_height);
    const std::size_t x = input_place(left, step, i % scheme_->side, 1, shape_.window.pad_left, shape_.input_width);
    const bool inside = y != kOutside && x != kOutside;
    pixels[i] = inside ? of_image + (y * shape_.input_width + x) * channels : padding_.data();
  }
  const std::size_t group = block.group_of(tile);
  const std::size_t tiles = block.begin(group + 1) - block.begin(group);
  transforms_->input({.pixels = pixels.data(),
                      .channels = channels,
                      .points = group_memory(block, group) + (tile - block.begin(group)) * form_->lanes,
                      .point_step = cut_.channels * tiles,
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
  const Number* weights = weights_ + scheme_->all_points() * channels * outputs.first;
  const Number* from = group_memory(block, group);
  Number* to = sums.data();
  for (const auto& [count, points] : sums_) {
    const std::size_t step = points * cut_.channels * tiles + kLine<Number>;
    multiply({.tiles = from,
              .tiles_step = step,
              .weights = weights,
              .channels = points * channels,
              .sums = to,
              .count = count});
    from += count * step;
    weights += count * points * channels * width;
    to += count * form_->sum_step();
  }
  const std::size_t pixel_step = shape_.pixel_step();
  const std::size_t row_step = shape_.output_width * pixel_step;
  std::array<winograd::OutputPlace<Number>, winograd::kMostTiles> places;
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    const auto [image, top, left] = place_of(block.first + block.begin(group) + tile);
    const std::size_t at = (image * shape_.output_height + top) * row_step + left * pixel_step + outputs.first;
    places[tile] = {.output = borders.output + at,
                    .added = borders.added == nullptr ? nullptr : borders.added + at,
                    .rows = std::min(scheme_->size, shape_.output_height - top),
                    .columns = std::min(scheme_->size, shape_.output_width - left)};
  }
  transforms_->output({.sums = sums.data(),
                       .tile_step = width,
                       .places = places.data(),
                       .tiles = tiles,
                       .channels = outputs.channels,
                       .row_step = row_step,
                       .pixel_step = pixel_step,
                       .bias = bias_.data() + outputs.first,
                       .least = least_,
                       .most = most_,
                       .has_most = has_most_});
}

// --- The rows --------------------------------------------------------------------------------------------------------

struct Speed {
  double products_a_byte = 1;  // that XNNPACK multiplies and adds while a byte comes from memory
  double saved_byte = 1;       // the same where a model has to save memory (Work::saves_memory)
  bool again = false;  // each block of tiles brings the weights from memory: no larger cache is sure to hold them
  double product = 1;  // what one with the processor's widest vectors takes, in times of XNNPACK's
  double pace = 1;     // what one takes, in times of one with those
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
double cost_of(const ConvolutionShape& shape, const Processor<Number>& processor, const Scheme& scheme,
               bool saves_memory) {
  const Form<Number>& form = *processor.form;
  const Speed speed = processor.speed();
  const double of_byte = saves_memory ? speed.saved_byte : speed.products_a_byte;
  const double pace = speed.pace * (sizeof(Number) == sizeof(Half) ? kCostOfHalves : 1);
  const auto channels = static_cast<double>(shape.input_channels);
  const auto outputs = static_cast<double>(rounded_up(shape.output_channels, form.lanes));
  const Cut cut = cut_of(shape, form, scheme);
  const auto tiles = static_cast<double>(cut.tiles);
  constexpr double kStart = 100'000;  // of the threads, for each block
  const auto blocks = static_cast<double>(cut.blocks);
  const double transforms = scheme.transforms * tiles * (channels + outputs);
  const double products = static_cast<double>(scheme.all_points()) * tiles * channels * outputs;
  const auto bytes =
      static_cast<double>(packed_numbers(shape, form, scheme) * sizeof(Number)) * (speed.again ? blocks : 1);
  const double pixels = static_cast<double>(shape.batch * shape.output_height * shape.output_width);
  const double of_xnnpack = 9 * channels * static_cast<double>(shape.output_channels);
  return speed.product * (kStart * blocks + (products + transforms) * pace + bytes * of_byte) /
         (of_xnnpack * (pixels + sizeof(float) * of_byte));
}

template <typename Number>
std::optional<Offer> offer_of(const Work& work, const Processor<Number>& processor, const Scheme& scheme) {
  const auto* convolution = std::get_if<Convolution<Number>>(&work.kind);
  if (convolution == nullptr || !processor.is_here()) return std::nullopt;
  const ConvolutionShape& shape = convolution->shape;
  const xnn::Window& window = shape.window;
  const auto is = [](std::size_t value, std::uint32_t height, std::uint32_t width) {
    return height == value && width == value;
  };
  const bool takes = shape.groups == 1 && is(3, window.kernel_height, window.kernel_width) &&
                     is(scheme.step, window.stride_height, window.stride_width) &&
                     is(1, window.dilation_height, window.dilation_width);
  if (!takes || shape.outputs() == 0 || shape.input_channels == 0) return std::nullopt;
  if (scheme.size == 4 && winograd::relative_error<Number>(scheme, shape.input_channels) > winograd::kMostError<Number>)
    return std::nullopt;
  // A sum goes from one point's channels to the next point's.
  if (scheme.all_sums() < scheme.all_points() && shape.input_channels % processor.form->lanes != 0) return std::nullopt;
  const Cut cut = cut_of(shape, *processor.form, scheme);
  const bool whole = shape.output_channels % processor.form->lanes == 0;  // what is added is read in whole vectors
  return Offer{
      .cost = processor.form == kTwin<Number> ? kScalarCost : cost_of(shape, processor, scheme, work.saves_memory),
      .packed_bytes = packed_numbers(shape, *processor.form, scheme) * sizeof(Number),
      .scratch_bytes = cut.block_groups * cut.group_bytes,
      .writes_over = convolution->adds && whole ? kOverAdded : std::nullopt,
      .writes_among = !convolution->adds};
}

template <typename Number, const Processor<Number>& processor, const Scheme& scheme>
constexpr KernelRow row(std::string_view name) {
  return {.name = name,
          .offer = [](const Work& work) { return offer_of(work, processor, scheme); },
          .make = [](const Work& work, PackedWeights& weights) -> std::unique_ptr<Kernel> {
            return std::make_unique<Winograd<Number>>(std::get<Convolution<Number>>(work.kind), *processor.form, scheme,
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
  return {.products_a_byte = products_a_byte(4), .saved_byte = 4, .again = true, .product = kAvx2Product};
}
constexpr Processor<float> kAvx512{.form = &winograd::kAvx512, .is_here = has_avx512, .speed = speed_of_avx512};
constexpr Processor<float> kAvx2{.form = &winograd::kAvx2, .is_here = has_avx2, .speed = speed_of_avx2};
#else
constexpr Processor<float> kAvx512{.form = kTwin<float>, .is_here = never, .speed = speed_of_one};
constexpr Processor<float> kAvx2 = kAvx512;
#endif
#if defined(__aarch64__)
// Its products are the loop of woven rows, of which XNNPACK's takes so many times the instructions.
Speed speed_of_neon() { return {.saved_byte = 3, .again = true, .product = 0.83}; }
constexpr Processor<float> kNeon{.form = &winograd::kNeon, .is_here = always, .speed = speed_of_neon};
constexpr Processor<Half> kNeonHalf{
    .form = &winograd::kNeonHalf, .is_here = xnn::half_arithmetic, .speed = speed_of_neon};
#else
constexpr Processor<float> kNeon{.form = kTwin<float>, .is_here = never, .speed = speed_of_one};
constexpr Processor<Half> kNeonHalf{.form = kTwin<Half>, .is_here = never, .speed = speed_of_one};
#endif

}  // namespace

const KernelRow kWinograd4F32Avx512 = row<float, kAvx512, winograd::kFour>("winograd4_f32__avx512");
const KernelRow kWinograd4F32Avx2 = row<float, kAvx2, winograd::kFour>("winograd4_f32__avx2");
const KernelRow kWinograd4F32Neon = row<float, kNeon, winograd::kFour>("winograd4_f32__neon");
const KernelRow kWinograd4F32Scalar = row<float, kScalar, winograd::kFour>("winograd4_f32__scalar");
const KernelRow kWinograd4F16Neon = row<Half, kNeonHalf, winograd::kFour>("winograd4_f16__neon");
const KernelRow kWinograd4F16Scalar = row<Half, kScalarHalf, winograd::kFour>("winograd4_f16__scalar");
const KernelRow kWinograd2F32Avx512 = row<float, kAvx512, winograd::kTwo>("winograd2_f32__avx512");
const KernelRow kWinograd2F32Avx2 = row<float, kAvx2, winograd::kTwo>("winograd2_f32__avx2");
const KernelRow kWinograd2F32Neon = row<float, kNeon, winograd::kTwo>("winograd2_f32__neon");
const KernelRow kWinograd2F32Scalar = row<float, kScalar, winograd::kTwo>("winograd2_f32__scalar");
const KernelRow kWinograd2F16Neon = row<Half, kNeonHalf, winograd::kTwo>("winograd2_f16__neon");
const KernelRow kWinograd2F16Scalar = row<Half, kScalarHalf, winograd::kTwo>("winograd2_f16__scalar");
const KernelRow kWinograd2S2F32Avx512 = row<float, kAvx512, winograd::kStridedTwo>("winograd2s2_f32__avx512");
const KernelRow kWinograd2S2F32Avx2 = row<float, kAvx2, winograd::kStridedTwo>("winograd2s2_f32__avx2");
const KernelRow kWinograd2S2F32Neon = row<float, kNeon, winograd::kStridedTwo>("winograd2s2_f32__neon");
const KernelRow kWinograd2S2F32Scalar = row<float, kScalar, winograd::kStridedTwo>("winograd2s2_f32__scalar");
const KernelRow kWinograd2S2F16Neon = row<Half, kNeonHalf, winograd::kStridedTwo>("winograd2s2_f16__neon");
const KernelRow kWinograd2S2F16Scalar = row<Half, kScalarHalf, winograd::kStridedTwo>("winograd2s2_f16__scalar");

}  // namespace kinglet::engine::kernels
