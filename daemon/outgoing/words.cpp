// SPDX-License-Identifier: Apache-2.0
#include "daemon/outgoing/words.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "engine/base/text.h"

namespace kinglet::daemon::outgoing {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostWords = 200;
constexpr std::size_t kShortestSecret = 4;    // less is in every word
constexpr std::size_t kShortestOfAPath = 10;  // less is a word of the service, such as "webhooks"

// Telegram; Gotify; Pushover; ntfy; Discord.
std::string said_in(const Json& json) {
  const auto text = [](const Json& value) { return value.is_string() ? value.get<std::string>() : std::string(); };
  for (const char* name : {"description", "errorDescription", "errors", "error", "message"}) {
    const auto found = json.find(name);
    if (found == json.end()) continue;
    std::string words = text(found->is_array() && !found->empty() ? found->front() : *found);
    if (!words.empty()) return words;
  }
  return {};
}

}  // namespace

std::string words_of(std::string_view answer, std::vector<std::string> secrets) {
  const Json json = Json::parse(answer, nullptr, false);
  if (!json.is_object()) return {};
  std::string words = said_in(json);
  // One that holds another goes first, as a whole.
  std::ranges::sort(secrets, std::greater{}, &std::string::size);
  for (const std::string& secret : secrets) {
    if (secret.size() < kShortestSecret) continue;
    for (std::size_t at = words.find(secret); at != std::string::npos; at = words.find(secret, at + 3)) {
      words.replace(at, secret.size(), "***");
    }
  }
  return printable(words, kMostWords);
}

std::vector<std::string> secrets_of(std::string_view url) {
  std::vector<std::string> secrets;
  const std::size_t host = url.find("://");
  const std::size_t path = host == std::string_view::npos ? host : url.find('/', host + 3);
  if (path == std::string_view::npos) return secrets;
  std::string_view rest = url.substr(path + 1);
  if (rest.size() >= kShortestOfAPath) secrets.emplace_back(rest);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of("/?&="), rest.size());
    if (end >= kShortestOfAPath) secrets.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return secrets;
}

}  // namespace kinglet::daemon::outgoing
