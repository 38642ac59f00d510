// SPDX-License-Identifier: Apache-2.0
// Why: "allocates nothing per run" is measured, not claimed. Only programs that link allocation_hooks.cpp count.
#pragma once

#include <cstdint>

namespace kinglet::cli {

struct AllocationCount {
  std::uint64_t count = 0;  // calls of malloc, calloc, realloc, the aligned ones and operator new, of all threads
  std::uint64_t bytes = 0;
};

// Since the start of the process.
[[nodiscard]] AllocationCount allocations();
// False under sanitizers, which have an allocator of their own, and where the hooks are not linked.
[[nodiscard]] bool allocations_are_counted();

namespace internal {
void count_allocation(std::uint64_t bytes);
void enable_allocation_count();
}  // namespace internal

}  // namespace kinglet::cli
