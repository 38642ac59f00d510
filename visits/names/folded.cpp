// SPDX-License-Identifier: Apache-2.0
#include "visits/names/folded.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "visits/lines.h"

namespace kinglet::visits {
namespace {

// Of U+00C0 to U+017F, a letter each without its accents; '-' is no letter, '1' to '5' stand for two letters.
constexpr std::string_view kLatin =
    "aaaaaa1ceeeeiiiidnooooo-ouuuuy23aaaaaa1ceeeeiiiidnooooo-ouuuuy2y"
    "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii44jjkkklllllll"
    "lllnnnnnnnnnoooooo55rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs";
constexpr std::array<std::string_view, 5> kPairs{"ae", "th", "ss", "ij", "oe"};
static_assert(kLatin.size() == 0x180 - 0xC0);

struct Character {
  std::uint32_t code = 0;
  std::size_t length = 1;
};

// Of text that is UTF-8; of other bytes one at a time.
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  const std::size_t length = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (length == 1 || length > text.size()) return {lead, 1};
  std::uint32_t code = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) code = (code << 6) | (byte(i) & 0x3FU);
  return {code, length};
}

bool is_accent(std::uint32_t code) { return code >= 0x300 && code < 0x370; }
bool is_apostrophe(std::uint32_t code) {
  return code == '\'' || code == 0x2018 || code == 0x2019 || code == 0x02BB || code == 0x02BC;
}
// General punctuation, that of China and Japan, and signs within Latin-1.
bool is_between(std::uint32_t code) {
  return (code >= 0x80 && code < 0xC0) || (code >= 0x2000 && code < 0x2070) || (code >= 0x3000 && code < 0x3005) ||
         (code >= 0x3008 && code < 0x3020) || code == 0x30FB || (code >= 0xFF01 && code < 0xFF10);
}

// Empty: something between letters.
std::string letters_of(const Character& character, std::string_view bytes) {
  const std::uint32_t code = character.code;
  if (code < 0x80) {
    const char c = static_cast<char>(code);
    if (c >= 'A' && c <= 'Z') return {static_cast<char>(c - 'A' + 'a')};
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? std::string{c} : std::string();
  }
  if (code >= 0xC0 && code < 0x180) {
    const char letter = kLatin[code - 0xC0];
    if (letter >= '1' && letter <= '5') return std::string(kPairs.at(static_cast<std::size_t>(letter - '1')));
    return letter == '-' ? std::string() : std::string{letter};
  }
  return is_between(code) ? std::string() : std::string(bytes);
}

// American and British spelling of the one word that matters.
void spell_grey(std::string& name) {
  constexpr std::string_view kGray = "gray";
  for (std::size_t at = name.find(kGray); at != std::string::npos; at = name.find(kGray, at + kGray.size())) {
    const bool begins = at == 0 || name[at - 1] == '-';
    const std::size_t end = at + kGray.size();
    if (begins && (end == name.size() || name[end] == '-')) name[at + 2] = 'e';
  }
}

}  // namespace

std::string folded(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const Character character = first_of(name);
    const std::string_view bytes = name.substr(0, character.length);
    name.remove_prefix(character.length);
    if (is_accent(character.code) || is_apostrophe(character.code)) continue;
    const std::string letters = letters_of(character, bytes);
    if (!letters.empty()) {
      out += letters;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (out.ends_with('-')) out.pop_back();
  spell_grey(out);
  return out;
}

bool is_called(std::string_view name, std::string_view wished) {
  const std::string whole = folded(name);
  return whole.starts_with(wished) && (whole.size() == wished.size() || whole[wished.size()] == '-');
}

std::pair<std::string_view, std::string_view> two_names(std::string_view name) {
  name = trimmed(name);
  const std::size_t open = name.rfind(" (");
  if (open == std::string_view::npos || open == 0 || !name.ends_with(')')) return {name, {}};
  return {trimmed(name.substr(0, open)), trimmed(name.substr(open + 2, name.size() - open - 3))};
}

}  // namespace kinglet::visits
