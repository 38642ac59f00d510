// SPDX-License-Identifier: Apache-2.0
// Why: the forms of the kernel of depthwise layers for ARM's 64-bit processors. A row is walked from column to column:
// each number is loaded once and goes into all sums whose windows it lies in, each in a register that it keeps until
// its window ends; the weights lie in registers. No compiler that was tried keeps them there (docs/benchmarks.md), so a
// row is assembly, whose text is put together by the preprocessor.
#if defined(__aarch64__)
#include "engine/backend/kernels/depthwise/form.h"
#include "engine/backend/kernels/depthwise/walk.h"
#include "engine/backend/kernels/vectors/scalar.h"
#include "engine/backend/kernels/vectors/scalar_half.h"

namespace kinglet::engine::kernels::depthwise {
namespace {

// clang-format off

// KINGLET_ALL, the names of a register's numbers, and KINGLET_ARCH, what the assembler has to know, are given where the
// text is used.
#define KINGLET_FMA(sum, number, weight) \
  "fmla v" #sum KINGLET_ALL ", v" #number KINGLET_ALL ", v" #weight KINGLET_ALL "\n"

// A column's number of line y: the next pixel's, or a zero of the padding, which stands in all registers for numbers.
#define KINGLET_GET(y, number) "ld1 {v" #number ".16b}, [%[line" #y "]], %[step]\n"
#define KINGLET_ZERO(y, number)

// --- 3x3: the bias is in 0, weights are in 1 to 9, bounds in 10 and 11, numbers in 16 to 18, sums in 20 to 22 ----------

#define KINGLET_BEGIN3(sum) "mov v" #sum ".16b, v0.16b\n"
#define KINGLET_END3(sum)                                                                             \
  ".if %c[clips]\n"                                                                                   \
  "fmax v" #sum KINGLET_ALL ", v" #sum KINGLET_ALL ", v10" KINGLET_ALL "\n"                           \
  "fmin v" #sum KINGLET_ALL ", v" #sum KINGLET_ALL ", v11" KINGLET_ALL "\n"                           \
  ".endif\n"                                                                                          \
  "st1 {v" #sum ".16b}, [%[output]], %[step]\n"
#define KINGLET_GET3(GET) GET(0, 16) GET(1, 17) GET(2, 18)
#define KINGLET_READ3 KINGLET_GET3(KINGLET_GET)
#define KINGLET_BOUNDS3 "ld2r {v10" KINGLET_ALL ", v11" KINGLET_ALL "}, [%[bounds]]\n"
#define KINGLET_WEIGHTS3                                                                              \
  "ld1 {v0.16b-v3.16b}, [%[weights]], #64\n"                                                          \
  "ld1 {v4.16b-v7.16b}, [%[weights]], #64\n"                                                          \
  "ld1 {v8.16b-v9.16b}, [%[weights]], #32\n"
#define KINGLET_NOTHING16 "movi v16.16b, #0\nmovi v17.16b, #0\nmovi v18.16b, #0\n"

// A column is the last of a window, its middle, its first: column 2, 1, 0 of its weights.
#define KINGLET_FIRST3(a) KINGLET_FMA(a, 16, 1) KINGLET_FMA(a, 17, 2) KINGLET_FMA(a, 18, 3)
#define KINGLET_MIDDLE3(a) KINGLET_FMA(a, 16, 4) KINGLET_FMA(a, 17, 5) KINGLET_FMA(a, 18, 6)

// Windows beside each other. What stands before the first one ends; a column that ends a window.
#define KINGLET_BEFORE3_0(GET) KINGLET_BEGIN3(20) KINGLET_GET3(GET) KINGLET_FIRST3(20)
#define KINGLET_BEFORE3_1(GET)                                                                        \
  KINGLET_BEGIN3(21) KINGLET_GET3(GET)                                                                \
  KINGLET_FMA(20, 16, 4) KINGLET_FMA(21, 16, 1) KINGLET_FMA(20, 17, 5) KINGLET_FMA(21, 17, 2)         \
  KINGLET_FMA(20, 18, 6) KINGLET_FMA(21, 18, 3)
#define KINGLET_COLUMN3(GET, a, b, c)                                                                 \
  KINGLET_BEGIN3(c) KINGLET_GET3(GET)                                                                 \
  KINGLET_FMA(a, 16, 7) KINGLET_FMA(b, 16, 4) KINGLET_FMA(c, 16, 1)                                   \
  KINGLET_FMA(a, 17, 8) KINGLET_FMA(b, 17, 5) KINGLET_FMA(c, 17, 2)                                   \
  KINGLET_FMA(a, 18, 9) KINGLET_FMA(b, 18, 6) KINGLET_FMA(c, 18, 3)                                   \
  KINGLET_END3(a)

// Every other window: a column in the middle of one, and one that ends it and begins the next.
#define KINGLET_ODD3(GET, a) KINGLET_GET3(GET) KINGLET_MIDDLE3(a)
#define KINGLET_EVEN3(GET, a, b)                                                                      \
  KINGLET_BEGIN3(b) KINGLET_GET3(GET)                                                                 \
  KINGLET_FMA(a, 16, 7) KINGLET_FMA(b, 16, 1) KINGLET_FMA(a, 17, 8) KINGLET_FMA(b, 17, 2)             \
  KINGLET_FMA(a, 18, 9) KINGLET_FMA(b, 18, 3)                                                         \
  KINGLET_END3(a)

// --- 5x5: weights are in 0 to 24, sums in 25 to 29, numbers and bounds in 30 and 31; the bias is in memory -------------

#define KINGLET_BEGIN5(sum) "ldr q" #sum ", [%[bias]]\n"
#define KINGLET_END5(sum)                                                                             \
  ".if %c[clips]\n"                                                                                   \
  "ld2r {v30" KINGLET_ALL ", v31" KINGLET_ALL "}, [%[bounds]]\n"                                      \
  "fmax v" #sum KINGLET_ALL ", v" #sum KINGLET_ALL ", v30" KINGLET_ALL "\n"                           \
  "fmin v" #sum KINGLET_ALL ", v" #sum KINGLET_ALL ", v31" KINGLET_ALL "\n"                           \
  ".endif\n"                                                                                          \
  "st1 {v" #sum ".16b}, [%[output]], %[step]\n"
#define KINGLET_BOUNDS5
#define KINGLET_WEIGHTS5                                                                              \
  "mov %[bias], %[weights]\n"                                                                         \
  "add %[weights], %[weights], #16\n"                                                                 \
  "ld1 {v0.16b-v3.16b}, [%[weights]], #64\n"                                                          \
  "ld1 {v4.16b-v7.16b}, [%[weights]], #64\n"                                                          \
  "ld1 {v8.16b-v11.16b}, [%[weights]], #64\n"                                                         \
  "ld1 {v12.16b-v15.16b}, [%[weights]], #64\n"                                                        \
  "ld1 {v16.16b-v19.16b}, [%[weights]], #64\n"                                                        \
  "ld1 {v20.16b-v23.16b}, [%[weights]], #64\n"                                                        \
  "ld1 {v24.16b}, [%[weights]], #16\n"
#define KINGLET_NOTHING30 "movi v30.16b, #0\nmovi v31.16b, #0\n"

// DO(number, the weights of a line in each column, ...) for each line.
#define KINGLET_LINES5(GET, DO, ...)                                                                  \
  GET(0, 30) DO(30, 0, 5, 10, 15, 20, __VA_ARGS__) GET(1, 31) DO(31, 1, 6, 11, 16, 21, __VA_ARGS__)   \
  GET(2, 30) DO(30, 2, 7, 12, 17, 22, __VA_ARGS__) GET(3, 31) DO(31, 3, 8, 13, 18, 23, __VA_ARGS__)   \
  GET(4, 30) DO(30, 4, 9, 14, 19, 24, __VA_ARGS__)
#define KINGLET_FMA_0(n, w0, w1, w2, w3, w4, a) KINGLET_FMA(a, n, w0)
#define KINGLET_FMA_1(n, w0, w1, w2, w3, w4, a) KINGLET_FMA(a, n, w1)
#define KINGLET_FMA_10(n, w0, w1, w2, w3, w4, a, b) KINGLET_FMA(a, n, w1) KINGLET_FMA(b, n, w0)
#define KINGLET_FMA_20(n, w0, w1, w2, w3, w4, a, b) KINGLET_FMA(a, n, w2) KINGLET_FMA(b, n, w0)
#define KINGLET_FMA_31(n, w0, w1, w2, w3, w4, a, b) KINGLET_FMA(a, n, w3) KINGLET_FMA(b, n, w1)
#define KINGLET_FMA_210(n, w0, w1, w2, w3, w4, a, b, c) \
  KINGLET_FMA(a, n, w2) KINGLET_FMA(b, n, w1) KINGLET_FMA(c, n, w0)
#define KINGLET_FMA_420(n, w0, w1, w2, w3, w4, a, b, c) \
  KINGLET_FMA(a, n, w4) KINGLET_FMA(b, n, w2) KINGLET_FMA(c, n, w0)
#define KINGLET_FMA_3210(n, w0, w1, w2, w3, w4, a, b, c, d) \
  KINGLET_FMA(a, n, w3) KINGLET_FMA(b, n, w2) KINGLET_FMA(c, n, w1) KINGLET_FMA(d, n, w0)
#define KINGLET_FMA_43210(n, w0, w1, w2, w3, w4, a, b, c, d, e)                                       \
  KINGLET_FMA(a, n, w4) KINGLET_FMA(b, n, w3) KINGLET_FMA(c, n, w2) KINGLET_FMA(d, n, w1) KINGLET_FMA(e, n, w0)

#define KINGLET_BEFORE5_0(GET) KINGLET_BEGIN5(25) KINGLET_LINES5(GET, KINGLET_FMA_0, 25)
#define KINGLET_BEFORE5_1(GET) KINGLET_BEGIN5(26) KINGLET_LINES5(GET, KINGLET_FMA_10, 25, 26)
#define KINGLET_BEFORE5_2(GET) KINGLET_BEGIN5(27) KINGLET_LINES5(GET, KINGLET_FMA_210, 25, 26, 27)
#define KINGLET_BEFORE5_3(GET) KINGLET_BEGIN5(28) KINGLET_LINES5(GET, KINGLET_FMA_3210, 25, 26, 27, 28)
#define KINGLET_COLUMN5(GET, a, b, c, d, e) \
  KINGLET_BEGIN5(e) KINGLET_LINES5(GET, KINGLET_FMA_43210, a, b, c, d, e) KINGLET_END5(a)

#define KINGLET_BEFORE5_1_STEP2(GET) KINGLET_LINES5(GET, KINGLET_FMA_1, 25)
#define KINGLET_BEFORE5_2_STEP2(GET) KINGLET_BEGIN5(26) KINGLET_LINES5(GET, KINGLET_FMA_20, 25, 26)
#define KINGLET_ODD5(GET, a, b) KINGLET_LINES5(GET, KINGLET_FMA_31, a, b)
#define KINGLET_EVEN5(GET, a, b, c) KINGLET_BEGIN5(c) KINGLET_LINES5(GET, KINGLET_FMA_420, a, b, c) KINGLET_END5(a)

// --- A row -------------------------------------------------------------------------------------------------------------

// A column that may lie in the padding.
#define KINGLET_ANY(NOTHING, DO, ...)                                                                 \
  "cmp %[column], %[columns]\n"                                                                       \
  "b.hs 1f\n"                                                                                         \
  DO(KINGLET_GET __VA_OPT__(,) __VA_ARGS__)                                                           \
  "b 2f\n"                                                                                            \
  "1:\n"                                                                                              \
  NOTHING                                                                                             \
  DO(KINGLET_ZERO __VA_OPT__(,) __VA_ARGS__)                                                          \
  "2:\n"                                                                                              \
  "add %[column], %[column], #1\n"
#define KINGLET_ANY3(DO, ...) KINGLET_ANY(KINGLET_NOTHING16, DO __VA_OPT__(,) __VA_ARGS__)
#define KINGLET_ANY5(DO, ...) KINGLET_ANY(KINGLET_NOTHING30, DO __VA_OPT__(,) __VA_ARGS__)
#define KINGLET_IF_LEFT "subs %[count], %[count], #1\nb.lt 8f\n"

// For each vector of channels: what stands before a window's end, outputs whose columns lie inside as a whole, and the
// others.
#define KINGLET_ROW(BOUNDS, WEIGHTS, BEFORE, INSIDE, OTHERS, NEXT)                                    \
  KINGLET_ARCH                                                                                        \
  BOUNDS                                                                                              \
  "3:\n"                                                                                              \
  WEIGHTS                                                                                             \
  "mov %[column], %[left]\n"                                                                          \
  BEFORE                                                                                              \
  "mov %[count], %[others]\n"                                                                         \
  "cbz %[inside], 7f\n"                                                                               \
  "mov %[count], %[inside]\n"                                                                         \
  "6:\n"                                                                                              \
  INSIDE                                                                                              \
  "subs %[count], %[count], #1\n"                                                                     \
  "b.ne 6b\n"                                                                                         \
  "mov %[count], %[others]\n"                                                                         \
  "mov %[column], %[behind]\n"                                                                        \
  "7:\n"                                                                                              \
  OTHERS                                                                                              \
  "b 7b\n"                                                                                            \
  "8:\n"                                                                                              \
  NEXT                                                                                                \
  "add %[output], %[output], %[next_output]\n"                                                        \
  "subs %[vectors], %[vectors], #1\n"                                                                 \
  "b.ne 3b\n"
#define KINGLET_NEXT_LINE(y) "add %[line" #y "], %[line" #y "], %[next]\n"
#define KINGLET_NEXT3 KINGLET_NEXT_LINE(0) KINGLET_NEXT_LINE(1) KINGLET_NEXT_LINE(2)
#define KINGLET_NEXT5 KINGLET_NEXT3 KINGLET_NEXT_LINE(3) KINGLET_NEXT_LINE(4)

#define KINGLET_ROW3                                                                                  \
  KINGLET_ROW(KINGLET_BOUNDS3, KINGLET_WEIGHTS3,                                                      \
    KINGLET_ANY3(KINGLET_BEFORE3_0) KINGLET_ANY3(KINGLET_BEFORE3_1),                                  \
    KINGLET_COLUMN3(KINGLET_GET, 20, 21, 22) KINGLET_COLUMN3(KINGLET_GET, 21, 22, 20)                 \
    KINGLET_COLUMN3(KINGLET_GET, 22, 20, 21),                                                         \
    KINGLET_IF_LEFT KINGLET_ANY3(KINGLET_COLUMN3, 20, 21, 22)                                         \
    KINGLET_IF_LEFT KINGLET_ANY3(KINGLET_COLUMN3, 21, 22, 20)                                         \
    KINGLET_IF_LEFT KINGLET_ANY3(KINGLET_COLUMN3, 22, 20, 21), KINGLET_NEXT3)
#define KINGLET_ROW3_STEP2                                                                            \
  KINGLET_ROW(KINGLET_BOUNDS3, KINGLET_WEIGHTS3,                                                      \
    KINGLET_ANY3(KINGLET_BEFORE3_0),                                                                  \
    KINGLET_ODD3(KINGLET_GET, 20) KINGLET_EVEN3(KINGLET_GET, 20, 21)                                  \
    KINGLET_ODD3(KINGLET_GET, 21) KINGLET_EVEN3(KINGLET_GET, 21, 20),                                 \
    KINGLET_IF_LEFT KINGLET_ANY3(KINGLET_ODD3, 20) KINGLET_ANY3(KINGLET_EVEN3, 20, 21)                \
    KINGLET_IF_LEFT KINGLET_ANY3(KINGLET_ODD3, 21) KINGLET_ANY3(KINGLET_EVEN3, 21, 20), KINGLET_NEXT3)
#define KINGLET_ROW5                                                                                  \
  KINGLET_ROW(KINGLET_BOUNDS5, KINGLET_WEIGHTS5,                                                      \
    KINGLET_ANY5(KINGLET_BEFORE5_0) KINGLET_ANY5(KINGLET_BEFORE5_1)                                   \
    KINGLET_ANY5(KINGLET_BEFORE5_2) KINGLET_ANY5(KINGLET_BEFORE5_3),                                  \
    KINGLET_COLUMN5(KINGLET_GET, 25, 26, 27, 28, 29) KINGLET_COLUMN5(KINGLET_GET, 26, 27, 28, 29, 25) \
    KINGLET_COLUMN5(KINGLET_GET, 27, 28, 29, 25, 26) KINGLET_COLUMN5(KINGLET_GET, 28, 29, 25, 26, 27) \
    KINGLET_COLUMN5(KINGLET_GET, 29, 25, 26, 27, 28),                                                 \
    KINGLET_IF_LEFT KINGLET_ANY5(KINGLET_COLUMN5, 25, 26, 27, 28, 29)                                 \
    KINGLET_IF_LEFT KINGLET_ANY5(KINGLET_COLUMN5, 26, 27, 28, 29, 25)                                 \
    KINGLET_IF_LEFT KINGLET_ANY5(KINGLET_COLUMN5, 27, 28, 29, 25, 26)                                 \
    KINGLET_IF_LEFT KINGLET_ANY5(KINGLET_COLUMN5, 28, 29, 25, 26, 27)                                 \
    KINGLET_IF_LEFT KINGLET_ANY5(KINGLET_COLUMN5, 29, 25, 26, 27, 28), KINGLET_NEXT5)
#define KINGLET_ROW5_STEP2                                                                            \
  KINGLET_ROW(KINGLET_BOUNDS5, KINGLET_WEIGHTS5,                                                      \
    KINGLET_ANY5(KINGLET_BEFORE5_0) KINGLET_ANY5(KINGLET_BEFORE5_1_STEP2)                             \
    KINGLET_ANY5(KINGLET_BEFORE5_2_STEP2),                                                            \
    KINGLET_ODD5(KINGLET_GET, 25, 26) KINGLET_EVEN5(KINGLET_GET, 25, 26, 27)                          \
    KINGLET_ODD5(KINGLET_GET, 26, 27) KINGLET_EVEN5(KINGLET_GET, 26, 27, 25)                          \
    KINGLET_ODD5(KINGLET_GET, 27, 25) KINGLET_EVEN5(KINGLET_GET, 27, 25, 26),                         \
    KINGLET_IF_LEFT KINGLET_ANY5(KINGLET_ODD5, 25, 26) KINGLET_ANY5(KINGLET_EVEN5, 25, 26, 27)        \
    KINGLET_IF_LEFT KINGLET_ANY5(KINGLET_ODD5, 26, 27) KINGLET_ANY5(KINGLET_EVEN5, 26, 27, 25)        \
    KINGLET_IF_LEFT KINGLET_ANY5(KINGLET_ODD5, 27, 25) KINGLET_ANY5(KINGLET_EVEN5, 27, 25, 26), KINGLET_NEXT5)

// With what it reads and writes.
#define KINGLET_WALK(TEXT)                                                                            \
  asm volatile(TEXT                                                                                   \
               : [line0] "+&r"(line0), [line1] "+&r"(line1), [line2] "+&r"(line2), [line3] "+&r"(line3), \
                 [line4] "+&r"(line4), [output] "+&r"(output), [weights] "+&r"(weights), [bias] "=&r"(bias), \
                 [vectors] "+&r"(vectors), [column] "=&r"(column), [count] "=&r"(count)               \
               : [left] "r"(row.left), [columns] "r"(row.columns), [behind] "r"(behind),              \
                 [inside] "r"(inside), [others] "r"(others), [step] "r"(step), [next] "r"(next),      \
                 [next_output] "r"(next_output), [bounds] "r"(row.bounds), [clips] "i"(kClips)        \
               : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", \
                 "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", \
                 "v27", "v28", "v29", "v30", "v31")
// The lines that there are.
#define KINGLET_WALK_SIDE                                                                             \
  if constexpr (kSide == 3 && kStep == 1) KINGLET_WALK(KINGLET_ROW3);                                 \
  if constexpr (kSide == 3 && kStep == 2) KINGLET_WALK(KINGLET_ROW3_STEP2);                           \
  if constexpr (kSide == 5 && kStep == 1) KINGLET_WALK(KINGLET_ROW5);                                 \
  if constexpr (kSide == 5 && kStep == 2) KINGLET_WALK(KINGLET_ROW5_STEP2)

// clang-format on

template <typename Number, int kSide, int kStep, bool kClips>
void walk_vectors(const Row<Number>& row, std::size_t vectors) {
  constexpr std::ptrdiff_t kBefore = kSide - kStep;                 // columns that end no window
  constexpr std::ptrdiff_t kOutputs = (kSide + kStep - 1) / kStep;  // whose sums take turns
  const auto outputs = static_cast<std::ptrdiff_t>(row.outputs);
  const std::ptrdiff_t first = row.left + kBefore;
  const std::ptrdiff_t whole = first < 0 ? 0 : (row.columns - first) / (kOutputs * kStep);
  const std::ptrdiff_t inside = whole < 0 ? 0 : whole < outputs / kOutputs ? whole : outputs / kOutputs;
  const std::ptrdiff_t others = outputs - inside * kOutputs;
  const std::ptrdiff_t behind = first + inside * kOutputs * kStep;
  const std::ptrdiff_t end = first + outputs * kStep;
  const std::ptrdiff_t read = end < 0 ? 0 : end < row.columns ? end : row.columns;
  const auto step = static_cast<std::ptrdiff_t>(row.step * sizeof(Number));
  constexpr std::ptrdiff_t kBytes = kBlock<Number> * sizeof(Number);
  const std::ptrdiff_t next = kBytes - read * step;
  const std::ptrdiff_t next_output = kBytes - outputs * step;
  const Number* line0 = row.lines[0];
  const Number* line1 = row.lines[1];
  const Number* line2 = row.lines[2];
  const Number* line3 = row.lines[kSide == 5 ? 3 : 0];
  const Number* line4 = row.lines[kSide == 5 ? 4 : 0];
  const Number* weights = row.weights;
  const Number* bias = nullptr;
  Number* output = row.output;
  std::ptrdiff_t column = 0, count = 0;
  if constexpr (kBlock<Number> == 8) {
#define KINGLET_ALL ".8h"
#define KINGLET_ARCH ".arch_extension fp16\n"
    KINGLET_WALK_SIDE;
#undef KINGLET_ALL
#undef KINGLET_ARCH
  } else {
#define KINGLET_ALL ".4s"
#define KINGLET_ARCH ""
    KINGLET_WALK_SIDE;
  }
}

template <typename Number>
struct AnyProcessors;
template <>
struct AnyProcessors<float> {
  using Simd = Scalar;
};
template <>
struct AnyProcessors<Half> {
  using Simd = ScalarHalf;
};

// Channels that fill no vector are walked one at a time.
template <typename Number, int kSide, int kStep>
void walk_neon(const Row<Number>& row) {
  constexpr std::size_t kLanes = kBlock<Number>;
  const std::size_t vectors = row.channels / kLanes;
  if (vectors > 0) {
    if (row.clips) {
      walk_vectors<Number, kSide, kStep, true>(row, vectors);
    } else {
      walk_vectors<Number, kSide, kStep, false>(row, vectors);
    }
  }
  if (row.channels % kLanes == 0) return;
  const Number* lines[kSide];
  for (int y = 0; y < kSide; ++y) lines[y] = row.lines[y] + vectors * kLanes;
  Row<Number> rest = row;
  rest.lines = lines;
  rest.weights += vectors * (1 + kSide * kSide) * kLanes;
  rest.output += vectors * kLanes;
  rest.channels = row.channels % kLanes;
  walk<typename AnyProcessors<Number>::Simd, kSide, kStep, 4>(rest);
}

template <typename Number>
constexpr Form<Number> neon_form() {
  return {.side3 = walk_neon<Number, 3, 1>,
          .side3_step2 = walk_neon<Number, 3, 2>,
          .side5 = walk_neon<Number, 5, 1>,
          .side5_step2 = walk_neon<Number, 5, 2>};
}

}  // namespace

constexpr Form<float> kNeon = neon_form<float>();
constexpr Form<Half> kNeonHalf = neon_form<Half>();

}  // namespace kinglet::engine::kernels::depthwise
#endif
