// SPDX-License-Identifier: Apache-2.0
// Why: files, environment and --set become one Config; every fault is kept, with its place.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "config/kinds.h"
#include "config/notify.h"
#include "config/sources.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::config {
namespace {

constexpr std::uint64_t kFileLimit = 1 << 20;
constexpr std::size_t kMostSources = 8;
constexpr std::string_view kSetPrefix = "--set ";
// Not keys: where the camera programs lie, and variables of ./dev and the tests, which a daemon started by them
// inherits.
constexpr std::array<std::string_view, 7> kForeignVariables{
    "KINGLET_CAMERA_PROGRAM", "KINGLET_RPICAM_PROGRAM",  "KINGLET_FFMPEG_PROGRAM", "KINGLET_CORPUS",
    "KINGLET_DEBIAN_MIRROR",  "KINGLET_DEV_ENVIRONMENT", "KINGLET_UPDATE_GOLDEN"};

// What a further camera's own table says, and where it is said of the first one.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kOfTheFirstCamera{
    {{"source.region", "gate.region"}, {"source.fixed", "look.fixed"}, {"source.masks", "privacy.masks"}}};

// Where an assignment stands: in messages, and (origin) in `kinglet config show`.
struct Place {
  std::string where;
  std::string origin;
  std::string_view key = {};  // as it was written, where that is not the key's name
};

std::string position(const toml::source_region& region) {
  return format_text("{}:{}", region.begin.line, region.begin.column);
}

class Loader {
 public:
  Loader() {
    loaded_.origins.assign(key_table().size(), "default");
    loaded_.places.resize(key_table().size());
  }

  void read(const std::filesystem::path& path, ErrorCode missing_code);
  void read_text(const std::filesystem::path& path, std::string_view text);
  void read_settings(const SettingsText& settings, bool foreign);
  void read_environment(std::span<const std::string> environment);
  void read_assignment(const std::string& text);
  [[nodiscard]] std::expected<Loaded, Faults> finish();

 private:
  void read_table(const std::filesystem::path& path, const toml::table& table);
  void read_section(const std::filesystem::path& path, std::string_view section, const toml::table& table);
  void read_source(const std::filesystem::path& path, const toml::node& node);
  void read_notify_text(std::string_view text, const Place& place);
  void assign_text(std::string_view name, std::string_view text, const Place& place);
  void assign(std::string_view name, const toml::node& node, const Place& place, const std::filesystem::path& base);
  void reset_section(std::string_view section);
  void unknown(std::string_view name, std::string where);
  void unknown_section(std::string_view name, const toml::node& node, const std::string& where);
  [[nodiscard]] bool leave_out(std::string_view name, std::string why);
  [[nodiscard]] bool is_out_of_place(std::string_view name, const std::string& where);
  void add_fault(std::string message, std::string where, std::string hint) {
    faults_.push_back({ErrorCode::kConfig, std::move(message), std::move(where), std::move(hint)});
  }

  Loaded loaded_;
  Faults faults_;
  bool in_settings_ = false;  // of what was set over HTTP
  bool foreign_ = false;      // those are another version's
};

std::optional<std::size_t> find_key(std::string_view name) {
  const auto& table = key_table();
  const auto found = std::ranges::find_if(table, [&](const Key& key) { return key.full_name() == name; });
  if (found == table.end()) return std::nullopt;
  return static_cast<std::size_t>(found - table.begin());
}

// TOML tables are sorted by name; faults are reported as the file has them.
std::vector<std::pair<toml::key, const toml::node*>> in_file_order(const toml::table& table) {
  std::vector<std::pair<toml::key, const toml::node*>> out;
  for (const auto& [key, node] : table) out.emplace_back(key, &node);
  std::ranges::stable_sort(out, {}, [](const auto& entry) { return entry.first.source().begin; });
  return out;
}

bool is_section(std::string_view name) {
  return std::ranges::any_of(key_table(), [&](const Key& key) { return key.section == name; });
}

// "KINGLET_HTTP__MAX_BODY" -> "http.max_body"
std::string key_of_variable(std::string_view variable) {
  std::string out;
  variable.remove_prefix(std::string_view("KINGLET_").size());
  for (std::size_t i = 0; i < variable.size(); ++i) {
    const char c = variable[i];
    if (variable.substr(i).starts_with("__")) {
      out += '.';
      ++i;
    } else {
      out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  return out;
}

// "http.max_body" -> "KINGLET_HTTP__MAX_BODY"
std::string variable_of_key(std::string_view key) {
  std::string out = "KINGLET_";
  for (const char c : key) {
    if (c == '.') {
      out += "__";
    } else {
      out += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
  }
  return out;
}

void Loader::read(const std::filesystem::path& path, ErrorCode missing_code) {
  Result<std::string> text = read_file(path, kFileLimit);
  if (!text) {
    Error error = std::move(text).error();
    error.code = missing_code;
    faults_.push_back(std::move(error));
    return;
  }
  loaded_.files.push_back(path);
  read_text(path, *text);
}

void Loader::read_text(const std::filesystem::path& path, std::string_view text) {
  try {
    read_table(path, toml::parse(text, path.string()));
  } catch (const toml::parse_error& error) {
    add_fault("not TOML: " + printable(error.description()), path.string() + ":" + position(error.source()),
              "the rest of this file was not read; `kinglet config default` prints a valid one");
  }
}

void Loader::read_settings(const SettingsText& settings, bool foreign) {
  in_settings_ = true;
  foreign_ = foreign;
  read_text(settings.file, settings.text);
  in_settings_ = foreign_ = false;
}

// False: it is a fault.
bool Loader::leave_out(std::string_view name, std::string why) {
  if (foreign_) loaded_.left_out.push_back({.key = printable(name, 80), .why = std::move(why)});
  return foreign_;
}

// What may stand in the owner's files only.
bool Loader::is_out_of_place(std::string_view name, const std::string& where) {
  if (!in_settings_) return false;
  const std::optional<std::size_t> index = find_key(name);
  if (index && key_table()[*index].settable) return false;
  if (leave_out(name, "cannot be set over HTTP here")) return true;
  add_fault(format_text("{} cannot be set over HTTP", printable(name, 80)), where,
            "it stays in the files of /etc/kinglet");
  return true;
}

void Loader::read_table(const std::filesystem::path& path, const toml::table& table) {
  for (const auto& [key, node] : in_file_order(table)) {
    const std::string where = format_text("{}:{}", path.string(), position(key.source()));
    if (key == "source") {
      if (is_out_of_place("source", where)) continue;
      read_source(path, *node);
    } else if (key == "notify") {
      if (is_out_of_place("notify", where)) continue;
      loaded_.config.notify = read_notify(path, *node, From::kFile, faults_);
    } else if (!is_section(key.str())) {
      unknown_section(key.str(), *node, where);
    } else if (const toml::table* section = node->as_table()) {
      read_section(path, key.str(), *section);
    } else if (!leave_out(key.str(), "expected a section of keys")) {
      add_fault(format_text("{} = {}: expected a section of keys", key.str(), text_of(*node)), where,
                format_text("write [{}] and its keys below", key.str()));
    }
  }
}

// A text, a table, or tables: a camera each.
void Loader::read_source(const std::filesystem::path& path, const toml::node& node) {
  const std::string where = format_text("{}:{}", path.string(), position(node.source()));
  reset_section("source");
  const toml::array* array = node.as_array();
  if (array != nullptr && array->size() > kMostSources) {
    add_fault(format_text("source has {} entries: expected at most {}", array->size(), kMostSources), where, {});
  } else if (array != nullptr && array->is_homogeneous(toml::node_type::table)) {
    read_section(path, "source", *array->front().as_table());
    loaded_.config.further_sources = read_further_sources(path, *array, faults_);
  } else if (const toml::table* table = node.as_table()) {
    read_section(path, "source", *table);
  } else {
    assign("source.spec", node, {where, format_text("{}:{}", path.string(), node.source().begin.line), "source"}, {});
  }
}

void Loader::read_section(const std::filesystem::path& path, std::string_view section, const toml::table& table) {
  for (const auto& [key, node] : in_file_order(table)) {
    const std::string name = format_text("{}.{}", section, key.str());
    if (!find_key(name)) {
      const std::string where = format_text("{}:{}", path.string(), position(key.source()));
      const auto* const own =
          std::ranges::find_if(kOfTheFirstCamera, [&](const auto& row) { return row.first == name; });
      if (own == kOfTheFirstCamera.end()) {
        unknown(name, where);
      } else {
        add_fault(format_text("unknown key \"{}\"", name), where,
                  format_text("of the first camera it is {}", own->second));
      }
      continue;
    }
    const Place place{format_text("{}:{}", path.string(), position(node->source())),
                      format_text("{}:{}", path.string(), node->source().begin.line)};
    if (is_out_of_place(name, place.where)) continue;
    assign(name, *node, place, path.parent_path().empty() ? "." : path.parent_path());
  }
}

void Loader::read_environment(std::span<const std::string> environment) {
  std::vector<std::string> lines(environment.begin(), environment.end());
  std::ranges::sort(lines);  // the order of a process's environment is nobody's choice
  for (const std::string& line : lines) {
    const std::size_t equals = line.find('=');
    if (!line.starts_with("KINGLET_") || equals == std::string::npos) continue;
    const std::string variable = line.substr(0, equals);
    if (std::ranges::contains(kForeignVariables, variable)) continue;
    assign_text(key_of_variable(variable), line.substr(equals + 1), {variable, variable});
  }
}

void Loader::read_assignment(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const std::string where = std::string(kSetPrefix) + printable(name);
  if (equals == std::string::npos) {
    add_fault("expected KEY=VALUE", where, "such as --set decide.min_score=0.5");
    return;
  }
  assign_text(name, text.substr(equals + 1), {where, "--set"});
}

// [[notify]] as a list of inline tables.
void Loader::read_notify_text(std::string_view text, const Place& place) {
  try {
    const toml::table parsed = toml::parse(format_text("value = {}", text));
    loaded_.config.notify = config::read_notify(place.where, *parsed.get("value"), From::kFile, faults_);
  } catch (const toml::parse_error& error) {
    add_fault("notify: not TOML: " + printable(error.description()), place.where, "write [{name = \"phone\", ...}]");
  }
}

// A TOML value; what is not one, or would not be a text where a text is asked for, is taken as it stands.
void Loader::assign_text(std::string_view name, std::string_view text, const Place& place) {
  if (name == "source") {
    reset_section("source");
    return assign_text("source.spec", text, {place.where, place.origin, name});
  }
  if (name == "notify") return read_notify_text(text, place);
  const std::optional<std::size_t> index = find_key(name);
  if (!index) return unknown(name, place.where);
  toml::table parsed;
  try {
    parsed = toml::parse(format_text("value = {}", text));
  } catch (const toml::parse_error&) {
    parsed.clear();
  }
  const toml::node* node = parsed.size() == 1 ? parsed.get("value") : nullptr;
  if (node == nullptr || (bindings()[*index].takes_text && !node->is_string())) {
    parsed = toml::table{{"value", std::string(text)}};
    node = parsed.get("value");
  }
  assign(name, *node, place, {});
}

void Loader::assign(std::string_view name, const toml::node& node, const Place& place,
                    const std::filesystem::path& base) {
  const std::size_t index = *find_key(name);
  const Binding& binding = bindings()[index];
  const std::string_view told = place.key.empty() ? name : place.key;
  const auto assigned = binding.assign(node, {.constraint = binding.constraint, .base = base}, loaded_.config);
  if (assigned) {
    loaded_.origins[index] = place.origin;
    loaded_.places[index] = place.where;
    if (name == "source.spec") loaded_.source_is_text = told != name;
    // "auto" stays what it is: it is resolved at each start.
    const bool automatic = node.value_exact<std::string>() == "auto";
    if (in_settings_) {
      loaded_.settings[std::string(name)] = automatic ? "auto" : key_table()[index].value(loaded_.config);
    }
  } else if (!leave_out(name, format_text("expected {}", key_table()[index].expectation))) {
    add_fault(format_text("{} = {}: expected {}", told, text_of(node), key_table()[index].expectation), place.where,
              assigned.error().hint);
  }
}

void Loader::reset_section(std::string_view section) {
  const Config defaults;
  if (section == "source") {
    loaded_.config.source = defaults.source;
    loaded_.config.further_sources.clear();
  }
  for (std::size_t i = 0; i < key_table().size(); ++i) {
    if (key_table()[i].section != section) continue;
    loaded_.origins[i] = "default";
    loaded_.places[i].clear();
  }
}

// Of what is left out each key is named; a table without any, too.
void Loader::unknown_section(std::string_view name, const toml::node& node, const std::string& where) {
  const toml::table* keys = node.as_table();
  if (!foreign_ || keys == nullptr || keys->empty()) return unknown(name, where);
  for (const auto& [key, value] : in_file_order(*keys)) unknown(format_text("{}.{}", name, key.str()), where);
}

void Loader::unknown(std::string_view name, std::string where) {
  if (leave_out(name, "there is no such key")) return;
  std::vector<std::string> names;
  std::string_view last_section;
  for (const Key& key : key_table()) {
    names.push_back(key.full_name());
    if (key.section != std::exchange(last_section, key.section)) names.emplace_back(key.section);
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view nearest = nearest_name(name, candidates);
  const std::string cure = where.starts_with("KINGLET_") ? variable_of_key(nearest) : std::string(nearest);
  add_fault(format_text("unknown key \"{}\"", printable(name, 80)), std::move(where),
            nearest.empty() ? "`kinglet config docs` lists all keys" : format_text("did you mean {}?", cure));
}

std::expected<Loaded, Faults> Loader::finish() {
  check_source_names(loaded_.config, faults_);
  if (!faults_.empty()) return std::unexpected(std::move(faults_));
  for (std::size_t i = 0; i < key_table().size(); ++i) {
    const Key& key = key_table()[i];
    if (key.reload != Reload::kNever || loaded_.origins[i] == "default") continue;
    loaded_.warnings.push_back(
        format_text("{}: {} has no effect any more: {}", loaded_.places[i], key.full_name(), key.help));
  }
  return std::move(loaded_);
}

// *.toml of the folder, by name.
std::vector<std::filesystem::path> drop_ins(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".toml") out.push_back(entry.path());
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace

std::vector<std::string> process_environment() {
  std::vector<std::string> out;
  for (char** line = environ; line != nullptr && *line != nullptr; ++line) out.emplace_back(*line);
  return out;
}

std::expected<Loaded, Faults> load(const LoadOptions& options) {
  Loader loader;
  if (options.settings) loader.read_settings(*options.settings, options.foreign_settings);
  if (options.file) {
    loader.read(*options.file, ErrorCode::kNotFound);
  } else {
    std::error_code error;
    const std::filesystem::path main = options.folder / "kinglet.toml";
    if (std::filesystem::exists(main, error)) loader.read(main, ErrorCode::kConfig);
    for (const std::filesystem::path& path : drop_ins(options.folder / "conf.d")) {
      loader.read(path, ErrorCode::kConfig);
    }
  }
  loader.read_environment(options.environment);
  for (const std::string& assignment : options.assignments) loader.read_assignment(assignment);
  return loader.finish();
}

std::expected<Loaded, Faults> load_text(std::string_view toml, const std::filesystem::path& name) {
  Loader loader;
  loader.read_text(name, toml);
  return loader.finish();
}

std::string report(std::string_view program, std::span<const Error> faults) {
  std::string out;
  for (const Error& fault : faults) {
    out += format_text("{}: {}\n", program, describe(fault));
    if (!fault.hint.empty()) out += format_text("hint: {}\n", fault.hint);
  }
  return out;
}

int exit_code(std::span<const Error> faults) {
  const bool only_missing = faults.size() == 1 && faults.front().code == ErrorCode::kNotFound;
  return kinglet::exit_code(only_missing ? ErrorCode::kNotFound : ErrorCode::kConfig);
}

}  // namespace kinglet::config
