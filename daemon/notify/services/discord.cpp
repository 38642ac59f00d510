// SPDX-License-Identifier: Apache-2.0
// Why: a webhook of Discord takes its message as JSON, and up to ten files beside it in a form. Its address is its
// secret.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/notify/multipart.h"
#include "daemon/notify/services.h"
#include "engine/base/format.h"

namespace kinglet::daemon::notify {
namespace {

// "ID/TOKEN" of "https://discord.com/api/webhooks/ID/TOKEN", or as it is. Empty: it is neither.
std::string id_and_token(std::string_view secret) {
  constexpr std::string_view kBefore = "/api/webhooks/";
  if (const std::size_t at = secret.find(kBefore); at != std::string_view::npos)
    secret.remove_prefix(at + kBefore.size());
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_letter = [&](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
  };
  const std::size_t slash = secret.find('/');
  if (slash == 0 || slash == std::string_view::npos || slash + 1 == secret.size()) return {};
  if (!std::ranges::all_of(secret.substr(0, slash), is_digit)) return {};
  if (!std::ranges::all_of(secret.substr(slash + 1), is_letter)) return {};
  return std::string(secret);
}

}  // namespace

Result<Parcel> discord(const Target& target, const std::string& secret, const Message& message) {
  using Json = nlohmann::ordered_json;
  constexpr std::size_t kLongestText = 2000;
  const std::string webhook = id_and_token(secret);
  if (webhook.empty()) {
    return fail(ErrorCode::kConfig, "the secret is no address of a webhook", {},
                "such as https://discord.com/api/webhooks/123/abc, from the channel's settings");
  }
  // Nobody is called by a name that a model gave.
  const Json payload{{"content", cut(message.whole(), kLongestText)}, {"allowed_mentions", {{"parse", Json::array()}}}};
  Form form;
  form.add("payload_json", payload.dump(-1, ' ', false, Json::error_handler_t::replace));
  for (std::size_t i = 0; i < message.pictures.size(); ++i) {
    form.add_picture(format_text("files[{}]", i), format_text("bird{}.jpg", i + 1), message.pictures[i]);
  }
  return outgoing::Request{.url = format_text("{}/api/webhooks/{}?wait=true", target.address(), webhook),
                           .headers = {form.header()},
                           .body = form.body(),
                           .certificates = {}};
}

}  // namespace kinglet::daemon::notify
