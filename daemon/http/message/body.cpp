// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/message/body.h"

namespace kinglet::daemon::http {

bool is_too_deep(std::string_view json) {
  std::size_t depth = 0;
  bool text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (text) {
      if (c == '\\') ++i;
      text = c != '"';
    } else if (c == '"') {
      text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepestBody) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

Body parse_body(std::string_view json) {
  if (is_too_deep(json)) return {Body::value_t::discarded};
  return Body::parse(json, nullptr, false);
}

}  // namespace kinglet::daemon::http
