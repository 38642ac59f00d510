// SPDX-License-Identifier: Apache-2.0
// Why: the form of the kernel of depthwise columns for ARM's 64-bit processors with products of four bytes: four rows
// of a window are one product. Assembly, since compilers copy the registers that a look-up or a load of four wants side
// by side.
#if defined(__aarch64__)
#include <array>

#include "engine/backend/kernels/columns/form.h"
#include "engine/backend/kernels/vectors/neon_levels.h"

namespace kinglet::engine::kernels::columns {
namespace {

constexpr std::size_t kGroup = 4;
constexpr std::size_t kGroupBytes = kGroup * kBlock;

// Where the bytes of four channels at a time come from, of rows that stand one behind the other; zero where there is no
// such row.
struct alignas(16) Places {
  std::uint8_t bytes[kGroupBytes];
};
template <std::size_t kRows>
consteval Places places_of() {
  Places places{};
  for (std::size_t i = 0; i < kGroupBytes; ++i) {
    const std::size_t row = i % kGroup;
    places.bytes[i] = static_cast<std::uint8_t>(row < kRows ? row * kBlock + i / kGroup : 0xFF);
  }
  return places;
}
template <std::size_t kRows>
constexpr Places kPlaces = places_of<kRows>();

// clang-format off

#define KINGLET_IF_ROW(row, lines) ".if %c[rows] > " #row "\n" lines ".endif\n"
#define KINGLET_ROW(row) KINGLET_IF_ROW(row, "ld1 {v" #row ".16b}, [%[row" #row "]], %[step" #row "]\n")
#define KINGLET_LOOK_UP(to, from)                                                     \
  ".if %c[rows] == 1\n" "tbl v" #to ".16b, {v0.16b}, v" #from ".16b\n" ".endif\n"     \
  ".if %c[rows] == 2\n" "tbl v" #to ".16b, {v0.16b-v1.16b}, v" #from ".16b\n" ".endif\n" \
  ".if %c[rows] == 3\n" "tbl v" #to ".16b, {v0.16b-v2.16b}, v" #from ".16b\n" ".endif\n" \
  ".if %c[rows] == 4\n" "tbl v" #to ".16b, {v0.16b-v3.16b}, v" #from ".16b\n" ".endif\n"

#define KINGLET_DOT(sum, number, factor) "sdot v" #sum ".4s, v" #number ".16b, v" #factor ".16b\n"
#define KINGLET_GROUP(n0, n1, n2, n3, f0, f1, f2, f3) \
  KINGLET_DOT(28, n0, f0) KINGLET_DOT(29, n1, f1) KINGLET_DOT(30, n2, f2) KINGLET_DOT(31, n3, f3)

#define KINGLET_BEGIN_SUMS "ld1 {v28.4s-v31.4s}, [%[bias]]\n"
#define KINGLET_END_SUMS                                          \
  "ld1 {v16.4s-v19.4s}, [%[factors]]\n"                           \
  KINGLET_LEVELS(28, 29, 30, 31, 16, 17, 18, 19, 12, 13, 14)      \
  "st1 {v28.16b}, [%[output]], %[output_step]\n"

// clang-format on

// `columns` > 0.
template <std::size_t kRows>
void weave_group(const Weave& of, std::size_t first, std::int8_t* to, std::size_t column_bytes) {
  const auto at = [&](std::size_t row) { return first + (row < kRows ? row : 0); };
  const std::int8_t* row0 = of.rows[at(0)];
  const std::int8_t* row1 = of.rows[at(1)];
  const std::int8_t* row2 = of.rows[at(2)];
  const std::int8_t* row3 = of.rows[at(3)];
  std::size_t left = of.columns;
  asm volatile(
      // clang-format off
      "ld1 {v16.16b-v19.16b}, [%[places]]\n"
      "1:\n"
      KINGLET_ROW(0) KINGLET_ROW(1) KINGLET_ROW(2) KINGLET_ROW(3)
      "subs %[left], %[left], #1\n"
      KINGLET_LOOK_UP(4, 16) KINGLET_LOOK_UP(5, 17) KINGLET_LOOK_UP(6, 18) KINGLET_LOOK_UP(7, 19)
      "st1 {v4.16b-v7.16b}, [%[to]], %[column_bytes]\n"
      "b.ne 1b\n"
      // clang-format on
      : [row0] "+&r"(row0), [row1] "+&r"(row1), [row2] "+&r"(row2), [row3] "+&r"(row3), [to] "+&r"(to),
        [left] "+&r"(left)
      : [step0] "r"(of.steps[at(0)]), [step1] "r"(of.steps[at(1)]), [step2] "r"(of.steps[at(2)]),
        [step3] "r"(of.steps[at(3)]), [column_bytes] "r"(column_bytes), [places] "r"(&kPlaces<kRows>), [rows] "i"(kRows)
      : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19");
}

void weave(const Weave& of) {
  if (of.columns == 0) return;
  const std::size_t column_bytes = (of.row_count + kGroup - 1) / kGroup * kGroupBytes;
  std::int8_t* to = of.to;
  for (std::size_t row = 0; row < of.row_count; row += kGroup, to += kGroupBytes) {
    switch (of.row_count - row) {
      case 1:
        weave_group<1>(of, row, to, column_bytes);
        break;
      case 2:
        weave_group<2>(of, row, to, column_bytes);
        break;
      case 3:
        weave_group<3>(of, row, to, column_bytes);
        break;
      default:
        weave_group<4>(of, row, to, column_bytes);
        break;
    }
  }
}

// Windows of three columns and one group: their factors stay in registers.
template <bool kFits>
void multiply_three(const Product& of) {
  Product left = of;
  std::array column{of.columns, of.columns + of.tap_step, of.columns + 2 * of.tap_step};
  asm volatile(
      // clang-format off
      ".arch_extension dotprod\n"
      "ld1 {v0.16b-v3.16b}, [%[weights]], #64\n"
      "ld1 {v4.16b-v7.16b}, [%[weights]], #64\n"
      "ld1 {v8.16b-v11.16b}, [%[weights]]\n"
      "ld1 {v12.16b-v14.16b}, [%[bounds]]\n"
      "1:\n"
      KINGLET_BEGIN_SUMS
      "ld1 {v16.16b-v19.16b}, [%[column0]], %[column_step]\n"
      "ld1 {v20.16b-v23.16b}, [%[column1]], %[column_step]\n"
      "ld1 {v24.16b-v27.16b}, [%[column2]], %[column_step]\n"
      "subs %[left], %[left], #1\n"
      KINGLET_GROUP(16, 17, 18, 19, 0, 1, 2, 3)
      KINGLET_GROUP(20, 21, 22, 23, 4, 5, 6, 7)
      KINGLET_GROUP(24, 25, 26, 27, 8, 9, 10, 11)
      KINGLET_END_SUMS
      "b.ne 1b\n"
      // clang-format on
      : [column0] "+&r"(column[0]), [column1] "+&r"(column[1]), [column2] "+&r"(column[2]),
        [weights] "+&r"(left.weights), [output] "+&r"(left.output), [left] "+&r"(left.count)
      : [bias] "r"(of.bias), [factors] "r"(of.factors), [bounds] "r"(of.bounds), [column_step] "r"(of.column_step),
        [output_step] "r"(of.output_step), [fits] "i"(kFits)
      : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14",
        "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
}

template <bool kFits>
void multiply_any(const Product& of) {
  const std::size_t groups = (of.row_count + kGroup - 1) / kGroup;
  const std::int8_t* columns = of.columns;
  std::int8_t* output = of.output;
  std::size_t left = of.count;
  const std::int8_t* weights = nullptr;
  const std::int8_t* tap = nullptr;
  const std::int8_t* group = nullptr;
  std::size_t taps_left = 0;
  std::size_t groups_left = 0;
  asm volatile(
      // clang-format off
      ".arch_extension dotprod\n"
      "ld1 {v12.16b-v14.16b}, [%[bounds]]\n"
      "1:\n"
      KINGLET_BEGIN_SUMS
      "mov %[weights], %[first]\n"
      "mov %[tap], %[columns]\n"
      "mov %[taps_left], %[taps]\n"
      "2:\n"
      "mov %[group], %[tap]\n"
      "mov %[groups_left], %[groups]\n"
      "3:\n"
      "ld1 {v16.16b-v19.16b}, [%[group]], #64\n"
      "ld1 {v20.16b-v23.16b}, [%[weights]], #64\n"
      "subs %[groups_left], %[groups_left], #1\n"
      KINGLET_GROUP(16, 17, 18, 19, 20, 21, 22, 23)
      "b.ne 3b\n"
      "add %[tap], %[tap], %[tap_step]\n"
      "subs %[taps_left], %[taps_left], #1\n"
      "b.ne 2b\n"
      KINGLET_END_SUMS
      "add %[columns], %[columns], %[column_step]\n"
      "subs %[left], %[left], #1\n"
      "b.ne 1b\n"
      // clang-format on
      : [columns] "+&r"(columns), [output] "+&r"(output), [left] "+&r"(left), [weights] "=&r"(weights),
        [tap] "=&r"(tap), [group] "=&r"(group), [taps_left] "=&r"(taps_left), [groups_left] "=&r"(groups_left)
      : [first] "r"(of.weights), [bias] "r"(of.bias), [factors] "r"(of.factors), [bounds] "r"(of.bounds),
        [taps] "r"(of.taps), [groups] "r"(groups), [tap_step] "r"(of.tap_step), [column_step] "r"(of.column_step),
        [output_step] "r"(of.output_step), [fits] "i"(kFits)
      : "cc", "memory", "v12", "v13", "v14", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v28", "v29",
        "v30", "v31");
}

template <bool kFits>
void multiply(const Product& of) {
  return of.taps == 3 && of.row_count <= kGroup ? multiply_three<kFits>(of) : multiply_any<kFits>(of);
}

}  // namespace

constexpr Form kNeonDot{.group = kGroup, .weave = weave, .multiply = multiply<true>};
constexpr Form kNeonDotWide{.group = kGroup, .weave = weave, .multiply = multiply<false>};

}  // namespace kinglet::engine::kernels::columns
#endif
