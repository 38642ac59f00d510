// SPDX-License-Identifier: Apache-2.0
// Why: thousands of predictions are kept, and most of one is room that it does not use: as bytes they take less than
// half. Of this process alone: nothing of it is written anywhere.
#pragma once

#include <cstddef>
#include <span>

#include "daemon/line/prediction.h"

namespace kinglet::daemon {

// A number takes at most twice the bytes that it has in memory.
inline constexpr std::size_t kMostPacked = 2 * sizeof(Prediction);

// Writes it to the begin of `to` and gives the number of its bytes.
[[nodiscard]] std::size_t pack(const Prediction& prediction, std::span<std::byte, kMostPacked> to);

// `from`: what pack() wrote.
void unpack(const std::byte* from, Prediction& prediction);

}  // namespace kinglet::daemon
