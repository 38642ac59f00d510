// SPDX-License-Identifier: Apache-2.0
// Why: what the kernel of woven rows (woven_f32.cpp) leaves to a processor: weaving the rows of a panel, and the sums
// of a panel. A form is compiled for its processor alone, so that its file takes no code from elsewhere that others
// might get to run.
#pragma once

#include <cstddef>
#include <utility>

namespace kinglet::engine::kernels::woven {

inline constexpr std::size_t kQuad = 4;         // numbers of a row that lie together, and outputs of a vector
inline constexpr std::size_t kMostRows = 7;     // of a panel
inline constexpr std::size_t kMostVectors = 3;  // of a block of outputs

// Writes whole quads of each row: [quads][rows][kQuad].
struct Weave {
  const float* const* rows;  // kMostRows of them, as many as the form is for are read
  std::size_t quads;
  float* panel;
};

// The sums of a panel's rows, for blocks of outputs that stand side by side. Each sum begins with the bias and takes
// one number of the row after the other.
struct Product {
  const float* panel;
  std::size_t quads;
  const float* weights;  // [blocks][quads][kQuad][vectors][kQuad]
  const float* bias;     // [blocks][vectors][kQuad]
  std::size_t blocks;
  float* output;       // of the first row and output
  const float* added;  // the same of what is added at the end; null: nothing
  std::size_t step;    // numbers from one row to the next, of both
  const float* least;  // that the output is cut at; null: not
  const float* most;
};

struct Form {
  void (*weave[kMostRows])(const Weave&);                     // by rows, less one
  void (*multiply[kMostVectors][kMostRows])(const Product&);  // by vectors and rows, each less one
};

// `weave` gives the function for so many rows, `multiply` the one for so many vectors and rows.
template <typename WeaveOf, typename MultiplyOf>
consteval Form form_of(WeaveOf weave, MultiplyOf multiply) {
  return [&]<std::size_t... kBefore>(std::index_sequence<kBefore...>) {
    return Form {
      .weave = {weave.template operator()<kBefore + 1>()...},
      .multiply = {{multiply.template operator()<1, kBefore + 1>()...},
                   {multiply.template operator()<2, kBefore + 1>()...},
                   {multiply.template operator()<3, kBefore + 1>()...}}
    };
  }(std::make_index_sequence<kMostRows>());
}

extern const Form kScalar;
#if defined(__aarch64__)
extern const Form kNeon;
#endif

}  // namespace kinglet::engine::kernels::woven
