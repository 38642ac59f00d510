// SPDX-License-Identifier: Apache-2.0
#include "config/notify.h"

#include <algorithm>

#include "config/kinds.h"
#include "engine/base/check.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::config {
namespace {

constexpr std::size_t kMostTables = 16;

struct Row {
  NotifyKey key;
  Constraint constraint;
  std::expected<void, Misfit> (*assign)(const toml::node& node, const ReadContext& context, Notify& notify);
  PlainValue (*value)(const Notify& notify);
};

const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
#define KINGLET_NOTIFY_KEY(name_, kind_, default_, constraint_, settable_, help_) \
  Row{.key = {.name = #name_,                                                     \
              .default_text = default_,                                           \
              .expectation = expectation(kind::kind_{}, constraint_),             \
              .settable = Settable::settable_ == Settable::kSettable,             \
              .help = help_},                                                     \
      .constraint = constraint_,                                                  \
      .assign = [](const toml::node& node, const ReadContext& context,            \
                   Notify& notify) -> std::expected<void, Misfit> {               \
        auto value = read(kind::kind_{}, node, context);                          \
        if (!value) return std::unexpected(value.error());                        \
        notify.name_ = std::move(*value);                                         \
        return {};                                                                \
      },                                                                          \
      .value = [](const Notify& notify) { return plain(kind::kind_{}, notify.name_); }},
#include "config/notify.def"
#undef KINGLET_NOTIFY_KEY
  };
  return table;
}

std::string position(const toml::source_region& region) {
  return format_text("{}:{}", region.begin.line, region.begin.column);
}

Error fault(std::string message, std::string where, std::string hint) {
  return {ErrorCode::kConfig, std::move(message), std::move(where), std::move(hint)};
}

Error unknown(std::string_view name, std::string where) {
  std::vector<std::string_view> names;
  for (const Row& row : rows()) names.push_back(row.key.name);
  const std::string_view nearest = nearest_name(name, names);
  return fault(format_text("unknown key \"notify.{}\"", printable(name, 80)), std::move(where),
               nearest.empty() ? "`kinglet config docs` lists all keys" : format_text("did you mean {}?", nearest));
}

void read_table(const std::filesystem::path& path, const toml::table& table, From from, Notify& notify,
                Faults& faults) {
  const std::filesystem::path base = path.parent_path().empty() ? "." : path.parent_path();
  for (const auto& [key, node] : table) {
    const std::string where = format_text("{}:{}", path.string(), position(node.source()));
    const auto row = std::ranges::find_if(rows(), [&](const Row& one) { return one.key.name == key.str(); });
    if (row == rows().end()) {
      faults.push_back(unknown(key.str(), where));
      continue;
    }
    if (from == From::kHttp && !row->key.settable) {
      faults.push_back(fault(format_text("notify.{} cannot be set over HTTP", row->key.name), where,
                             "it stays in the files of /etc/kinglet"));
      continue;
    }
    const auto assigned = row->assign(node, {.constraint = row->constraint, .base = base}, notify);
    if (assigned) continue;
    faults.push_back(
        fault(format_text("notify.{} = {}: expected {}", row->key.name, text_of(node), row->key.expectation), where,
              assigned.error().hint));
  }
}

}  // namespace

const std::vector<NotifyKey>& notify_keys() {
  static const std::vector<NotifyKey> keys = [] {
    std::vector<NotifyKey> out;
    for (const Row& row : rows()) out.push_back(row.key);
    return out;
  }();
  return keys;
}

Notify::Notify() {
  for (const Row& row : rows()) {
    const toml::table table = toml::parse("value = " + std::string(row.key.default_text));
    const bool fits = row.assign(*table.get("value"), {.constraint = row.constraint, .base = {}}, *this).has_value();
    KINGLET_CHECK(fits);
  }
}

std::vector<Notify> read_notify(const std::filesystem::path& path, const toml::node& node, From from, Faults& faults) {
  const std::string where = format_text("{}:{}", path.string(), position(node.source()));
  const toml::array* array = node.as_array();
  if (array == nullptr || !array->is_homogeneous(toml::node_type::table)) {
    if (array == nullptr || !array->empty()) {
      faults.push_back(
          fault("notify: expected tables", where, "write [[notify]] and its keys below, for each service"));
    }
    return {};
  }
  if (array->size() > kMostTables) {
    faults.push_back(
        fault(format_text("notify has {} entries: expected at most {}", array->size(), kMostTables), where, {}));
    return {};
  }
  std::vector<Notify> out;
  for (const toml::node& one : *array) {
    Notify notify;
    notify.place = format_text("{}:{}", path.string(), position(one.source()));
    read_table(path, *one.as_table(), from, notify, faults);
    out.push_back(std::move(notify));
  }
  return out;
}

std::vector<std::pair<std::string, PlainValue>> notify_values(const Notify& notify) {
  std::vector<std::pair<std::string, PlainValue>> values;
  for (const Row& row : rows()) {
    if (row.key.settable) values.emplace_back(row.key.name, row.value(notify));
  }
  return values;
}

std::string notify_text(const Notify& notify) {
  std::string out = "[[notify]]\n";
  const Notify defaults;
  for (const Row& row : rows()) {
    const PlainValue value = row.value(notify);
    if (row.key.name == "name" || value != row.value(defaults))
      out += format_text("{} = {}\n", row.key.name, toml_text(value));
  }
  return out;
}

std::expected<std::vector<Notify>, Faults> load_notify(const SettingsText& text) {
  Faults faults;
  std::vector<Notify> out;
  try {
    const toml::table table = toml::parse(text.text, text.file.string());
    for (const auto& [key, node] : table) {
      if (key == "notify") {
        out = read_notify(text.file, node, From::kHttp, faults);
      } else {
        faults.push_back(fault(format_text("unknown key \"{}\"", printable(key.str(), 80)), text.file.string(), {}));
      }
    }
  } catch (const toml::parse_error& error) {
    faults.push_back(fault("not TOML: " + printable(error.description()),
                           format_text("{}:{}", text.file.string(), position(error.source())), {}));
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return out;
}

}  // namespace kinglet::config
