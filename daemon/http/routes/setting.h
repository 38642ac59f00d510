// SPDX-License-Identifier: Apache-2.0
// Why: the configuration as the API shows it; who reads files and knows keys hands it over in this form.
#pragma once

#include <string>
#include <string_view>

namespace kinglet::daemon::http {

struct Setting {
  std::string key;      // "decide.min_score"
  std::string value;    // TOML
  std::string source;   // "default", "FILE:LINE", "KINGLET_X", "--set"
  std::string reload;   // "live", "pipeline", "restart", "none"
  std::string waiting;  // TOML: the value that counts from the next start on; empty: the same
};

// Logins within addresses ("rtsp://user:password@camera/") become "***". All other secrets are in files of their own.
[[nodiscard]] std::string without_secrets(std::string text);
// The value of this key as anybody may see it: of a webhook's address the path is a secret as well.
[[nodiscard]] std::string shown_value(std::string_view key, std::string value);

}  // namespace kinglet::daemon::http
