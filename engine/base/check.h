// SPDX-License-Identifier: Apache-2.0
// Why: programming errors. Debug and sanitizer builds abort; release builds throw CheckFailure, which only the
// pipeline's step and the HTTP dispatcher catch, count and log.
#pragma once

#include <stdexcept>

namespace kinglet {

class CheckFailure : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace kinglet

#define KINGLET_CHECK(condition)                               \
  do {                                                         \
    if (!(condition)) [[unlikely]] {                           \
      ::kinglet::check_failed(#condition, __FILE__, __LINE__); \
    }                                                          \
  } while (false)
