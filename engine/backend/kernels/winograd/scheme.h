// SPDX-License-Identifier: Apache-2.0
// Why: into which tiles a 3x3 convolution falls, and of which products the outputs of one are made: what the transforms
// of all processors, the order of weights and the cost have in common.
//
// The polynomials are taken at 0, +-5/8, +-3/2 and infinity (kFour) and at 0, +-1 and infinity (kTwo); with a step of
// two (kStridedTwo) at 0, 1 and infinity of the even inputs alone. All factors of the transforms (transforms.h) are
// exact in float and in float16; against 0, +-1, +-2 the error of kFour is halved (docs/decisions/0026-winograd.md).
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace kinglet::engine::kernels::winograd {

inline constexpr std::size_t kMostSide = 6;
inline constexpr std::size_t kMostPoints = kMostSide * kMostSide;

inline constexpr float kA = 0.625F, kB = 1.5F;
inline constexpr float kA2 = kA * kA, kB2 = kB * kB;
// A filter's points at +-kB are the smallest by far, and are kept so many times larger for each of a point's two
// directions: fewer weights are too small for float16.
inline constexpr float kUp = 2;

// All of it is the same in both directions.
struct Scheme {
  std::size_t size;  // of a tile's outputs
  std::size_t step;  // of the convolution
  std::size_t side;  // of a tile's input, and of the points that it becomes
  std::size_t sums;  // that become the outputs, each of the products of one point or two
  // The first point of each sum, and behind the last one.
  std::array<std::size_t, kMostSide + 1> first_points;
  std::array<std::array<double, 3>, kMostSide> filter;  // of its taps each point of a filter
  double transforms;  // what they take of a channel of a tile, in products (docs/benchmarks.md)
  double error;       // that they make of one rounding (error.h)

  [[nodiscard]] constexpr std::size_t all_points() const { return side * side; }
  [[nodiscard]] constexpr std::size_t all_sums() const { return sums * sums; }
  [[nodiscard]] constexpr std::size_t points_in(std::size_t sum) const {
    return first_points[sum + 1] - first_points[sum];
  }
  [[nodiscard]] constexpr std::size_t sum_of(std::size_t point) const {
    std::size_t sum = 0;
    while (first_points[sum + 1] <= point) ++sum;
    return sum;
  }

  // Of both: a tile's points lie sum by sum, so that one product takes all of a sum's.
  [[nodiscard]] constexpr std::size_t points_of(std::size_t sum) const {
    return points_in(sum / sums) * points_in(sum % sums);
  }
  [[nodiscard]] constexpr std::size_t first_of(std::size_t sum) const {
    return first_points[sum / sums] * side + points_in(sum / sums) * first_points[sum % sums];
  }
  [[nodiscard]] constexpr std::size_t sum_at(std::size_t y, std::size_t x) const {
    return sum_of(y) * sums + sum_of(x);
  }
  [[nodiscard]] constexpr std::size_t place_of(std::size_t y, std::size_t x) const {
    return first_of(sum_at(y, x)) + (y - first_points[sum_of(y)]) * points_in(sum_of(x)) + x - first_points[sum_of(x)];
  }
};

// 16 products for 36.
inline constexpr Scheme kTwo{.size = 2,
                             .step = 1,
                             .side = 4,
                             .sums = 4,
                             .first_points = {0, 1, 2, 3, 4},
                             .filter = {{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}},
                             .transforms = 80,
                             .error = 4};

// 36 for 144.
inline constexpr double kOfA = 1 / (2.0 * kA2 * (kA2 - kB2));
inline constexpr double kOfB = kUp / (2.0 * kB2 * (kB2 - kA2));
inline constexpr Scheme kFour{.size = 4,
                              .step = 1,
                              .side = 6,
                              .sums = 6,
                              .first_points = {0, 1, 2, 3, 4, 5, 6},
                              .filter = {{{1.0 / (kA2 * kB2), 0, 0},
                                          {kOfA, kOfA* kA, kOfA* kA2},
                                          {kOfA, -kOfA* kA, kOfA* kA2},
                                          {kOfB, kOfB* kB, kOfB* kB2},
                                          {kOfB, -kOfB* kB, kOfB* kB2},
                                          {0, 0, 1}}},
                              .transforms = 250,
                              .error = 20};

// 25 for 36: with a step of two an output's outer taps look at even inputs, of which three products make two outputs,
// and its middle tap at odd ones.
inline constexpr Scheme kStridedTwo{.size = 2,
                                    .step = 2,
                                    .side = 5,
                                    .sums = 3,
                                    .first_points = {0, 2, 3, 5},
                                    .filter = {{{1, 0, 0}, {0, 1, 0}, {1, 0, 1}, {0, 0, 1}, {0, 1, 0}}},
                                    .transforms = 100,
                                    .error = 4};

// The points of a filter, row by row: in double, so that what they are rounded to is all that they are off.
[[nodiscard]] inline std::array<double, kMostPoints> filter_points(const Scheme& scheme,
                                                                   std::span<const float, 9> filter) {
  std::array<std::array<double, 3>, kMostSide> half{};  // [points of a column][columns]
  for (std::size_t y = 0; y < scheme.side; ++y) {
    const auto& of = scheme.filter[y];
    for (std::size_t x = 0; x < 3; ++x) half[y][x] = of[0] * filter[x] + of[1] * filter[3 + x] + of[2] * filter[6 + x];
  }
  std::array<double, kMostPoints> points{};
  for (std::size_t y = 0; y < scheme.side; ++y) {
    for (std::size_t x = 0; x < scheme.side; ++x) {
      const auto& of = scheme.filter[x];
      points[y * scheme.side + x] = half[y][0] * of[0] + half[y][1] * of[1] + half[y][2] * of[2];
    }
  }
  return points;
}

}  // namespace kinglet::engine::kernels::winograd
