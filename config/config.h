// SPDX-License-Identifier: Apache-2.0
// Why: the configuration as a typed struct, and the one way to load it. The keys are the rows of keys.def; who needs a
// value gets it from app.cpp in a small options struct, never this header.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/area.h"
#include "engine/base/error.h"
#include "engine/base/plain_value.h"
#include "engine/base/units.h"

namespace kinglet::config {

struct PixelSize {
  int width = 0;
  int height = 0;
  bool operator==(const PixelSize&) const = default;
};

// What a key's value is: the type it has in Config. What is accepted, and its error texts: config/kinds.cpp.
namespace kind {
struct Text {
  using Value = std::string;
};
struct NodeName {
  using Value = std::string;
};  // never "auto": resolved to the host name
struct SourceName {
  using Value = std::string;
};  // of a camera
struct Choice {
  using Value = std::string;
};  // one of the row's CHOICES
struct Path {
  using Value = std::filesystem::path;
};  // empty when not set; from a file: never relative
struct Count {
  using Value = std::int64_t;
};
struct Threads {
  using Value = int;
};  // never "auto": resolved to a number
struct Number {
  using Value = double;
};
struct Duration {
  using Value = std::chrono::milliseconds;
};  // "250ms", "15s", "90d"; the range is in seconds
struct Scores {
  using Value = std::vector<std::pair<std::string, double>>;
};  // a table of names and scores of 0 to 1, by name
struct ByteCount {
  using Value = Bytes;
};
struct Size {
  using Value = PixelSize;
};
struct TextList {
  using Value = std::vector<std::string>;
};  // a single text counts as a list of one
struct Flag {
  using Value = bool;
};
struct Part {
  using Value = std::optional<Area>;
};  // [left, top, width, height] in shares of the picture; [] is the whole
struct Parts {
  using Value = std::vector<Area>;
};  // a list of those; a single one counts as a list of one
struct Listen {
  using Value = std::vector<std::string>;
};  // "127.0.0.1:8420", "[::1]:8420", "localhost:8420", "unix:/path"
}  // namespace kind

// One [[notify]] table. Notify{} holds the defaults of notify.def.
struct Notify {
  Notify();
#define KINGLET_NOTIFY_KEY(name, kind_, ...) kind::kind_::Value name{};
#include "config/notify.def"
#undef KINGLET_NOTIFY_KEY
  std::string place;  // as Error::where has it
};

struct FurtherSource;

// Config{} holds the defaults. Members: config.decide.min_score is a double, and so on through keys.def.
struct Config {
  Config();

#define KINGLET_SECTION(Type, member, help) struct Type {
#define KINGLET_KEY(Section, section, name, kind_, ...) kind::kind_::Value name{};
#define KINGLET_SECTION_END(Type, member) \
  }                                       \
  member;
#include "config/keys.def"
#undef KINGLET_SECTION
#undef KINGLET_KEY
#undef KINGLET_SECTION_END
  std::vector<Notify> notify;
  std::vector<FurtherSource> further_sources;  // the [[source]] tables after the first
};

// One of those. Its own are the keys of [source] and [camera], and what is said of a picture: for the first camera
// gate.region, look.fixed and privacy.masks say that.
struct FurtherSource {
  decltype(Config::source) source;
  decltype(Config::camera) camera;
  std::optional<Area> region;
  std::vector<Area> fixed;
  std::vector<Area> masks;
  std::string place;  // as Error::where has it
};
// How many cameras there are, one at least.
[[nodiscard]] inline std::size_t camera_count(const Config& config) { return 1 + config.further_sources.size(); }
// The configuration as it is for one of them: what belongs to a camera is that camera's. 0: the first, and all as it
// is.
[[nodiscard]] Config of_camera(const Config& config, std::size_t index);
// One as TOML: its name, and what differs from the defaults.
[[nodiscard]] std::string source_text(const FurtherSource& source);

// kNever: read so that older files stay valid, and without effect.
enum class Reload { kLive, kPipeline, kCamera, kRestart, kNever };
// "live", "pipeline" (kCamera as well), "restart", "none".
[[nodiscard]] std::string_view to_string(Reload reload);

// Whether a key may be set over HTTP, or in the owner's files only.
enum class Settable : std::uint8_t { kFileOnly, kSettable };

// One row of keys.def as data, for documents and messages.
struct Key {
  std::string_view section;
  std::string_view name;
  std::string_view default_text;  // TOML
  std::string expectation;        // "a number from 0 to 1"
  std::string_view unit;          // may be empty
  Reload reload = Reload::kLive;
  bool settable = false;  // over HTTP
  std::string_view help;
  std::string kind;                                // of config::kind, in small letters: "text_list"
  std::optional<std::pair<double, double>> range;  // least and most; of times in seconds, of sizes in bytes
  std::vector<std::string_view> choices;           // all that it may be; empty where it is no choice
  PlainValue (*value)(const Config& config);
  void (*copy)(const Config& from, Config& to);

  [[nodiscard]] std::string full_name() const;  // "decide.min_score"
};
[[nodiscard]] const std::vector<Key>& key_table();

// One row of notify.def as data.
struct NotifyKey {
  std::string_view name;
  std::string_view default_text;  // TOML
  std::string expectation;
  bool settable = false;  // over HTTP, of a service that is
  std::string_view help;
};
[[nodiscard]] const std::vector<NotifyKey>& notify_keys();

// What was set over HTTP: the text of settings.toml and the name of the file.
struct SettingsText {
  std::filesystem::path file;
  std::string text;
};

struct LoadOptions {
  // Counts between the defaults and the files; only keys that are settable may stand in it.
  std::optional<SettingsText> settings;
  // They are another version's: what this one does not know, or cannot take, is told in Loaded::left_out and no fault.
  bool foreign_settings = false;
  // kinglet.toml and then conf.d/*.toml by name, each only if it exists.
  std::filesystem::path folder = "/etc/kinglet";
  // --config: replaces both; must exist.
  std::optional<std::filesystem::path> file;
  // "NAME=value" lines of which only KINGLET_* count: process_environment().
  std::vector<std::string> environment;
  // --set, in order: "decide.min_score=0.5". A TOML value; bare text is a string.
  std::vector<std::string> assignments;
};
[[nodiscard]] std::vector<std::string> process_environment();

// Keys with their values.
using Settings = PlainMembers;

// A key of LoadOptions::settings that does not count, and why; printable.
struct LeftOut {
  std::string key;
  std::string why;
};

struct Loaded {
  Config config;
  Settings settings;                         // those of LoadOptions::settings, also where a file has another value
  std::vector<std::string> origins;          // by index of key_table(): "default", "FILE:LINE", "KINGLET_X", "--set"
  std::vector<std::string> places;           // the same as Error::where has them; empty for defaults
  std::vector<std::filesystem::path> files;  // read, in order
  std::vector<std::string> warnings;         // keys that are set and have no effect
  bool source_is_text = false;               // `source` was written, not `source.spec`
  std::vector<LeftOut> left_out;             // where LoadOptions::foreign_settings
};

// Every fault of the first wrong stage (all files, the environment and --set are one stage; a file that is not TOML
// stops at its first syntax error). where: "FILE:LINE:COLUMN", "KINGLET_DECIDE__MIN_SCORE" or "--set KEY".
// Codes: kConfig; kNotFound only when `file` itself cannot be opened. Never empty.
using Faults = std::vector<Error>;
[[nodiscard]] std::expected<Loaded, Faults> load(const LoadOptions& options);

// This text as the only configuration file, by the name `name`; relative paths start where the process is.
[[nodiscard]] std::expected<Loaded, Faults> load_text(std::string_view toml, const std::filesystem::path& name);

// notify.toml: [[notify]] tables of settable keys, and nothing else.
[[nodiscard]] std::expected<std::vector<Notify>, Faults> load_notify(const SettingsText& text);
// Those of its keys that may be set over HTTP.
[[nodiscard]] std::vector<std::pair<std::string, PlainValue>> notify_values(const Notify& notify);
// One as TOML: its name, and what differs from the defaults.
[[nodiscard]] std::string notify_text(const Notify& notify);

// settings.toml of these: a line a key.
[[nodiscard]] std::string settings_text(const Settings& settings);
// A value as TOML, in one line that nothing gets out of.
[[nodiscard]] std::string toml_text(const PlainValue& value);
// What `toml` is the text of; nothing: of no value. A time becomes a text.
[[nodiscard]] std::optional<PlainValue> plain_value(std::string_view toml);

// "program: where: message\nhint: ...\n" for each fault: what goes to stderr.
[[nodiscard]] std::string report(std::string_view program, std::span<const Error> faults);
// 78, or 66 when the only fault is a file that cannot be opened.
[[nodiscard]] int exit_code(std::span<const Error> faults);

// The annotated file of all keys, each commented out (config/kinglet.toml; `kinglet config default`).
[[nodiscard]] std::string default_file();
// The table of keys as Markdown (`kinglet config docs`).
[[nodiscard]] std::string docs();
// The whole configuration as TOML, each line with its origin (`kinglet config show`).
[[nodiscard]] std::string show(const Loaded& loaded);

}  // namespace kinglet::config
