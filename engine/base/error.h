// SPDX-License-Identifier: Apache-2.0
// Why: the one vocabulary for failures caused by input or environment. Own bugs are KINGLET_CHECK's (check.h).
#pragma once

#include <cerrno>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace kinglet {

// Each code has one process exit code (exit_code) and stands for who can cure it.
enum class ErrorCode {
  kUsage,         // 64: wrong command line
  kBadData,       // 65: a model, picture or recording that cannot be used
  kUnsupported,   // 65: a right file that asks for what kinglet does not have
  kNotFound,      // 66: an input file or folder that is not there or not readable
  kUnavailable,   // 69: camera, daemon, network: something outside is missing
  kInternal,      // 70: our fault
  kCannotCreate,  // 73: an output that cannot be made
  kIo,            // 74: reading or writing failed half-way
  kBusy,          // 75: try again later
  kNotPermitted,  // 77
  kConfig,        // 78: configuration
};

// message names the thing and the value; where is file, file:line:column or a node (may be empty);
// hint says what to do (may be empty). All three are single lines without a final full stop or newline.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string where;
  std::string hint;
};

template <typename T>
using Result = std::expected<T, Error>;

[[nodiscard]] int exit_code(ErrorCode code);
[[nodiscard]] std::string_view to_string(ErrorCode code);

// "where: message" without the hint, for logs and for the first line of the tool's error.
[[nodiscard]] std::string describe(const Error& error);

// The system's words for a code of errno.h, for the end of a message.
[[nodiscard]] std::string errno_text(int code = errno);

// The same error with `context` set in front of where ("loading model PATH"). Used once per folder border.
[[nodiscard]] Error with_context(Error error, std::string_view context);

[[nodiscard]] inline std::unexpected<Error> fail(ErrorCode code, std::string message, std::string where = {},
                                                 std::string hint = {}) {
  return std::unexpected(Error{code, std::move(message), std::move(where), std::move(hint)});
}

}  // namespace kinglet

// Evaluates a Result; on an error returns it from the enclosing function, otherwise gives the value (moved out).
#define KINGLET_TRY(...)                                             \
  __extension__({                                                    \
    auto kinglet_try_result = (__VA_ARGS__);                         \
    if (!kinglet_try_result) [[unlikely]] {                          \
      return std::unexpected(std::move(kinglet_try_result).error()); \
    }                                                                \
    ::kinglet::internal::take_value(std::move(kinglet_try_result));  \
  })

namespace kinglet::internal {
template <typename T>
T take_value(Result<T>&& result) {
  return std::move(*result);
}
inline void take_value(Result<void>&& /*result*/) {}
}  // namespace kinglet::internal
