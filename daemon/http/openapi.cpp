// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/openapi.json, made from the route table, so that it cannot tell another story.
#include <map>
#include <ranges>
#include <string>

#include "daemon/build_info.h"
#include "daemon/http/json.h"
#include "daemon/http/routes.h"

namespace kinglet::daemon::http {
namespace {

Json parameter(std::string_view name, std::string_view place) {
  Json json{{"name", name}, {"in", place}, {"schema", {{"type", "string"}}}};
  if (place != "query") json["required"] = true;
  return json;
}

Json parameters(const Route& route) {
  Json list = Json::array();
  for (const auto part : std::views::split(route.path, '/')) {
    const std::string_view name(part.begin(), part.end());
    if (name.starts_with('{')) list.push_back(parameter(name.substr(1, name.size() - 2), "path"));
  }
  if (!route.query.empty()) {
    for (const auto name : std::views::split(route.query, ',')) {
      list.push_back(parameter(std::string_view(name.begin(), name.end()), "query"));
    }
  }
  if (route.method == "PATCH") list.push_back(parameter("If-Match", "header"));
  return list;
}

std::string lower(std::string_view method) {
  std::string text(method);
  for (char& letter : text) letter = static_cast<char>(letter | 0x20);
  return text;
}

Json operation(const Route& route, std::string_view operation_id) {
  Json json{{"operationId", operation_id}, {"summary", route.summary}, {"x-role", to_string(route.role)}};
  if (Json list = parameters(route); !list.empty()) json["parameters"] = std::move(list);
  if (route.method == "PATCH") {
    const Json schema{{"schema", {{"type", "object"}}}};
    json["requestBody"] = {{"required", true},
                           {"content", {{"application/merge-patch+json", schema}, {"application/json", schema}}}};
  }
  if (route.method == "POST") {
    const Json binary{{"schema", {{"type", "string"}, {"format", "binary"}}}};
    json["requestBody"] = {
        {"required", true},
        {"content",
         {{"image/jpeg", binary}, {"image/png", binary}, {"application/json", {{"schema", {{"type", "object"}}}}}}}};
  }
  json["responses"] = {
      {route.method == "DELETE" ? "204" : "200", {{"description", route.summary}}},
      {"default",
       {{"description", "an error, RFC 9457"},
        {"content", {{"application/problem+json", {{"schema", {{"$ref", "#/components/schemas/Problem"}}}}}}}}}};
  return json;
}

}  // namespace

Reply get_openapi(const Context& /*context*/, const Call& /*call*/) {
  Json paths = Json::object();
#define KINGLET_ROUTE(method, path, handler, role, query, summary) \
  paths[path][lower(method)] = operation(Route{method, path, &handler, Role::role, query, summary}, #handler);
#include "daemon/http/routes.def"
#undef KINGLET_ROUTE
  const Json text{{"type", "string"}};
  const Json json{
      {"openapi", "3.1.0"},
      {"info", {{"title", "kinglet"}, {"version", build_info().version}, {"license", {{"name", "Apache-2.0"}}}}},
      {"paths", paths},
      {"components",
       {{"schemas",
         {{"Problem",
           {{"type", "object"},
            {"required", {"type", "title", "status"}},
            {"properties",
             {{"type", text},
              {"title", text},
              {"status", {{"type", "integer"}}},
              {"detail", text},
              {"hint", text},
              {"instance", text},
              {"request_id", text}}}}}}}}}};
  return json_reply(json.dump());
}

}  // namespace kinglet::daemon::http
