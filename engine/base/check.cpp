// SPDX-License-Identifier: Apache-2.0
#include "engine/base/check.h"

#include <cstdio>
#include <cstdlib>

#include "engine/base/format.h"

namespace kinglet {

void check_failed(const char* condition, const char* file, int line) {
  const std::string text = format_text("{}:{}: check failed: {}", file, line, condition);
#ifdef NDEBUG
  throw CheckFailure(text);
#else
  std::fputs((text + "\n").c_str(), stderr);
  std::abort();
#endif
}

}  // namespace kinglet
