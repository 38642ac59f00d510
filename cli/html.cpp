// SPDX-License-Identifier: Apache-2.0
#include "cli/html.h"

#include "engine/base/text.h"

namespace kinglet::cli {

std::string html(std::string_view text) {
  std::string out;
  for (const char c : printable(text, 400)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace kinglet::cli
