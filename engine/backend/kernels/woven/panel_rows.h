// SPDX-License-Identifier: Apache-2.0
// Why: what the kernel of woven rows (woven.cpp) reads: the numbers under the windows of a panel's pixels, where they
// lie or brought together as its form wants them, woven or one row behind the other.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "engine/backend/kernels/convolution_parts.h"
#include "engine/backend/kernels/woven/cut.h"
#include "engine/backend/kernels/woven/form.h"

namespace kinglet::engine::kernels::woven {

inline constexpr std::size_t kCopied = 8;  // at a time, so that up to so many less one are written too many
// With room for what is written too many.
inline constexpr std::size_t kPanelNumbers = kMostPanelNumbers + kCopied;

template <typename Number>
const std::byte* bytes_of(const Number* numbers) {
  return reinterpret_cast<const std::byte*>(numbers);
}
template <typename Number>
std::byte* bytes_of(Number* numbers) {
  return reinterpret_cast<std::byte*>(numbers);
}
template <typename Number>
const Number* numbers_of(const std::byte* bytes) {
  return reinterpret_cast<const Number*>(bytes);
}

// Up to kCopied - 1 more are read and written.
template <typename Number>
void copy_eights(const Number* from, std::size_t count, Number* to) {
  for (std::size_t i = 0; i < count; i += kCopied) std::memcpy(to + i, from + i, kCopied * sizeof(Number));
}

template <typename Number>
class PanelRows {
 public:
  // Where the window of an output begins, in its image with the padding.
  struct Place {
    const Number* image;
    std::size_t top, left;
  };
  using Places = std::array<Place, kMostRows>;  // of a panel

  PanelRows(const ConvolutionShape& shape, const Cut& cut, const Form<Number>& form)
      : shape_(shape),
        cut_(cut),
        form_(&form),
        inner_(inner_columns(shape)),
        runs_(runs_in_input()),
        in_input_{.step = shape.window.stride_width * shape.input_channels,
                  .runs = runs_.data(),
                  .run_count = runs_.size(),
                  .run_numbers = cut.channels * (taps_are_runs() ? 1 : shape.window.kernel_width)},
        in_panel_{.step = cut.numbers, .runs = &kBegin, .run_count = 1, .run_numbers = cut.numbers},
        padding_(shape.input_channels + kCopied) {}
  PanelRows(const PanelRows&) = delete;
  PanelRows& operator=(const PanelRows&) = delete;

  // At which number of the input a panel's begin, of the first group, where they lie in it: those of one line whose
  // windows lie in it as a whole. For forms that weave no rows.
  [[nodiscard]] std::optional<std::size_t> find(const Cut::Panel& panel) const;
  [[nodiscard]] const Laid* in_input() const { return cut_.in_place ? &in_panel_ : &in_input_; }
  // As fill() and gather_groups() leave them; null: woven.
  [[nodiscard]] const Laid* in_panel() const { return cut_.tile.together == 1 ? &in_panel_ : nullptr; }

  [[nodiscard]] Places places_of(const Number* input, const Cut::Panel& panel) const;
  // Where there is one group: what its form wants of a panel of the input.
  void fill(const Number* input, const Cut::Panel& panel, Number* to) const;
  // Of several groups, for a form that weaves no rows: fills the panel with each group from `group` to `end` and calls
  // take(group).
  template <typename Take>
  void gather_groups(const Places& places, std::size_t rows, std::size_t group, std::size_t end, Number* panel,
                     const Take& take) const;
  // For one that does: where the vectors of the first group's rows lie, [vectors][rows] (Product).
  using Vectors = std::array<const Number*, kMostPanelNumbers / kQuad>;
  void find_vectors(const Places& places, std::size_t rows, Vectors& vectors) const;

 private:
  static constexpr std::size_t kBegin = 0;
  static constexpr std::size_t kEach = kLanes<Number>;      // that are woven as one, where they are
  using Starts = std::array<const std::byte*, kWovenRows>;  // of rows that are woven
  // Of a panel's rows, tap by tap.
  using Pixels = std::array<const Number*, kMostRows * kMostTapsOfGroups>;

  [[nodiscard]] std::size_t line_size() const { return shape_.input_width * shape_.input_channels; }
  // Taps of a line are one run where they lie side by side.
  [[nodiscard]] bool taps_are_runs() const { return shape_.groups > 1 || shape_.window.dilation_width > 1; }
  [[nodiscard]] std::vector<std::size_t> runs_in_input() const;
  // Calls take(pixel) for each tap of an output's window; the padding's where there is no pixel.
  template <typename Take>
  void for_pixels(const Place& place, const Take& take) const;
  void gather(const Pixels& pixels, std::size_t rows, std::size_t group, Number* to) const;
  [[nodiscard]] const Number* line_under(const Place& place, std::size_t tap_row) const;
  // The channels of pixels.
  void weave(const Starts& pixels, std::size_t rows, Number* panel) const;
  void weave_pixels(const Number* input, const Cut::Panel& panel, Number* to) const;
  void weave_tap(const Places& places, std::size_t rows, std::size_t tap_row, std::size_t tap_column,
                 Number* panel) const;
  void weave_taps(const Places& places, std::size_t rows, Number* panel) const;
  void weave_joined(const Places& places, std::size_t rows, Number* panel) const;
  [[gnu::always_inline]] inline void join_row(const Place& place, Number* line) const;
  [[gnu::noinline]] void join_row_at_border(const Place& place, Number* line) const;

  ConvolutionShape shape_;
  Cut cut_;
  const Form<Number>* form_;
  InnerColumns inner_;
  std::vector<std::size_t> runs_;
  Laid in_input_, in_panel_;
  std::vector<Number> padding_;  // the channels of a pixel, and what is read behind them
};

template <typename Number>
std::vector<std::size_t> PanelRows<Number>::runs_in_input() const {
  const xnn::Window& window = shape_.window;
  std::vector<std::size_t> runs;
  for (std::size_t tap_row = 0; tap_row < window.kernel_height; ++tap_row) {
    for (std::size_t tap = 0; tap < (taps_are_runs() ? window.kernel_width : 1); ++tap)
      runs.push_back(tap_row * window.dilation_height * line_size() +
                     tap * window.dilation_width * shape_.input_channels);
  }
  return runs;
}

template <typename Number>
std::optional<std::size_t> PanelRows<Number>::find(const Cut::Panel& panel) const {
  if (cut_.in_place) return panel.first * cut_.numbers;
  const xnn::Window& window = shape_.window;
  const std::size_t column = panel.first % shape_.output_width;
  if (panel.step != 1 || column < inner_.begin || column + panel.rows > inner_.end) return std::nullopt;
  const std::size_t line = panel.first / shape_.output_width;
  const std::size_t top = line % shape_.output_height * window.stride_height;
  const std::size_t bottom = top + std::size_t{window.kernel_height - 1} * window.dilation_height;
  if (top < window.pad_top || bottom >= window.pad_top + shape_.input_height) return std::nullopt;
  const std::size_t from = line / shape_.output_height * shape_.input_height + top - window.pad_top;
  return from * line_size() + (column * window.stride_width - window.pad_left) * shape_.input_channels;
}

template <typename Number>
template <typename Take>
void PanelRows<Number>::gather_groups(const Places& places, std::size_t rows, std::size_t group, std::size_t end,
                                      Number* panel, const Take& take) const {
  Pixels pixels;
  auto* to = pixels.data();
  for (std::size_t row = 0; row < rows; ++row) for_pixels(places[row], [&](const Number* pixel) { *to++ = pixel; });
  for (; group < end; ++group) {
    gather(pixels, rows, group, panel);
    take(group);
  }
}

template <typename Number>
void PanelRows<Number>::find_vectors(const Places& places, std::size_t rows, Vectors& vectors) const {
  for (std::size_t row = 0; row < rows; ++row) {
    auto* to = vectors.data() + row;
    for_pixels(places[row], [&](const Number* pixel) {
      for (std::size_t channel = 0; channel < cut_.channels; channel += kEach, to += rows) *to = pixel + channel;
    });
  }
}

template <typename Number>
template <typename Take>
void PanelRows<Number>::for_pixels(const Place& place, const Take& take) const {
  const xnn::Window& window = shape_.window;
  for (std::size_t tap_row = 0; tap_row < window.kernel_height; ++tap_row) {
    const Number* line = line_under(place, tap_row);
    for (std::size_t tap = 0; tap < window.kernel_width; ++tap) {
      const std::size_t x = input_place(place.left, 1, tap, window.dilation_width, window.pad_left, shape_.input_width);
      take(line == nullptr || x == kOutside ? padding_.data() : line + x * shape_.input_channels);
    }
  }
}

// One row behind the other.
template <typename Number>
void PanelRows<Number>::gather(const Pixels& pixels, std::size_t rows, std::size_t group, Number* to) const {
  for (std::size_t i = 0; i < rows * shape_.taps(); ++i, to += cut_.channels)
    copy_eights(pixels[i] + group * cut_.channels, cut_.channels, to);
}

template <typename Number>
void PanelRows<Number>::fill(const Number* input, const Cut::Panel& panel, Number* to) const {
  if (cut_.of_pixels && !cut_.in_place) return weave_pixels(input, panel, to);
  const Places places = places_of(input, panel);
  if (cut_.tile.together == 1) {
    for (std::size_t row = 0; row < panel.rows; ++row) join_row(places[row], to + row * cut_.numbers);
  } else if (cut_.joined) {
    weave_joined(places, panel.rows, to);
  } else {
    weave_taps(places, panel.rows, to);
  }
}

template <typename Number>
PanelRows<Number>::Places PanelRows<Number>::places_of(const Number* input, const Cut::Panel& panel) const {
  const std::size_t image_size = shape_.input_height * line_size();
  std::size_t column = panel.first % shape_.output_width;
  std::size_t line = panel.first / shape_.output_width % shape_.output_height;
  const Number* image = input + panel.first / shape_.output_width / shape_.output_height * image_size;
  Places places;
  for (std::size_t row = 0; row < panel.rows; ++row) {
    places[row] = {
        .image = image, .top = line * shape_.window.stride_height, .left = column * shape_.window.stride_width};
    for (column += panel.step; column >= shape_.output_width; column -= shape_.output_width) {
      if (++line < shape_.output_height) continue;
      line = 0;
      image += image_size;
    }
  }
  return places;
}

// The line of the input under a row of taps; null in the padding.
template <typename Number>
const Number* PanelRows<Number>::line_under(const Place& place, std::size_t tap_row) const {
  const xnn::Window& window = shape_.window;
  const std::size_t y = input_place(place.top, 1, tap_row, window.dilation_height, window.pad_top, shape_.input_height);
  return y == kOutside ? nullptr : place.image + y * shape_.input_width * shape_.input_channels;
}

template <typename Number>
void PanelRows<Number>::weave(const Starts& pixels, std::size_t rows, Number* panel) const {
  const std::size_t channels = cut_.channels;
  const std::size_t vectors = channels / kEach;
  const std::size_t left = channels % kEach;
  form_->weave[rows - 1]({.rows = pixels.data(), .vectors = vectors, .panel = bytes_of(panel)});
  if (left == 0) return;
  panel += vectors * rows * kEach;
  const std::size_t done = vectors * kEach;
  for (std::size_t row = 0; row < rows; ++row, panel += kEach)
    std::fill_n(std::copy_n(numbers_of<Number>(pixels[row]) + done, left, panel), kEach - left, Number{});
}

template <typename Number>
void PanelRows<Number>::weave_pixels(const Number* input, const Cut::Panel& panel, Number* to) const {
  Starts pixels{};
  const Number* pixel = input + panel.first * cut_.channels;
  for (std::size_t row = 0; row < panel.rows; ++row, pixel += cut_.channels) pixels[row] = bytes_of(pixel);
  weave(pixels, panel.rows, to);
}

template <typename Number>
void PanelRows<Number>::weave_tap(const Places& places, std::size_t rows, std::size_t tap_row, std::size_t tap_column,
                                  Number* panel) const {
  const xnn::Window& window = shape_.window;
  const std::size_t pixel_size = shape_.input_channels;
  Starts pixels{};
  for (std::size_t row = 0; row < rows; ++row) {
    const Number* line = line_under(places[row], tap_row);
    const std::size_t x =
        input_place(places[row].left, 1, tap_column, window.dilation_width, window.pad_left, shape_.input_width);
    pixels[row] = bytes_of(line == nullptr || x == kOutside ? padding_.data() : line + x * pixel_size);
  }
  weave(pixels, rows, panel);
}

template <typename Number>
void PanelRows<Number>::weave_taps(const Places& places, std::size_t rows, Number* panel) const {
  for (std::size_t tap_row = 0; tap_row < shape_.window.kernel_height; ++tap_row) {
    for (std::size_t tap_column = 0; tap_column < shape_.window.kernel_width; ++tap_column, panel += cut_.tap * rows)
      weave_tap(places, rows, tap_row, tap_column, panel);
  }
}

// The numbers of one pixel's taps in their order, zeros in the padding. Writes up to kCopied more.
template <typename Number>
inline void PanelRows<Number>::join_row(const Place& place, Number* line) const {
  const xnn::Window& window = shape_.window;
  const std::size_t bottom = place.top + (window.kernel_height - 1) * window.dilation_height;
  const std::size_t right = place.left + window.kernel_width - 1;
  const bool is_whole = place.top >= window.pad_top && bottom < window.pad_top + shape_.input_height &&
                        place.left >= window.pad_left && right < window.pad_left + shape_.input_width;
  if (!is_whole) return join_row_at_border(place, line);
  const std::size_t channels = shape_.input_channels;
  const Number* from =
      place.image + (place.top - window.pad_top) * line_size() + (place.left - window.pad_left) * channels;
  // What is copied might be the shape, as far as the compiler knows.
  const std::size_t tap_rows = window.kernel_height;
  const std::size_t tap_row_size = window.kernel_width * channels;
  const std::size_t step = window.dilation_height * line_size();
  for (std::size_t tap_row = 0; tap_row < tap_rows; ++tap_row, from += step, line += tap_row_size)
    copy_eights(from, tap_row_size, line);
}

template <typename Number>
void PanelRows<Number>::join_row_at_border(const Place& place, Number* line) const {
  const xnn::Window& window = shape_.window;
  const std::size_t channels = shape_.input_channels;
  const std::size_t tap_row_size = window.kernel_width * channels;
  const std::size_t left = place.left;
  const std::size_t behind = window.pad_left + shape_.input_width;
  const std::size_t begin =
      std::min<std::size_t>(window.kernel_width, std::max<std::size_t>(window.pad_left, left) - left);
  const std::size_t end = std::min<std::size_t>(window.kernel_width, std::max(behind, left) - left);
  for (std::size_t tap_row = 0; tap_row < window.kernel_height; ++tap_row, line += tap_row_size) {
    const Number* from = line_under(place, tap_row);
    std::fill_n(line, tap_row_size, Number{});
    if (from == nullptr || begin >= end) continue;
    from += (left + begin - window.pad_left) * channels;
    std::copy_n(from, (end - begin) * channels, line + begin * channels);
  }
}

template <typename Number>
void PanelRows<Number>::weave_joined(const Places& places, std::size_t rows, Number* panel) const {
  constexpr std::size_t kLine = kMostJoined + kCopied;  // may be written behind the last tap
  std::array<Number, kWovenRows * kLine> lines;
  Starts starts{};
  for (std::size_t row = 0; row < rows; ++row) {
    Number* line = lines.data() + row * kLine;
    join_row(places[row], line);
    std::fill(line + shape_.taps() * cut_.tap, line + cut_.numbers, Number{});
    starts[row] = bytes_of(line);
  }
  form_->weave[rows - 1]({.rows = starts.data(), .vectors = cut_.numbers / kEach, .panel = bytes_of(panel)});
}

}  // namespace kinglet::engine::kernels::woven
