// SPDX-License-Identifier: Apache-2.0
// Why: what of a configuration the table of keys cannot judge, judged in one place: `kinglet config check`, the start,
// a reload and POST /api/v1/config/validate say the same of the same file.
#pragma once

#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"
#include "engine/base/error.h"

namespace kinglet::daemon {

// config::load() with the settings.toml of its state folder, where `options` has no settings, and all faults of what it
// gives, lists of birds and certificates included. `else_folder`: where the state lies when the configuration does not
// say it. Codes: kConfig; kNotFound only as config::load() has it.
[[nodiscard]] std::expected<config::Loaded, config::Faults> load_settings(
    config::LoadOptions options, const std::filesystem::path& else_folder = {});

// The same where what does not fit of `options.settings` is left out, by name (Loaded::left_out).
[[nodiscard]] std::expected<config::Loaded, config::Faults> load_fitting_settings(config::LoadOptions options);

// The same for whoever has to go on: what of settings.toml does not fit is left out, by name; where it cannot be read
// or is no TOML, all of it.
struct Usable {
  config::Loaded loaded;         // Loaded::left_out: keys of settings.toml that do not count, while all others do
  std::filesystem::path folder;  // of the state; empty: none
  std::string trouble;           // which of settings.toml does not count, or why none of it does; empty: all is well
};
[[nodiscard]] std::expected<Usable, config::Faults> load_usable_settings(const config::LoadOptions& options);
// And without looking at what the values mean, for the tool.
[[nodiscard]] std::expected<Usable, config::Faults> load_usable_values(const config::LoadOptions& options,
                                                                       const std::filesystem::path& else_folder);

// What is wrong with the detector it names, or with what is wished of it; nothing: it is well, or none is named. Loads
// it: a start does not ask, since the model names birds without one.
[[nodiscard]] std::optional<Error> fault_of_detector(const config::Loaded& loaded);

// The faults of this text as the only configuration file. It came from somewhere else: no file it names is opened.
[[nodiscard]] config::Faults faults_of_text(std::string_view toml, const std::filesystem::path& name);

}  // namespace kinglet::daemon
