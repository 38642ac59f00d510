// SPDX-License-Identifier: Apache-2.0
// Why: how one kind of value is read from TOML, checked and shown. Inside config/ only.
#pragma once

#include <expected>
#include <filesystem>
#include <string>
#include <string_view>
#include <toml++/toml.hpp>
#include <vector>

#include "config/config.h"

namespace kinglet::config {

struct Constraint {
  double low = 0;
  double high = 0;
  std::string_view choices;  // separated by spaces
};

// The words for it in keys.def and notify.def.
#define RANGE(low_, high_) \
  Constraint { .low = low_, .high = high_ }
#define CHOICES(words_) \
  Constraint { .choices = words_ }
#define ANY \
  Constraint {}

// Where relative paths start (empty: left as they are).
struct ReadContext {
  const Constraint& constraint;
  std::filesystem::path base;
};

// What was wrong, without the value itself: the expectation is printed in any case.
struct Misfit {
  std::string hint;
};

#define KINGLET_KIND(Kind)                                                                        \
  [[nodiscard]] std::expected<kind::Kind::Value, Misfit> read(kind::Kind, const toml::node& node, \
                                                              const ReadContext& context);        \
  [[nodiscard]] std::string expectation(kind::Kind, const Constraint& constraint);                \
  [[nodiscard]] PlainValue plain(kind::Kind, const kind::Kind::Value& value);
KINGLET_KIND(Text)
KINGLET_KIND(NodeName)
KINGLET_KIND(SourceName)
KINGLET_KIND(Choice)
KINGLET_KIND(Path)
KINGLET_KIND(Count)
KINGLET_KIND(Threads)
KINGLET_KIND(Number)
KINGLET_KIND(Duration)
KINGLET_KIND(Scores)
KINGLET_KIND(ByteCount)
KINGLET_KIND(Size)
KINGLET_KIND(TextList)
KINGLET_KIND(Flag)
KINGLET_KIND(Part)
KINGLET_KIND(Parts)
KINGLET_KIND(Listen)
#undef KINGLET_KIND

// The functions above behind one row of keys.def.
struct Binding {
  Constraint constraint;
  bool takes_text = false;  // --set and variables give it the raw text, whatever TOML would make of it
  std::expected<void, Misfit> (*assign)(const toml::node& node, const ReadContext& context, Config& config);
};
// Same order as key_table().
[[nodiscard]] const std::vector<Binding>& bindings();

// The words of a text with spaces.
[[nodiscard]] std::vector<std::string_view> words_of(std::string_view text);

// The value as one line of a message, cut to a readable length.
[[nodiscard]] std::string text_of(const toml::node& node);

}  // namespace kinglet::config
