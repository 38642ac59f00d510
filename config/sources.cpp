// SPDX-License-Identifier: Apache-2.0
#include "config/sources.h"

#include <algorithm>
#include <set>
#include <utility>

#include "config/kinds.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::config {
namespace {

// What is said of a picture stands elsewhere for the first camera.
constexpr std::pair<std::string_view, std::string_view> kOfPicture[] = {
    {"region", "gate.region"}, {"fixed", "look.fixed"}, {"masks", "privacy.masks"}};

std::string position(const toml::source_region& region) {
  return format_text("{}:{}", region.begin.line, region.begin.column);
}

struct Row {
  std::string_view name;  // in the table
  std::size_t index;      // of key_table()
};

const std::vector<Row>& rows() {
  static const std::vector<Row> table = [] {
    std::vector<Row> out;
    const std::vector<Key>& keys = key_table();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (keys[i].section == "source" || keys[i].section == "camera") out.push_back({keys[i].name, i});
      for (const auto& [name, key] : kOfPicture) {
        if (keys[i].full_name() == key) out.push_back({name, i});
      }
    }
    return out;
  }();
  return table;
}

// The parts of a configuration that are a camera's.
FurtherSource taken_from(const Config& config) {
  return {.source = config.source,
          .camera = config.camera,
          .region = config.gate.region,
          .fixed = config.look.fixed,
          .masks = config.privacy.masks,
          .place = {}};
}

void put_into(const FurtherSource& source, Config& config) {
  config.source = source.source;
  config.camera = source.camera;
  config.gate.region = source.region;
  config.look.fixed = source.fixed;
  config.privacy.masks = source.masks;
}

Error unknown(std::string_view name, std::string where) {
  std::vector<std::string_view> names;
  for (const Row& row : rows()) names.push_back(row.name);
  const std::string_view nearest = nearest_name(name, names);
  return {ErrorCode::kConfig, format_text("unknown key \"source.{}\"", printable(name, 80)), std::move(where),
          nearest.empty()
              ? "a [[source]] after the first takes the keys of [source] and [camera], region, fixed and masks"
              : format_text("did you mean {}?", nearest)};
}

FurtherSource read_table(const std::filesystem::path& path, const toml::table& table, Faults& faults) {
  const std::filesystem::path base = path.parent_path().empty() ? "." : path.parent_path();
  Config own;
  own.source.name.clear();
  for (const auto& [key, node] : table) {
    const auto row = std::ranges::find(rows(), key.str(), &Row::name);
    if (row == rows().end()) {
      faults.push_back(unknown(key.str(), format_text("{}:{}", path.string(), position(key.source()))));
      continue;
    }
    const Binding& binding = bindings()[row->index];
    const auto assigned = binding.assign(node, {.constraint = binding.constraint, .base = base}, own);
    if (assigned) continue;
    faults.push_back(
        {ErrorCode::kConfig,
         format_text("source.{} = {}: expected {}", row->name, text_of(node), key_table()[row->index].expectation),
         format_text("{}:{}", path.string(), position(node.source())), assigned.error().hint});
  }
  FurtherSource source = taken_from(own);
  source.place = format_text("{}:{}", path.string(), position(table.source()));
  if (!table.contains("name")) {
    faults.push_back({ErrorCode::kConfig, "source.name: a [[source]] after the first needs a name", source.place,
                      "such as name = \"garden\""});
  }
  return source;
}

}  // namespace

std::vector<FurtherSource> read_further_sources(const std::filesystem::path& path, const toml::array& tables,
                                                Faults& faults) {
  std::vector<FurtherSource> out;
  for (std::size_t i = 1; i < tables.size(); ++i) out.push_back(read_table(path, *tables[i].as_table(), faults));
  return out;
}

void check_source_names(const Config& config, Faults& faults) {
  std::set<std::string> names{config.source.name};
  for (const FurtherSource& one : config.further_sources) {
    // Without one it was refused before.
    if (one.source.name.empty() || names.insert(one.source.name).second) continue;
    faults.push_back({ErrorCode::kConfig,
                      format_text("source.name = \"{}\": another [[source]] has this name", one.source.name), one.place,
                      "each camera has a name of its own; the first one's is camera unless it says otherwise"});
  }
}

Config of_camera(const Config& config, std::size_t index) {
  Config own = config;
  own.further_sources.clear();
  if (index > 0) put_into(config.further_sources.at(index - 1), own);
  return own;
}

std::string source_text(const FurtherSource& source) {
  const Config defaults;
  Config own;
  put_into(source, own);
  std::string out = "[[source]]\n";
  for (const Row& row : rows()) {
    const Key& key = key_table()[row.index];
    const PlainValue value = key.value(own);
    if (row.name == "name" || value != key.value(defaults)) {
      out += format_text("{} = {}\n", row.name, toml_text(value));
    }
  }
  return out;
}

}  // namespace kinglet::config
