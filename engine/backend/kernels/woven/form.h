// SPDX-License-Identifier: Apache-2.0
// Why: what the kernel of woven rows (woven.cpp) leaves to a processor: weaving the rows of a panel, and the sums
// of a panel. A form is compiled for its processor alone, so that its file takes no code from elsewhere that others
// might get to run.
#pragma once

#include <cstddef>
#include <utility>

#include "engine/graph/data_type.h"

namespace kinglet::engine::kernels::woven {

// Numbers of a row that lie together, and outputs of a vector: 16 bytes, of floats or of float16.
template <typename Number>
inline constexpr std::size_t kLanes = 16 / sizeof(Number);
inline constexpr std::size_t kQuad = kLanes<float>;
inline constexpr std::size_t kMostRows = 7;     // of a panel
inline constexpr std::size_t kMostVectors = 3;  // of a block of outputs

// Writes whole vectors of each row: [vectors][rows][16 bytes].
struct Weave {
  const std::byte* const* rows;  // kMostRows of them, as many as the form is for are read
  std::size_t vectors;
  std::byte* panel;
};

// The sums of a panel's rows, for blocks of outputs that stand side by side. Each sum begins with the bias and takes
// one number of the row after the other.
template <typename Number>
struct Product {
  const Number* panel;
  std::size_t parts;      // vectors of numbers of a row
  const Number* weights;  // [blocks][parts][lanes][vectors][lanes]
  const Number* bias;     // [blocks][vectors][lanes]
  std::size_t blocks;
  Number* output;       // of the first row and output
  const Number* added;  // the same of what is added at the end; null: nothing
  std::size_t step;     // numbers from one row to the next, of both
  const Number* least;  // that the output is cut at; null: not
  const Number* most;
};

template <typename Number>
struct Form {
  void (*weave[kMostRows])(const Weave&);                             // by rows, less one
  void (*multiply[kMostVectors][kMostRows])(const Product<Number>&);  // by vectors and rows, each less one
};

// `weave` gives the function for so many rows, `multiply` the one for so many vectors and rows.
template <typename Number, typename WeaveOf, typename MultiplyOf>
consteval Form<Number> form_of(WeaveOf weave, MultiplyOf multiply) {
  return [&]<std::size_t... kBefore>(std::index_sequence<kBefore...>) {
    return Form<Number> {
      .weave = {weave.template operator()<kBefore + 1>()...},
      .multiply = {{multiply.template operator()<1, kBefore + 1>()...},
                   {multiply.template operator()<2, kBefore + 1>()...},
                   {multiply.template operator()<3, kBefore + 1>()...}},
    };
  }(std::make_index_sequence<kMostRows>());
}

extern const Form<float> kScalar;
extern const Form<Half> kScalarHalf;
#if defined(__aarch64__)
extern const Form<float> kNeon;
extern const Form<Half> kNeonHalf;  // with the half-precision extension
#endif

}  // namespace kinglet::engine::kernels::woven
