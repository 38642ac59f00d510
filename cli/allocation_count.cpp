// SPDX-License-Identifier: Apache-2.0
#include "cli/allocation_count.h"

#include <atomic>

namespace kinglet::cli {
namespace {
// Process-wide by nature: the allocator is. Constant-initialised, since malloc is called before any constructor.
constinit std::atomic<std::uint64_t> g_count{0};
constinit std::atomic<std::uint64_t> g_bytes{0};
constinit std::atomic<bool> g_enabled{false};
}  // namespace

AllocationCount allocations() {
  return {g_count.load(std::memory_order_relaxed), g_bytes.load(std::memory_order_relaxed)};
}

bool allocations_are_counted() { return g_enabled.load(std::memory_order_relaxed); }

namespace internal {

void count_allocation(std::uint64_t bytes) {
  g_count.fetch_add(1, std::memory_order_relaxed);
  g_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void enable_allocation_count() { g_enabled.store(true, std::memory_order_relaxed); }

}  // namespace internal
}  // namespace kinglet::cli
