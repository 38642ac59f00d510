// SPDX-License-Identifier: Apache-2.0
// Why: where messages go, as the owner wishes it, and whether that can be.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace kinglet::daemon::notify {

enum class Service : std::uint8_t {
#define KINGLET_SERVICE(id, ...) id,
#include "daemon/notify/services.def"
#undef KINGLET_SERVICE
};

enum class Secret : std::uint8_t { kNone, kOptional, kNeeded };

// A row of services.def.
struct ServiceFacts {
  Service id;
  std::string_view service;
  std::string_view preset;
  std::string_view server;
  std::string_view to;
  Secret secret;
  std::string_view secret_is;
  std::size_t pictures;

  // It may be set over HTTP: nobody can name a machine there.
  [[nodiscard]] bool has_fixed_host() const { return !server.empty(); }
};
[[nodiscard]] const ServiceFacts& facts_of(Service service);
// Nothing: there is no such preset of it.
[[nodiscard]] std::optional<Service> service_of(std::string_view service, std::string_view preset);

struct Target {
  std::string name;
  Service service = Service::kNtfy;
  std::string server;  // empty: the service's own
  std::string to;
  std::string username;
  std::filesystem::path secret;        // a file (read_secret), read for each message; empty: none
  std::filesystem::path certificates;  // to trust; empty: the system's
  std::vector<std::string> headers;    // of the owner's own template
  std::string body;

  [[nodiscard]] std::string address() const;  // of the server, without "/" at its end
  bool operator==(const Target&) const = default;
};

// kConfig: "KEY: what is wrong".
[[nodiscard]] Result<void> check(const Target& target);

}  // namespace kinglet::daemon::notify
