// SPDX-License-Identifier: Apache-2.0
// Why: what messages say in the language of who reads them, by the table phrases.def, and how numbers stand in it.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace kinglet::daemon::notify {

enum class Language : std::uint8_t {
#define KINGLET_LANGUAGE(id, ...) id,
#include "daemon/notify/phrases.def"
};

enum class Phrase : std::uint8_t {
#define KINGLET_PHRASE(id, ...) id,
#include "daemon/notify/phrases.def"
};

// "de". Nothing: it is not spoken.
[[nodiscard]] std::optional<Language> language_of(std::string_view code);
[[nodiscard]] std::string_view code_of(Language language);

using Values = std::initializer_list<std::pair<std::string_view, std::string_view>>;
// With {names} filled in; names within a value stay what they are.
[[nodiscard]] std::string say(Language language, Phrase phrase, Values values = {});
// The phrase for one, or that for many with {n}.
[[nodiscard]] std::string say_count(Language language, Phrase one, Phrase many, std::uint64_t count);

[[nodiscard]] std::string number(Language language, std::uint64_t value);     // "1.234"
[[nodiscard]] std::string clock(Language language, std::string_view minute);  // "06:12" or "6:12" of "06:12"
[[nodiscard]] std::string percent(Language language, float ratio);            // "87 %"
[[nodiscard]] std::string span_of_time(Language language, std::chrono::nanoseconds time);  // "45 s", "3 min"

}  // namespace kinglet::daemon::notify
