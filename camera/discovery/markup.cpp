// SPDX-License-Identifier: Apache-2.0
// Extensible Markup Language (XML) 1.0, fifth edition; the sections are named where a rule comes from one.
#include "camera/discovery/markup.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/numbers.h"

namespace kinglet::camera {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

std::unexpected<Error> bad(const char* what) { return fail(ErrorCode::kBadData, std::string("no XML: ") + what); }

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// 4.1: "&#10;" or "&#xA;", as UTF-8.
std::optional<std::string> character(std::string_view number) {
  const bool hex = number.starts_with('x');
  const auto code = parse_number<std::uint32_t>(number.substr(hex ? 1 : 0), hex ? 16 : 10);
  if (!code || *code == 0 || *code > 0x10FFFF || (*code >= 0xD800 && *code < 0xE000)) return std::nullopt;
  const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
  if (*code < 0x80) return std::string{byte(*code)};
  const char last = byte(0x80 | (*code & 0x3F));
  if (*code < 0x800) return std::string{byte(0xC0 | *code >> 6), last};
  const char middle = byte(0x80 | (*code >> 6 & 0x3F));
  if (*code < 0x10000) return std::string{byte(0xE0 | *code >> 12), middle, last};
  return std::string{byte(0xF0 | *code >> 18), byte(0x80 | (*code >> 12 & 0x3F)), middle, last};
}

// 4.6: the five that need no declaration.
std::optional<std::string> entity(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, char>, 5> kKnown{
      {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}}};
  if (name.starts_with('#')) return character(name.substr(1));
  const auto* found = std::ranges::find(kKnown, name, &std::pair<std::string_view, char>::first);
  return found == kKnown.end() ? std::nullopt : std::optional(std::string(1, found->second));
}

Result<std::string> resolved(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t sign = std::min(text.find('&'), text.size());
    out += text.substr(0, sign);
    text.remove_prefix(sign);
    if (text.empty()) break;
    const std::size_t end = text.find(';');
    const auto value = end == std::string_view::npos ? std::nullopt : entity(text.substr(1, end - 1));
    if (!value) return bad("an entity that is not one of the five");
    out += *value;
    text.remove_prefix(end + 1);
  }
  return out;
}

class Reader {
 public:
  Reader(std::string_view document, const std::function<void(MarkupPath, std::string)>& take,
         const TakeAttribute& attribute)
      : rest_(document), take_(take), attribute_(attribute) {}

  Result<void> run() {
    while (!rest_.empty()) {
      const std::size_t sign = std::min(rest_.find('<'), rest_.size());
      KINGLET_TRY(text(trimmed(rest_.substr(0, sign))));
      rest_.remove_prefix(sign);
      if (!rest_.empty()) KINGLET_TRY(tag());
    }
    if (!path_.empty() || !seen_) return bad("it ends in the middle");
    return {};
  }

 private:
  Result<void> text(std::string_view raw) {
    if (raw.empty()) return {};
    if (path_.empty()) return bad("text outside of its element");
    std::string value = KINGLET_TRY(resolved(raw));
    take_(path_, std::move(value));
    return {};
  }

  // rest_ begins with '<'.
  Result<void> tag() {
    if (rest_.starts_with("<!--")) return skip(4, "-->");
    if (rest_.starts_with("<?")) return skip(2, "?>");
    if (rest_.starts_with("<!")) return bad("declarations are not taken");
    const std::size_t end = end_of_tag();
    if (end == std::string_view::npos) return bad("a tag without its end");
    std::string_view inner = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    if (inner.starts_with('/')) return close(inner.substr(1));
    const bool empty = inner.ends_with('/');
    if (empty) inner.remove_suffix(1);
    const std::string_view name = inner.substr(0, inner.find_first_of(kBlank));
    KINGLET_TRY(open(name));
    if (attribute_) KINGLET_TRY(attributes(inner.substr(name.size())));
    return empty ? close(name) : Result<void>();
  }

  // 3.1: name = "value", or with the other quote.
  Result<void> attributes(std::string_view text) {
    while (true) {
      const std::size_t equals = text.find('=');
      if (equals == std::string_view::npos) return {};
      const std::string_view name = trimmed(text.substr(0, equals));
      text = trimmed(text.substr(equals + 1));
      if (text.empty() || (text[0] != '"' && text[0] != '\'')) return {};
      const std::size_t end = text.find(text[0], 1);
      if (end == std::string_view::npos) return {};
      std::string value = KINGLET_TRY(resolved(text.substr(1, end - 1)));
      attribute_(path_, local(name), std::move(value));
      text.remove_prefix(end + 1);
    }
  }

  Result<void> skip(std::size_t begin, std::string_view mark) {
    const std::size_t end = rest_.find(mark, begin);
    if (end == std::string_view::npos) return bad("a comment without its end");
    rest_.remove_prefix(end + mark.size());
    return {};
  }

  // 3.1: a '>' within quotes is of an attribute's value.
  [[nodiscard]] std::size_t end_of_tag() const {
    char quote = 0;
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      const char c = rest_[i];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '>') {
        return i;
      } else if (c == '<') {
        break;
      }
    }
    return std::string_view::npos;
  }

  static std::string_view local(std::string_view name) { return name.substr(name.find(':') + 1); }

  Result<void> open(std::string_view name) {
    if (name.empty()) return bad("an element without a name");
    if (path_.empty() && seen_) return bad("two elements beside each other hold all");
    if (path_.size() >= kDeepestMarkup) return bad("elements too deep in each other");
    seen_ = true;
    whole_.push_back(name);
    path_.push_back(local(name));
    return {};
  }

  Result<void> close(std::string_view name) {
    if (whole_.empty() || whole_.back() != trimmed(name)) return bad("an end without its begin");
    whole_.pop_back();
    path_.pop_back();
    return {};
  }

  std::string_view rest_;
  const std::function<void(MarkupPath, std::string)>& take_;
  const TakeAttribute& attribute_;
  std::vector<std::string_view> whole_;  // names as they stand
  std::vector<std::string_view> path_;   // the same ones without their prefixes
  bool seen_ = false;
};

}  // namespace

Result<void> read_markup(std::string_view document, const std::function<void(MarkupPath path, std::string text)>& take,
                         const TakeAttribute& attribute) {
  if (document.starts_with("\xEF\xBB\xBF")) document.remove_prefix(3);
  return Reader(document, take, attribute).run();
}

}  // namespace kinglet::camera
