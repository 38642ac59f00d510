// SPDX-License-Identifier: Apache-2.0
// Why: the form of the kernel of woven rows for ARM's 64-bit processors. Seven rows by twelve outputs take 21 of the 32
// registers, their factors ten: no compiler that was tried keeps them there (docs/benchmarks.md), so the loop is
// assembly. Its text is put together by the preprocessor; the assembler leaves out the rows and vectors that a panel
// and a block lack. Float16 is the same in registers of eight numbers.
#if defined(__aarch64__)
#include <arm_neon.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "engine/backend/kernels/woven/form.h"

namespace kinglet::engine::kernels::woven {
namespace {

// clang-format off

#define KINGLET_IF(condition, lines) ".if " condition "\n" lines ".endif\n"
#define KINGLET_IF_ROW(row, lines) KINGLET_IF("%c[rows] > " #row, lines)
#define KINGLET_IF_ROWS(count, lines) KINGLET_IF("%c[rows] == " #count, lines)
#define KINGLET_IF_VECTORS(count, lines) KINGLET_IF("%c[vectors] == " #count, lines)
#define KINGLET_IF_MORE_VECTORS(count, lines) KINGLET_IF("%c[vectors] > " #count, lines)

// One vector a row, from or to memory at `at`, which moves on: in as few instructions as there are.
#define KINGLET_MOVE_ROWS(move, v0, v1, v2, v3, v4, v5, v6, at)                                     \
  KINGLET_IF_ROW(3, move " {v" #v0 ".4s-v" #v3 ".4s}, [%[" at "]], #64\n")                          \
  KINGLET_IF_ROWS(1, move " {v" #v0 ".4s}, [%[" at "]], #16\n")                                     \
  KINGLET_IF_ROWS(2, move " {v" #v0 ".4s-v" #v1 ".4s}, [%[" at "]], #32\n")                         \
  KINGLET_IF_ROWS(3, move " {v" #v0 ".4s-v" #v2 ".4s}, [%[" at "]], #48\n")                         \
  KINGLET_IF_ROWS(5, move " {v" #v4 ".4s}, [%[" at "]], #16\n")                                     \
  KINGLET_IF_ROWS(6, move " {v" #v4 ".4s-v" #v5 ".4s}, [%[" at "]], #32\n")                         \
  KINGLET_IF_ROWS(7, move " {v" #v4 ".4s-v" #v6 ".4s}, [%[" at "]], #48\n")

// --- Weaving ---------------------------------------------------------------------------------------------------------

#define KINGLET_TWO_QUADS(row, first, second) \
  KINGLET_IF_ROW(row, "ldp q" #first ", q" #second ", [%[row" #row "]], #32\n")
#define KINGLET_ONE_QUAD(row) KINGLET_IF_ROW(row, "ldr q" #row ", [%[row" #row "]]\n")

#define KINGLET_WEAVE                                                                                               \
  "cbz %[pairs], 2f\n"                                                                                              \
  "1:\n"                                                                                                            \
  KINGLET_TWO_QUADS(0, 0, 8) KINGLET_TWO_QUADS(1, 1, 9) KINGLET_TWO_QUADS(2, 2, 10) KINGLET_TWO_QUADS(3, 3, 11)     \
  KINGLET_TWO_QUADS(4, 4, 12) KINGLET_TWO_QUADS(5, 5, 13) KINGLET_TWO_QUADS(6, 6, 14)                               \
  KINGLET_MOVE_ROWS("st1", 0, 1, 2, 3, 4, 5, 6, "panel")                                                            \
  KINGLET_MOVE_ROWS("st1", 8, 9, 10, 11, 12, 13, 14, "panel")                                                       \
  "subs %[pairs], %[pairs], #1\n"                                                                                   \
  "b.ne 1b\n"                                                                                                       \
  "2:\n"                                                                                                            \
  "tbz %[vectors], #0, 3f\n"                                                                                          \
  KINGLET_ONE_QUAD(0) KINGLET_ONE_QUAD(1) KINGLET_ONE_QUAD(2) KINGLET_ONE_QUAD(3)                                   \
  KINGLET_ONE_QUAD(4) KINGLET_ONE_QUAD(5) KINGLET_ONE_QUAD(6)                                                       \
  KINGLET_MOVE_ROWS("st1", 0, 1, 2, 3, 4, 5, 6, "panel")                                                            \
  "3:\n"

// --- Sums ------------------------------------------------------------------------------------------------------------

// What differs between floats and float16 is given where the text is used: KINGLET_ALL and KINGLET_ONE, the names of a
// register's numbers.

// DO(row, its three sums, its numbers). Numbers of float16 that are multiplied with have to be in 0 to 15; factors are
// in 28 to 31.
#define KINGLET_ROWS(DO, ...)                                                          \
  DO(0, 7, 8, 9, 0, __VA_ARGS__) DO(1, 10, 11, 12, 1, __VA_ARGS__)                     \
  DO(2, 13, 14, 15, 2, __VA_ARGS__) DO(3, 16, 17, 18, 3, __VA_ARGS__)                  \
  DO(4, 19, 20, 21, 4, __VA_ARGS__) DO(5, 22, 23, 24, 5, __VA_ARGS__)                  \
  DO(6, 25, 26, 27, 6, __VA_ARGS__)

// The numbers of `lane`, with one factor a vector of outputs.
#define KINGLET_FMA(sum, factor, number, lane) \
  "fmla v" #sum KINGLET_ALL ", v" #factor KINGLET_ALL ", v" #number KINGLET_ONE "[" #lane "]\n"
#define KINGLET_MULTIPLY(row, s0, s1, s2, number, f0, f1, f2, lane)                                    \
  KINGLET_IF_ROW(row, KINGLET_FMA(s0, f0, number, lane)                                                \
                      KINGLET_IF_MORE_VECTORS(1, KINGLET_FMA(s1, f1, number, lane))                    \
                      KINGLET_IF_MORE_VECTORS(2, KINGLET_FMA(s2, f2, number, lane)))
#define KINGLET_LANE(f0, f1, f2, lane) KINGLET_ROWS(KINGLET_MULTIPLY, f0, f1, f2, lane)

#define KINGLET_THREE_FACTORS "ld1 {v28.4s-v30.4s}, [%[weights]], #48\n"
#define KINGLET_FOUR_FACTORS "ld1 {v28.4s-v31.4s}, [%[weights]], #64\n"
#define KINGLET_FOUR_LANES(l0, l1, l2, l3)                                                                          \
  KINGLET_IF_VECTORS(1, KINGLET_FOUR_FACTORS KINGLET_LANE(28, 28, 28, l0) KINGLET_LANE(29, 29, 29, l1)              \
                        KINGLET_LANE(30, 30, 30, l2) KINGLET_LANE(31, 31, 31, l3))                                  \
  KINGLET_IF_VECTORS(2, KINGLET_FOUR_FACTORS KINGLET_LANE(28, 29, 29, l0) KINGLET_LANE(30, 31, 31, l1)              \
                        KINGLET_FOUR_FACTORS KINGLET_LANE(28, 29, 29, l2) KINGLET_LANE(30, 31, 31, l3))             \
  KINGLET_IF_VECTORS(3, KINGLET_THREE_FACTORS KINGLET_LANE(28, 29, 30, l0)                                          \
                        KINGLET_THREE_FACTORS KINGLET_LANE(28, 29, 30, l1)                                          \
                        KINGLET_THREE_FACTORS KINGLET_LANE(28, 29, 30, l2)                                          \
                        KINGLET_THREE_FACTORS KINGLET_LANE(28, 29, 30, l3))
#define KINGLET_ALL_LANES KINGLET_FOUR_LANES(0, 1, 2, 3) KINGLET_IF("%c[lanes] == 8", KINGLET_FOUR_LANES(4, 5, 6, 7))
// A vector of each row's numbers.
#define KINGLET_PART KINGLET_MOVE_ROWS("ld1", 0, 1, 2, 3, 4, 5, 6, "numbers") KINGLET_ALL_LANES

#define KINGLET_SUMS_PANEL                                               \
  "cbz %[left], 2f\n"                                                    \
  "1:\n"                                                                 \
  KINGLET_PART KINGLET_PART                                              \
  "subs %[left], %[left], #1\n"                                          \
  "b.ne 1b\n"                                                            \
  "2:\n"                                                                 \
  "tbz %[parts], #0, 3f\n"                                               \
  KINGLET_PART                                                           \
  "3:\n"

// The same where vectors lie anywhere.
#define KINGLET_AT(address, row) "ldr q" #row ", [%[" address "], %[begin]]\n"
#define KINGLET_TWO_PLACES(first, second)                                                                            \
  KINGLET_IF("%c[rows] > " #second, "ldp %[place], %[next], [%[numbers]], #16\n" KINGLET_AT("place", first)          \
                                    KINGLET_AT("next", second))                                                      \
  KINGLET_IF_ROWS(second, KINGLET_LAST_PLACE(first))
#define KINGLET_LAST_PLACE(row) "ldr %[place], [%[numbers]], #8\n" KINGLET_AT("place", row)
#define KINGLET_SUMS_VECTORS                                             \
  "1:\n"                                                                 \
  KINGLET_TWO_PLACES(0, 1) KINGLET_TWO_PLACES(2, 3)                      \
  KINGLET_TWO_PLACES(4, 5) KINGLET_IF_ROWS(7, KINGLET_LAST_PLACE(6))     \
  KINGLET_ALL_LANES                                                      \
  "subs %[left], %[left], #1\n"                                          \
  "b.ne 1b\n"

// All of a row's vectors from or to memory.
#define KINGLET_MOVE(move, v0, v1, v2, at)                                    \
  KINGLET_IF_VECTORS(1, move " {v" #v0 ".4s}, " at "\n")                      \
  KINGLET_IF_VECTORS(2, move " {v" #v0 ".4s-v" #v1 ".4s}, " at "\n")          \
  KINGLET_IF_VECTORS(3, move " {v" #v0 ".4s-v" #v2 ".4s}, " at "\n")
// sum = op(sum, other), of each vector.
#define KINGLET_OP(op, sum, other) op " v" #sum KINGLET_ALL ", v" #sum KINGLET_ALL ", v" #other KINGLET_ALL "\n"
#define KINGLET_OPS(op, s0, s1, s2, o0, o1, o2)                               \
  KINGLET_OP(op, s0, o0)                                                      \
  KINGLET_IF_MORE_VECTORS(1, KINGLET_OP(op, s1, o1))                          \
  KINGLET_IF_MORE_VECTORS(2, KINGLET_OP(op, s2, o2))

#define KINGLET_BEGIN(row, s0, s1, s2, number, ...) KINGLET_IF_ROW(row, KINGLET_MOVE("ld1", s0, s1, s2, "[%[bias]]"))
#define KINGLET_ADD(row, s0, s1, s2, number, ...)                               \
  KINGLET_IF_ROW(row, KINGLET_MOVE("ld1", 28, 29, 30, "[%[added]], %[step]")    \
                      KINGLET_OPS("fadd", s0, s1, s2, 28, 29, 30))
#define KINGLET_BOUND(row, s0, s1, s2, number, op) KINGLET_IF_ROW(row, KINGLET_OPS(op, s0, s1, s2, 28, 28, 28))
#define KINGLET_END(row, s0, s1, s2, number, ...) \
  KINGLET_IF_ROW(row, KINGLET_MOVE("st1", s0, s1, s2, "[%[output]], %[step]"))

// A block of outputs of each row.
#define KINGLET_BLOCK(SUMS)                                              \
  KINGLET_IF("%c[lanes] == 8", ".arch_extension fp16\n")                 \
  KINGLET_ROWS(KINGLET_BEGIN, )                                          \
  SUMS                                                                   \
  "cbz %[added], 4f\n"                                                   \
  KINGLET_ROWS(KINGLET_ADD, )                                            \
  "4:\n"                                                                 \
  "cbz %[least], 5f\n"                                                   \
  "ld1r {v28" KINGLET_ALL "}, [%[least]]\n"                              \
  KINGLET_ROWS(KINGLET_BOUND, "fmax")                                    \
  "5:\n"                                                                 \
  "cbz %[most], 6f\n"                                                    \
  "ld1r {v28" KINGLET_ALL "}, [%[most]]\n"                               \
  KINGLET_ROWS(KINGLET_BOUND, "fmin")                                    \
  "6:\n"                                                                 \
  KINGLET_ROWS(KINGLET_END, )

#define KINGLET_ALL_REGISTERS                                                                                       \
  "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14",    \
    "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", \
    "v31"

// With what it reads and writes, of a Product and of a ProductOfVectors.
#define KINGLET_WRITES_PANEL
#define KINGLET_READS_PANEL [parts] "r"(of.parts),
#define KINGLET_WRITES_VECTORS [place] "=&r"(place), [next] "=&r"(next),
#define KINGLET_READS_VECTORS [begin] "r"(of.begin * sizeof(Number)),
#define KINGLET_MULTIPLY_BLOCK(OF)                                                                                  \
  asm volatile(KINGLET_BLOCK(KINGLET_SUMS_##OF)                                                                     \
               : KINGLET_WRITES_##OF [numbers] "+&r"(numbers), [weights] "+&r"(weights), [left] "+&r"(left),        \
                 [output] "+&r"(output), [added] "+&r"(added)                                                       \
               : KINGLET_READS_##OF [bias] "r"(of.bias + block * kWidth), [step] "r"(of.step * sizeof(Number)),     \
                 [least] "r"(of.least), [most] "r"(of.most), [rows] "i"(kRows), [vectors] "i"(kVectors),            \
                 [lanes] "i"(kLanes<Number>)                                                                        \
               : KINGLET_ALL_REGISTERS)

// Sums alone, one row's behind the other's.
#define KINGLET_CLEAR_SUM(sum) "movi v" #sum ".16b, #0\n"
#define KINGLET_CLEAR(row, s0, s1, s2, number, ...)                                                                  \
  KINGLET_IF_ROW(row, KINGLET_CLEAR_SUM(s0) KINGLET_IF_MORE_VECTORS(1, KINGLET_CLEAR_SUM(s1))                        \
                      KINGLET_IF_MORE_VECTORS(2, KINGLET_CLEAR_SUM(s2)))
#define KINGLET_PUT(row, s0, s1, s2, number, ...)                                                                    \
  KINGLET_IF_ROW(row, KINGLET_MOVE("st1", s0, s1, s2, "[%[sums]], %[row_bytes]"))
#define KINGLET_MULTIPLY_PANEL                                                                                       \
  asm volatile(KINGLET_IF("%c[lanes] == 8", ".arch_extension fp16\n")                                               \
               KINGLET_ROWS(KINGLET_CLEAR, ) KINGLET_SUMS_PANEL KINGLET_ROWS(KINGLET_PUT, )                          \
               : [numbers] "+&r"(numbers), [weights] "+&r"(weights), [left] "+&r"(left), [sums] "+&r"(sums)          \
               : [parts] "r"(of.parts), [row_bytes] "r"(kVectors * kVectorBytes), [rows] "i"(kRows),                 \
                 [vectors] "i"(kVectors), [lanes] "i"(kLanes<Number>)                                                \
               : KINGLET_ALL_REGISTERS)

#define KINGLET_MULTIPLY_EITHER                \
  if constexpr (kHasPanel) {                   \
    const Number* numbers = of.panel;          \
    KINGLET_MULTIPLY_BLOCK(PANEL);             \
  } else {                                     \
    const Number* const* numbers = of.vectors; \
    KINGLET_MULTIPLY_BLOCK(VECTORS);           \
  }

// clang-format on

template <std::size_t kRows>
void weave(const Weave& of) {
  const std::byte* row0 = of.rows[0];
  const std::byte* row1 = of.rows[1];
  const std::byte* row2 = of.rows[2];
  const std::byte* row3 = of.rows[3];
  const std::byte* row4 = of.rows[4];
  const std::byte* row5 = of.rows[5];
  const std::byte* row6 = of.rows[6];
  std::byte* panel = of.panel;
  std::size_t pairs = of.vectors / 2;
  asm volatile(KINGLET_WEAVE
               : [row0] "+&r"(row0), [row1] "+&r"(row1), [row2] "+&r"(row2), [row3] "+&r"(row3), [row4] "+&r"(row4),
                 [row5] "+&r"(row5), [row6] "+&r"(row6), [panel] "+&r"(panel), [pairs] "+&r"(pairs)
               : [vectors] "r"(of.vectors), [rows] "i"(kRows)
               : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v8", "v9", "v10", "v11", "v12", "v13",
                 "v14");
}

template <typename Number, std::size_t kVectors, std::size_t kRows, typename Of>
void multiply(const Of& of) {
  constexpr bool kHasPanel = std::is_same_v<Of, Product<Number>>;
  constexpr std::size_t kWidth = kVectors * kLanes<Number>;
  const Number* weights = of.weights;
  for (std::size_t block = 0; block < of.blocks; ++block) {
    std::size_t left = kHasPanel ? of.parts / 2 : of.parts;
    Number* output = of.output + block * kWidth;
    const Number* added = of.added == nullptr ? nullptr : of.added + block * kWidth;
    [[maybe_unused]] const Number *place, *next;
    if constexpr (kLanes<Number> == 8) {
#define KINGLET_ALL ".8h"
#define KINGLET_ONE ".h"
      KINGLET_MULTIPLY_EITHER
#undef KINGLET_ALL
#undef KINGLET_ONE
    } else {
#define KINGLET_ALL ".4s"
#define KINGLET_ONE ".s"
      KINGLET_MULTIPLY_EITHER
#undef KINGLET_ALL
#undef KINGLET_ONE
    }
  }
}

template <typename Number, std::size_t kVectors, std::size_t kRows>
void multiply_panels(const ProductsOfPanels<Number>& of) {
  const Number* weights = of.weights;
  for (std::size_t panel = 0; panel < of.count; ++panel) {
    const Number* numbers = of.panel + panel * of.panel_step;
    Number* sums = of.sums + panel * of.sums_step;
    std::size_t left = of.parts / 2;
    if constexpr (kLanes<Number> == 8) {
#define KINGLET_ALL ".8h"
#define KINGLET_ONE ".h"
      KINGLET_MULTIPLY_PANEL;
#undef KINGLET_ALL
#undef KINGLET_ONE
    } else {
#define KINGLET_ALL ".4s"
#define KINGLET_ONE ".s"
      KINGLET_MULTIPLY_PANEL;
#undef KINGLET_ALL
#undef KINGLET_ONE
    }
  }
}

void narrow(const float* from, std::size_t count, Half* to) {
  for (std::size_t i = 0; i < count; i += kLanes<Half>) {
    const float16x4_t first = vcvt_f16_f32(vld1q_f32(from + i));
    vst1q_u16(reinterpret_cast<std::uint16_t*>(to + i),
              vreinterpretq_u16_f16(vcvt_high_f16_f32(first, vld1q_f32(from + i + kQuad))));
  }
}

template <typename Number>
consteval Form<Number> neon_form(decltype(Form<Number>::narrow) narrow = nullptr) {
  Form<Number> form = form_of<Number>(
      []<std::size_t kRows>() { return weave<kRows>; },
      []<std::size_t kVectors, std::size_t kRows, typename Of>() { return multiply<Number, kVectors, kRows, Of>; },
      narrow);
  [&form]<std::size_t... kBefore>(std::index_sequence<kBefore...>) {
    ((form.multiply_panels[0][kBefore] = multiply_panels<Number, 1, kBefore + 1>), ...);
    ((form.multiply_panels[1][kBefore] = multiply_panels<Number, 2, kBefore + 1>), ...);
    ((form.multiply_panels[2][kBefore] = multiply_panels<Number, 3, kBefore + 1>), ...);
  }(std::make_index_sequence<kWovenRows>());
  return form;
}

}  // namespace

constexpr Form<float> kNeon = neon_form<float>();
constexpr Form<Half> kNeonHalf = neon_form<Half>(narrow);

}  // namespace kinglet::engine::kernels::woven
#endif
