// SPDX-License-Identifier: Apache-2.0
// Why: what of XNNPACK is right and quick on the processor at hand.
#pragma once

#include <filesystem>
#include <optional>

namespace kinglet::engine::xnn {

// The processor adds and multiplies float16 by itself: an ARM of 64 bits with the half-precision extension (Cortex-A76,
// not A53 and A72). No other: on x86-64 XNNPACK (20241108 of Debian 13) answers wrongly from its fully-connected layer.
[[nodiscard]] bool half_arithmetic();

// The processor is an ARM of 64 bits that adds up products of four bytes (Cortex-A76 and A55, not A53 and A72).
[[nodiscard]] bool dot_products();

// The processor is an ARM of 64 bits whose instructions wait for each other in their order (Cortex-A53 and its kin), or
// one that does not say; where cores differ, all of them: what computes is sooner or later on one of the quick ones.
// The same for the life of the process, whichever core asks. XNNPACK has forms of its own for them, of more and smaller
// loads: fewer instructions are not less time there.
[[nodiscard]] bool runs_in_order();

// The same of the cores that a folder like /sys/devices/system/cpu tells of. Nothing: it tells of none.
[[nodiscard]] std::optional<bool> all_run_in_order(const std::filesystem::path& cores);

}  // namespace kinglet::engine::xnn
