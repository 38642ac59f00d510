// SPDX-License-Identifier: Apache-2.0
// Why: keys.def expanded into data: what each row is called, accepts and shows.
#include <type_traits>

#include "config/kinds.h"
#include "engine/base/check.h"
#include "engine/base/words.h"

namespace kinglet::config {
namespace {

// Kinds whose value is a text: there, bare text of --set and variables needs no quotes even where it looks like TOML.
template <typename Kind>
constexpr bool kTakesText =
    std::is_same_v<typename Kind::Value, std::string> || std::is_same_v<typename Kind::Value, std::filesystem::path>;

void apply_defaults(Config& config) {
  for (std::size_t i = 0; i < key_table().size(); ++i) {
    const toml::table table = toml::parse("value = " + std::string(key_table()[i].default_text));
    const Binding& binding = bindings()[i];
    const bool fits =
        binding.assign(*table.get("value"), {.constraint = binding.constraint, .base = {}}, config).has_value();
    KINGLET_CHECK(fits);
  }
}

// "TextList" -> "text_list"
std::string small_letters(std::string_view camel) {
  std::string out;
  for (const char c : camel) {
    const bool capital = c >= 'A' && c <= 'Z';
    if (capital && !out.empty()) out += '_';
    out += capital ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

std::optional<std::pair<double, double>> range_of(const Constraint& constraint) {
  if (constraint.low == constraint.high) return std::nullopt;
  return std::pair(constraint.low, constraint.high);
}

}  // namespace

#define KINGLET_SECTION(...)
#define KINGLET_SECTION_END(...)

const std::vector<Key>& key_table() {
  static const std::vector<Key> table = {
#define KINGLET_KEY(Section, section_, name_, kind_, default_, constraint_, unit_, reload_, settable_, help_) \
  Key{.section = #section_,                                                                                   \
      .name = #name_,                                                                                         \
      .default_text = default_,                                                                               \
      .expectation = expectation(kind::kind_{}, constraint_),                                                 \
      .unit = unit_,                                                                                          \
      .reload = Reload::reload_,                                                                              \
      .settable = Settable::settable_ == Settable::kSettable,                                                 \
      .help = help_,                                                                                          \
      .kind = small_letters(#kind_),                                                                          \
      .range = range_of(constraint_),                                                                         \
      .choices = words_of(Constraint(constraint_).choices),                                                   \
      .value = [](const Config& config) { return plain(kind::kind_{}, config.section_.name_); },              \
      .copy = [](const Config& from, Config& to) { to.section_.name_ = from.section_.name_; }},
#include "config/keys.def"
#undef KINGLET_KEY
  };
  return table;
}

const std::vector<Binding>& bindings() {
  static const std::vector<Binding> table = {
#define KINGLET_KEY(Section, section_, name_, kind_, default_, constraint_, unit_, reload_, settable_, help_) \
  Binding{.constraint = constraint_,                                                                          \
          .takes_text = kTakesText<kind::kind_>,                                                              \
          .assign = [](const toml::node& node, const ReadContext& context,                                    \
                       Config& config) -> std::expected<void, Misfit> {                                       \
            auto value = read(kind::kind_{}, node, context);                                                  \
            if (!value) return std::unexpected(value.error());                                                \
            config.section_.name_ = std::move(*value);                                                        \
            return {};                                                                                        \
          }},
#include "config/keys.def"
#undef KINGLET_KEY
  };
  return table;
}

#undef KINGLET_SECTION
#undef KINGLET_SECTION_END

Config::Config() { apply_defaults(*this); }

std::string Key::full_name() const { return std::string(section) + "." + std::string(name); }

std::string_view to_string(Reload reload) {
  using enum Reload;
  static constexpr Word<Reload> kWords[] = {
      {kLive, "live"}, {kPipeline, "pipeline"}, {kCamera, "pipeline"}, {kRestart, "restart"}, {kNever, "none"}};
  return word_of(kWords, reload);
}

}  // namespace kinglet::config
