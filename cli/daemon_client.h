// SPDX-License-Identifier: Apache-2.0
// Why: commands that speak with the running daemon do it in one way: over its socket in the file system, which needs no
// token, or over HTTP.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cli/load_config.h"
#include "engine/base/error.h"

namespace kinglet::cli {

struct DaemonOptions {
  ConfigOptions config;
  std::string address;     // "unix:/path" or "http://host:port"; empty: as the configuration has it
  std::string token_file;  // for HTTP; empty: none
};
// --daemon and --token-file, without --config and --set.
void add_daemon_options(CLI::App& app, DaemonOptions& options);

struct DaemonAnswer {
  int status = 0;
  std::string body;
  [[nodiscard]] nlohmann::ordered_json json() const;  // discarded when it is none
};

class DaemonClient {
 public:
  // kConfig: the configuration or the address is wrong; kNotFound: no such token file.
  [[nodiscard]] static Result<DaemonClient> open(const DaemonOptions& options);

  // An answer below 400. Else what the daemon says of it: kNotPermitted, kNotFound, kBusy, kUsage; kUnavailable when
  // nobody answers.
  [[nodiscard]] Result<DaemonAnswer> ask(const std::string& method, const std::string& path,
                                         const std::string& body = {}) const;
  // The same for answers that are bad news in themselves (/readyz).
  [[nodiscard]] Result<DaemonAnswer> look(const std::string& path) const;
  // An answer without an end, in pieces; false ends it.
  [[nodiscard]] Result<void> follow(const std::string& path, const std::function<bool(std::string_view)>& take) const;

  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  std::string address_;  // for people
  std::string socket_;   // path; empty: HTTP
  std::string base_;     // "http://127.0.0.1:8420"
  std::string token_;
};

// A part of a path or a query as it is sent.
[[nodiscard]] std::string url_encoded(std::string_view text);

}  // namespace kinglet::cli
