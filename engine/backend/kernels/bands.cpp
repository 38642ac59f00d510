// SPDX-License-Identifier: Apache-2.0
// Why: the largest value of a MobileNet lies between two layers (engine/backend/bands.h). Where both are kernels of our
// own they run in turns, band by band, and of that value there is a band at a time.
#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "engine/backend/bands.h"
#include "engine/backend/kernels/convolution_parts.h"
#include "engine/backend/kernels/kernel.h"

namespace kinglet::engine::kernels {
namespace {

// Kernels are given what begins at multiples of so many bytes, and may read as many behind its end.
constexpr std::size_t kAlignment = 64;

const ConvolutionF32* convolution_of(const Work& work) {
  const auto* half = std::get_if<ConvolutionF16>(&work.kind);
  return half != nullptr ? half : std::get_if<ConvolutionF32>(&work.kind);
}
std::size_t number_bytes(const Work& work) {
  return std::holds_alternative<ConvolutionF16>(work.kind) ? sizeof(Half) : sizeof(float);
}
const ConvolutionShape& shape_of(const Layered& layer) { return convolution_of(layer.work)->shape; }

Work with_shape(Work work, const ConvolutionShape& shape) {
  if (auto* half = std::get_if<ConvolutionF16>(&work.kind)) half->shape = shape;
  if (auto* single = std::get_if<ConvolutionF32>(&work.kind)) single->shape = shape;
  return work;
}

// Of a row of each value.
struct RowBytes {
  RowBytes(const Layered& pixels, const Layered& windows)
      : input(number_bytes(pixels.work) * shape_of(pixels).input_width * shape_of(pixels).input_channels),
        between(number_bytes(pixels.work) * shape_of(windows).input_width * shape_of(windows).input_channels),
        output(number_bytes(pixels.work) * shape_of(windows).output_width * shape_of(windows).output_channels) {}

  std::size_t input, between, output;
};

bool stand_in_bands(const Layered& pixels, const Layered& windows) {
  const ConvolutionF32* first = convolution_of(pixels.work);
  const ConvolutionF32* second = convolution_of(windows.work);
  if (first == nullptr || second == nullptr || pixels.work.kind.index() != windows.work.kind.index()) return false;
  const ConvolutionShape& shape = second->shape;
  const bool depthwise = shape.groups == shape.input_channels && shape.groups == shape.output_channels;
  if (!is_of_pixels(first->shape.window) || first->shape.groups != 1 || first->adds || second->adds || !depthwise ||
      shape.batch != 1 || shape.output_height == 0)
    return false;
  const RowBytes bytes(pixels, windows);
  return bytes.input % kAlignment == 0 && bytes.output % kAlignment == 0;
}

Between between_of(const Layered& pixels, const Layered& windows) {
  const ConvolutionShape& second = shape_of(windows);
  return {
      .bytes = RowBytes(pixels, windows).between * second.input_height,
      .rows = second.input_height,
      .weight_bytes = shape_of(pixels).input_channels * shape_of(pixels).output_channels * number_bytes(pixels.work),
      .window = second.window,
      .outputs = second.output_height};
}

// Layers of one band.
struct Layers {
  Layers(const Layered& pixels, const Layered& windows, const Band& band) {
    ConvolutionShape first = shape_of(pixels);
    first.input_height = first.output_height = band.rows;
    ConvolutionShape second = shape_of(windows);
    second.input_height = band.rows;
    second.output_height = band.outputs;
    second.window = band.window;
    of_pixels = with_shape(pixels.work, first);
    of_windows = with_shape(windows.work, second);
  }

  Work of_pixels, of_windows;
};

// Bands of the same key have the same kernels.
auto key_of(const Band& band) {
  return std::tuple(band.rows, band.outputs, band.window.pad_top, band.window.pad_bottom);
}
using Key = decltype(key_of(Band{}));

class Bands final : public Kernel {
 public:
  Bands(const Layered& pixels, const Layered& windows, std::size_t count, PackedWeights& weights)
      : bytes_(pixels, windows) {
    const Between between = between_of(pixels, windows);
    std::map<Key, std::size_t> places;
    for (std::size_t i = 0; i < count; ++i) {
      const Band band = band_of(between, i, count);
      const auto [place, is_new] = places.try_emplace(key_of(band), kernels_.size());
      if (is_new) {
        const Layers layers(pixels, windows, band);
        kernels_.push_back({.pixels = pixels.row->make(layers.of_pixels, weights),
                            .windows = windows.row->make(layers.of_windows, weights)});
      }
      bands_.push_back({.rows = band, .kernels = place->second});
      most_rows_ = std::max(most_rows_, band.rows);
    }
  }

  void run(Inputs inputs, Outputs outputs, std::span<std::byte> scratch, pthreadpool_t pool) const override {
    for (const Placed& band : bands_) {
      const std::array input{inputs[0].subspan(band.rows.begin * bytes_.input, band.rows.rows * bytes_.input)};
      const std::array made{scratch.first(band.rows.rows * bytes_.between)};
      const std::array<std::span<const std::byte>, 1> read{made[0]};
      const std::array output{outputs[0].subspan(band.rows.first * bytes_.output, band.rows.outputs * bytes_.output)};
      const std::span<std::byte> left = scratch.subspan(between_bytes(bytes_, most_rows_));
      kernels_[band.kernels].pixels->run(input, made, left, pool);
      kernels_[band.kernels].windows->run(read, output, left, pool);
    }
  }

  static std::size_t between_bytes(const RowBytes& bytes, std::size_t rows) {
    return rounded_up(rows * bytes.between, kAlignment) + kAlignment;
  }

 private:
  struct Kernels {
    std::unique_ptr<Kernel> pixels, windows;
  };
  struct Placed {
    Band rows;
    std::size_t kernels;
  };

  RowBytes bytes_;
  std::vector<Kernels> kernels_;
  std::vector<Placed> bands_;
  std::size_t most_rows_ = 0;
};

}  // namespace

std::optional<Offer> offer_in_bands(const Layered& pixels, const Layered& windows, std::size_t count) {
  if (!stand_in_bands(pixels, windows)) return std::nullopt;
  const Between between = between_of(pixels, windows);
  const auto whole_pixels = pixels.row->offer(pixels.work);
  const auto whole_windows = windows.row->offer(windows.work);
  if (!whole_pixels || !whole_windows) return std::nullopt;
  const auto of_pixels = static_cast<double>(shape_of(pixels).outputs() * shape_of(pixels).input_channels);
  const auto of_windows = static_cast<double>(shape_of(windows).outputs() * shape_of(windows).taps());
  Offer offer{.cost = (whole_pixels->cost * of_pixels + whole_windows->cost * of_windows) / (of_pixels + of_windows)};
  std::map<Key, Band> kinds;
  std::size_t rows = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Band band = band_of(between, i, count);
    kinds.emplace(key_of(band), band);
    rows = std::max(rows, band.rows);
  }
  for (const auto& [key, band] : kinds) {
    const Layers layers(pixels, windows, band);
    for (const auto& part : {pixels.row->offer(layers.of_pixels), windows.row->offer(layers.of_windows)}) {
      if (!part) return std::nullopt;
      offer.packed_bytes += part->packed_bytes;
      offer.scratch_bytes = std::max(offer.scratch_bytes, part->scratch_bytes);
    }
  }
  offer.scratch_bytes += Bands::between_bytes(RowBytes(pixels, windows), rows);
  return offer;
}

std::unique_ptr<Kernel> make_in_bands(const Layered& pixels, const Layered& windows, std::size_t count,
                                      PackedWeights& weights) {
  return std::make_unique<Bands>(pixels, windows, count, weights);
}

std::optional<Offer> offer_in_bands(const Layered& pixels, const Layered& windows) {
  const std::size_t count = stand_in_bands(pixels, windows) ? bands_of(between_of(pixels, windows)) : 1;
  return count > 1 ? offer_in_bands(pixels, windows, count) : std::nullopt;
}

std::unique_ptr<Kernel> make_in_bands(const Layered& pixels, const Layered& windows, PackedWeights& weights) {
  return make_in_bands(pixels, windows, bands_of(between_of(pixels, windows)), weights);
}

}  // namespace kinglet::engine::kernels
