// SPDX-License-Identifier: Apache-2.0
// Why: XNNPACK's convolutions read four to six rows of the input beside each other, a load for each, and on a
// Cortex-A72 a quarter of their instructions multiplies nothing. Here the rows of a panel are woven first, so that one
// load brings the numbers of many; a panel of seven rows fits the sizes of networks for 224x224 (their pixels are
// multiples of 49), and blocks of twelve and of eight outputs their channels. At the end of the kernel stand the
// addition and the clip that end a residual block. Each sum takes its products in XNNPACK's order, with its bits. The
// same for floats and for float16. With AVX2 nothing is woven: there XNNPACK's tile has one sum more than the registers
// hold, and rows are read where they lie; with AVX-512 so, too, where layers leave XNNPACK's wide tile empty.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/backend/kernels/convolution_parts.h"
#include "engine/backend/kernels/rows.h"
#include "engine/backend/kernels/woven/cut.h"
#include "engine/backend/kernels/woven/form.h"
#include "engine/backend/kernels/woven/panel_rows.h"
#include "engine/backend/xnnpack/processor.h"
#include "engine/graph/tensor.h"

namespace kinglet::engine::kernels {
namespace {

using woven::Cut;
using woven::Form;
using woven::kMostLanes;
using woven::kMostRows;
using woven::kMostVectors;

template <typename Number>
constexpr const Form<Number>* kTwin = nullptr;
template <>
constexpr const Form<float>* kTwin<float> = &woven::kScalar;
template <>
constexpr const Form<Half>* kTwin<Half> = &woven::kScalarHalf;

// A convolution, or a product of matrices as one of single pixels.
struct Layer {
  ConvolutionF32 convolution;
  bool numbers_first = false;  // of the weights' order: [numbers,outputs]
  bool from_floats = false;    // the input is converted first
};

template <typename Number>
std::optional<Layer> layer_of(const Work& work) {
  if (const auto* convolution = std::get_if<Convolution<Number>>(&work.kind)) return Layer{*convolution};
  if constexpr (std::is_same_v<Number, Half>) {
    const auto* convolution = std::get_if<ConvolutionF32ToF16>(&work.kind);
    if (convolution != nullptr) return Layer{.convolution = *convolution, .from_floats = true};
  }
  const auto* product = std::get_if<ProductF32>(&work.kind);
  if (product == nullptr || sizeof(Number) != sizeof(float)) return std::nullopt;
  return Layer{.convolution = {.shape = {.input_height = 1,
                                         .input_width = product->rows,
                                         .input_channels = product->numbers,
                                         .output_height = 1,
                                         .output_width = product->rows,
                                         .output_channels = product->outputs,
                                         .window = {}},
                               .weights = product->weights,
                               .bias = product->bias,
                               .range = {}},
               .numbers_first = !product->outputs_first};
}

// Of the scratch memory, before an input that is converted.
template <typename Number>
std::size_t woven_bytes(const Cut& cut) {
  constexpr std::size_t kLine = 64;
  return cut.weaves_first() ? rounded_up(cut.batch_numbers() * sizeof(Number), kLine) : 0;
}
std::size_t inputs_of(const ConvolutionShape& shape) {
  return shape.batch * shape.input_height * shape.input_width * shape.input_channels;
}
template <typename Number>
std::size_t converted_bytes(const ConvolutionShape& shape) {
  return rounded_up(inputs_of(shape) * sizeof(Number), woven::kVectorBytes);
}

void convert(std::span<const float> from, Half* to, const Form<Half>& form, pthreadpool_t pool) {
  constexpr std::size_t kPart = 8192;
  run_parts(divided_up(from.size(), kPart), pool, [&](std::size_t part) {
    const std::size_t begin = part * kPart;
    form.narrow(from.data() + begin, std::min(kPart, from.size() - begin), to + begin);
  });
}

template <typename Number>
class Woven final : public Kernel {
 public:
  Woven(const Layer& layer, const Form<Number>& form, PackedWeights& weights);

  void run(Inputs inputs, Outputs outputs, std::span<std::byte> scratch, pthreadpool_t pool) const override;

 private:
  struct Borders {
    const Number* input = nullptr;
    const Number* added = nullptr;
    Number* output = nullptr;
  };
  // Of a panel, and at which number of the input it begins, of the first group; nothing: it lies nowhere in it.
  struct Place {
    Cut::Panel panel;
    std::optional<std::size_t> input;
  };
  // The rows of a part, as the form wants them: its Product's numbers, or a ProductOfVectors'.
  struct Panel {
    Cut::Panel of;
    std::size_t group = 0;
    const Number* numbers = nullptr;
    const woven::Laid* laid = nullptr;
    const Number* const* vectors = nullptr;
    std::size_t begin = 0;
  };

  [[nodiscard]] std::size_t packed_bytes() const { return shape_.groups * cut_.packed_numbers() * sizeof(Number); }
  void pack(const Layer& layer, Number* to) const;
  void pack_group(const float* filters, bool numbers_first, Number* to) const;
  void run_batch(const Borders& borders, std::size_t batch, Number* woven, pthreadpool_t pool) const;
  void run_part(const Borders& borders, std::size_t index, std::size_t chunk) const;
  void run_groups(const Borders& borders, const Place& place, std::size_t group, std::size_t end) const;
  void multiply_chunk(const Borders& borders, const Panel& panel, std::size_t chunk) const;
  void multiply(const Borders& borders, const Panel& panel, std::size_t first_block, std::size_t end_block) const;
  void multiply_last(const Borders& borders, const Panel& panel, std::size_t block) const;
  void multiply(const Panel& panel, const woven::Product<Number>& product, std::size_t vectors) const;
  [[nodiscard]] woven::Product<Number> product_of(const Panel& panel, std::size_t block) const;

  ConvolutionShape shape_;
  bool from_floats_;
  std::optional<Number> least_, most_;
  const Form<Number>* form_;
  Cut cut_;
  woven::PanelRows<Number> rows_;
  const Number* weights_;     // [groups][blocks][numbers][outputs of the block]
  std::vector<Number> bias_;  // of each group in whole vectors
  // Of all panels, where they may lie in the input: to find one takes a tenth of the time of a small one.
  std::vector<Place> places_;
};

// Nothing where there is none.
template <typename Number>
std::optional<Number> bound_of(float bound, float none) {
  return bound == none ? std::nullopt : std::optional(to_number(bound, Number{}));
}

// Who packs: the order depends on the layer, the kind of numbers and the form's blocks alone.
template <typename Number>
std::uint64_t maker_of(const woven::Tile& tile) {
  return 0x574F'0000'0000U + tile.lanes * tile.vectors * 16 + sizeof(Number);
}

template <typename Number>
Woven<Number>::Woven(const Layer& layer, const Form<Number>& form, PackedWeights& weights)
    : shape_(layer.convolution.shape),
      from_floats_(layer.from_floats),
      least_(bound_of<Number>(layer.convolution.range.min, xnn::kNoMin)),
      most_(bound_of<Number>(layer.convolution.range.max, xnn::kNoMax)),
      form_(&form),
      cut_(shape_, form.tile),
      rows_(shape_, cut_, form),
      weights_(nullptr),
      bias_(shape_.groups * cut_.vectors * form.tile.lanes) {
  if (form.tile.together == 1) {
    places_.reserve(cut_.panels);
    for (std::size_t i = 0; i < cut_.panels; ++i) places_.push_back({cut_.panel(i), rows_.find(cut_.panel(i))});
  }
  const std::span<const float> bias = layer.convolution.bias;
  for (std::size_t i = 0; i < bias.size(); ++i)
    bias_[i / cut_.outputs * cut_.vectors * cut_.tile.lanes + i % cut_.outputs] = to_number(bias[i], Number{});
  weights_ = reinterpret_cast<const Number*>(
      packed_piece(weights, maker_of<Number>(form.tile), packed_bytes(),
                   [&](std::span<std::byte> to) { pack(layer, reinterpret_cast<Number*>(to.data())); }));
}

template <typename Number>
void Woven<Number>::pack(const Layer& layer, Number* to) const {
  const float* filters = layer.convolution.weights.data<float>().data();
  std::fill_n(to, packed_bytes() / sizeof(Number), Number{});
  for (std::size_t group = 0; group < shape_.groups; ++group)
    pack_group(filters + group * cut_.outputs * cut_.channels * shape_.taps(), layer.numbers_first,
               to + group * cut_.packed_numbers());
}

template <typename Number>
void Woven<Number>::pack_group(const float* filters, bool numbers_first, Number* to) const {
  const std::size_t channels = cut_.channels;
  const std::size_t taps = shape_.taps();
  for (std::size_t block = 0; block < cut_.blocks; ++block) {
    const std::size_t first = cut_.vectors_before(block) * cut_.tile.lanes;
    const std::size_t width = cut_.vectors_before(block + 1) * cut_.tile.lanes - first;
    const std::size_t outputs = std::min(width, cut_.outputs - first);
    for (std::size_t tap = 0; tap < taps; ++tap) {
      for (std::size_t channel = 0; channel < channels; ++channel) {
        const float* from =
            filters + (numbers_first ? channel * cut_.outputs + first : (first * channels + channel) * taps + tap);
        const std::size_t step = numbers_first ? 1 : channels * taps;
        Number* of_number = to + (tap * cut_.tap + channel) * width;
        for (std::size_t i = 0; i < outputs; ++i) of_number[i] = to_number(from[i * step], Number{});
      }
    }
    to += cut_.numbers * width;
  }
}

template <typename Number>
void Woven<Number>::run(Inputs inputs, Outputs outputs, std::span<std::byte> scratch, pthreadpool_t pool) const {
  Borders borders{.input = reinterpret_cast<const Number*>(inputs[0].data()),
                  .added = inputs.size() > 1 ? reinterpret_cast<const Number*>(inputs[1].data()) : nullptr,
                  .output = reinterpret_cast<Number*>(outputs[0].data())};
  if constexpr (std::is_same_v<Number, Half>) {
    if (from_floats_) {
      auto* halves = reinterpret_cast<Half*>(scratch.data() + woven_bytes<Half>(cut_));
      convert({reinterpret_cast<const float*>(inputs[0].data()), inputs_of(shape_)}, halves, *form_, pool);
      borders.input = halves;
    }
  }
  auto* woven = reinterpret_cast<Number*>(scratch.data());
  for (std::size_t batch = 0; batch < cut_.batches; ++batch) run_batch(borders, batch, woven, pool);
  if (cut_.weaves_first()) return;
  run_parts(cut_.panels * cut_.chunks, pool,
            [&](std::size_t part) { run_part(borders, part / cut_.chunks, part % cut_.chunks); });
}

template <typename Number>
void Woven<Number>::run_batch(const Borders& borders, std::size_t batch, Number* woven, pthreadpool_t pool) const {
  const std::size_t first = cut_.first_panel(batch);
  const std::size_t count = cut_.first_panel(batch + 1) - first;
  run_parts(count, pool, [&](std::size_t part) {
    const Cut::Panel panel = cut_.panel(first + part);
    rows_.fill(borders.input, panel, woven + part * cut_.panel_numbers());
  });
  run_parts(cut_.chunks * count, pool, [&](std::size_t part) {
    const std::size_t in_batch = part % count;
    multiply_chunk(borders, {.of = cut_.panel(first + in_batch), .numbers = woven + in_batch * cut_.panel_numbers()},
                   part / count);
  });
}

template <typename Number>
void Woven<Number>::run_part(const Borders& borders, std::size_t index, std::size_t chunk) const {
  const Place place = places_.empty() ? Place{cut_.panel(index), std::nullopt} : places_[index];
  const auto [panel, input] = place;
  if (shape_.groups > 1)
    return run_groups(borders, place, cut_.first_of(chunk, shape_.groups), cut_.first_of(chunk + 1, shape_.groups));
  if (input)
    return multiply_chunk(borders, {.of = panel, .numbers = borders.input + *input, .laid = rows_.in_input()}, chunk);
  alignas(64) std::array<Number, woven::kPanelNumbers> numbers;
  rows_.fill(borders.input, panel, numbers.data());
  multiply_chunk(borders, {.of = panel, .numbers = numbers.data(), .laid = rows_.in_panel()}, chunk);
}

// From `group` to `end`.
template <typename Number>
void Woven<Number>::run_groups(const Borders& borders, const Place& place, std::size_t group, std::size_t end) const {
  Panel panel{.of = place.panel};
  const auto take = [&](std::size_t index) {
    panel.group = index;
    multiply(borders, panel, 0, cut_.blocks);
  };
  if (place.input) {
    panel.laid = rows_.in_input();
    for (; group < end; ++group) {
      panel.numbers = borders.input + *place.input + group * cut_.channels;
      take(group);
    }
    return;
  }
  const auto places = rows_.places_of(borders.input, place.panel);
  if (cut_.tile.together > 1) {
    typename woven::PanelRows<Number>::Vectors vectors;
    rows_.find_vectors(places, place.panel.rows, vectors);
    panel.vectors = vectors.data();
    for (; group < end; ++group) {
      panel.begin = group * cut_.channels;
      take(group);
    }
    return;
  }
  alignas(64) std::array<Number, woven::kPanelNumbers> numbers;
  panel.numbers = numbers.data();
  panel.laid = rows_.in_panel();
  rows_.gather_groups(places, place.panel.rows, group, end, numbers.data(), take);
}

template <typename Number>
void Woven<Number>::multiply_chunk(const Borders& borders, const Panel& panel, std::size_t chunk) const {
  multiply(borders, panel, cut_.first_of(chunk, cut_.blocks), cut_.first_of(chunk + 1, cut_.blocks));
}

template <typename Number>
woven::Product<Number> Woven<Number>::product_of(const Panel& panel, std::size_t block) const {
  const std::size_t first = cut_.vectors_before(block) * cut_.tile.lanes;
  return {.panel = panel.numbers,
          .laid = panel.laid,
          .parts = cut_.numbers / cut_.tile.together,
          .weights = weights_ + panel.group * cut_.packed_numbers() + first * cut_.numbers,
          .bias = bias_.data() + panel.group * cut_.vectors * cut_.tile.lanes + first,
          .blocks = 1,
          .output = nullptr,
          .added = nullptr,
          .step = panel.of.step * shape_.pixel_step(),
          .least = least_ ? &*least_ : nullptr,
          .most = most_ ? &*most_ : nullptr};
}

// Of blocks of so many vectors.
template <typename Number>
void Woven<Number>::multiply(const Panel& panel, const woven::Product<Number>& product, std::size_t vectors) const {
  const std::size_t rows = panel.of.rows;
  if (panel.vectors == nullptr) return form_->multiply[vectors - 1][rows - 1](product);
  form_->multiply_vectors[vectors - 1][rows - 1]({product, panel.vectors, panel.begin});
}

template <typename Number>
void Woven<Number>::multiply(const Borders& borders, const Panel& panel, std::size_t first_block,
                             std::size_t end_block) const {
  const std::size_t whole = cut_.blocks - (cut_.outputs % cut_.tile.lanes == 0 ? 0 : 1);
  for (std::size_t block = first_block; block < end_block;) {
    if (block == whole) return multiply_last(borders, panel, block);
    const std::size_t vectors = cut_.vectors_before(block + 1) - cut_.vectors_before(block);
    const std::size_t end = std::min({end_block, whole, block < cut_.wide ? cut_.wide : cut_.blocks});
    woven::Product<Number> product = product_of(panel, block);
    const std::size_t at = panel.of.first * shape_.pixel_step() + panel.group * cut_.outputs +
                           cut_.vectors_before(block) * cut_.tile.lanes;
    product.blocks = end - block;
    product.output = borders.output + at;
    product.added = borders.added == nullptr ? nullptr : borders.added + at;
    multiply(panel, product, vectors);
    block = end;
  }
}

// The last block, where the outputs end within a vector: by way of whole ones.
template <typename Number>
void Woven<Number>::multiply_last(const Borders& borders, const Panel& panel, std::size_t block) const {
  const std::size_t lanes = cut_.tile.lanes;
  const std::size_t first = cut_.vectors_before(block) * lanes;
  const std::size_t width = cut_.vectors * lanes - first;
  const std::size_t count = cut_.outputs - first;
  const std::size_t at = panel.of.first * shape_.pixel_step() + panel.group * cut_.outputs + first;
  std::array<Number, kMostRows * kMostVectors * kMostLanes> sums;
  std::array<Number, kMostRows * kMostVectors * kMostLanes> added;
  woven::Product<Number> product = product_of(panel, block);
  const std::size_t step = std::exchange(product.step, width);
  product.output = sums.data();
  if (borders.added != nullptr) {
    product.added = added.data();
    std::fill_n(added.data(), panel.of.rows * width, Number{});
    for (std::size_t row = 0; row < panel.of.rows; ++row)
      std::copy_n(borders.added + at + row * step, count, added.data() + row * width);
  }
  multiply(panel, product, width / lanes);
  for (std::size_t row = 0; row < panel.of.rows; ++row)
    std::copy_n(sums.data() + row * width, count, borders.output + at + row * step);
}

// --- The rows --------------------------------------------------------------------------------------------------------

// A processor that has a form.
template <typename Number>
struct Processor {
  const Form<Number>* form;
  bool (*is_here)();
  double (*cost)(const Cut&, const ConvolutionShape&);
};

template <typename Number>
std::optional<Offer> offer_of(const Work& work, const Processor<Number>& processor) {
  const std::optional<Layer> layer = processor.is_here() ? layer_of<Number>(work) : std::nullopt;
  if (!layer) return std::nullopt;
  const ConvolutionShape& shape = layer->convolution.shape;
  const Cut cut(shape, processor.form->tile);
  if (!cut.fits()) return std::nullopt;
  return Offer{.cost = processor.cost(cut, shape),
               .packed_bytes = shape.groups * cut.packed_numbers() * sizeof(Number),
               .scratch_bytes = woven_bytes<Number>(cut) + (layer->from_floats ? converted_bytes<Number>(shape) : 0),
               .writes_over = layer->convolution.adds ? kOverAdded : std::nullopt,
               .writes_among = !layer->convolution.adds};
}

template <typename Number, const Processor<Number>& processor>
constexpr KernelRow row(std::string_view name) {
  return {.name = name,
          .offer = [](const Work& work) { return offer_of(work, processor); },
          .make = [](const Work& work, PackedWeights& weights) -> std::unique_ptr<Kernel> {
            return std::make_unique<Woven<Number>>(layer_of<Number>(work).value(), *processor.form, weights);
          }};
}

double cost_of_scalar(const Cut& /*cut*/, const ConvolutionShape& /*shape*/) { return kScalarCost; }
constexpr Processor<float> kScalar{.form = kTwin<float>, .is_here = always, .cost = cost_of_scalar};
constexpr Processor<Half> kScalarHalf{.form = kTwin<Half>, .is_here = always, .cost = cost_of_scalar};
#if defined(__x86_64__)
constexpr std::size_t kLeastRows = 4;  // with fewer all wait for the weights
double cost_of_avx2(const Cut& cut, const ConvolutionShape& shape) {
  if (cut.rows < kLeastRows || has_avx512()) return 1;
  return avx2_step(static_cast<double>(cut.numbers * shape.outputs()));
}
constexpr Processor<float> kAvx2{.form = &woven::kAvx2, .is_here = has_avx2, .cost = cost_of_avx2};
// By the outputs that there is room for: where XNNPACK's tile is full its product is a little quicker.
double cost_of_avx512(const Cut& cut, const ConvolutionShape& shape) {
  constexpr std::size_t kTile = 32;  // of XNNPACK's outputs
  constexpr double kProduct = 1.04;  // docs/benchmarks.md, "Half a tile"
  constexpr double kStart = 10'000;  // of a step of its own, in products
  if (cut.rows < kLeastRows) return 1;
  const std::size_t own = rounded_up(cut.outputs, cut.tile.lanes * (halves_take_half() ? 1 : 2));
  return kProduct * static_cast<double>(own) / static_cast<double>(rounded_up(cut.outputs, kTile)) +
         kStart / static_cast<double>(cut.numbers * shape.outputs());
}
constexpr Processor<float> kAvx512{.form = &woven::kAvx512, .is_here = has_avx512, .cost = cost_of_avx512};
#else
constexpr Processor<float> kAvx2{.form = kTwin<float>, .is_here = never, .cost = cost_of_scalar};
constexpr Processor<float> kAvx512 = kAvx2;
#endif
#if defined(__aarch64__)
// On cores that go in order fewer instructions are not less time.
double cost_of_neon(const Cut& cut, const ConvolutionShape& shape) {
  const double cost = cost_of_woven(cut, shape);
  return xnn::runs_in_order() ? std::max(cost, 1.0) : cost;
}
double cost_of_neon_half(const Cut& cut, const ConvolutionShape& shape) {
  return cost_of_neon(cut, shape) * kCostOfHalves;
}
constexpr Processor<float> kNeon{.form = &woven::kNeon, .is_here = always, .cost = cost_of_neon};
constexpr Processor<Half> kNeonHalf{
    .form = &woven::kNeonHalf, .is_here = xnn::half_arithmetic, .cost = cost_of_neon_half};
#else
constexpr Processor<float> kNeon{.form = kTwin<float>, .is_here = never, .cost = cost_of_scalar};
constexpr Processor<Half> kNeonHalf{.form = kTwin<Half>, .is_here = never, .cost = cost_of_scalar};
#endif

}  // namespace

const KernelRow kWovenF32Avx512 = row<float, kAvx512>("woven_f32__avx512");
const KernelRow kWovenF32Avx2 = row<float, kAvx2>("woven_f32__avx2");
const KernelRow kWovenF32Neon = row<float, kNeon>("woven_f32__neon");
const KernelRow kWovenF32Scalar = row<float, kScalar>("woven_f32__scalar");
const KernelRow kWovenF16Neon = row<Half, kNeonHalf>("woven_f16__neon");
const KernelRow kWovenF16Scalar = row<Half, kScalarHalf>("woven_f16__scalar");

}  // namespace kinglet::engine::kernels
