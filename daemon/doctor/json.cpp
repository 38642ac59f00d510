// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/json.h"

#include "engine/base/text.h"

namespace kinglet::daemon {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kLongest = 500;

// Names of devices come from drivers and hardware.
Json shown(const Fact& fact) {
  if (const auto* text = std::get_if<std::string>(&fact)) return printable(*text, kLongest);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&fact)) {
    Json list = Json::array();
    for (const std::string& text : *texts) list.push_back(printable(text, kLongest));
    return list;
  }
  if (const auto* count = std::get_if<std::uint64_t>(&fact)) return *count;
  if (const auto* number = std::get_if<double>(&fact)) return *number;
  return std::get<bool>(fact);
}

}  // namespace

Json doctor_json(const std::vector<Finding>& findings) {
  Json checks = Json::array();
  for (const Finding& finding : findings) {
    Json check{
        {"name", finding.name}, {"status", to_string(finding.status)}, {"detail", printable(finding.detail, kLongest)}};
    if (!finding.hint.empty()) check["hint"] = finding.hint;
    Json facts = Json::object();
    for (const auto& [name, fact] : finding.facts) facts[name] = shown(fact);
    check["facts"] = std::move(facts);
    checks.push_back(std::move(check));
  }
  return {{"status", to_string(worst(findings))}, {"checks", std::move(checks)}};
}

}  // namespace kinglet::daemon
