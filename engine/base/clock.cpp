// SPDX-License-Identifier: Apache-2.0
#include "engine/base/clock.h"

#include "engine/base/format.h"

namespace kinglet {

std::string to_rfc3339(WallTime time) {
  return format_text("{:%FT%T}Z", std::chrono::floor<std::chrono::milliseconds>(time));
}

}  // namespace kinglet
