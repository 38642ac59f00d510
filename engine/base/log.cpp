// SPDX-License-Identifier: Apache-2.0
#include "engine/base/log.h"

#include <string_view>

namespace kinglet {

std::string without_logins(std::string text) {
  constexpr std::string_view kBegin = "://";
  for (std::size_t at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at)) {
    at += kBegin.size();
    const std::size_t end = text.find_first_of("/ \"'?#", at);
    const std::size_t sign = text.substr(at, end == std::string::npos ? end : end - at).rfind('@');
    if (sign != std::string::npos) text.replace(at, sign, "***");
  }
  return text;
}

}  // namespace kinglet
