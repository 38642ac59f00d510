// SPDX-License-Identifier: Apache-2.0
#include "engine/base/error.h"

#include <system_error>

#include "engine/base/check.h"

namespace kinglet {
namespace {
struct CodeRow {
  ErrorCode code;
  int exit_code;
  std::string_view name;
};
// Exit codes follow sysexits.h.
constexpr CodeRow kCodes[] = {
    {ErrorCode::kUsage, 64, "usage"},
    {ErrorCode::kBadData, 65, "bad-data"},
    {ErrorCode::kUnsupported, 65, "unsupported"},
    {ErrorCode::kNotFound, 66, "not-found"},
    {ErrorCode::kUnavailable, 69, "unavailable"},
    {ErrorCode::kInternal, 70, "internal"},
    {ErrorCode::kCannotCreate, 73, "cannot-create"},
    {ErrorCode::kIo, 74, "io"},
    {ErrorCode::kBusy, 75, "busy"},
    {ErrorCode::kNotPermitted, 77, "not-permitted"},
    {ErrorCode::kConfig, 78, "config"},
};

const CodeRow& row(ErrorCode code) {
  for (const CodeRow& candidate : kCodes) {
    if (candidate.code == code) return candidate;
  }
  KINGLET_CHECK(false && "every ErrorCode has a row");
}
}  // namespace

int exit_code(ErrorCode code) { return row(code).exit_code; }

std::string_view to_string(ErrorCode code) { return row(code).name; }

std::string describe(const Error& error) {
  return error.where.empty() ? error.message : error.where + ": " + error.message;
}

std::string errno_text(int code) { return std::system_category().message(code); }

Error with_context(Error error, std::string_view context) {
  std::string where(context);
  if (!error.where.empty()) where += ": " + error.where;
  error.where = std::move(where);
  return error;
}

}  // namespace kinglet
