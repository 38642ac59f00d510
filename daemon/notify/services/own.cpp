// SPDX-License-Identifier: Apache-2.0
// Why: whatever takes a POST: the owner writes the body and the headers, with names in braces for what a message says.
#include <nlohmann/json.hpp>

#include "daemon/notify/multipart.h"
#include "daemon/notify/services.h"

namespace kinglet::daemon::notify {
namespace {

// Within JSON it is a part of a text there.
std::string escaped(const std::string& value) {
  const std::string json = nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return json.substr(1, json.size() - 2);
}

std::string value_of(std::string_view name, const std::string& secret, const Message& message) {
  if (name == "title") return message.title;
  if (name == "text") return message.text;
  if (name == "link") return message.link;
  if (name == "picture_link") return message.picture_link;
  if (name == "species") return message.species;
  if (name == "secret") return secret;
  if (name == "picture_base64") return message.pictures.empty() ? std::string() : base64(message.pictures.front());
  return {};
}

constexpr std::string_view kNames[] = {"title", "text", "link", "picture_link", "species", "secret", "picture_base64"};

// In one pass: a value with braces in it stays what it is.
std::string filled(std::string_view pattern, const std::string& secret, const Message& message, bool json) {
  std::string out;
  while (!pattern.empty()) {
    bool found = false;
    for (const std::string_view name : kNames) {
      if (!pattern.starts_with('{') || !pattern.substr(1).starts_with(name)) continue;
      if (!pattern.substr(1 + name.size()).starts_with('}')) continue;
      const std::string value = value_of(name, secret, message);
      out += json ? escaped(value) : value;
      pattern.remove_prefix(name.size() + 2);
      found = true;
      break;
    }
    if (found) continue;
    out += pattern.front();
    pattern.remove_prefix(1);
  }
  return out;
}

std::string in_a_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

}  // namespace

Result<Parcel> own(const Target& target, const std::string& secret, const Message& message) {
  const bool json = target.body.starts_with('{') || target.body.starts_with('[');
  outgoing::Request request{.url = target.address(), .headers = {}, .body = {}, .certificates = {}};
  request.headers.emplace_back(json ? "Content-Type: application/json" : "Content-Type: text/plain; charset=utf-8");
  for (const std::string& header : target.headers) {
    request.headers.push_back(in_a_line(filled(header, secret, message, false)));
  }
  request.body = filled(target.body, secret, message, json);
  return request;
}

}  // namespace kinglet::daemon::notify
