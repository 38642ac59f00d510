// SPDX-License-Identifier: Apache-2.0
// Why: a [[notify]] table as what the part that sends messages takes, judged.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/config.h"
#include "daemon/notify/outlet.h"
#include "engine/base/error.h"

namespace kinglet::daemon {

// `secret`: a file in place of secret_file and of systemd's credential; empty: these. kConfig: "KEY: what is wrong".
[[nodiscard]] Result<notify::Wish> notify_wish(const config::Notify& wished, const std::filesystem::path& secret = {});

// Of those of the owner's files, in their order; kConfig: "notify.KEY: ...", at its table. Names are unique.
[[nodiscard]] std::expected<std::vector<notify::Wish>, config::Faults> notify_wishes(
    const std::vector<config::Notify>& wished);

// What was set over HTTP lies in the state folder: notify.toml, and beside it a folder with a file for each secret, all
// of them 0600. None: there is no file. kIo, kBadData, kNotPermitted, kConfig.
[[nodiscard]] std::filesystem::path notify_file(const std::filesystem::path& folder);
[[nodiscard]] Result<std::vector<config::Notify>> read_notify_file(const std::filesystem::path& folder);
[[nodiscard]] Result<void> write_notify_file(const std::filesystem::path& folder,
                                             const std::vector<config::Notify>& services);
// One that cannot be used makes room, with its secrets, and they stay to be looked at as *.damaged; earlier ones go.
// What became of them, for a person.
[[nodiscard]] std::string set_notify_aside(const std::filesystem::path& folder);
// By name and service, so that whatever fails or is cut off between a secret and its table, none goes to another
// service.
[[nodiscard]] std::filesystem::path notify_secret_place(const std::filesystem::path& folder, const config::Notify& of);
// Its place when there is one; else empty.
[[nodiscard]] std::filesystem::path notify_secret_file(const std::filesystem::path& folder, const config::Notify& of);
// Earlier versions named it after its service's name alone.
void carry_over_notify_secret(const std::filesystem::path& folder, const config::Notify& of);
// An empty one is removed.
[[nodiscard]] Result<void> write_notify_secret(const std::filesystem::path& path, const std::string& secret);
// Those that services of that name had, but for the one at `kept`.
[[nodiscard]] Result<void> forget_notify_secrets(const std::filesystem::path& folder, const std::string& name,
                                                 const std::filesystem::path& kept = {});

}  // namespace kinglet::daemon
