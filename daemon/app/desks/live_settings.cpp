// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/desks/live_settings.h"

#include <algorithm>
#include <utility>

#include "daemon/settings/settings.h"
#include "engine/base/format.h"

namespace kinglet::daemon {

LiveSettings::LiveSettings(const config::Config& config, std::vector<std::string> origins, LogSink log)
    : log_(std::move(log)), config_(config), origins_(std::move(origins)), waiting_(config::key_table().size()) {
  origins_.resize(config::key_table().size(), "default");
}

camera::SourceOptions LiveSettings::source(std::size_t camera) const {
  MutexLock lock(mutex_);
  camera::SourceOptions options = source_options(config::of_camera(config_, camera), log_);
  options.camera_index = camera;
  return options;
}

std::string LiveSettings::language() const {
  MutexLock lock(mutex_);
  return config_.node.language;
}

TrialRule LiveSettings::trial_rule() const {
  MutexLock lock(mutex_);
  return {.frames = static_cast<std::size_t>(config_.model.trial_frames),
          .least_agreement = config_.model.trial_agreement,
          .most_time = config_.model.trial_time};
}

Result<LineOptions> LiveSettings::line_now() const {
  config::Config config;
  {
    MutexLock lock(mutex_);
    config = config_;
  }
  return line_options(config);
}

namespace {

// What is the same for every configuration.
http::Setting described(const config::Key& key) {
  return {.key = key.full_name(),
          .value = {},
          .source = {},
          .reload = std::string(config::to_string(key.reload)),
          .waiting = {},
          .help = std::string(key.help),
          .kind = key.kind,
          .unit = std::string(key.unit),
          .default_value = config::plain_value(key.default_text).value_or(PlainValue()),
          .range = key.range,
          .choices = {key.choices.begin(), key.choices.end()},
          .settable = key.settable};
}

std::string further_cameras(const config::Config& config) {
  std::string text;
  for (const config::FurtherSource& one : config.further_sources) text += config::source_text(one);
  return text;
}

std::string_view name_of(const config::FurtherSource& one) { return one.source.name; }
std::string_view spec_of(const config::FurtherSource& one) { return one.source.spec; }

// Tables of several cameras have come, gone or changed their places: what the first one says may be of another, which
// has its device still.
bool are_others(const config::Config& ours, const config::Config& wanted) {
  const auto& before = ours.further_sources;
  const auto& after = wanted.further_sources;
  if (before.empty() && after.empty()) return false;
  return ours.source.name != wanted.source.name || !std::ranges::equal(before, after, {}, name_of, name_of) ||
         std::ranges::contains(before, std::string_view(wanted.source.spec), spec_of);
}

bool is_of_the_first_camera(const config::Key& key) { return key.section == "source" || key.section == "camera"; }

}  // namespace

// What is to be hidden counts at once, whatever else has to wait.
bool LiveSettings::take_up_masks(const config::Config& wanted) {
  bool changed = false;
  for (config::FurtherSource& ours : config_.further_sources) {
    const auto theirs = std::ranges::find(wanted.further_sources, std::string_view(ours.source.name), name_of);
    if (theirs == wanted.further_sources.end() || theirs->masks == ours.masks) continue;
    ours.masks = theirs->masks;
    changed = true;
    log_(LogLevel::kInfo, format_text("configuration: the masks of {} are other ones", ours.source.name));
  }
  return changed;
}

// Which cameras there are, and what a further one is, changes with the next start.
void LiveSettings::note_further_cameras(const config::Config& wanted) {
  const std::string text = further_cameras(wanted);
  const bool changed = text != further_cameras(config_);
  if (changed && text != waiting_cameras_)
    log_(LogLevel::kWarning, "configuration: other cameras wait for the next start");
  waiting_cameras_ = changed ? text : std::string();
}

std::vector<http::Setting> LiveSettings::list() const {
  const std::vector<config::Key>& table = config::key_table();
  std::vector<http::Setting> settings;
  settings.reserve(table.size());
  MutexLock lock(mutex_);
  for (std::size_t i = 0; i < table.size(); ++i) {
    http::Setting setting = described(table[i]);
    setting.value = table[i].value(config_);
    setting.source = origins_[i];
    setting.waiting = waiting_[i];
    settings.push_back(std::move(setting));
  }
  return settings;
}

Result<LiveSettings::Change> LiveSettings::reload(const config::Loaded& wanted) {
  // Before anything is taken up: it reads files.
  const LineOptions line = KINGLET_TRY(line_options(wanted.config));
  return take_up(wanted, line);
}

LiveSettings::Change LiveSettings::take_up(const config::Loaded& wanted, const LineOptions& line) {
  Change change;
  MutexLock lock(mutex_);
  const std::vector<config::Key>& table = config::key_table();
  // What the list of birds says may be other than before where its file is the same.
  if (line.decide.region) change.line = line;
  if (take_up_masks(wanted.config)) {
    change.camera_settle = wanted.config.gate.settle;
    change.every_camera = true;
  }
  const bool others = are_others(config_, wanted.config);
  note_further_cameras(wanted.config);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const config::Key& key = table[i];
    const PlainValue value = key.value(wanted.config);
    const bool changed = value != key.value(config_);
    const bool waits = changed && (key.reload == config::Reload::kRestart || (others && is_of_the_first_camera(key)));
    if (changed && value != waiting_[i]) {
      log_(LogLevel::kInfo, format_text("configuration: {} = {}{}", key.full_name(),
                                        config::toml_text(http::shown_value(key.full_name(), value)),
                                        waits ? " waits for the next start" : ""));
    }
    waiting_[i] = waits ? std::optional(value) : std::nullopt;
    if (waits) continue;
    origins_[i] = wanted.origins[i];
    if (!changed) continue;
    key.copy(wanted.config, config_);
    if (key.reload == config::Reload::kCamera) {
      change.camera_settle = wanted.config.gate.settle;
      change.every_camera = change.every_camera || key.section == "gate";
    } else {
      change.line = line;
    }
  }
  return change;
}

}  // namespace kinglet::daemon
