// SPDX-License-Identifier: Apache-2.0
// Why: the form of the Winograd kernel of 8 bits for any of ARM's 64-bit processors: eight tiles by eight outputs,
// eight channels at a time. Sums, numbers and factors take all 32 registers, so the loop is assembly, of which the
// assembler leaves out the tiles that a group does not have.
#if defined(__aarch64__)
#include "engine/backend/kernels/vectors/neon_levels.h"
#include "engine/backend/kernels/winograd_s8/transforms.h"

namespace kinglet::engine::kernels::winograd_s8 {
namespace {

// clang-format off

#define KINGLET_IF_TILES(condition, lines) ".if %c[tiles] " condition "\n" lines ".endif\n"

// DO(tile, its two sums, the tile's numbers).
#define KINGLET_TILES(DO, ...)                                                                          \
  DO(0, 16, 17, __VA_ARGS__) DO(1, 18, 19, __VA_ARGS__) DO(2, 20, 21, __VA_ARGS__)                      \
  DO(3, 22, 23, __VA_ARGS__) DO(4, 24, 25, __VA_ARGS__) DO(5, 26, 27, __VA_ARGS__)                      \
  DO(6, 28, 29, __VA_ARGS__) DO(7, 30, 31, __VA_ARGS__)

#define KINGLET_CLEAR(tile, s0, s1, ...) \
  KINGLET_IF_TILES("> " #tile, "movi v" #s0 ".4s, #0\n" "movi v" #s1 ".4s, #0\n")
#define KINGLET_MULTIPLY(tile, s0, s1, factor, lane)                                                    \
  KINGLET_IF_TILES("> " #tile, "smlal v" #s0 ".4s, v" #factor ".4h, v" #tile ".h[" #lane "]\n"          \
                               "smlal2 v" #s1 ".4s, v" #factor ".8h, v" #tile ".h[" #lane "]\n")
#define KINGLET_LANE(factor, lane) KINGLET_TILES(KINGLET_MULTIPLY, factor, lane)

// A vector of each tile's numbers, into v0 to v7.
#define KINGLET_NUMBERS                                                                                 \
  KINGLET_IF_TILES("== 1", "ld1 {v0.8h}, [%[numbers]], #16\n")                                          \
  KINGLET_IF_TILES("== 2", "ld1 {v0.8h-v1.8h}, [%[numbers]], #32\n")                                    \
  KINGLET_IF_TILES("== 3", "ld1 {v0.8h-v2.8h}, [%[numbers]], #48\n")                                    \
  KINGLET_IF_TILES("> 3", "ld1 {v0.8h-v3.8h}, [%[numbers]], #64\n")                                     \
  KINGLET_IF_TILES("== 5", "ld1 {v4.8h}, [%[numbers]], #16\n")                                          \
  KINGLET_IF_TILES("== 6", "ld1 {v4.8h-v5.8h}, [%[numbers]], #32\n")                                    \
  KINGLET_IF_TILES("== 7", "ld1 {v4.8h-v6.8h}, [%[numbers]], #48\n")                                    \
  KINGLET_IF_TILES("== 8", "ld1 {v4.8h-v7.8h}, [%[numbers]], #64\n")

// Of tile `first` and of the one behind it, if there are such.
#define KINGLET_STORE(first, second, s0, s1, s2, s3)                                                    \
  KINGLET_IF_TILES("> " #second, "st1 {v" #s0 ".4s-v" #s3 ".4s}, [%[sums]], #64\n")                     \
  KINGLET_IF_TILES("== " #second, "st1 {v" #s0 ".4s-v" #s1 ".4s}, [%[sums]], #32\n")

// clang-format on

template <std::size_t kTiles>
void multiply(const Product& of) {
  Product left = of;
  asm volatile(
      // clang-format off
      KINGLET_TILES(KINGLET_CLEAR, )
      "1:\n"
      KINGLET_NUMBERS
      "ld1 {v8.8h-v11.8h}, [%[weights]], #64\n"
      "ld1 {v12.8h-v15.8h}, [%[weights]], #64\n"
      "subs %[vectors], %[vectors], #1\n"
      KINGLET_LANE(8, 0) KINGLET_LANE(9, 1) KINGLET_LANE(10, 2) KINGLET_LANE(11, 3)
      KINGLET_LANE(12, 4) KINGLET_LANE(13, 5) KINGLET_LANE(14, 6) KINGLET_LANE(15, 7)
      "b.ne 1b\n"
      KINGLET_STORE(0, 1, 16, 17, 18, 19) KINGLET_STORE(2, 3, 20, 21, 22, 23)
      KINGLET_STORE(4, 5, 24, 25, 26, 27) KINGLET_STORE(6, 7, 28, 29, 30, 31)
      // clang-format on
      :
      [numbers] "+&r"(left.tiles), [weights] "+&r"(left.weights), [vectors] "+&r"(left.vectors), [sums] "+&r"(left.sums)
      : [tiles] "i"(kTiles)
      : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14",
        "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",
        "v31");
}

// Two pixels at a time.
template <bool kFits>
void levels(const LevelsOfTile& of) {
  LevelsOfTile left = of;
  std::size_t pairs = kOutputs / 2;
  asm volatile(
      // clang-format off
      "ld1 {v4.4s-v5.4s}, [%[factors]]\n"
      "ld1 {v6.16b-v8.16b}, [%[bounds]]\n"
      "1:\n"
      "ld1 {v0.4s-v3.4s}, [%[sums]], #64\n"
      "subs %[pairs], %[pairs], #1\n"
      KINGLET_LEVELS(0, 1, 2, 3, 4, 5, 4, 5, 6, 7, 8)
      "st1 {v0.16b}, [%[to]], #16\n"
      "b.ne 1b\n"
      // clang-format on
      : [sums] "+&r"(left.sums), [to] "+&r"(left.to), [pairs] "+&r"(pairs)
      : [factors] "r"(of.factors), [bounds] "r"(of.bounds), [fits] "i"(kFits)
      : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8");
}

template <bool kFits>
constexpr Form form() {
  return {.input = transform_input<VectorsOf<kLanes>>,
          .multiply = {multiply<1>, multiply<2>, multiply<3>, multiply<4>, multiply<5>, multiply<6>, multiply<7>,
                       multiply<8>},
          .output = transform_output<VectorsOf<kLanes>>,
          .levels = levels<kFits>};
}

}  // namespace

constexpr Form kNeon = form<true>();
constexpr Form kNeonWide = form<false>();

}  // namespace kinglet::engine::kernels::winograd_s8
#endif
