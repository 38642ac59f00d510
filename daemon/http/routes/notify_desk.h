// SPDX-License-Identifier: Apache-2.0
// Why: the services of messages to a phone as the API shows and changes them; who keeps them hands them over in this
// form.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/http/routes/setting.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"

namespace kinglet::daemon::http {

struct NotifyService {
  std::string name;
  std::vector<std::pair<std::string, PlainValue>> values;  // keys that may be set
  bool has_secret = false;                                 // never which
  std::string source;                                      // "page", or where in the owner's files
  std::string detail;                                      // why the newest try failed; empty: it did not
  WallTime since{};                                        // of the detail
  std::uint64_t sent = 0;
  std::uint64_t failed_tries = 0;
  std::uint64_t dropped = 0;
  std::uint64_t held_back = 0;
  std::uint64_t waiting = 0;
};

struct NotifyWish {
  std::string name;
  PlainMembers values;                // by names as they came
  std::optional<std::string> secret;  // nothing: the one that is kept
  std::string by;                     // who wishes it, for the log
};

// Thread-safe; one change at a time.
class NotifyDesk {
 public:
  virtual ~NotifyDesk() = default;

  [[nodiscard]] virtual std::vector<NotifyService> list() const = 0;
  // All of the wish, in place of what this name was; or nothing of it.
  [[nodiscard]] virtual std::expected<void, SettingsRefusal> put(const NotifyWish& wish) = 0;
  // False: there is none of this name.
  [[nodiscard]] virtual std::expected<bool, SettingsRefusal> remove(const std::string& name, const std::string& by) = 0;
  // One message at once, waiting for the service. kNotFound: no such name; kUnavailable: it was not taken, and why;
  // kBusy: try again.
  [[nodiscard]] virtual Result<void> try_now(const std::string& name) = 0;
};

}  // namespace kinglet::daemon::http
