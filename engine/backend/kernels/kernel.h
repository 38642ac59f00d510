// SPDX-License-Identifier: Apache-2.0
// Why: kernels of kinglet's own, for work that XNNPACK does slowly on some processor. They stand in one table
// (kernels.def): the plan asks each what it would take, before anything is packed, and nobody knows one by its name.
#pragma once

#include <pthreadpool.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "engine/backend/kernels/work.h"
#include "engine/backend/packed_weights.h"

namespace kinglet::engine::kernels {

// What XNNPACK takes for float16 in times of what it takes for floats: twice the numbers are in a register.
inline constexpr double kCostOfHalves = 0.5;

// What a kernel would take for a piece of work.
struct Offer {
  double cost = 1;  // its time on this processor, in times of XNNPACK's for floats; 0: XNNPACK has nothing for it
  std::size_t packed_bytes = 0;   // that it keeps of the numbers, in its own order
  std::size_t scratch_bytes = 0;  // that a run writes beside its outputs
  // An input where the first output may lie, if it is as large and stands in the work once.
  std::optional<std::size_t> writes_over = std::nullopt;
  bool writes_among = false;  // its outputs may lie among others (ConvolutionShape::output_step)
};

// Made for one piece of work; its packed numbers are its own, or lie in the PackedWeights that it was made with.
// Reentrant.
class Kernel {
 public:
  using Inputs = std::span<const std::span<const std::byte>>;
  using Outputs = std::span<const std::span<std::byte>>;

  virtual ~Kernel() = default;
  // Inputs and outputs in the order of the work, `scratch` as large as offered and of any content: each begins at a
  // multiple of 64 bytes, but for an output among others, and has 64 readable ones behind its end. `pool` null: the
  // caller's thread alone. Nothing is allocated.
  virtual void run(Inputs inputs, Outputs outputs, std::span<std::byte> scratch, pthreadpool_t pool) const = 0;
};

// Pure functions.
struct KernelRow {
  std::string_view name;  // KIND__PROCESSOR; KIND__scalar is its twin: the same bits on any processor, slowly
  // Nothing: not this work, or not on this processor. Looks at shapes, never at weights.
  std::optional<Offer> (*offer)(const Work& work) = nullptr;
  // For work that it has an offer for. `weights` outlives the kernel.
  std::unique_ptr<Kernel> (*make)(const Work& work, PackedWeights& weights) = nullptr;
};

// A layer and the kernel that was chosen for it.
struct Layered {
  const KernelRow* row = nullptr;
  Work work;
};

// Two kernels that run in turns, band by band (engine/backend/bands.h, kernels/bands.cpp): `windows` reads what
// `pixels` gives, and nothing else. Nothing: they are not of single pixels and depthwise, or it is not worth it.
[[nodiscard]] std::optional<Offer> offer_in_bands(const Layered& pixels, const Layered& windows);
// For what it has an offer for. The bits are those of the two kernels one after the other.
[[nodiscard]] std::unique_ptr<Kernel> make_in_bands(const Layered& pixels, const Layered& windows,
                                                    PackedWeights& weights);

// In so many, whatever that is worth: for tests.
[[nodiscard]] std::optional<Offer> offer_in_bands(const Layered& pixels, const Layered& windows, std::size_t count);
[[nodiscard]] std::unique_ptr<Kernel> make_in_bands(const Layered& pixels, const Layered& windows, std::size_t count,
                                                    PackedWeights& weights);

// The rows of kernels.def.
[[nodiscard]] std::span<const KernelRow* const> all_kernels();

}  // namespace kinglet::engine::kernels
