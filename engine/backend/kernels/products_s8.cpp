// SPDX-License-Identifier: Apache-2.0
// Why: of XNNPACK's 8-bit convolutions on ARM a quarter to a third of the instructions multiply nothing: two rows at a
// time share a load of factors, and each tap of a picture's three channels is a row of its own that fills no register.
// With AVX2 it widens every byte each time that it meets one. Here four rows share their factors, and the numbers under
// a window are brought together where a tap is no multiple of what is multiplied at once.
#include <algorithm>
#include <memory>
#include <optional>

#include "engine/backend/kernels/products/cut.h"
#include "engine/backend/kernels/rows.h"
#include "engine/backend/xnnpack/processor.h"

namespace kinglet::engine::kernels {
namespace {

using products::Cut;
using products::Form;

// Instructions, by what was counted; on cores that go in order cycles, by a model of a Cortex-A53 (docs/benchmarks.md).
struct Costs {
  double sixteen, end;  // of a panel and a block: sixteen numbers of a row, and all the rest
  XnnCostsS8 xnn;
};

double own_cost(const ConvolutionShape& shape, const Form& form, const Costs& costs) {
  constexpr double kStart = 3000;   // of a step of its own
  constexpr double kOfPanel = 120;  // beside what follows
  constexpr double kOfTapRow = 20;  // of a pixel whose numbers are brought together
  const Cut cut(shape, form);
  const auto panels = static_cast<double>(cut.panels);
  const double joining =
      cut.joined ? static_cast<double>(form.rows) * (static_cast<double>(shape.window.kernel_height) * kOfTapRow +
                                                     static_cast<double>(cut.numbers) / 4)
                 : 0;
  const double product = static_cast<double>(cut.numbers) / 16 * costs.sixteen + costs.end;
  const auto chunks = static_cast<double>(cut.chunks);
  const double joinings = cut.batch_panels > 0 ? 1 : chunks;
  return kStart + panels * (chunks * kOfPanel + joinings * joining + static_cast<double>(cut.blocks) * product);
}

// A processor that has a form.
struct Processor {
  FormsS8<Form> forms;
  FormsS8<Form> (*forms_of)(const ConvolutionShape&) = nullptr;  // where the shape decides
  Costs costs;
  bool (*is_here)();
  bool in_order = false;                              // its cores, on which alone it wins
  double (*cost)(const ConvolutionShape&) = nullptr;  // where it was measured instead
};

FormsS8<Form> forms_of(const ConvolutionShape& shape, const Processor& processor) {
  return processor.forms_of == nullptr ? processor.forms : processor.forms_of(shape);
}

double cost_of(const ConvolutionShape& shape, const Processor& processor) {
  if (processor.forms.fits == &products::kScalar) return kScalarCost;
  if (processor.cost != nullptr) return processor.cost(shape);
  const double cost = own_cost(shape, *processor.forms.fits, processor.costs) / xnn_cost(shape, processor.costs.xnn);
  // Fewer rows than a panel has wait for their weights, not for instructions.
  const bool waits = shape.batch * shape.output_height * shape.output_width < processor.forms.fits->rows;
  return waits || processor.in_order != xnn::runs_in_order() ? std::max(cost, 1.0) : cost;
}

std::optional<Offer> offer_of(const Work& work, const Processor& processor) {
  const auto* convolution = std::get_if<ConvolutionS8>(&work.kind);
  if (convolution == nullptr || !processor.is_here()) return std::nullopt;
  const ConvolutionShape& shape = convolution->shape;
  const Form& form = *forms_of(shape, processor).fits;
  const Cut cut(shape, form);
  if (shape.groups != 1 || cut.pixels == 0 || cut.numbers == 0 || cut.blocks == 0) return std::nullopt;
  if (cut.numbers > form.most_numbers) return std::nullopt;
  if (cut.joined && (cut.numbers > products::kMostJoined || shape.window.kernel_height > products::kMostTapRows))
    return std::nullopt;
  return Offer{.cost = cost_of(shape, processor),
               .packed_bytes = sizes_of(cut, form).bytes(),
               .scratch_bytes = cut.batch_panels * form.rows * cut.line()};
}

template <const Processor& processor>
constexpr KernelRow row(std::string_view name) {
  return {.name = name,
          .offer = [](const Work& work) { return offer_of(work, processor); },
          .make = [](const Work& work, PackedWeights& weights) -> std::unique_ptr<Kernel> {
            const auto& convolution = std::get<ConvolutionS8>(work.kind);
            return products::make_kernel(convolution, forms_of(convolution.shape, processor), weights);
          }};
}

constexpr Processor kScalar{
    .forms = {.fits = &products::kScalar, .wide = &products::kScalar}, .costs = {}, .is_here = [] { return true; }};
#if defined(__aarch64__)
constexpr XnnCostsS8 kXnnDot{
    .rows = 4, .outputs = 16, .numbers = 4, .sixteen = 79, .least = 24, .window = 18, .end = 131};
// XNNPACK's for a Cortex-A53 multiplies a number at a time, of tiles of four rows.
constexpr XnnCostsS8 kXnnInOrder{
    .rows = 4, .outputs = 16, .numbers = 1, .sixteen = 432, .least = 32, .window = 40, .end = 169};
constexpr Processor kNeonDot{.forms = {.fits = &products::kNeonDot, .wide = &products::kNeonDotWide},
                             .costs = {.sixteen = 74, .end = 107, .xnn = kXnnDot},
                             .is_here = xnn::dot_products};
constexpr Processor kNeon{.forms = {.fits = &products::kNeon, .wide = &products::kNeonWide},
                          .costs = {.sixteen = 55, .end = 55, .xnn = kXnnWithoutDot},
                          .is_here = [] { return !xnn::dot_products(); }};
constexpr Processor kNeonInOrder{.forms = {.fits = &products::kNeonInOrder, .wide = &products::kNeonWide},
                                 .costs = {.sixteen = 66, .end = 85, .xnn = kXnnInOrder},
                                 .is_here = [] { return !xnn::dot_products(); },
                                 .in_order = true};
#else
constexpr Processor kNeonDot{
    .forms = {.fits = &products::kScalar, .wide = &products::kScalar}, .costs = {}, .is_here = [] { return false; }};
constexpr Processor kNeon = kNeonDot;
constexpr Processor kNeonInOrder = kNeonDot;
#endif

#if defined(__x86_64__)
// Measured (docs/benchmarks.md).
double cost_of_avx2(const ConvolutionShape& shape) {
  const std::size_t rows = shape.batch * shape.output_height * shape.output_width;
  if (xnnpack_has_byte_products() || rows < products::kRows) return 1;
  return avx2_step(static_cast<double>(shape.taps() * shape.input_channels * shape.outputs()));
}
// What halving costs a row, many numbers for many outputs bring in again.
FormsS8<Form> forms_of_avx2(const ConvolutionShape& shape) {
  constexpr std::size_t kLeastNumbers = 64;
  constexpr std::size_t kLeastOutputs = 32;
  const bool pays = shape.taps() * shape.input_channels >= kLeastNumbers && shape.output_channels >= kLeastOutputs;
  const Form* form = pays ? &products::kAvx2Halved : &products::kAvx2;
  return {.fits = form, .wide = form};
}
constexpr Processor kAvx2{.forms = {.fits = &products::kAvx2, .wide = &products::kAvx2},
                          .forms_of = forms_of_avx2,
                          .costs = {},
                          .is_here = has_avx2,
                          .cost = cost_of_avx2};
#else
constexpr Processor kAvx2{
    .forms = {.fits = &products::kScalar, .wide = &products::kScalar}, .costs = {}, .is_here = never};
#endif

}  // namespace

const KernelRow kProductsS8Avx2 = row<kAvx2>("products_s8__avx2");
const KernelRow kProductsS8NeonDot = row<kNeonDot>("products_s8__neondot");
const KernelRow kProductsS8Neon = row<kNeon>("products_s8__neon");
const KernelRow kProductsS8NeonInOrder = row<kNeonInOrder>("products_s8__neoninorder");
const KernelRow kProductsS8Scalar = row<kScalar>("products_s8__scalar");

}  // namespace kinglet::engine::kernels
