// SPDX-License-Identifier: Apache-2.0
#include "daemon/catalogue/catalogue.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon {
namespace {

using Json = nlohmann::json;

std::unexpected<Error> bad(std::string_view where, std::string_view name, std::string_view what) {
  return fail(ErrorCode::kBadData, format_text("catalogue entry \"{}\": {}", printable(name, 60), what),
              std::string(where));
}

bool is_digest(std::string_view text) {
  const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == 64 && std::ranges::all_of(text, hex);
}

// A text member, empty when it is absent or not a text.
std::string text(const Json& object, const char* member) {
  const auto found = object.find(member);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool flag(const Json& object, const char* member) {
  const auto found = object.find(member);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

// A plausible size, 0 when it is absent or none.
std::uint64_t size_of(const Json& object) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 40;
  const auto found = object.find("size_bytes");
  if (found == object.end() || !found->is_number_unsigned()) return 0;
  const auto size = found->get<std::uint64_t>();
  return size <= kLargest ? size : 0;
}

Result<CatalogueEntry> parse_entry(const Json& object, std::string_view where) {
  if (!object.is_object()) return bad(where, "", "expected an object");
  CatalogueEntry entry{.name = text(object, "name"),
                       .summary = text(object, "summary"),
                       .addresses = {},
                       .sha256 = text(object, "sha256"),
                       .size_bytes = size_of(object),
                       .licence = text(object, "licence"),
                       .licence_address = text(object, "licence_address"),
                       .terms = text(object, "terms"),
                       .source = text(object, "source"),
                       .labels = text(object, "labels"),
                       .birds = flag(object, "birds"),
                       .checked = flag(object, "checked"),
                       .recipe = {}};
  if (!is_model_name(entry.name)) return bad(where, entry.name, "name must be of a-z, 0-9, '.', '_' and '-'");
  if (!is_digest(entry.sha256)) return bad(where, entry.name, "sha256 must be 64 hex digits");
  if (entry.size_bytes == 0) return bad(where, entry.name, "size_bytes must be the size of the file");
  if (entry.licence.empty()) return bad(where, entry.name, "licence is missing");
  for (const Json& address : object.value("addresses", Json::array())) {
    const std::string url = address.is_string() ? address.get<std::string>() : std::string();
    if (!url.starts_with("https://") && !url.starts_with("http://")) {
      return bad(where, entry.name, "addresses must start with https:// or http://");
    }
    entry.addresses.push_back(url);
  }
  if (entry.addresses.empty()) return bad(where, entry.name, "addresses are missing");
  if (!entry.labels.empty() && built_in_labels(entry.labels).empty())
    return bad(where, entry.name, "labels are unknown");
  if (object.contains("recipe")) entry.recipe = KINGLET_TRY(engine::parse_recipe(object["recipe"].dump(), where));
  return entry;
}

}  // namespace

bool is_model_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= 80 && name[0] != '.' && name[0] != '-' && std::ranges::all_of(name, allowed);
}

Result<std::vector<CatalogueEntry>> parse_catalogue(std::string_view json, std::string_view where) {
  std::vector<CatalogueEntry> entries;
  try {
    const Json document = Json::parse(json);
    for (const Json& object : document.at("models")) entries.push_back(KINGLET_TRY(parse_entry(object, where)));
  } catch (const Json::exception& error) {
    return fail(ErrorCode::kBadData, "is not a catalogue: " + printable(error.what()), std::string(where));
  }
  return entries;
}

Result<std::vector<CatalogueEntry>> read_catalogue(const std::filesystem::path& file) {
  constexpr std::uint64_t kMostBytes = 1 << 20;
  if (file.empty()) return parse_catalogue(built_in_catalogue(), "catalogue");
  return parse_catalogue(KINGLET_TRY(read_file(file, kMostBytes)), file.string());
}

}  // namespace kinglet::daemon
