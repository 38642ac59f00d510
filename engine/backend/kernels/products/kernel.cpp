// SPDX-License-Identifier: Apache-2.0
// Why: the kernel of 8-bit products (products_s8.cpp says what for): brings the numbers under windows together, panel
// by panel, and has the form multiply them.
#include <array>
#include <cstring>
#include <span>

#include "engine/backend/kernels/products/cut.h"

namespace kinglet::engine::kernels::products {
namespace {

constexpr std::size_t kMostBlock = 16;  // of any form

class ProductsS8 final : public Kernel {
 public:
  ProductsS8(const ConvolutionS8& work, const FormsS8<Form>& forms, PackedWeights& weights);

  void run(Inputs inputs, Outputs outputs, std::span<std::byte> scratch, pthreadpool_t pool) const override;

 private:
  // The lines of the input under one of the output; null in the padding.
  struct Lines {
    std::array<const std::int8_t*, kMostTapRows> of{};
    bool are_whole = true;  // none is null
  };

  void pack(const ConvolutionNumbers& numbers, const LayerS8& to) const;
  [[nodiscard]] std::int64_t products_of_runs(std::span<const std::int8_t> block, std::size_t output) const;
  [[nodiscard]] const std::int8_t* pixel_of(const std::int8_t* input, std::size_t row) const;
  struct Blocks {
    std::size_t begin = 0, end = 0;
  };
  void run_panel(const std::int8_t* input, std::int8_t* output, std::size_t index, const Blocks& blocks) const;
  // A pixel of the output, and what of the input lies under its line.
  struct Place {
    std::size_t x = 0, line = 0;
    Lines lines;
  };
  void run_band(const std::int8_t* input, std::int8_t* output, std::size_t band, const Blocks& blocks) const;
  void run_batch(const std::int8_t* input, std::int8_t* output, std::size_t first, std::int8_t* numbers,
                 pthreadpool_t pool) const;
  [[nodiscard]] Place place_of(const std::int8_t* input, std::size_t pixel) const;
  [[nodiscard]] Lines lines_under(const std::int8_t* input, std::size_t line) const;
  void join_panel(const std::int8_t* input, Place& place, std::size_t index, std::int8_t* to) const;
  void clear_ends(std::int8_t* panel) const;
  void join(const Lines& lines, std::size_t x, std::int8_t* to) const;
  void join_at_border(const Lines& lines, std::size_t x, std::int8_t* to) const;
  void multiply_panel(const std::int8_t* numbers, std::int8_t* output, std::size_t index, const Blocks& blocks) const;
  void fill_up(Product& product) const;
  void multiply(Product& product, const Blocks& blocks) const;
  void multiply_last(Product& product) const;

  ConvolutionShape shape_;
  const Form* form_;
  Cut cut_;
  InnerColumns inner_;
  LevelBounds bounds_;
  std::int8_t padding_;  // the input's zero point
  PackedLayerS8 layer_;
};

// Who packs: the order depends on the layer and on this of the form.
constexpr std::uint64_t kMaker = 0x5052'0000'0000U;

ProductsS8::ProductsS8(const ConvolutionS8& work, const FormsS8<Form>& forms, PackedWeights& weights)
    : shape_(work.shape),
      form_(forms.fits),
      cut_(work.shape, *forms.fits),
      inner_(inner_columns(work.shape)),
      bounds_(work.numbers.output.zero_point, work.numbers.least, work.numbers.most),
      padding_(static_cast<std::int8_t>(work.numbers.input.zero_point)) {
  const FoundLayerS8 found =
      packed_layer_s8(weights, kMaker + (std::uint64_t{form_->is_halved} << 16U) + (form_->block << 8U) + form_->run,
                      sizes_of(cut_, *form_), work, [&](const LayerS8& to) { pack(work.numbers, to); });
  layer_ = found.numbers;
  bounds_.open_for(largest_level(layer_, cut_.numbers + (form_->is_halved ? cut_.numbers / 2 : 0)));
  if (!found.fits) form_ = forms.wide;
}

void ProductsS8::pack(const ConvolutionNumbers& numbers, const LayerS8& to) const {
  const std::size_t channels = shape_.input_channels;
  const std::size_t taps = shape_.taps();
  const std::size_t in_runs = cut_.numbers / form_->run * form_->run;
  for (std::size_t output = 0; output < shape_.output_channels; ++output) {
    const std::size_t of_block = output / form_->block * form_->block * cut_.numbers;
    std::int32_t sum = 0;
    for (std::size_t channel = 0; channel < channels; ++channel) {
      for (std::size_t tap = 0; tap < taps; ++tap) {
        const std::int8_t weight = numbers.weights[(output * channels + channel) * taps + tap];
        const std::size_t k = tap * channels + channel;
        const std::size_t run = k < in_runs ? form_->run : cut_.numbers - in_runs;
        const std::size_t first = k / form_->run * form_->run;
        to.weights[of_block + first * form_->block + output % form_->block * run + k - first] = weight;
        sum += weight;
      }
    }
    std::int64_t without = std::int64_t{numbers.input.zero_point} * sum;
    if (form_->is_halved) without += products_of_runs(to.weights.subspan(of_block), output % form_->block);
    to.bias[output * form_->bias_lanes] =
        wrapping_difference(numbers.bias_of(output), static_cast<std::int32_t>(without));
    to.factors[output] = numbers.factor_of(output);
  }
}

// Of an output's packed weights in a block: those of every other run times those in their places in the next one.
std::int64_t ProductsS8::products_of_runs(std::span<const std::int8_t> block, std::size_t output) const {
  const std::size_t step = form_->block * form_->run;
  std::int64_t sum = 0;
  for (std::size_t run = output * form_->run; run < cut_.numbers * form_->block; run += 2 * step) {
    for (std::size_t i = 0; i < form_->run; ++i) sum += std::int64_t{block[run + i]} * block[run + step + i];
  }
  return sum;
}

void ProductsS8::run(Inputs inputs, Outputs outputs, std::span<std::byte> scratch, pthreadpool_t pool) const {
  const auto* input = reinterpret_cast<const std::int8_t*>(inputs[0].data());
  auto* output = reinterpret_cast<std::int8_t*>(outputs[0].data());
  if (cut_.batch_panels > 0) {
    auto* numbers = reinterpret_cast<std::int8_t*>(scratch.data());
    for (std::size_t first = 0; first < cut_.panels; first += cut_.batch_panels)
      run_batch(input, output, first, numbers, pool);
    return;
  }
  run_parts(cut_.bands * cut_.chunks, pool, [&](std::size_t part) {
    const std::size_t chunk = cut_.chunk_by_chunk ? part / cut_.bands : part % cut_.chunks;
    const std::size_t band = cut_.chunk_by_chunk ? part % cut_.bands : part / cut_.chunks;
    const Blocks blocks{.begin = cut_.first_block(chunk), .end = cut_.first_block(chunk + 1)};
    if (cut_.joined) {
      run_band(input, output, band, blocks);
    } else {
      run_panel(input, output, band, blocks);
    }
  });
}

// Under a pixel of the output, of all images.
const std::int8_t* ProductsS8::pixel_of(const std::int8_t* input, std::size_t row) const {
  const xnn::Window& window = shape_.window;
  if (window.stride_height == 1 && window.stride_width == 1) return input + row * shape_.input_channels;
  const std::size_t x = row % shape_.output_width * window.stride_width;
  const std::size_t line = row / shape_.output_width;
  const std::size_t y = line % shape_.output_height * window.stride_height;
  const std::size_t image = line / shape_.output_height;
  return input + ((image * shape_.input_height + y) * shape_.input_width + x) * shape_.input_channels;
}

void ProductsS8::run_panel(const std::int8_t* input, std::int8_t* output, std::size_t index,
                           const Blocks& blocks) const {
  const std::size_t first = cut_.first_pixel(index);
  const std::size_t count = cut_.first_pixel(index + 1) - first;
  Product product;
  product.row_count = count;
  output += blocks.begin * form_->block + first * shape_.output_channels;
  for (std::size_t i = 0; i < count; ++i, output += shape_.output_channels) {
    product.rows[i] = pixel_of(input, first + i);
    product.outputs[i] = output;
  }
  fill_up(product);
  multiply(product, blocks);
}

void ProductsS8::run_band(const std::int8_t* input, std::int8_t* output, std::size_t band, const Blocks& blocks) const {
  alignas(16) std::array<std::int8_t, kMostRows*(kMostJoined + 3 * kReadBehind)> numbers;
  const std::size_t first = cut_.first_panel(band);
  Place place = place_of(input, cut_.first_pixel(first));
  clear_ends(numbers.data());
  for (std::size_t index = first; index < cut_.first_panel(band + 1); ++index) {
    join_panel(input, place, index, numbers.data());
    multiply_panel(numbers.data(), output, index, blocks);
  }
}

// All rows are brought together before the first chunk of the weights is asked for.
void ProductsS8::run_batch(const std::int8_t* input, std::int8_t* output, std::size_t first, std::int8_t* numbers,
                           pthreadpool_t pool) const {
  const std::size_t count = std::min(cut_.batch_panels, cut_.panels - first);
  const std::size_t panel_bytes = form_->rows * cut_.line();
  run_parts(count, pool, [&](std::size_t part) {
    Place place = place_of(input, cut_.first_pixel(first + part));
    clear_ends(numbers + part * panel_bytes);
    join_panel(input, place, first + part, numbers + part * panel_bytes);
  });
  run_parts(count * cut_.chunks, pool, [&](std::size_t part) {
    const std::size_t chunk = part / count;
    multiply_panel(numbers + part % count * panel_bytes, output, first + part % count,
                   {.begin = cut_.first_block(chunk), .end = cut_.first_block(chunk + 1)});
  });
}

ProductsS8::Place ProductsS8::place_of(const std::int8_t* input, std::size_t pixel) const {
  const std::size_t line = pixel / shape_.output_width;
  return {.x = pixel % shape_.output_width, .line = line, .lines = lines_under(input, line)};
}

// The rows of a panel from a place on, which moves behind them.
void ProductsS8::join_panel(const std::int8_t* input, Place& place, std::size_t index, std::int8_t* to) const {
  const std::size_t count = cut_.first_pixel(index + 1) - cut_.first_pixel(index);
  for (std::size_t i = 0; i < count; ++i, to += cut_.line()) {
    if (place.x == shape_.output_width) {
      place.x = 0;
      place.lines = lines_under(input, ++place.line);
    }
    join(place.lines, place.x++, to);
  }
}

void ProductsS8::multiply_panel(const std::int8_t* numbers, std::int8_t* output, std::size_t index,
                                const Blocks& blocks) const {
  const std::size_t first = cut_.first_pixel(index);
  Product product;
  product.row_count = cut_.first_pixel(index + 1) - first;
  output += blocks.begin * form_->block + first * shape_.output_channels;
  for (std::size_t i = 0; i < product.row_count; ++i) {
    product.rows[i] = numbers + i * cut_.line();
    product.outputs[i] = output + i * shape_.output_channels;
  }
  fill_up(product);
  multiply(product, blocks);
}

ProductsS8::Lines ProductsS8::lines_under(const std::int8_t* input, std::size_t line) const {
  const xnn::Window& window = shape_.window;
  const std::size_t line_bytes = shape_.input_width * shape_.input_channels;
  input += line / shape_.output_height * shape_.input_height * line_bytes;
  Lines lines;
  for (std::size_t tap = 0; tap < window.kernel_height; ++tap) {
    const std::size_t y = input_place(line % shape_.output_height, window.stride_height, tap, window.dilation_height,
                                      window.pad_top, shape_.input_height);
    lines.of[tap] = y == kOutside ? nullptr : input + y * line_bytes;
    lines.are_whole &= y != kOutside;
  }
  return lines;
}

// What stands behind the numbers under a window meets weights of zero, but shall not be what was on the stack.
void ProductsS8::clear_ends(std::int8_t* panel) const {
  for (std::size_t row = 0; row < form_->rows; ++row)
    std::fill_n(panel + row * cut_.line() + cut_.numbers - form_->step, form_->step, std::int8_t{0});
}

// Sixteen bytes at a time; up to fifteen behind the end.
void copy_sixteens(const std::int8_t* from, std::size_t bytes, std::int8_t* to) {
  for (std::size_t i = 0; i < bytes; i += kReadBehind) std::memcpy(to + i, from + i, kReadBehind);
}

// The numbers under the window of a pixel, tap by tap. May write kReadBehind behind them.
void ProductsS8::join(const Lines& lines, std::size_t x, std::int8_t* to) const {
  if (!lines.are_whole || x < inner_.begin || x >= inner_.end || shape_.window.dilation_width > 1)
    return join_at_border(lines, x, to);
  const std::size_t from = (x * shape_.window.stride_width - shape_.window.pad_left) * shape_.input_channels;
  // What is written might be the shape, as far as the compiler knows.
  const std::size_t bytes = shape_.window.kernel_width * shape_.input_channels;
  const std::size_t tap_rows = shape_.window.kernel_height;
  for (std::size_t row = 0; row < tap_rows; ++row, to += bytes) copy_sixteens(lines.of[row] + from, bytes, to);
}

void ProductsS8::join_at_border(const Lines& lines, std::size_t x, std::int8_t* to) const {
  const xnn::Window& window = shape_.window;
  const std::size_t channels = shape_.input_channels;
  for (std::size_t row = 0; row < window.kernel_height; ++row) {
    const std::int8_t* line = lines.of[row];
    for (std::size_t tap = 0; tap < window.kernel_width; ++tap, to += channels) {
      const std::size_t from =
          input_place(x, window.stride_width, tap, window.dilation_width, window.pad_left, shape_.input_width);
      if (line == nullptr || from == kOutside) {
        std::memset(to, padding_, channels);
      } else {
        std::memcpy(to, line + from * channels, channels);
      }
    }
  }
}

// The last row in place of those that are missing.
void ProductsS8::fill_up(Product& product) const {
  for (std::size_t i = product.row_count; i < form_->rows; ++i) {
    product.rows[i] = product.rows[product.row_count - 1];
    product.outputs[i] = product.outputs[product.row_count - 1];
  }
}

// Of a product with its rows, and outputs from the first block on.
void ProductsS8::multiply(Product& product, const Blocks& blocks) const {
  const std::size_t first = blocks.begin * form_->block;
  product.numbers = cut_.numbers;
  product.weights = layer_.weights.data() + first * cut_.numbers;
  product.bias = layer_.bias.data() + first * form_->bias_lanes;
  product.factors = layer_.factors.data() + first;
  product.bounds = &bounds_;
  product.blocks = std::min(blocks.end, shape_.output_channels / form_->block) - blocks.begin;
  const bool is_whole = blocks.begin + product.blocks == blocks.end;
  product.has_half = !is_whole && form_->has_halves && shape_.output_channels % form_->block == form_->block / 2;
  if (product.blocks > 0 || product.has_half) form_->multiply(product);
  if (!is_whole && !product.has_half) multiply_last(product);
}

// The last block, where the outputs end within it: by way of a whole one.
void ProductsS8::multiply_last(Product& product) const {
  const std::size_t behind = product.blocks * form_->block;
  const std::size_t first = (cut_.blocks - 1) * form_->block;
  product.weights = layer_.weights.data() + first * cut_.numbers;
  product.bias = layer_.bias.data() + first * form_->bias_lanes;
  product.factors = layer_.factors.data() + first;
  product.blocks = 1;
  product.has_half = false;
  std::array<std::int8_t, kMostRows * kMostBlock> levels;
  std::array<std::int8_t*, kMostRows> outputs;
  for (std::size_t i = 0; i < form_->rows; ++i) {
    outputs[i] = product.outputs[i] + behind;
    product.outputs[i] = levels.data() + i * kMostBlock;
  }
  form_->multiply(product);
  for (std::size_t i = 0; i < product.row_count; ++i)
    std::memcpy(outputs[i], levels.data() + i * kMostBlock, shape_.output_channels - first);
}

}  // namespace

std::unique_ptr<Kernel> make_kernel(const ConvolutionS8& work, const FormsS8<Form>& forms, PackedWeights& weights) {
  return std::make_unique<ProductsS8>(work, forms, weights);
}

}  // namespace kinglet::engine::kernels::products
