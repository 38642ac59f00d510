// SPDX-License-Identifier: Apache-2.0
// Why: what the kernel of woven rows (woven.cpp) leaves to a processor: weaving the rows of a panel, where it has that,
// and the sums of a panel. A form is compiled for its processor alone, so that its file takes no code from elsewhere
// that others might get to run.
#pragma once

#include <cstddef>
#include <utility>

#include "engine/graph/data_type.h"

namespace kinglet::engine::kernels::woven {

// ARM's: numbers of a row that lie together, and outputs of a vector: 16 bytes, of floats or of float16.
inline constexpr std::size_t kVectorBytes = 16;
template <typename Number>
inline constexpr std::size_t kLanes = kVectorBytes / sizeof(Number);
inline constexpr std::size_t kQuad = kLanes<float>;
// In any form.
inline constexpr std::size_t kMostLanes = 8;    // of a vector
inline constexpr std::size_t kMostRows = 14;    // of a panel
inline constexpr std::size_t kMostVectors = 4;  // of a block of outputs
inline constexpr std::size_t kWovenRows = 7;    // at most, of a panel that is woven
// Of a panel that is brought together, in any form: it lies on the stack, in 126 KiB.
inline constexpr std::size_t kMostPanelNumbers = std::size_t{kWovenRows} * 4608;

// How a form would have a layer cut.
struct Tile {
  std::size_t together;      // numbers of a row that are woven as one; 1: rows are not woven, one lies behind the other
  std::size_t lanes;         // outputs of a vector
  std::size_t rows;          // of a panel, at most
  std::size_t rows_of_one;   // the same where the layer, or each group, has but one vector of outputs
  std::size_t vectors;       // of a block of outputs, at most; 2 or more
  std::size_t most_numbers;  // of a row, in a panel of its own
};

template <typename Number>
inline constexpr Tile kWovenTile{.together = kLanes<Number>,
                                 .lanes = kLanes<Number>,
                                 .rows = kWovenRows,
                                 .rows_of_one = kWovenRows,
                                 .vectors = 3,
                                 .most_numbers = kMostPanelNumbers / kWovenRows};

// Writes whole vectors of each row: [vectors][rows][16 bytes].
struct Weave {
  const std::byte* const* rows;  // kWovenRows of them, as many as the form is for are read
  std::size_t vectors;
  std::byte* panel;
};

// How the rows of a panel lie that are not woven.
struct Laid {
  std::size_t step;         // numbers from one row to the next
  const std::size_t* runs;  // of a row: how many numbers behind its first one each begins
  std::size_t run_count;
  std::size_t run_numbers;
};

// The sums of a panel's rows, for blocks of outputs that stand side by side. Each sum begins with the bias and takes
// one number of the row after the other.
template <typename Number>
struct Product {
  const Number* panel;
  const Laid* laid;       // null: rows are woven
  std::size_t parts;      // numbers of a row, in those that are woven as one
  const Number* weights;  // [blocks][numbers][vectors][lanes]
  const Number* bias;     // [blocks][vectors][lanes]
  std::size_t blocks;
  Number* output;       // of the first row and output
  const Number* added;  // the same of what is added at the end; null: nothing
  std::size_t step;     // numbers from one row to the next, of both
  const Number* least;  // that the output is cut at; null: not
  const Number* most;
};

// The same without a panel, of one of several groups of whole vectors.
template <typename Number>
struct ProductOfVectors : Product<Number> {
  const Number* const* vectors;  // where those of the first group's rows lie: [vectors][rows]
  std::size_t begin;             // how many numbers behind them this group's lie
};

// The sums of several panels of woven rows, each by weights of its own. They begin with nothing and nothing is behind
// them (winograd/woven_products.h).
template <typename Number>
struct ProductsOfPanels {
  const Number* panel;     // the first one
  std::size_t panel_step;  // numbers to the next one
  std::size_t parts;       // numbers of a row, in those that are woven as one
  const Number* weights;   // [panels][numbers][vectors][lanes]
  Number* sums;            // of the first one: [rows][vectors][lanes]
  std::size_t sums_step;   // numbers to the next one's
  std::size_t count;       // of panels
};

template <typename Number>
struct Form {
  Tile tile;
  void (*weave[kWovenRows])(const Weave&);                            // by rows, less one; null where none are woven
  void (*multiply[kMostVectors][kMostRows])(const Product<Number>&);  // by vectors and rows, each less one
  void (*multiply_vectors[kMostVectors][kWovenRows])(const ProductOfVectors<Number>&) = {};  // the same, as `weave`
  void (*multiply_panels[kMostVectors][kWovenRows])(const ProductsOfPanels<Number>&) = {};   // ARM's alone
  // Of float16 alone: rounds so many floats to it, and up to a vector less one that lie behind them.
  void (*narrow)(const float* from, std::size_t count, Number* to) = nullptr;
};

// For rows that are woven. `weave` gives the function for so many rows, `multiply` the one for so many vectors and rows
// of a Product or a ProductOfVectors.
template <typename Number, typename WeaveOf, typename MultiplyOf>
consteval Form<Number> form_of(WeaveOf weave, MultiplyOf multiply, decltype(Form<Number>::narrow) narrow = nullptr) {
  using Whole = Product<Number>;
  using Vectors = ProductOfVectors<Number>;
  return [&]<std::size_t... kBefore>(std::index_sequence<kBefore...>) {
    return Form<Number> {
      .tile = kWovenTile<Number>,
      .weave = {weave.template operator()<kBefore + 1>()...},
      .multiply = {{multiply.template operator()<1, kBefore + 1, Whole>()...},
                   {multiply.template operator()<2, kBefore + 1, Whole>()...},
                   {multiply.template operator()<3, kBefore + 1, Whole>()...}},
      .multiply_vectors = {{multiply.template operator()<1, kBefore + 1, Vectors>()...},
                           {multiply.template operator()<2, kBefore + 1, Vectors>()...},
                           {multiply.template operator()<3, kBefore + 1, Vectors>()...}},
      .narrow = narrow,
    };
  }(std::make_index_sequence<kWovenRows>());
}

extern const Form<float> kScalar;
extern const Form<Half> kScalarHalf;
#if defined(__x86_64__)
extern const Form<float> kAvx2;
extern const Form<float> kAvx512;
#endif
#if defined(__aarch64__)
extern const Form<float> kNeon;
extern const Form<Half> kNeonHalf;  // with the half-precision extension
#endif

}  // namespace kinglet::engine::kernels::woven
