// SPDX-License-Identifier: Apache-2.0
#include "daemon/notify/phrases.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace kinglet::daemon::notify {
namespace {

struct LanguageFacts {
  std::string_view code;
  std::string_view group;
  std::uint64_t grouped_from;
};

constexpr std::array kLanguages{
#define KINGLET_LANGUAGE(id, code, group, grouped_from) LanguageFacts{code, group, grouped_from},
#include "daemon/notify/phrases.def"
};

using Row = std::array<std::string_view, kLanguages.size()>;
constexpr std::array kPhrases{
#define KINGLET_PHRASE(id, ...) Row{__VA_ARGS__},
#include "daemon/notify/phrases.def"
};

const LanguageFacts& facts_of(Language language) { return kLanguages.at(static_cast<std::size_t>(language)); }

}  // namespace

std::optional<Language> language_of(std::string_view code) {
  const auto* const found = std::ranges::find(kLanguages, code, &LanguageFacts::code);
  if (found == kLanguages.end()) return std::nullopt;
  return static_cast<Language>(found - kLanguages.begin());
}

std::string_view code_of(Language language) { return facts_of(language).code; }

std::string say(Language language, Phrase phrase, Values values) {
  std::string_view rest = kPhrases.at(static_cast<std::size_t>(phrase)).at(static_cast<std::size_t>(language));
  std::string out;
  while (!rest.empty()) {
    const auto* const value = std::ranges::find_if(values, [&](const auto& one) {
      return rest.starts_with('{') && rest.substr(1).starts_with(one.first) &&
             rest.substr(1 + one.first.size()).starts_with('}');
    });
    if (value == values.end()) {
      out += rest.front();
      rest.remove_prefix(1);
    } else {
      out += value->second;
      rest.remove_prefix(value->first.size() + 2);
    }
  }
  return out;
}

std::string say_count(Language language, Phrase one, Phrase many, std::uint64_t count) {
  return count == 1 ? say(language, one) : say(language, many, {{"n", number(language, count)}});
}

std::string number(Language language, std::uint64_t value) {
  std::string digits = std::to_string(value);
  const LanguageFacts& facts = facts_of(language);
  if (value < facts.grouped_from) return digits;
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, facts.group);
  }
  return digits;
}

std::string clock(Language language, std::string_view minute) {
  const std::string_view hour = minute.substr(0, 2);
  return say(language, Phrase::kClock,
             {{"h", hour.starts_with('0') ? hour.substr(1) : hour}, {"hh", hour}, {"mm", minute.substr(3)}});
}

std::string percent(Language language, float ratio) {
  const float hundredths = std::round(std::clamp(ratio, 0.0F, 1.0F) * 100);
  return say(language, Phrase::kPercent, {{"n", std::to_string(static_cast<int>(hundredths))}});
}

std::string span_of_time(Language language, std::chrono::nanoseconds time) {
  const auto seconds = std::chrono::round<std::chrono::seconds>(time).count();
  const bool brief = seconds < 120;
  return say(language, brief ? Phrase::kSeconds : Phrase::kMinutes,
             {{"n", number(language, static_cast<std::uint64_t>(brief ? seconds : (seconds + 30) / 60))}});
}

}  // namespace kinglet::daemon::notify
