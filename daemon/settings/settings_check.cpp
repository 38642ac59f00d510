// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings/settings_check.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "daemon/settings/notify_settings.h"
#include "daemon/settings/settings.h"
#include "daemon/settings/settings_file.h"
#include "daemon/settings/value_checks.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon {
namespace {

// "KEY = VALUE: what is wrong", where it was set.
Error fault_of(std::string_view name, Error error, const config::Loaded& loaded) {
  const auto& table = config::key_table();
  const auto key = std::ranges::find(table, name, &config::Key::full_name);
  // Addresses of others may hold a login or be a secret as a whole.
  const bool secret = name == "mqtt.url" || name == "webhook.url" || name == "source.spec";
  const std::string_view told = name == "source.spec" && loaded.source_is_text ? "source" : name;
  const std::string value = secret ? "..." : printable(config::toml_text(key->value(loaded.config)), 100);
  std::string hint = std::exchange(error.hint, {});
  return {.code = ErrorCode::kConfig,
          .message = format_text("{} = {}: {}", told, value, describe(error)),
          .where = loaded.places.at(static_cast<std::size_t>(key - table.begin())),
          .hint = std::move(hint)};
}

// The same of a further camera, whose own table has it.
Error fault_of_camera(Misfit misfit, const config::Config& config) {
  const config::FurtherSource& source = config.further_sources[misfit.camera - 1];
  std::string hint = std::exchange(misfit.error.hint, {});
  return {.code = ErrorCode::kConfig,
          .message = format_text("{} of {}: {}", misfit.key, source.source.name, describe(misfit.error)),
          .where = source.place,
          .hint = std::move(hint)};
}

config::Faults faults_of(const config::Loaded& loaded, Reads most) {
  config::Faults faults;
  for (Misfit& misfit : misfits_of(loaded.config, most)) {
    faults.push_back(misfit.camera == 0 ? fault_of(misfit.key, std::move(misfit.error), loaded)
                                        : fault_of_camera(std::move(misfit), loaded.config));
  }
  if (auto wishes = notify_wishes(loaded.config.notify); !wishes) {
    std::ranges::move(wishes.error(), std::back_inserter(faults));
  }
  return faults;
}

using Loading = std::expected<config::Loaded, config::Faults>;

Loading judged(Loading loaded) {
  if (!loaded) return loaded;
  config::Faults faults = faults_of(*loaded, Reads::kFiles);
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return loaded;
}

// What settings.toml has of it is what counts.
bool is_set_in(const config::SettingsText& settings, std::string_view name, const config::Loaded& loaded) {
  const auto& table = config::key_table();
  const auto key = std::ranges::find(table, name, &config::Key::full_name);
  return loaded.places.at(static_cast<std::size_t>(key - table.begin())).starts_with(settings.file.string() + ":");
}

enum class Judge : std::uint8_t { kKinds, kMeaning };

// Of `options.settings` what does not fit is left out, by name, and all else counts: a mask is not given up for a
// prefix. An error: all of it has to be given up.
Loading as_far_as_it_fits(config::LoadOptions options, Judge judge) {
  options.foreign_settings = true;
  std::vector<config::LeftOut> left_out;
  for (;;) {
    Loading loaded = config::load(options);
    if (!loaded) return loaded;
    config::Settings kept = loaded->settings;
    bool all = loaded->left_out.empty();
    std::ranges::move(loaded->left_out, std::back_inserter(left_out));
    for (const Misfit& misfit :
         judge == Judge::kMeaning ? misfits_of(loaded->config, Reads::kFiles) : std::vector<Misfit>{}) {
      if (misfit.camera != 0 || !is_set_in(*options.settings, misfit.key, *loaded)) continue;
      kept.erase(std::string(misfit.key));
      left_out.push_back({.key = std::string(misfit.key), .why = describe(misfit.error)});
      all = false;
    }
    if (all) {
      loaded->left_out = std::move(left_out);
      return judge == Judge::kMeaning ? judged(std::move(loaded)) : std::move(loaded);
    }
    options.settings->text = config::settings_text(kept);
  }
}

std::string in_words(const std::vector<config::LeftOut>& left_out) {
  constexpr std::size_t kMostNamed = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(left_out.size(), kMostNamed); ++i) {
    text += format_text("{}{} ({})", i == 0 ? "" : ", ", left_out[i].key, left_out[i].why);
  }
  if (left_out.size() > kMostNamed) text += format_text(" and {} more", left_out.size() - kMostNamed);
  return text;
}

std::filesystem::path folder_of(const config::Config& config, const std::filesystem::path& else_folder) {
  std::filesystem::path folder = state_folder_of(config);
  return folder.empty() ? else_folder : folder;
}

// What the owner's files say, and then the same with the settings.
std::expected<Usable, config::Faults> usable(const config::LoadOptions& options,
                                             const std::filesystem::path& else_folder, Judge judge) {
  Loading plain = config::load(options);
  if (!plain) return std::unexpected(std::move(plain.error()));
  const std::filesystem::path folder = folder_of(plain->config, else_folder);
  Result<std::optional<config::SettingsText>> text = read_settings(folder);
  std::string trouble = text ? std::string() : describe(text.error());
  if (text && *text) {
    config::LoadOptions with = options;
    with.settings = std::move(**text);
    Loading loaded = as_far_as_it_fits(std::move(with), judge);
    if (loaded) {
      trouble = in_words(loaded->left_out);
      return Usable{.loaded = std::move(*loaded), .folder = folder, .trouble = std::move(trouble)};
    }
    trouble = describe(loaded.error().front());
  }
  if (judge == Judge::kMeaning) plain = judged(std::move(plain));
  if (!plain) return std::unexpected(std::move(plain.error()));
  return Usable{.loaded = std::move(*plain), .folder = folder, .trouble = std::move(trouble)};
}

}  // namespace

std::expected<config::Loaded, config::Faults> load_settings(config::LoadOptions options,
                                                            const std::filesystem::path& else_folder) {
  std::string hidden;
  if (!options.settings) {
    const Loading plain = config::load(options);
    if (!plain) return plain;
    auto text = read_settings(folder_of(plain->config, else_folder));
    if (text) {
      options.settings = std::move(*text);
    } else if (text.error().code != ErrorCode::kNotPermitted) {
      return std::unexpected(config::Faults{std::move(text).error()});
    } else {
      hidden = "what was set on the page is not known: " + describe(text.error()) + "; " + text.error().hint;
    }
  }
  Loading loaded = judged(config::load(options));
  if (loaded && !hidden.empty()) loaded->warnings.push_back(hidden);
  return loaded;
}

std::expected<config::Loaded, config::Faults> load_fitting_settings(config::LoadOptions options) {
  return as_far_as_it_fits(std::move(options), Judge::kMeaning);
}

std::expected<Usable, config::Faults> load_usable_settings(const config::LoadOptions& options) {
  return usable(options, {}, Judge::kMeaning);
}

std::expected<Usable, config::Faults> load_usable_values(const config::LoadOptions& options,
                                                         const std::filesystem::path& else_folder) {
  return usable(options, else_folder, Judge::kKinds);
}

std::optional<Error> fault_of_detector(const config::Loaded& loaded) {
  const LineDetectorOptions options = line_detector_options(loaded.config);
  if (options.model.empty()) return std::nullopt;
  auto detector = LineDetector::open(options);
  if (!detector) return fault_of("detector.path", std::move(detector).error(), loaded);
  if (loaded.config.privacy.people == "show" || (*detector)->knows(Being::kPerson)) return std::nullopt;
  return fault_of("privacy.people",
                  {.code = ErrorCode::kConfig,
                   .message = "the detector's labels have no \"person\"",
                   .where = {},
                   .hint = "name a detector that finds people, or the labels that belong to it (detector.labels)"},
                  loaded);
}

config::Faults faults_of_text(std::string_view toml, const std::filesystem::path& name) {
  const auto loaded = config::load_text(toml, name);
  return loaded ? faults_of(*loaded, Reads::kNothing) : loaded.error();
}

}  // namespace kinglet::daemon
