// SPDX-License-Identifier: Apache-2.0
// Why: what the Winograd kernel (winograd.cpp) leaves to a processor: the sums, and nothing of where numbers lie
// beyond one tile. A form is compiled for its processor alone, so that its file takes no code from elsewhere that
// others might get to run.
#pragma once

#include <cstddef>

#include "engine/backend/kernels/winograd/scheme.h"
#include "engine/graph/data_type.h"

namespace kinglet::engine::kernels::winograd {

// Numbers in a line of a cache: so many lie between the points of one sum and the next, since without them a tile's
// points would lie in few sets of a cache.
template <typename Number>
inline constexpr std::size_t kLine = 64 / sizeof(Number);

// One tile of the input becomes its points. Steps are in numbers.
template <typename Number>
struct InputTile {
  const Number* const* pixels;          // side * side, row by row; zeros where there is padding
  std::size_t channels;                 // up to the next whole vector are read and written
  Number* points;                       // [places][vectors of channels][tiles of the group][lanes], of this tile
  std::size_t point_step, vector_step;  // of a point of the same sum; kLine more of the next sum's
};

// The products of sums that stand side by side, each over the channels of all its points, for all tiles of a group and
// a block of outputs.
template <typename Number>
struct Product {
  const Number* tiles;     // of the first sum: [vectors of channels][tiles][lanes]
  std::size_t tiles_step;  // numbers to the next one's
  const Number* weights;   // [sums][channels][vectors][lanes]
  std::size_t channels;    // of all points of a sum, one behind the other
  Number* sums;            // [sums][tiles][vectors][lanes], a form's sum_step() from one to the next
  std::size_t count;       // of sums
};

// Where a tile's outputs lie.
template <typename Number>
struct OutputPlace {
  Number* output;             // of the first pixel and channel
  const Number* added;        // the same of what is added at the end; null: nothing
  std::size_t rows, columns;  // of the tile that the output has
};

// The sums of a group's tiles become outputs, of a block's channels.
template <typename Number>
struct OutputTiles {
  const Number* sums;     // as a Product's
  std::size_t tile_step;  // numbers of them from one tile to the next
  const OutputPlace<Number>* places;
  std::size_t tiles;
  std::size_t channels;
  std::size_t row_step, pixel_step;
  const Number* bias;  // in whole vectors
  Number least, most;
  bool has_most;  // else nothing is above it
};

template <typename Number>
struct Transforms {
  void (*input)(const InputTile<Number>&);
  void (*output)(const OutputTiles<Number>&);
};

template <typename Number>
using Multiply = void (*)(const Product<Number>&);

inline constexpr std::size_t kMostTiles = 12;   // of a group, in any form
inline constexpr std::size_t kMostVectors = 3;  // of a block of outputs, in any form
inline constexpr std::size_t kMostLanes = 16;

// Channels whose products are added up one after the other; the sums of so many are then added to each other. A sum of
// float16 loses the less, the fewer are added to it.
template <typename Number>
inline constexpr std::size_t kMostSummed = sizeof(Number) == sizeof(Half) ? 32 : static_cast<std::size_t>(-1);

template <typename Number>
struct Form {
  std::size_t lanes;                                    // of a vector
  std::size_t tiles;                                    // of a group, at most
  std::size_t vectors;                                  // of a block of outputs, at most
  Transforms<Number> two, four, strided_two;            // of the schemes of these names
  Multiply<Number> multiply[kMostVectors][kMostTiles];  // by vectors and tiles, each less one

  // Numbers from one sum of a tile to the next, whatever the group and the block are: known when transforms are
  // compiled.
  [[nodiscard]] constexpr std::size_t sum_step() const { return tiles * vectors * lanes; }
};

extern const Form<float> kScalar;
extern const Form<Half> kScalarHalf;
#if defined(__x86_64__)
extern const Form<float> kAvx2, kAvx512;
#elif defined(__aarch64__)
extern const Form<float> kNeon;
extern const Form<Half> kNeonHalf;  // with the half-precision extension
#endif

}  // namespace kinglet::engine::kernels::winograd
