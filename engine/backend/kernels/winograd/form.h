// SPDX-License-Identifier: Apache-2.0
// Why: what the Winograd kernel (winograd_f32.cpp) leaves to a processor: the sums, and nothing of where numbers lie
// beyond one tile. A form is compiled for its processor alone, so that its file takes no code from elsewhere that
// others might get to run.
#pragma once

#include <cstddef>

namespace kinglet::engine::kernels::winograd {

// A tile gives size x size outputs of size + 2 numbers a side.
inline constexpr std::size_t kMostSide = 6;
inline constexpr std::size_t kMostPoints = kMostSide * kMostSide;

// One tile of the input becomes its points. Steps are in numbers.
struct InputTile {
  const float* const* pixels;  // side * side, row by row; zeros where there is padding
  std::size_t channels;        // up to the next whole vector are read and written
  float* points;               // [points][vectors of channels][tiles of the group][lanes], of this tile
  std::size_t point_step, vector_step;
};

// The sums over the channels of one point, for all tiles of a group and a block of outputs.
struct Product {
  const float* tiles;    // [vectors of channels][tiles][lanes]
  const float* weights;  // [channels][vectors][lanes]
  std::size_t channels;
  float* sums;  // [tiles][vectors][lanes]
};

// The sums of one tile become outputs.
struct OutputTile {
  const float* sums;  // [points][...][vectors][lanes]
  std::size_t point_step;
  std::size_t rows, columns;  // of the tile that the output has
  std::size_t channels;       // of the block
  float* output;              // of the first pixel and channel
  const float* added;         // the same of what is added at the end; null: nothing
  std::size_t row_step, pixel_step;
  const float* bias;  // in whole vectors
  float least, most;
};

struct Transforms {
  void (*input)(const InputTile&);
  void (*output)(const OutputTile&);
};

using Multiply = void (*)(const Product&);

inline constexpr std::size_t kMostTiles = 12;   // of a group, in any form
inline constexpr std::size_t kMostVectors = 2;  // of a block of outputs
inline constexpr std::size_t kMostLanes = 16;

struct Form {
  std::size_t lanes;  // of a vector
  std::size_t tiles;  // of a group, at most
  Transforms two, four;
  Multiply multiply[kMostVectors][kMostTiles];  // by vectors and tiles, each less one
};

extern const Form kScalar;
#if defined(__x86_64__)
extern const Form kAvx2, kAvx512;
#elif defined(__aarch64__)
extern const Form kNeon;
#endif

}  // namespace kinglet::engine::kernels::winograd
