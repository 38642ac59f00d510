// SPDX-License-Identifier: Apache-2.0
// Why: XNNPACK's convolutions read four to six rows of the input beside each other, a load for each, and on a
// Cortex-A72 a quarter of their instructions multiplies nothing. Here the rows of a panel are woven first, so that one
// load brings the numbers of many; a panel of seven rows fits the sizes of networks for 224x224 (their pixels are
// multiples of 49), and blocks of twelve and of eight outputs their channels. At the end of the kernel stand the
// addition and the clip that end a residual block. Each sum takes its products in XNNPACK's order, with its bits.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/backend/kernels/convolution_parts.h"
#include "engine/backend/kernels/rows.h"
#include "engine/backend/kernels/woven/form.h"
#include "engine/backend/xnnpack/processor.h"
#include "engine/graph/tensor.h"

namespace kinglet::engine::kernels {
namespace {

using woven::Form;
using woven::kMostRows;
using woven::kMostVectors;
using woven::kQuad;

// Of one row, in whole quads: a panel lies on the stack, 63 KiB at most.
constexpr std::size_t kMostNumbers = 2304;
// Of one row whose taps have channels that fill no quad: its numbers are brought together before they are woven.
constexpr std::size_t kMostJoined = 512;
constexpr std::size_t kCopied = 2 * kQuad;  // at a time, so that up to so many less one are written too many

constexpr std::size_t divided_up(std::size_t value, std::size_t by) { return (value + by - 1) / by; }

// How a layer is cut: rows (pixels of the output) into panels, outputs into blocks of three vectors and, at the end, of
// two or one, so that no lane of a vector stays empty.
struct Cut {
  explicit Cut(const ConvolutionShape& shape)
      : joined(shape.input_channels % kQuad != 0 && shape.taps() > 1 && shape.window.dilation_width == 1 &&
               shape.taps() * shape.input_channels <= kMostJoined),
        tap(joined ? shape.input_channels : rounded_up(shape.input_channels, kQuad)),
        numbers(rounded_up(shape.taps() * tap, kQuad)),
        rows(shape.batch * shape.output_height * shape.output_width),
        panels(divided_up(rows, kMostRows)),
        vectors(divided_up(shape.output_channels, kQuad)),
        threes(vectors % 3 == 1 && vectors > 1 ? vectors / 3 - 1 : vectors / 3),
        blocks(threes + divided_up(vectors - 3 * threes, 2)) {
    // Few panels are woven more than once, so that each thread has something.
    constexpr std::size_t kParts = 16;
    constexpr std::size_t kLeastBlocks = 4;  // that pay for weaving
    chunks = std::clamp<std::size_t>(divided_up(kParts, panels), 1, std::max<std::size_t>(blocks / kLeastBlocks, 1));
  }

  [[nodiscard]] std::size_t first_row(std::size_t panel) const { return panel * rows / panels; }
  [[nodiscard]] std::size_t first_block(std::size_t chunk) const { return chunk * blocks / chunks; }
  // Before a block.
  [[nodiscard]] std::size_t vectors_before(std::size_t block) const {
    return std::min(vectors, block <= threes ? 3 * block : 3 * threes + 2 * (block - threes));
  }
  [[nodiscard]] std::size_t packed_bytes() const { return vectors * kQuad * numbers * sizeof(float); }

  bool joined;                 // taps lie one behind the other, in quads as a whole
  std::size_t tap;             // numbers of one, in whole quads where they are not joined
  std::size_t numbers;         // of a row
  std::size_t rows, panels;    // rows are shared out evenly
  std::size_t vectors;         // of outputs
  std::size_t threes, blocks;  // of outputs: of three vectors, and all
  std::size_t chunks = 1;      // of blocks, each a thread's
};

class WovenF32 final : public Kernel {
 public:
  WovenF32(const ConvolutionF32& work, const Form& form, PackedWeights& weights);

  void run(Inputs inputs, Outputs outputs, std::span<std::byte> scratch, pthreadpool_t pool) const override;

 private:
  struct Borders {
    const float* input = nullptr;
    const float* added = nullptr;
    float* output = nullptr;
  };
  // The rows of a part, woven.
  struct Panel {
    std::size_t first = 0, rows = 0;  // pixels of the output
    const float* numbers = nullptr;
  };

  void pack(std::span<const float> filters, float* to) const;
  // Where the window of an output begins, in its image with the padding.
  struct Place {
    const float* image = nullptr;
    std::size_t top = 0, left = 0;
  };
  using Places = std::array<Place, kMostRows>;  // of a panel

  [[nodiscard]] Places places_of(const float* input, std::size_t first, std::size_t rows) const;
  [[nodiscard]] const float* line_under(const Place& place, std::size_t tap_row) const;
  void weave_tap(const Places& places, std::size_t rows, std::size_t tap_row, std::size_t tap_column,
                 float* panel) const;
  void weave_taps(const Places& places, std::size_t rows, float* panel) const;
  void weave_joined(const Places& places, std::size_t rows, float* panel) const;
  void join_row(const Place& place, float* line) const;
  void multiply(const Borders& borders, const Panel& panel, std::size_t first_block, std::size_t end_block) const;
  void multiply_last(const Borders& borders, const Panel& panel, std::size_t block) const;
  [[nodiscard]] woven::Product product_of(const Panel& panel, std::size_t block) const;

  ConvolutionShape shape_;
  xnn::Range range_;
  const Form* form_;
  Cut cut_;
  const float* weights_;        // [blocks][numbers][outputs of the block]
  std::vector<float> bias_;     // in whole vectors
  std::vector<float> padding_;  // the channels of a pixel
};

// Who packs: the order depends on the layer alone.
constexpr std::uint64_t kMaker = 0x574F'0000'0000U;

WovenF32::WovenF32(const ConvolutionF32& work, const Form& form, PackedWeights& weights)
    : shape_(work.shape),
      range_(work.range),
      form_(&form),
      cut_(work.shape),
      weights_(nullptr),
      bias_(cut_.vectors * kQuad),
      padding_(work.shape.input_channels) {
  std::ranges::copy(work.bias, bias_.begin());
  weights_ =
      reinterpret_cast<const float*>(packed_piece(weights, kMaker, cut_.packed_bytes(), [&](std::span<std::byte> to) {
        pack(work.weights.data<float>(), reinterpret_cast<float*>(to.data()));
      }));
}

void WovenF32::pack(std::span<const float> filters, float* to) const {
  const std::size_t channels = shape_.input_channels;
  const std::size_t taps = shape_.taps();
  std::fill_n(to, cut_.packed_bytes() / sizeof(float), 0.0F);
  for (std::size_t block = 0; block < cut_.blocks; ++block) {
    const std::size_t first = cut_.vectors_before(block) * kQuad;
    const std::size_t width = cut_.vectors_before(block + 1) * kQuad - first;
    const std::size_t outputs = std::min(width, shape_.output_channels - first);
    for (std::size_t tap = 0; tap < taps; ++tap) {
      for (std::size_t channel = 0; channel < channels; ++channel) {
        const float* from = filters.data() + (first * channels + channel) * taps + tap;
        float* of_number = to + (tap * cut_.tap + channel) * width;
        for (std::size_t i = 0; i < outputs; ++i) of_number[i] = from[i * channels * taps];
      }
    }
    to += cut_.numbers * width;
  }
}

void WovenF32::run(Inputs inputs, Outputs outputs, std::span<std::byte> /*scratch*/, pthreadpool_t pool) const {
  const Borders borders{.input = reinterpret_cast<const float*>(inputs[0].data()),
                        .added = inputs.size() > 1 ? reinterpret_cast<const float*>(inputs[1].data()) : nullptr,
                        .output = reinterpret_cast<float*>(outputs[0].data())};
  run_parts(cut_.panels * cut_.chunks, pool, [&](std::size_t part) {
    const std::size_t index = part / cut_.chunks;
    const std::size_t chunk = part % cut_.chunks;
    alignas(64) std::array<float, kMostRows * kMostNumbers> numbers;
    const std::size_t first = cut_.first_row(index);
    const Panel panel{.first = first, .rows = cut_.first_row(index + 1) - first, .numbers = numbers.data()};
    const Places places = places_of(borders.input, first, panel.rows);
    if (cut_.joined) {
      weave_joined(places, panel.rows, numbers.data());
    } else {
      weave_taps(places, panel.rows, numbers.data());
    }
    multiply(borders, panel, cut_.first_block(chunk), cut_.first_block(chunk + 1));
  });
}

WovenF32::Places WovenF32::places_of(const float* input, std::size_t first, std::size_t rows) const {
  const std::size_t image_size = shape_.input_height * shape_.input_width * shape_.input_channels;
  std::size_t column = first % shape_.output_width;
  std::size_t line = first / shape_.output_width % shape_.output_height;
  const float* image = input + first / shape_.output_width / shape_.output_height * image_size;
  Places places;
  for (std::size_t row = 0; row < rows; ++row) {
    places[row] = {
        .image = image, .top = line * shape_.window.stride_height, .left = column * shape_.window.stride_width};
    if (++column < shape_.output_width) continue;
    column = 0;
    if (++line < shape_.output_height) continue;
    line = 0;
    image += image_size;
  }
  return places;
}

// The line of the input under a row of taps; null in the padding.
const float* WovenF32::line_under(const Place& place, std::size_t tap_row) const {
  const xnn::Window& window = shape_.window;
  const std::size_t y = input_place(place.top, 1, tap_row, window.dilation_height, window.pad_top, shape_.input_height);
  return y == kOutside ? nullptr : place.image + y * shape_.input_width * shape_.input_channels;
}

void WovenF32::weave_tap(const Places& places, std::size_t rows, std::size_t tap_row, std::size_t tap_column,
                         float* panel) const {
  const xnn::Window& window = shape_.window;
  const std::size_t channels = shape_.input_channels;
  std::array<const float*, kMostRows> pixels{};
  for (std::size_t row = 0; row < rows; ++row) {
    const float* line = line_under(places[row], tap_row);
    const std::size_t x =
        input_place(places[row].left, 1, tap_column, window.dilation_width, window.pad_left, shape_.input_width);
    pixels[row] = line == nullptr || x == kOutside ? padding_.data() : line + x * channels;
  }
  const std::size_t quads = channels / kQuad;
  const std::size_t left = channels % kQuad;
  form_->weave[rows - 1]({.rows = pixels.data(), .quads = quads, .panel = panel});
  if (left == 0) return;
  panel += quads * rows * kQuad;
  for (std::size_t row = 0; row < rows; ++row, panel += kQuad)
    std::fill_n(std::copy_n(pixels[row] + quads * kQuad, left, panel), kQuad - left, 0.0F);
}

void WovenF32::weave_taps(const Places& places, std::size_t rows, float* panel) const {
  for (std::size_t tap_row = 0; tap_row < shape_.window.kernel_height; ++tap_row) {
    for (std::size_t tap_column = 0; tap_column < shape_.window.kernel_width; ++tap_column, panel += cut_.tap * rows)
      weave_tap(places, rows, tap_row, tap_column, panel);
  }
}

// The numbers of one pixel's taps in their order, zeros in the padding. Writes up to kCopied more.
void WovenF32::join_row(const Place& place, float* line) const {
  const xnn::Window& window = shape_.window;
  const std::size_t channels = shape_.input_channels;
  const std::size_t tap_row_size = window.kernel_width * channels;
  const std::size_t left = place.left;
  const std::size_t behind = window.pad_left + shape_.input_width;
  const std::size_t begin =
      std::min<std::size_t>(window.kernel_width, std::max<std::size_t>(window.pad_left, left) - left);
  const std::size_t end = std::min<std::size_t>(window.kernel_width, std::max(behind, left) - left);
  const bool is_whole = begin == 0 && end == window.kernel_width;
  for (std::size_t tap_row = 0; tap_row < window.kernel_height; ++tap_row, line += tap_row_size) {
    const float* from = line_under(place, tap_row);
    if (from == nullptr || !is_whole) std::fill_n(line, tap_row_size, 0.0F);
    if (from == nullptr || begin >= end) continue;
    from += (left + begin - window.pad_left) * channels;
    if (is_whole) {
      for (std::size_t i = 0; i < tap_row_size; i += kCopied) std::memcpy(line + i, from + i, kCopied * sizeof(float));
    } else {
      std::copy_n(from, (end - begin) * channels, line + begin * channels);
    }
  }
}

void WovenF32::weave_joined(const Places& places, std::size_t rows, float* panel) const {
  constexpr std::size_t kLine = kMostJoined + kCopied;  // may be written behind the last tap
  std::array<float, kMostRows * kLine> lines;
  std::array<const float*, kMostRows> starts{};
  for (std::size_t row = 0; row < rows; ++row) {
    float* line = lines.data() + row * kLine;
    join_row(places[row], line);
    std::fill(line + shape_.taps() * cut_.tap, line + cut_.numbers, 0.0F);
    starts[row] = line;
  }
  form_->weave[rows - 1]({.rows = starts.data(), .quads = cut_.numbers / kQuad, .panel = panel});
}

woven::Product WovenF32::product_of(const Panel& panel, std::size_t block) const {
  const std::size_t output = cut_.vectors_before(block) * kQuad;
  return {.panel = panel.numbers,
          .quads = cut_.numbers / kQuad,
          .weights = weights_ + output * cut_.numbers,
          .bias = bias_.data() + output,
          .blocks = 1,
          .output = nullptr,
          .added = nullptr,
          .step = shape_.output_channels,
          .least = range_.min > xnn::kNoMin ? &range_.min : nullptr,
          .most = range_.max < xnn::kNoMax ? &range_.max : nullptr};
}

void WovenF32::multiply(const Borders& borders, const Panel& panel, std::size_t first_block,
                        std::size_t end_block) const {
  const std::size_t whole = cut_.blocks - (shape_.output_channels % kQuad == 0 ? 0 : 1);
  for (std::size_t block = first_block; block < end_block;) {
    if (block == whole) return multiply_last(borders, panel, block);
    const std::size_t vectors = cut_.vectors_before(block + 1) - cut_.vectors_before(block);
    const std::size_t end = std::min({end_block, whole, block < cut_.threes ? cut_.threes : cut_.blocks});
    woven::Product product = product_of(panel, block);
    const std::size_t at = panel.first * shape_.output_channels + cut_.vectors_before(block) * kQuad;
    product.blocks = end - block;
    product.output = borders.output + at;
    product.added = borders.added == nullptr ? nullptr : borders.added + at;
    form_->multiply[vectors - 1][panel.rows - 1](product);
    block = end;
  }
}

// The last block, where the outputs end within a vector: by way of whole ones.
void WovenF32::multiply_last(const Borders& borders, const Panel& panel, std::size_t block) const {
  const std::size_t output = cut_.vectors_before(block) * kQuad;
  const std::size_t width = cut_.vectors * kQuad - output;
  const std::size_t count = shape_.output_channels - output;
  const std::size_t at = panel.first * shape_.output_channels + output;
  std::array<float, kMostRows * kMostVectors * kQuad> sums;
  std::array<float, kMostRows * kMostVectors * kQuad> added{};
  woven::Product product = product_of(panel, block);
  product.step = width;
  product.output = sums.data();
  if (borders.added != nullptr) {
    product.added = added.data();
    for (std::size_t row = 0; row < panel.rows; ++row)
      std::copy_n(borders.added + at + row * shape_.output_channels, count, added.data() + row * width);
  }
  form_->multiply[width / kQuad - 1][panel.rows - 1](product);
  for (std::size_t row = 0; row < panel.rows; ++row)
    std::copy_n(sums.data() + row * width, count, borders.output + at + row * shape_.output_channels);
}

// --- The rows --------------------------------------------------------------------------------------------------------

// In instructions of XNNPACK's for the same, by what was counted (docs/benchmarks.md).
double cost_of(const ConvolutionShape& shape) {
  const Cut cut(shape);
  const auto rows = static_cast<double>(cut.rows);
  const auto vectors = static_cast<double>(cut.vectors);
  const auto numbers = static_cast<double>(cut.numbers);
  const double woven = static_cast<double>(cut.panels * cut.chunks);
  constexpr double kStart = 3000;    // of a step of its own
  constexpr double kOfPanel = 150;   // beside what follows
  constexpr double kWeaving = 0.25;  // of a number
  constexpr double kEnd = 4;         // of a vector of outputs
  // Seven loads and counts for each vector of twelve outputs.
  const double product = 1 + 7 / (12 * rows / static_cast<double>(cut.panels));
  const double own = kStart + woven * kOfPanel + rows * numbers * kWeaving * static_cast<double>(cut.chunks) +
                     rows * vectors * (numbers * product + kEnd);

  constexpr double kXnnProduct = 1.35;
  constexpr std::size_t kXnnRows = 4;
  constexpr std::size_t kXnnVectors = 2;
  const auto of_taps = static_cast<double>(shape.taps() * shape.input_channels);
  const auto xnn = static_cast<double>(rounded_up(cut.rows, kXnnRows) * rounded_up(cut.vectors, kXnnVectors)) *
                   (kXnnProduct * of_taps + kEnd);
  // Fewer rows than XNNPACK's tile has wait for their weights, not for instructions.
  return cut.rows < kXnnRows ? std::max(own / xnn, 1.0) : own / xnn;
}

// A processor that has a form.
struct Processor {
  const Form* form;
  bool (*is_here)();
  bool (*pays)();  // fewer instructions are less time
};

std::optional<Offer> offer_of(const Work& work, const Processor& processor) {
  const auto* convolution = std::get_if<ConvolutionF32>(&work.kind);
  if (convolution == nullptr || !processor.is_here()) return std::nullopt;
  const ConvolutionShape& shape = convolution->shape;
  const Cut cut(shape);
  if (shape.groups != 1 || cut.numbers > kMostNumbers || cut.rows == 0 || cut.numbers == 0 || cut.vectors == 0)
    return std::nullopt;
  const double cost = cost_of(shape);
  return Offer{.cost = processor.form == &woven::kScalar ? kScalarCost
                       : processor.pays()                ? cost
                                                         : std::max(cost, 1.0),
               .packed_bytes = cut.packed_bytes()};
}

template <const Processor& processor>
constexpr KernelRow row(std::string_view name) {
  return {.name = name,
          .offer = [](const Work& work) { return offer_of(work, processor); },
          .make = [](const Work& work, PackedWeights& weights) -> std::unique_ptr<Kernel> {
            return std::make_unique<WovenF32>(std::get<ConvolutionF32>(work.kind), *processor.form, weights);
          }};
}

constexpr Processor kScalar{.form = &woven::kScalar, .is_here = [] { return true; }, .pays = [] { return false; }};
#if defined(__aarch64__)
constexpr Processor kNeon{
    .form = &woven::kNeon, .is_here = [] { return true; }, .pays = [] { return !xnn::runs_in_order(); }};
#else
constexpr Processor kNeon{.form = &woven::kScalar, .is_here = [] { return false; }, .pays = [] { return false; }};
#endif

}  // namespace

const KernelRow kWovenF32Neon = row<kNeon>("woven_f32__neon");
const KernelRow kWovenF32Scalar = row<kScalar>("woven_f32__scalar");

}  // namespace kinglet::engine::kernels
