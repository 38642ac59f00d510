// SPDX-License-Identifier: Apache-2.0
// Why: a row of a depthwise layer, written once for vectors of any width: a form (form.h) gives its vector, so that all
// forms do the same arithmetic in the same order and give the same bits. Windows beside each other share the columns of
// the input: each number is loaded once for all outputs of a group.
#pragma once

#include <cstddef>

#include "engine/backend/kernels/depthwise/form.h"
#include "engine/backend/kernels/vectors/unroll.h"

namespace kinglet::engine::kernels::depthwise {

// kOutputs windows beside each other, kStep apart, the first one's left column being `column`; kEdge: some lie outside.
// Each sum takes its products column by column, as XNNPACK's does.
template <typename Simd, int kSide, int kStep, int kOutputs, bool kEdge>
void walk_group(const Row<typename Simd::Number>& row, std::ptrdiff_t column, typename Simd::Number* to) {
  using Number = typename Simd::Number;
  using Vector = typename Simd::Vector;
  constexpr int kColumns = (kOutputs - 1) * kStep + kSide;
  constexpr std::size_t kEach = kBlock<Number>;
  constexpr std::size_t kOfBlock = (1 + kSide * kSide) * kEach;
  const Vector least = Simd::set(row.bounds[0]);
  const Vector most = Simd::set(row.bounds[1]);
  const auto step = static_cast<std::ptrdiff_t>(row.step);
  const Number* lines[kSide];
  KINGLET_UNROLL
  for (int y = 0; y < kSide; ++y) lines[y] = row.lines[y];
  for (std::size_t channel = 0; channel < row.channels; channel += Simd::kLanes) {
    const Number* weights = row.weights + channel / kEach * kOfBlock + channel % kEach;
    Vector sums[kOutputs];
    KINGLET_UNROLL
    for (int i = 0; i < kOutputs; ++i) sums[i] = Simd::load(weights);
    weights += kEach;
    std::ptrdiff_t at = column * step + static_cast<std::ptrdiff_t>(channel);
    KINGLET_UNROLL
    for (int x = 0; x < kColumns; ++x, at += step) {
      const bool outside = kEdge && (column + x < 0 || column + x >= row.columns);
      KINGLET_UNROLL
      for (int y = 0; y < kSide; ++y) {
        const Vector number = outside ? Simd::set(Number{}) : Simd::load(lines[y] + at);
        KINGLET_UNROLL
        for (int i = 0; i < kOutputs; ++i) {
          const int tap = x - i * kStep;
          if (tap < 0 || tap >= kSide) continue;
          sums[i] = Simd::fma(number, Simd::load(weights + static_cast<std::size_t>(tap * kSide + y) * kEach), sums[i]);
        }
      }
    }
    const std::size_t left = row.channels - channel;
    KINGLET_UNROLL
    for (int i = 0; i < kOutputs; ++i) {
      Number* of_output = to + static_cast<std::size_t>(i) * row.step + channel;
      const Vector sum = Simd::min(Simd::max(sums[i], least), most);
      if (left >= Simd::kLanes) {
        Simd::store(of_output, sum);
      } else {
        Simd::store_first(of_output, sum, left);
      }
    }
  }
}

// In groups of kOutputs; the last one lies over the one before where they do not share out the row.
template <typename Simd, int kSide, int kStep, int kOutputs>
void walk_groups(const Row<typename Simd::Number>& row) {
  for (std::size_t begin = 0; begin < row.outputs; begin += kOutputs) {
    const std::size_t first = begin + kOutputs <= row.outputs ? begin : row.outputs - kOutputs;
    const std::ptrdiff_t column = row.left + static_cast<std::ptrdiff_t>(first) * kStep;
    auto* to = row.output + first * row.step;
    if (column < 0 || column + std::ptrdiff_t{kOutputs - 1} * kStep + kSide > row.columns) {
      walk_group<Simd, kSide, kStep, kOutputs, true>(row, column, to);
    } else {
      walk_group<Simd, kSide, kStep, kOutputs, false>(row, column, to);
    }
  }
}

// The largest group that fits, unless it does more twice than it saves: an eighth of what fours take where windows lie
// beside each other, nothing where they are two apart.
template <typename Simd, int kSide, int kStep, int kMost>
void walk(const Row<typename Simd::Number>& row) {
  const auto done = [&](std::size_t group) { return (row.outputs + group - 1) / group * group; };
  constexpr std::size_t kEighths = kStep == 1 ? 9 : 8;
  if (row.outputs >= kMost && done(kMost) * 8 <= done(4) * kEighths) return walk_groups<Simd, kSide, kStep, kMost>(row);
  if (row.outputs >= 4) return walk_groups<Simd, kSide, kStep, 4>(row);
  if (row.outputs >= 2) return walk_groups<Simd, kSide, kStep, 2>(row);
  return walk_groups<Simd, kSide, kStep, 1>(row);
}

// As many outputs at once as registers hold sums of.
template <typename Simd, int kMost>
constexpr Form<typename Simd::Number> form_of() {
  return {.side3 = walk<Simd, 3, 1, kMost>,
          .side3_step2 = walk<Simd, 3, 2, kMost>,
          .side5 = walk<Simd, 5, 1, kMost>,
          .side5_step2 = walk<Simd, 5, 2, kMost>};
}

}  // namespace kinglet::engine::kernels::depthwise
