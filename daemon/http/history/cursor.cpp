// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/history/cursor.h"

#include <charconv>

#include "daemon/http/message/problem.h"
#include "engine/base/format.h"

namespace kinglet::daemon::http {
namespace {

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += format_text("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
  }
  return out;
}

}  // namespace

// FNV-1a, 64 bits.
std::uint64_t filter_hash(const Call& call) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    hash = (hash ^ 0xFFU) * 0x100000001B3U;
  };
  for (const auto& [name, value] : call.query) {
    if (name == "cursor" || name == "limit") continue;
    add(name);
    add(value);
  }
  return hash;
}

std::string make_cursor(std::uint64_t seq, std::uint64_t filters) { return format_text("{:x}.{:016x}", seq, filters); }

std::optional<std::uint64_t> seq_of_cursor(std::string_view cursor, std::uint64_t filters) {
  std::uint64_t seq = 0;
  std::from_chars(cursor.data(), cursor.data() + cursor.size(), seq, 16);
  if (make_cursor(seq, filters) != cursor) return std::nullopt;
  return seq;
}

Reply bad_cursor() {
  return problem("bad-cursor", "the cursor is not one of a list with these filters", "leave it out to begin anew");
}

std::string next_link(const Call& call, std::string_view cursor) {
  std::string target = call.path;
  for (const auto& [name, value] : call.query) {
    if (name == "cursor") continue;
    target += format_text("{}{}={}", target.size() == call.path.size() ? '?' : '&', name, percent_encoded(value));
  }
  target += format_text("{}cursor={}", target.size() == call.path.size() ? '?' : '&', cursor);
  return format_text("<{}>; rel=\"next\"", target);
}

}  // namespace kinglet::daemon::http
