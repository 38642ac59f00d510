// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/message/message.h"

namespace kinglet::daemon::http {

std::optional<std::string_view> Call::query_value(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::string_view Call::path_parameter(std::string_view name) const {
  for (const auto& [key, value] : path_parameters) {
    if (key == name) return value;
  }
  return {};
}

Reply json_reply(std::string body, std::string_view cache_control) {
  return {.content_type = "application/json",
          .body = std::move(body),
          .headers = {{"Cache-Control", std::string(cache_control)}}};
}

}  // namespace kinglet::daemon::http
