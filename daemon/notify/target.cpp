// SPDX-License-Identifier: Apache-2.0
#include "daemon/notify/target.h"

#include <algorithm>
#include <array>

#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon::notify {
namespace {

constexpr std::array kServices{
#define KINGLET_SERVICE(id, function, service, preset, server, to, secret, secret_is, pictures) \
  ServiceFacts{Service::id, service, preset, server, to, Secret::secret, secret_is, pictures},
#include "daemon/notify/services.def"
#undef KINGLET_SERVICE
};

constexpr std::size_t kLongestName = 32;
constexpr std::size_t kLongestPlace = 512;

std::unexpected<Error> wrong(std::string_view key, std::string_view what, std::string hint = {}) {
  return fail(ErrorCode::kConfig, format_text("{}: {}", key, what), {}, std::move(hint));
}

bool is_small(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }
bool is_of_topic(char c) { return is_small(c) || (c >= 'A' && c <= 'Z') || c == '-'; }

bool begins_with_one_of(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view one) {
    return text.starts_with(one) && text.size() > one.size() && text[one.size()] != '/';
  });
}

Result<void> check_server(const Target& target, const ServiceFacts& facts) {
  const std::string& server = target.server;
  const bool mail = target.service == Service::kMail;
  const std::string_view such = mail ? "smtps://mail.example or smtp://mail.example:587" : "https://gotify.example";
  if (server.empty()) {
    if (facts.has_fixed_host()) return {};
    return wrong("server", "is missing: where is it?", format_text("such as {}", such));
  }
  const bool fits =
      mail ? begins_with_one_of(server, {"smtp://", "smtps://"}) : begins_with_one_of(server, {"http://", "https://"});
  if (fits && server.size() <= kLongestPlace && std::ranges::all_of(server, is_visible) && !server.contains('@'))
    return {};
  return wrong("server", format_text("expected an address such as {}, without a login", such));
}

Result<void> check_to(const Target& target, const ServiceFacts& facts) {
  const std::string& to = target.to;
  if (facts.to.empty()) {
    if (to.empty()) return {};
    return wrong("to", format_text("{} takes none: its secret says where to", facts.preset), "take it out");
  }
  if (target.service == Service::kNtfy && (to.empty() || to.size() > 64 || !std::ranges::all_of(to, is_of_topic))) {
    return wrong("to", "expected a topic: letters, digits, _ and -, at most 64",
                 "a server of your own is named by server, in the file");
  }
  const std::string expected = format_text("expected {}", facts.to);
  if (to.empty() || to.size() > kLongestPlace || !std::ranges::all_of(to, is_visible)) return wrong("to", expected);
  const std::size_t at = to.find('@');
  if (target.service == Service::kMail && (at == 0 || at == std::string::npos || at + 1 == to.size() ||
                                           to.find_first_of("<>\"(),;:\\") != std::string::npos)) {
    return wrong("to", "expected an address such as you@mail.example");
  }
  return {};
}

Result<void> check_template(const Target& target) {
  const bool own = target.service == Service::kOwn;
  if (!own && !(target.headers.empty() && target.body.empty())) {
    return wrong(target.body.empty() ? "headers" : "body", "is for service = \"template\" without a preset");
  }
  if (own && target.body.empty()) {
    return wrong("body", "is missing: what is to be posted?", R"(such as body = '{"text": "{title}: {text}"}')");
  }
  for (const std::string& header : target.headers) {
    const std::size_t colon = header.find(": ");
    if (colon != std::string::npos && colon > 0 && std::ranges::all_of(header.substr(0, colon), is_of_topic) &&
        std::ranges::all_of(header, [](char c) { return is_visible(c) || c == ' '; })) {
      continue;
    }
    return wrong("headers", "expected lines such as \"Authorization: Bearer {secret}\"");
  }
  return {};
}

}  // namespace

const ServiceFacts& facts_of(Service service) { return kServices.at(static_cast<std::size_t>(service)); }

std::optional<Service> service_of(std::string_view service, std::string_view preset) {
  for (const ServiceFacts& facts : kServices) {
    if (facts.service == service && facts.preset == preset) return facts.id;
  }
  return std::nullopt;
}

std::string Target::address() const {
  std::string address = server.empty() ? std::string(facts_of(service).server) : server;
  if (address.ends_with('/')) address.pop_back();
  return address;
}

Result<void> check(const Target& target) {
  const std::string& name = target.name;
  if (name.empty() || name.size() > kLongestName || !std::ranges::all_of(name, is_small) || name == "test") {
    return wrong("name",
                 format_text("expected a name of a to z, 0 to 9 and _, at most {} long, not \"{}\"", kLongestName,
                             printable(name, 40)),
                 "it stands for this service in the log and in the API; test is the API's own");
  }
  const ServiceFacts& facts = facts_of(target.service);
  KINGLET_TRY(check_server(target, facts));
  KINGLET_TRY(check_to(target, facts));
  KINGLET_TRY(check_template(target));
  if (!target.username.empty() && target.service != Service::kMail)
    return wrong("username", "is for service = \"mail\"");
  if (facts.secret == Secret::kNeeded && target.secret.empty()) {
    return wrong("secret_file", format_text("is missing: a file whose first line is {}", facts.secret_is),
                 "nobody else may read it: mode 0600");
  }
  return {};
}

}  // namespace kinglet::daemon::notify
