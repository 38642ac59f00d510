// SPDX-License-Identifier: Apache-2.0
// Why: Gotify takes JSON and no pictures; its app fetches one by its address, where it can reach this device.
#include <nlohmann/json.hpp>

#include "daemon/notify/services.h"

namespace kinglet::daemon::notify {

Result<Parcel> gotify(const Target& target, const std::string& secret, const Message& message) {
  using Json = nlohmann::ordered_json;
  Json json{{"title", message.title}, {"message", message.words()}, {"priority", message.urgent ? 8 : 5}};
  Json notification = Json::object();
  if (!message.link.empty()) notification["click"] = {{"url", message.link}};
  if (!message.picture_link.empty()) notification["bigImageUrl"] = message.picture_link;
  if (!notification.empty()) json["extras"]["client::notification"] = notification;
  return outgoing::Request{.url = target.address() + "/message",
                           .headers = {"X-Gotify-Key: " + secret, "Content-Type: application/json"},
                           .body = json.dump(-1, ' ', false, Json::error_handler_t::replace),
                           .certificates = {}};
}

}  // namespace kinglet::daemon::notify
