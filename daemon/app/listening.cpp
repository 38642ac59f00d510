// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/listening.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "engine/base/format.h"

namespace kinglet::daemon {
namespace {

// As a service there is a socket in the file system as well: who may open it needs no token.
std::vector<std::string> wished_addresses(std::vector<std::string> addresses) {
  const auto is_unix = [](const std::string& address) { return address.starts_with("unix:"); };
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment
  const char* folder = std::getenv("RUNTIME_DIRECTORY");
  if (folder != nullptr && *folder == '/' && std::ranges::none_of(addresses, is_unix)) {
    addresses.push_back(
        format_text("unix:{}/http.sock", std::string_view(folder).substr(0, std::string_view(folder).find(':'))));
  }
  // The first one is what people are told to open.
  std::ranges::stable_partition(addresses, [&](const std::string& address) { return !is_unix(address); });
  return addresses;
}

}  // namespace

Result<std::vector<http::Listener>> open_listeners(const std::vector<std::string>& listen, const LogSink& log) {
  std::vector<http::Listener> listeners = KINGLET_TRY(http::passed_listeners());
  if (!listeners.empty()) return listeners;
  const std::vector<std::string> addresses = wished_addresses(listen);
  for (const std::string& address : addresses) {
    std::optional<http::Listener> listener = KINGLET_TRY(http::open_listener(address, addresses));
    if (listener) {
      listeners.push_back(std::move(*listener));
    } else {
      log(LogLevel::kWarning, format_text("this machine has no address {}", address));
    }
  }
  if (addresses.empty()) return fail(ErrorCode::kConfig, "http.listen names no address");
  if (listeners.empty()) {
    return fail(ErrorCode::kUnavailable, "this machine has none of the addresses of http.listen", {},
                "set http.listen to an address of this machine");
  }
  return listeners;
}

void speak_tls(std::vector<http::Listener>& listeners) {
  for (http::Listener& listener : listeners) {
    if (listener.unix_socket) continue;
    listener.tls = true;
    listener.url.replace(0, listener.url.find(':'), "https");
  }
}

std::string page_of(const std::vector<http::Listener>& listeners, const std::string& name) {
  for (const http::Listener& listener : listeners) {
    if (listener.unix_socket) continue;
    std::string url = listener.url.substr(0, listener.url.find_last_not_of('/') + 1);
    const std::string here = format_text("{}://127.0.0.1:", listener.tls ? "https" : "http");
    if (listener.everywhere && url.starts_with(here) && !name.empty()) {
      url = format_text("{}://{}:{}", listener.tls ? "https" : "http", name, url.substr(here.size()));
    }
    return url;
  }
  return {};
}

}  // namespace kinglet::daemon
