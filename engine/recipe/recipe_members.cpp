// SPDX-License-Identifier: Apache-2.0
#include "engine/recipe/recipe_members.h"

#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::engine::recipe_members {

std::unexpected<Error> wrong(const Member& member, const nlohmann::json& value, std::string_view expected) {
  return fail(
      ErrorCode::kBadData,
      format_text("recipe member \"{}\" is {}, expected {}", member.name, printable(value.dump(), 60), expected),
      std::string(member.where));
}

std::string listed(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text += format_text("{}\"{}\"", text.empty() ? "" : ", ", name);
  return text;
}

Result<void> read_whole(const Member& member, const nlohmann::json& value, int least, int most,
                        std::string_view expected, int& out) {
  // As double first: a number of JSON may lie outside of int.
  if (!value.is_number_integer() || value.get<double>() < least || value.get<double>() > most) {
    return wrong(member, value, expected);
  }
  out = value.get<int>();
  return {};
}

Result<std::size_t> read_choice(const Member& member, const nlohmann::json& value,
                                std::span<const std::string_view> names) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == text) return i;
    }
  }
  return wrong(member, value, "one of " + listed(names));
}

std::unexpected<Error> unknown_member(std::string_view name, std::string_view where,
                                      std::span<const std::string_view> names) {
  const std::string_view nearest = nearest_name(name, names);
  return fail(ErrorCode::kBadData, format_text("unknown recipe member \"{}\"", printable(name, 60)), std::string(where),
              nearest.empty() ? "members are " + listed(names) : format_text("did you mean \"{}\"?", nearest));
}

}  // namespace kinglet::engine::recipe_members
