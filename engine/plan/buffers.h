// SPDX-License-Identifier: Apache-2.0
// Why: one arena for all values that cross steps and for what kernels write beside them: memory is shared by what is
// never alive together.
#pragma once

#include <map>

#include "engine/plan/segments.h"

namespace kinglet::engine {

struct BufferPlan {
  struct Slot {
    std::size_t offset = 0;  // from the arena's start, a multiple of kBufferAlignment
    std::size_t bytes = 0;   // of what lies there; at least kBufferSlack readable bytes follow
  };
  std::map<ValueId, Slot> slots;
  std::map<std::size_t, Slot> scratch;  // by step: of a kernel that wants some
  std::size_t arena_bytes = 0;
};

inline constexpr std::size_t kBufferAlignment = 64;
inline constexpr std::size_t kBufferSlack = 64;  // XNNPACK reads 16 bytes past the end

// A slot for each graph input and output (alive all the time), for each value that crosses steps (alive from the step
// that makes it to the last that reads it) and for each kernel's scratch (alive in its step). kBadData when the sizes
// do not fit memory. Pure.
[[nodiscard]] Result<BufferPlan> plan_buffers(const Graph& graph, const std::vector<Step>& steps);

}  // namespace kinglet::engine
