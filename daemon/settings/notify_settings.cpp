// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings/notify_settings.h"

#include <algorithm>
#include <utility>

#include "daemon/settings/settings_file.h"
#include "daemon/tokens/secret_file.h"
#include "engine/base/file.h"
#include "engine/base/format.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostKeptBytes = 64U << 10;
constexpr const char* kSecrets = "notify-secrets";

std::unexpected<Error> wrong(std::string message, std::string hint = {}) {
  return fail(ErrorCode::kConfig, std::move(message), {}, std::move(hint));
}

Result<notify::Rule> rule_of(const config::Notify& wished) {
  notify::Rule rule{.events = KINGLET_TRY(notify::parse_events(wished.events)),
                    .species = wished.species,
                    .only = KINGLET_TRY(notify::parse_only(wished.only)),
                    .quiet = std::nullopt,
                    .at_most = static_cast<int>(wished.at_most),
                    .picture = wished.picture,
                    .digest = std::nullopt};
  if (!wished.quiet.empty()) {
    const Result<DayHours> quiet = parse_day_hours(wished.quiet);
    if (!quiet) return wrong("quiet: " + quiet.error().message);
    rule.quiet = *quiet;
  }
  if (!wished.digest.empty()) {
    rule.digest = parse_day_time(wished.digest);
    if (!rule.digest || *rule.digest >= std::chrono::hours(24)) {
      return wrong("digest: expected a time such as 20:00, or \"\"");
    }
  }
  return rule;
}

}  // namespace

Result<notify::Wish> notify_wish(const config::Notify& wished, const std::filesystem::path& secret) {
  const auto service = notify::service_of(wished.service, wished.preset);
  if (!service) {
    return wrong(format_text("preset: {} has none called \"{}\"", wished.service, wished.preset),
                 "presets are for service = \"template\"");
  }
  notify::Wish wish{.target = {.name = wished.name,
                               .service = *service,
                               .server = wished.server,
                               .to = wished.to,
                               .username = wished.username,
                               .secret = secret,
                               .certificates = wished.certificates,
                               .headers = wished.headers,
                               .body = wished.body},
                    .rule = {}};
  if (secret.empty()) wish.target.secret = secret_path(wished.secret_file, "notify-" + wished.name);
  KINGLET_TRY(notify::check(wish.target));
  wish.rule = KINGLET_TRY(rule_of(wished));
  return wish;
}

std::expected<std::vector<notify::Wish>, config::Faults> notify_wishes(const std::vector<config::Notify>& wished) {
  std::vector<notify::Wish> wishes;
  config::Faults faults;
  for (const config::Notify& one : wished) {
    Result<notify::Wish> wish = notify_wish(one);
    const bool twice = wish && std::ranges::contains(wishes, one.name, [](const auto& it) { return it.target.name; });
    if (twice) wish = wrong(format_text("name: \"{}\" stands there twice", one.name));
    if (wish) {
      wishes.push_back(std::move(*wish));
      continue;
    }
    Error error = std::move(wish).error();
    error.message = "notify." + error.message;
    error.where = one.place;
    faults.push_back(std::move(error));
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return wishes;
}

fs::path notify_file(const fs::path& folder) { return folder / "notify.toml"; }

Result<std::vector<config::Notify>> read_notify_file(const fs::path& folder) {
  const fs::path path = notify_file(folder);
  std::error_code failed;
  if (!fs::exists(path, failed) && !failed) return std::vector<config::Notify>{};
  auto loaded = config::load_notify({.file = path, .text = KINGLET_TRY(read_file(path, kMostKeptBytes))});
  if (!loaded) return std::unexpected(std::move(loaded.error().front()));
  return std::move(*loaded);
}

Result<void> write_notify_file(const fs::path& folder, const std::vector<config::Notify>& services) {
  std::string text = "# Written by kingletd: services of messages that were set on its page. Secrets are beside it.\n";
  for (const config::Notify& one : services) text += config::notify_text(one);
  KINGLET_TRY(write_file(notify_file(folder), text, Overwrite::kReplace, Readers::kOwner));
  return sync_folder(folder);
}

std::string set_notify_aside(const fs::path& folder) {
  const fs::path secrets = folder / kSecrets;
  const fs::path to = secrets.string() + ".damaged";
  std::string told;
  std::error_code failed;
  // Before the file: where the power goes between the two, the next start comes here again.
  if (fs::exists(fs::symlink_status(secrets, failed))) {
    fs::remove_all(to, failed);
    fs::rename(secrets, to, failed);
    told = failed ? format_text("; {} cannot be set aside: {}", secrets.string(), failed.message())
                  : format_text("; its secrets were set aside as {}", to.string());
  }
  return set_aside(notify_file(folder)) + told;
}

fs::path notify_secret_place(const fs::path& folder, const config::Notify& of) {
  const bool has_preset = !of.preset.empty() && of.preset != "none";
  return folder / kSecrets / format_text("{}.{}", of.name, has_preset ? of.preset : of.service);
}

fs::path notify_secret_file(const fs::path& folder, const config::Notify& of) {
  const fs::path path = notify_secret_place(folder, of);
  std::error_code failed;
  return fs::is_regular_file(path, failed) ? path : fs::path();
}

void carry_over_notify_secret(const fs::path& folder, const config::Notify& of) {
  const fs::path place = notify_secret_place(folder, of);
  const fs::path before = folder / kSecrets / of.name;
  std::error_code failed;
  if (!fs::exists(fs::symlink_status(place, failed)) && fs::is_regular_file(before, failed)) {
    fs::rename(before, place, failed);
  }
}

Result<void> forget_notify_secrets(const fs::path& folder, const std::string& name, const fs::path& kept) {
  const fs::path secrets = folder / kSecrets;
  std::error_code failed;
  if (!fs::exists(fs::symlink_status(secrets, failed))) return {};
  for (fs::directory_iterator it(secrets, failed), end; !failed && it != end; it.increment(failed)) {
    const std::string file = it->path().filename().string();
    if (file.substr(0, file.find('.')) != name || it->path() == kept) continue;
    if (!fs::remove(it->path(), failed) && failed) break;
  }
  if (failed) return fail(ErrorCode::kIo, "cannot remove a secret: " + failed.message(), secrets.string());
  return {};
}

Result<void> write_notify_secret(const fs::path& path, const std::string& secret) {
  std::error_code failed;
  if (secret.empty()) {
    fs::remove(path, failed);
    if (failed) return fail(ErrorCode::kIo, "cannot remove a secret: " + failed.message(), path.string());
    return {};
  }
  if (fs::create_directory(path.parent_path(), failed)) {
    fs::permissions(path.parent_path(), fs::perms::owner_all, failed);
  }
  if (failed)
    return fail(ErrorCode::kCannotCreate, "cannot make the folder of secrets: " + failed.message(), path.string());
  KINGLET_TRY(write_file(path, secret + "\n", Overwrite::kReplace, Readers::kOwner));
  return sync_folder(path.parent_path());
}

}  // namespace kinglet::daemon
