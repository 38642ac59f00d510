// SPDX-License-Identifier: Apache-2.0
#include "engine/base/clock.h"

#include <format>

namespace kinglet {

std::string to_rfc3339(WallTime time) {
  return std::format("{:%FT%T}Z", std::chrono::floor<std::chrono::milliseconds>(time));
}

}  // namespace kinglet
