// SPDX-License-Identifier: Apache-2.0
// Why: the transforms of a Winograd convolution, written once for vectors of any width: a form (form.h) gives
// its vector, so that all forms do the same arithmetic in the same order and give the same bits.
#pragma once

#include <cstddef>
#include <utility>

#include "engine/backend/kernels/vectors/ahead.h"
#include "engine/backend/kernels/vectors/unroll.h"
#include "engine/backend/kernels/winograd/form.h"
#include "engine/backend/kernels/winograd/scheme.h"

namespace kinglet::engine::kernels::winograd {

// `Simd` has Number, Vector, kLanes, load, store, set (of a float, too), add, subtract, multiply, min, max, fma(a, b,
// c) = a * b + c in one rounding and fnma(a, b, c) = c - a * b.
template <typename Simd>
struct Lines {
  using V = typename Simd::Vector;

  static void input(const V (&from)[4], V (&to)[4]) {
    to[0] = Simd::subtract(from[0], from[2]);
    to[1] = Simd::add(from[1], from[2]);
    to[2] = Simd::subtract(from[2], from[1]);
    to[3] = Simd::subtract(from[1], from[3]);
  }

  static void input(const V (&from)[6], V (&to)[6]) {
    const V a = Simd::set(kA);
    const V b = Simd::set(kB);
    const V a2 = Simd::set(kA2);
    const V b2 = Simd::set(kB2);
    const V both = Simd::set(kA2 + kB2);
    const V product = Simd::set(kA2 * kB2);
    const V even_a = Simd::fnma(b2, from[2], from[4]);
    const V odd_a = Simd::fnma(b2, from[1], from[3]);
    const V even_b = Simd::fnma(a2, from[2], from[4]);
    const V odd_b = Simd::fnma(a2, from[1], from[3]);
    to[0] = Simd::fma(product, from[0], Simd::fnma(both, from[2], from[4]));
    to[1] = Simd::fma(a, odd_a, even_a);
    to[2] = Simd::fnma(a, odd_a, even_a);
    to[3] = Simd::fma(b, odd_b, even_b);
    to[4] = Simd::fnma(b, odd_b, even_b);
    to[5] = Simd::fma(product, from[1], Simd::fnma(both, from[3], from[5]));
  }

  static void input(const V (&from)[5], V (&to)[5]) {
    to[0] = Simd::subtract(from[0], from[2]);
    to[1] = from[1];
    to[2] = from[2];
    to[3] = Simd::subtract(from[4], from[2]);
    to[4] = from[3];
  }

  static void output(const V (&from)[3], V (&to)[2]) {
    to[0] = Simd::add(from[0], from[1]);
    to[1] = Simd::add(from[2], from[1]);
  }

  static void output(const V (&from)[4], V (&to)[2]) {
    to[0] = Simd::add(Simd::add(from[0], from[1]), from[2]);
    to[1] = Simd::subtract(Simd::subtract(from[1], from[2]), from[3]);
  }

  static void output(const V (&from)[6], V (&to)[4]) {
    const V sum_a = Simd::add(from[1], from[2]);
    const V sum_b = Simd::add(from[3], from[4]);
    const V difference_a = Simd::subtract(from[1], from[2]);
    const V difference_b = Simd::subtract(from[3], from[4]);
    to[0] = Simd::fma(Simd::set(1 / kUp), sum_b, Simd::add(from[0], sum_a));
    to[1] = Simd::fma(Simd::set(kA), difference_a, Simd::multiply(Simd::set(kB / kUp), difference_b));
    to[2] = Simd::fma(Simd::set(kA2), sum_a, Simd::multiply(Simd::set(kB2 / kUp), sum_b));
    to[3] = Simd::fma(Simd::set(kA2 * kA), difference_a, Simd::fma(Simd::set(kB2 * kB / kUp), difference_b, from[5]));
  }
};

// Of a tile's points: how many come before each, and how many sums. Worked out by the compiler alone: nothing of a
// scheme is called in a form.
struct Places {
  std::size_t points[kMostSide][kMostSide], sums[kMostSide][kMostSide];
};
consteval Places places_of(const Scheme& scheme) {
  Places places{};
  for (std::size_t y = 0; y < scheme.side; ++y) {
    for (std::size_t x = 0; x < scheme.side; ++x) {
      places.points[y][x] = scheme.place_of(y, x);
      places.sums[y][x] = scheme.sum_at(y, x);
    }
  }
  return places;
}

template <typename Simd, const Scheme& kScheme>
void transform_input(const InputTile<typename Simd::Number>& of) {
  constexpr std::size_t kSide = kScheme.side;
  using V = typename Simd::Vector;
  const auto* pixels = of.pixels;
  // A row's are told from its first one: where all were told from the tile's, GCC 14 made a tenth more instructions.
  const auto place_of = [step = of.point_step](std::size_t y, std::size_t x) {
    constexpr Places kPlaces = places_of(kScheme);
    const std::size_t sum = kPlaces.sums[y][x];
    return sum * (step + kLine<typename Simd::Number>)+(kPlaces.points[y][x] - sum) * step;
  };
  auto* to = of.points;
  for (std::size_t channel = 0; channel < of.channels; channel += Simd::kLanes, to += of.vector_step) {
    V columns[kSide][kSide];
    KINGLET_UNROLL
    for (std::size_t x = 0; x < kSide; ++x) {
      V line[kSide];
      KINGLET_UNROLL
      for (std::size_t y = 0; y < kSide; ++y) line[y] = Simd::load(pixels[y * kSide + x] + channel);
      Lines<Simd>::input(line, columns[x]);
    }
    auto* row = to;
    KINGLET_UNROLL
    for (std::size_t y = 0; y < kSide; ++y) {
      if (y > 0) row += place_of(y, 0) - place_of(y - 1, 0);
      V line[kSide];
      V points[kSide];
      KINGLET_UNROLL
      for (std::size_t x = 0; x < kSide; ++x) line[x] = columns[x][y];
      Lines<Simd>::input(line, points);
      KINGLET_UNROLL
      for (std::size_t x = 0; x < kSide; ++x) Simd::store(row + (place_of(y, x) - place_of(y, 0)), points[x]);
    }
  }
}

// The last channels of a layer may be fewer than a vector.
template <typename Simd>
void store_some(typename Simd::Number* to, typename Simd::Vector numbers, std::size_t count) {
  __builtin_memcpy(to, &numbers, count * sizeof(*to));
}

// A row of a tile: so many of its pixels, and of each pixel so many channels, at most a vector.
template <typename Simd, std::size_t kSize>
void store_line(const typename Simd::Vector (&line)[kSize], typename Simd::Number* to, std::size_t pixel_step,
                std::size_t pixels, std::size_t channels) {
  if (pixels == kSize && channels >= Simd::kLanes) {
    KINGLET_UNROLL
    for (std::size_t x = 0; x < kSize; ++x) Simd::store(to + x * pixel_step, line[x]);
    return;
  }
  KINGLET_UNROLL
  for (std::size_t x = 0; x < kSize; ++x) {
    if (x >= pixels) break;
    if (channels >= Simd::kLanes) {
      Simd::store(to + x * pixel_step, line[x]);
    } else {
      store_some<Simd>(to + x * pixel_step, line[x], channels);
    }
  }
}

template <typename Simd, const Scheme& kScheme, std::size_t kSumStep>
void transform_output(const OutputTiles<typename Simd::Number>& of) {
  constexpr std::size_t kSize = kScheme.size;
  constexpr std::size_t kSums = kScheme.sums;
  using V = typename Simd::Vector;
  const V least = Simd::set(of.least);
  const V most = Simd::set(of.most);
  // Copied, since outputs might lie over the rest of it, as far as the compiler knows.
  const std::size_t channels = of.channels, pixel_step = of.pixel_step, row_step = of.row_step;
  const bool has_most = of.has_most;
  for (std::size_t tile = 0; tile < of.tiles; ++tile) {
    const auto [output, first_added, tile_rows, tile_columns] = of.places[tile];
    for (std::size_t channel = 0; channel < channels; channel += Simd::kLanes) {
      const auto* sums = of.sums + tile * of.tile_step + channel;
      V rows[kSize][kSums];
      KINGLET_UNROLL
      for (std::size_t x = 0; x < kSums; ++x) {
        V line[kSums];
        V column[kSize];
        KINGLET_UNROLL
        for (std::size_t y = 0; y < kSums; ++y) line[y] = Simd::load(sums + (y * kSums + x) * kSumStep);
        Lines<Simd>::output(line, column);
        KINGLET_UNROLL
        for (std::size_t y = 0; y < kSize; ++y) rows[y][x] = column[y];
      }
      const V bias = Simd::load(of.bias + channel);
      const std::size_t count = channels - channel;
      auto* to = output + channel;
      const auto* added = first_added == nullptr ? nullptr : first_added + channel;
      for (std::size_t y = 0; y < tile_rows; ++y, to += row_step) {
        V line[kSize];
        Lines<Simd>::output(rows[y], line);
        KINGLET_UNROLL
        for (std::size_t x = 0; x < kSize; ++x) line[x] = Simd::add(line[x], bias);
        if (added != nullptr) {
          KINGLET_UNROLL
          for (std::size_t x = 0; x < kSize; ++x) {
            if (x < tile_columns) line[x] = Simd::add(line[x], Simd::load(added + x * pixel_step));
          }
          added += row_step;
        }
        KINGLET_UNROLL
        for (std::size_t x = 0; x < kSize; ++x) line[x] = Simd::max(line[x], least);
        if (has_most) {
          KINGLET_UNROLL
          for (std::size_t x = 0; x < kSize; ++x) line[x] = Simd::min(line[x], most);
        }
        store_line<Simd>(line, to, pixel_step, tile_columns, count);
      }
    }
  }
}

template <typename Simd, const Scheme& kScheme, std::size_t kSumStep>
inline constexpr Transforms<typename Simd::Number> kTransforms{.input = transform_input<Simd, kScheme>,
                                                               .output = transform_output<Simd, kScheme, kSumStep>};
// A form but for its products.
template <typename Simd, std::size_t kTiles, std::size_t kVectors>
consteval Form<typename Simd::Number> form_without_products() {
  constexpr std::size_t kSumStep = kTiles * kVectors * Simd::kLanes;
  return {.lanes = Simd::kLanes,
          .tiles = kTiles,
          .vectors = kVectors,
          .two = kTransforms<Simd, kTwo, kSumStep>,
          .four = kTransforms<Simd, kFour, kSumStep>,
          .strided_two = kTransforms<Simd, kStridedTwo, kSumStep>,
          .multiply = {}};
}

template <typename Simd, std::size_t kTiles, std::size_t kVectors>
void clear(typename Simd::Vector (&sums)[kTiles][kVectors]) {
  KINGLET_UNROLL
  for (std::size_t tile = 0; tile < kTiles; ++tile) {
    KINGLET_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) sums[tile][v] = Simd::set(0.0F);
  }
}

template <typename Simd, std::size_t kTiles, std::size_t kVectors>
void store_all(typename Simd::Number* to, const typename Simd::Vector (&sums)[kTiles][kVectors]) {
  KINGLET_UNROLL
  for (std::size_t tile = 0; tile < kTiles; ++tile) {
    KINGLET_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) Simd::store(to + (tile * kVectors + v) * Simd::kLanes, sums[tile][v]);
  }
}

// For processors that read one number into all lanes as they multiply: the products of one sum. Gives the next one's
// weights.
template <typename Simd, std::size_t kTiles, std::size_t kVectors>
const typename Simd::Number* multiply_one(const typename Simd::Number* tiles, const typename Simd::Number* weights,
                                          std::size_t channels, typename Simd::Number* to) {
  using V = typename Simd::Vector;
  V sums[kTiles][kVectors];
  clear<Simd>(sums);
  for (std::size_t channel = 0; channel < channels; channel += Simd::kLanes, tiles += kTiles * Simd::kLanes) {
    const std::size_t left = channels - channel;
    const std::size_t count = left < Simd::kLanes ? left : Simd::kLanes;
    for (std::size_t i = 0; i < count; ++i, weights += kVectors * Simd::kLanes) {
      ask_for<kVectors * sizeof(V)>(weights, kBytesAhead);
      V factors[kVectors];
      KINGLET_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) factors[v] = Simd::load(weights + v * Simd::kLanes);
      KINGLET_UNROLL
      for (std::size_t tile = 0; tile < kTiles; ++tile) {
        const V number = Simd::set(tiles[tile * Simd::kLanes + i]);
        KINGLET_UNROLL
        for (std::size_t v = 0; v < kVectors; ++v) sums[tile][v] = Simd::fma(number, factors[v], sums[tile][v]);
      }
    }
  }
  store_all<Simd>(to, sums);
  return weights;
}

template <typename Simd, std::size_t kTiles, std::size_t kVectors, std::size_t kSumStep>
void multiply(const Product<typename Simd::Number>& of) {
  const auto* weights = of.weights;
  for (std::size_t sum = 0; sum < of.count; ++sum)
    weights = multiply_one<Simd, kTiles, kVectors>(of.tiles + sum * of.tiles_step, weights, of.channels,
                                                   of.sums + sum * kSumStep);
}

// For those processors.
template <typename Simd, std::size_t kTiles>
consteval Form<typename Simd::Number> form_of() {
  constexpr std::size_t kSumStep = kTiles * 2 * Simd::kLanes;
  auto form = form_without_products<Simd, kTiles, 2>();
  [&form]<std::size_t... kBefore>(std::index_sequence<kBefore...>) {
    ((form.multiply[0][kBefore] = multiply<Simd, kBefore + 1, 1, kSumStep>), ...);
    ((form.multiply[1][kBefore] = multiply<Simd, kBefore + 1, 2, kSumStep>), ...);
  }(std::make_index_sequence<kTiles>());
  return form;
}

}  // namespace kinglet::engine::kernels::winograd
