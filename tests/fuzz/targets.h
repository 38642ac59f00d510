// SPDX-License-Identifier: Apache-2.0
// Why: what both the fuzzers and the replay of their seeds run. A target may return or refuse, never crash, hang, or
// take memory that the size of its bytes does not explain.
#pragma once

#include <cstddef>
#include <span>

namespace kinglet::fuzz {

#define KINGLET_FUZZ_TARGET(name, what) void name(std::span<const std::byte> bytes);
#include "tests/fuzz/targets.def"
#undef KINGLET_FUZZ_TARGET

}  // namespace kinglet::fuzz
