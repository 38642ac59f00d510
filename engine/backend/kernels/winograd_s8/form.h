// SPDX-License-Identifier: Apache-2.0
// Why: what the Winograd kernel of 8 bits (winograd_s8.cpp) leaves to a processor: transforms, products of 16 bits and
// levels of one tile or of a group of them. A form is compiled for its processor alone, so that its file takes no code
// from elsewhere that others might get to run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/backend/kernels/vectors/level_bounds.h"

namespace kinglet::engine::kernels::winograd_s8 {

inline constexpr std::size_t kSize = 4;  // of a tile's output
inline constexpr std::size_t kSide = kSize + 2;
inline constexpr std::size_t kPoints = kSide * kSide;
inline constexpr std::size_t kOutputs = kSize * kSize;
inline constexpr std::size_t kLanes = 8;  // channels that lie together, and outputs of a block
// The same for forms whose registers have 256 and 512 bits, with weights of so many channels side by side.
inline constexpr std::size_t kPairedLanes = 16;
inline constexpr std::size_t kWideLanes = 32;
inline constexpr std::size_t kTogether = 2;
inline constexpr std::size_t kMostTiles = 8;  // of a group
// Of a group of a form with so many channels side by side: as many as its registers hold the sums of.
template <std::size_t kChannels>
inline constexpr std::size_t kTilesOf = kChannels == kPairedLanes ? 6 : kMostTiles;

// A tile's outputs come as so many times the sums modulo 2^32, in a row or column: 24 times the first, 12 times the
// others. Three times three is taken out by its inverse there; what is left are up to six bits, so that a sum is right
// where it has room in the other 26.
inline constexpr std::uint32_t kInverseOfNine = 954'437'177;
inline constexpr int kMostBitsLost = 6;
constexpr int bits_lost(std::size_t place) { return place == 0 ? 3 : 2; }
static_assert(9 * kInverseOfNine == 1);

// One tile of the input becomes its points. Steps are in numbers.
struct InputTile {
  const std::int8_t* const* pixels;  // kPoints, row by row; the input's zero where there is padding
  std::size_t vectors;               // of channels, which are read and written as a whole
  std::int16_t* points;              // [points][vectors][tiles of the group][lanes], of this tile
  std::size_t point_step, vector_step;
};

// The sums over channels of one point, for all tiles of a group and a block of outputs.
struct Product {
  const std::int16_t* tiles;    // [vectors][tiles][lanes]
  const std::int16_t* weights;  // [vectors][lanes][outputs], or [vectors][lanes / kTogether][outputs][kTogether]
  std::size_t vectors;          // 1 at least
  std::int32_t* sums;           // [tiles][outputs]
};

// The sums of one tile's points become sums of its outputs.
struct OutputTile {
  const std::int32_t* sums;  // [points][...][outputs]
  std::size_t point_step;
  const std::int32_t* begin;  // [kOutputs][outputs] that they are added to, `begin_step` apart
  std::size_t begin_step;
  std::int32_t* to;  // [kOutputs][outputs]; may be `begin`
};

struct LevelsOfTile {
  const std::int32_t* sums;  // [kOutputs][outputs]
  const float* factors;      // [outputs]
  const LevelBounds* bounds;
  std::int8_t* to;  // [kOutputs][outputs]
};

struct Form {
  void (*input)(const InputTile&);
  void (*multiply[kMostTiles])(const Product&);  // by tiles, less one; null beyond the most
  void (*output)(const OutputTile&);
  void (*levels)(const LevelsOfTile&);
};

extern const Form kScalar;
#if defined(__aarch64__)
extern const Form kNeon;
extern const Form kNeonWide;  // for numbers that do not fit 16 bits (fits_16_bits)
#elif defined(__x86_64__)
extern const Form kAvx2, kAvx512Vnni;
#endif

}  // namespace kinglet::engine::kernels::winograd_s8
