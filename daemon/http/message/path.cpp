// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/message/path.h"

#include <charconv>
#include <optional>

namespace kinglet::daemon::http {
namespace {

constexpr std::size_t kEscape = 3;

// The byte of "%41..." at the front.
std::optional<char> escaped(std::string_view text) {
  if (text.size() < kEscape || text[0] != '%') return std::nullopt;
  unsigned byte = 0;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + kEscape, byte, 16);
  if (error != std::errc() || end != text.data() + kEscape) return std::nullopt;
  return static_cast<char>(byte);
}

}  // namespace

std::string path_of(std::string_view target) {
  std::string path;
  for (std::string_view rest = target.substr(0, target.find_first_of("?#")); !rest.empty();) {
    const std::optional<char> byte = escaped(rest);
    const char c = byte.value_or(rest.front());
    if (c == '%') {
      path += "%25";
    } else if (byte && c == '/') {
      path += "%2F";
    } else {
      path += c;
    }
    rest.remove_prefix(byte ? kEscape : 1);
  }
  return path;
}

std::string segment_text(std::string_view segment) {
  std::string text;
  while (!segment.empty()) {
    const std::optional<char> byte = escaped(segment);
    text += byte.value_or(segment.front());
    segment.remove_prefix(byte ? kEscape : 1);
  }
  return text;
}

}  // namespace kinglet::daemon::http
