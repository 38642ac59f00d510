// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/message/etag.h"

#include <algorithm>
#include <functional>

#include "engine/base/format.h"

namespace kinglet::daemon::http {

bool names_tag(std::string_view if_match, std::string_view tag) {
  while (!if_match.empty()) {
    std::string_view one = if_match.substr(0, if_match.find(','));
    if_match.remove_prefix(std::min(if_match.size(), one.size() + 1));
    one.remove_prefix(std::min(one.size(), one.find_first_not_of(" \t")));
    one = one.substr(0, one.find_last_not_of(" \t") + 1);
    if (one == tag || one == "*") return true;
  }
  return false;
}

std::string tag_of(std::string_view body) { return format_text("\"{:016x}\"", std::hash<std::string_view>{}(body)); }

}  // namespace kinglet::daemon::http
