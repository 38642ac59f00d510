// SPDX-License-Identifier: Apache-2.0
// Why: packed weights of a large layer come from beyond a core's own cache, and products of AVX2 wait for them although
// they read one after the other: such a loop asks for what it wants later. Each file that includes this is compiled for
// its processor and has a copy of its own, so that nobody else gets to run it.
#pragma once

#include <cstddef>

namespace kinglet::engine::kernels {
namespace {

inline constexpr std::size_t kLineBytes = 64;  // of a cache
// To a weight that is asked for meanwhile: nearer ones come too late (docs/benchmarks.md, "Weights asked for early").
inline constexpr std::size_t kBytesAhead = 16U << 10U;

// The lines of `kBytes` that stand `ahead` bytes behind an address, into a core's second cache. They need not be there.
template <std::size_t kBytes>
void ask_for(const void* from, std::size_t ahead) {
  for (std::size_t line = 0; line < kBytes; line += kLineBytes)
    __builtin_prefetch(static_cast<const std::byte*>(from) + ahead + line, 0, 2);
}

}  // namespace
}  // namespace kinglet::engine::kernels
