// SPDX-License-Identifier: Apache-2.0
// Why: XNNPACK multiplies a few rows by the whole matrix of weights and then the next few: weights that a core's cache
// does not hold come from further away once for each few rows. Here a panel of them, 32 outputs by some hundred
// numbers, meets all rows while the next one is already on its way. Each sum takes its products in XNNPACK's order,
// with its bits.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/backend/kernels/convolution_parts.h"
#include "engine/backend/kernels/panels/form.h"
#include "engine/backend/kernels/rows.h"
#include "engine/graph/tensor.h"

namespace kinglet::engine::kernels {
namespace {

using panels::Form;
using panels::kOutputs;
using panels::kQuad;

// A panel and the next one lie in a core's second cache beside the rows' share: 96 KiB each.
constexpr std::size_t kMostNumbers = 768;
constexpr std::size_t kPanelsOfPart = 2;  // side by side, which share what the cache holds of the rows

// Measured between these (docs/benchmarks.md): with fewer rows the weights are what all wait for, with more they and
// the panels no longer lie in one cache; smaller weights do lie there, whoever multiplies.
constexpr std::size_t kLeastRows = 32, kMostRows = 400;
constexpr std::size_t kLeastBytes = std::size_t{1} << 20;
// With an addition at the end 49 rows take 1.1 of XNNPACK's time, for what reason nobody knows.
constexpr std::size_t kLeastRowsWithAddition = 100;

// Rows times weights, wherever they come from: a matrix product, or a convolution whose windows lie in the input as a
// whole and beside each other: woven rows take no more memory than the input.
struct Layer {
  std::size_t rows = 0, numbers = 0, outputs = 0;
  const Tensor* weights = nullptr;
  bool outputs_first = false;  // of the weights' order: [outputs,channels,taps], else [numbers,outputs]
  std::span<const float> bias;
  xnn::Range range;
  bool adds = false;
  // Where a row lies: `lines` pieces of the input, one for each line of a window.
  std::size_t taps = 1, lines = 1;
  ConvolutionShape shape;  // of one pixel a row for a product
};

Layer layer_of(const ProductF32& product) {
  return Layer{.rows = product.rows,
               .numbers = product.numbers,
               .outputs = product.outputs,
               .weights = &product.weights,
               .outputs_first = product.outputs_first,
               .bias = product.bias,
               .range = {},
               .shape = {.input_height = 1,
                         .input_width = product.rows,
                         .input_channels = product.numbers,
                         .output_height = 1,
                         .output_width = product.rows,
                         .output_channels = product.outputs,
                         .window = {}}};
}

std::optional<Layer> layer_of(const ConvolutionF32& convolution) {
  const ConvolutionShape& shape = convolution.shape;
  const xnn::Window& window = shape.window;
  const bool is_whole = window.pad_top + window.pad_left + window.pad_bottom + window.pad_right == 0 &&
                        window.dilation_height == 1 && window.dilation_width == 1;
  const bool overlap = window.stride_height < window.kernel_height || window.stride_width < window.kernel_width;
  if (shape.groups != 1 || !is_whole || overlap) return std::nullopt;
  return Layer{.rows = shape.batch * shape.output_height * shape.output_width,
               .numbers = shape.taps() * shape.input_channels,
               .outputs = shape.output_channels,
               .weights = &convolution.weights,
               .outputs_first = true,
               .bias = convolution.bias,
               .range = convolution.range,
               .adds = convolution.adds,
               .taps = shape.taps(),
               .lines = window.kernel_height,
               .shape = shape};
}

// Nothing for what the kernel does not take.
std::optional<Layer> layer_of(const Work& work) {
  std::optional<Layer> layer;
  if (const auto* product = std::get_if<ProductF32>(&work.kind)) layer = layer_of(*product);
  if (const auto* convolution = std::get_if<ConvolutionF32>(&work.kind)) layer = layer_of(*convolution);
  if (!layer || layer->rows == 0 || layer->numbers == 0 || layer->outputs == 0) return std::nullopt;
  const bool takes = layer->outputs % kOutputs == 0 && layer->numbers / layer->lines % kQuad == 0;
  return takes ? layer : std::nullopt;
}

class PanelsF32 final : public Kernel {
 public:
  PanelsF32(const Layer& layer, const Form& form, PackedWeights& weights);

  void run(Inputs inputs, Outputs outputs, std::span<std::byte> scratch, pthreadpool_t pool) const override;

 private:
  struct Borders {
    const float* woven = nullptr;
    const float* added = nullptr;
    float* output = nullptr;
  };
  // A panel of weights, as the walk comes to them.
  struct Panel {
    std::size_t first = 0, numbers = 0;  // of a row
    std::size_t output = 0;
    std::size_t at = 0;  // among the packed weights
  };

  void pack(const Layer& layer, float* to) const;
  template <typename Visit>
  void for_panels(std::size_t part, const Visit& visit) const;
  [[nodiscard]] std::size_t first_row(std::size_t group) const { return group * rows_ / groups_; }
  [[nodiscard]] std::size_t parts() const { return divided_up(outputs_ / kOutputs, kPanelsOfPart); }
  void weave_group(const float* input, std::size_t group, float* woven) const;
  [[nodiscard]] const float* line_of(const float* input, std::size_t row, std::size_t line) const;
  void multiply(const Borders& borders, const Panel& panel) const;

  ConvolutionShape shape_;
  xnn::Range range_;
  const Form* form_;
  std::size_t rows_, numbers_, outputs_, lines_;
  std::size_t groups_;    // of rows, of about as many each
  const float* weights_;  // [parts][blocks of numbers][panels of the part][numbers][kOutputs]
  std::vector<float> bias_;
};

// Who packs: the order depends on the layer alone.
constexpr std::uint64_t kMaker = 0x5041'0000'0001U;

PanelsF32::PanelsF32(const Layer& layer, const Form& form, PackedWeights& weights)
    : shape_(layer.shape),
      range_(layer.range),
      form_(&form),
      rows_(layer.rows),
      numbers_(layer.numbers),
      outputs_(layer.outputs),
      lines_(layer.lines),
      groups_(divided_up(layer.rows, form.rows)),
      weights_(nullptr),
      bias_(layer.outputs) {
  std::ranges::copy(layer.bias, bias_.begin());
  const std::size_t bytes = numbers_ * outputs_ * sizeof(float);
  weights_ = reinterpret_cast<const float*>(packed_piece(
      weights, kMaker, bytes, [&](std::span<std::byte> to) { pack(layer, reinterpret_cast<float*>(to.data())); }));
}

// Calls visit(panel) in the order that the weights of a part lie in; all parts lie one behind the other.
template <typename Visit>
void PanelsF32::for_panels(std::size_t part, const Visit& visit) const {
  const std::size_t begin = part * kPanelsOfPart * kOutputs;
  const std::size_t end = std::min(begin + kPanelsOfPart * kOutputs, outputs_);
  const std::size_t blocks = divided_up(numbers_, kMostNumbers);  // of as many each: in a short one less is asked for
  const auto begin_of = [&](std::size_t block) { return block * (numbers_ / kQuad) / blocks * kQuad; };
  std::size_t at = begin * numbers_;
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t first = begin_of(block);
    const std::size_t numbers = begin_of(block + 1) - first;
    for (std::size_t output = begin; output < end; output += kOutputs, at += numbers * kOutputs)
      visit(Panel{.first = first, .numbers = numbers, .output = output, .at = at});
  }
}

void PanelsF32::pack(const Layer& layer, float* to) const {
  const float* from = layer.weights->data<float>().data();
  const std::size_t channels = numbers_ / layer.taps;
  for (std::size_t part = 0; part < parts(); ++part) {
    for_panels(part, [&](const Panel& panel) {
      for (std::size_t k = panel.first; k < panel.first + panel.numbers; ++k, to += kOutputs) {
        const float* of_first = layer.outputs_first
                                    ? from + panel.output * numbers_ + k % channels * layer.taps + k / channels
                                    : from + k * outputs_ + panel.output;
        const std::size_t step = layer.outputs_first ? numbers_ : 1;
        for (std::size_t i = 0; i < kOutputs; ++i) to[i] = of_first[i * step];
      }
    });
  }
}

void PanelsF32::run(Inputs inputs, Outputs outputs, std::span<std::byte> scratch, pthreadpool_t pool) const {
  const auto* input = reinterpret_cast<const float*>(inputs[0].data());
  auto* woven = reinterpret_cast<float*>(scratch.data());
  const Borders borders{.woven = woven,
                        .added = inputs.size() > 1 ? reinterpret_cast<const float*>(inputs[1].data()) : nullptr,
                        .output = reinterpret_cast<float*>(outputs[0].data())};
  run_parts(groups_, pool, [&](std::size_t group) { weave_group(input, group, woven); });
  run_parts(parts(), pool,
            [&](std::size_t part) { for_panels(part, [&](const Panel& panel) { multiply(borders, panel); }); });
}

const float* PanelsF32::line_of(const float* input, std::size_t row, std::size_t line) const {
  const std::size_t x = row % shape_.output_width * shape_.window.stride_width;
  const std::size_t above = row / shape_.output_width;
  const std::size_t y = above % shape_.output_height * shape_.window.stride_height + line;
  const std::size_t image = above / shape_.output_height;
  return input + ((image * shape_.input_height + y) * shape_.input_width + x) * shape_.input_channels;
}

// [quads][rows of the group][kQuad], all of a group's numbers one behind the other.
void PanelsF32::weave_group(const float* input, std::size_t group, float* woven) const {
  const std::size_t first = first_row(group);
  const std::size_t rows = first_row(group + 1) - first;
  const std::size_t quads = numbers_ / lines_ / kQuad;
  float* to = woven + first * numbers_;
  for (std::size_t line = 0; line < lines_; ++line, to += quads * rows * kQuad) {
    for (std::size_t row = 0; row < rows; ++row) {
      const float* from = line_of(input, first + row, line);
      for (std::size_t quad = 0; quad < quads; ++quad)
        std::memcpy(to + (quad * rows + row) * kQuad, from + quad * kQuad, kQuad * sizeof(float));
    }
  }
}

void PanelsF32::multiply(const Borders& borders, const Panel& panel) const {
  const std::size_t bytes = panel.numbers * kOutputs * sizeof(float);
  const std::size_t quads = panel.numbers / kQuad;
  const std::size_t asked = quads * form_->strips * panels::kAheadOfQuad * kLineBytes;  // for by one group
  const float* weights = weights_ + panel.at;
  const auto* next = reinterpret_cast<const std::byte*>(weights) + bytes;
  for (std::size_t group = 0; group < groups_; ++group) {
    const std::size_t row = first_row(group);
    const std::size_t rows = first_row(group + 1) - row;
    const std::size_t at = row * outputs_ + panel.output;
    const panels::End end{
        .added = borders.added == nullptr ? nullptr : borders.added + at, .least = range_.min, .most = range_.max};
    form_->multiply[rows - 1]({.rows = borders.woven + row * numbers_ + panel.first * rows,
                               .weights = weights,
                               .quads = quads,
                               .bias = panel.first == 0 ? bias_.data() + panel.output : nullptr,
                               .sums = borders.output + at,
                               .step = outputs_,
                               .end = panel.first + panel.numbers == numbers_ ? &end : nullptr,
                               .ahead = group * asked < bytes ? next + group * asked : nullptr});
  }
}

// --- The rows --------------------------------------------------------------------------------------------------------

// A processor that has a form.
struct Processor {
  const Form* form;
  bool (*is_here)();
  double (*cost)(const Layer&);  // in times of XNNPACK's
};

double cost_of_scalar(const Layer& /*layer*/) { return kScalarCost; }

[[maybe_unused]] double cost_of_avx512(const Layer& layer) {
  const bool pays = layer.rows >= (layer.adds ? kLeastRowsWithAddition : kLeastRows) && layer.rows <= kMostRows &&
                    layer.numbers * layer.outputs * sizeof(float) >= kLeastBytes;
  return pays ? 0.8 : 1;
}

std::optional<Offer> offer_of(const Work& work, const Processor& processor) {
  const auto layer = processor.is_here() ? layer_of(work) : std::nullopt;
  if (!layer) return std::nullopt;
  return Offer{.cost = processor.cost(*layer),
               .packed_bytes = layer->numbers * layer->outputs * sizeof(float),
               .scratch_bytes = layer->rows * layer->numbers * sizeof(float)};
}

template <const Processor& processor>
constexpr KernelRow row(std::string_view name) {
  return {.name = name,
          .offer = [](const Work& work) { return offer_of(work, processor); },
          .make = [](const Work& work, PackedWeights& weights) -> std::unique_ptr<Kernel> {
            return std::make_unique<PanelsF32>(layer_of(work).value(), *processor.form, weights);
          }};
}

constexpr Processor kScalar{.form = &panels::kScalar, .is_here = always, .cost = cost_of_scalar};
#if defined(__x86_64__)
constexpr Processor kAvx512{.form = &panels::kAvx512, .is_here = has_avx512, .cost = cost_of_avx512};
double cost_of_avx2(const Layer& layer) {
  constexpr std::size_t kRowsThatPay = 4;  // with fewer all wait for the weights
  if (has_avx512() || layer.rows < kRowsThatPay) return 1;
  return avx2_step(static_cast<double>(layer.rows * layer.numbers * layer.outputs)) *
         (cost_of_avx512(layer) < 1 ? 0.9 : 1.1);
}
constexpr Processor kAvx2{.form = &panels::kAvx2, .is_here = has_avx2, .cost = cost_of_avx2};
#else
constexpr Processor kAvx512{.form = &panels::kScalar, .is_here = never, .cost = cost_of_scalar};
constexpr Processor kAvx2 = kAvx512;
#endif

}  // namespace

const KernelRow kPanelsF32Avx512 = row<kAvx512>("panels_f32__avx512");
const KernelRow kPanelsF32Avx2 = row<kAvx2>("panels_f32__avx2");
const KernelRow kPanelsF32Scalar = row<kScalar>("panels_f32__scalar");

}  // namespace kinglet::engine::kernels
