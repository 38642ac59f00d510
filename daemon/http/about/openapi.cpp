// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/openapi.json, made from the route table, so that it cannot tell another story.
#include <map>
#include <ranges>
#include <string>

#include "daemon/http/about/openapi_parts.h"
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/routes.h"
#include "daemon/machine/build_info.h"

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
  if (route.path.starts_with("/v2") && route.method == "POST") {
    Json length = parameter("Inference-Header-Content-Length", "header");
    length["required"] = false;
    list.push_back(std::move(length));
  }
  if (route.method == "PATCH") list.push_back(parameter("If-Match", "header"));
  return list;
}

std::string key_of_method(std::string_view method) {
  std::string text(method);
  for (char& letter : text) letter = static_cast<char>(letter | 0x20);
  return text;
}

Json operation(const Route& route, std::string_view operation_id, const Json& parts) {
  Json json{{"operationId", operation_id}, {"summary", route.summary}, {"x-role", to_string(route.role)}};
  if (Json list = parameters(route); !list.empty()) json["parameters"] = std::move(list);
  const Json& known = parts["operations"].at(std::string(operation_id));
  if (known.contains("x-stability")) json["x-stability"] = known["x-stability"];
  if (known.contains("requestBody")) json["requestBody"] = known["requestBody"];
  json["responses"] = known["responses"];
  for (Json& response : json["responses"]) response["description"] = route.summary;
  // Below /v2 errors have that protocol's form.
  const bool inference = route.path.starts_with("/v2");
  const char* media = inference ? "application/json" : "application/problem+json";
  const char* schema = inference ? "#/components/schemas/InferenceError" : "#/components/schemas/Problem";
  json["responses"]["default"] = {{"description", inference ? "an error" : "an error, RFC 9457"},
                                  {"content", {{media, {{"schema", {{"$ref", schema}}}}}}}};
  return json;
}

}  // namespace

Reply get_openapi(const NoView& /*view*/, const Call& /*call*/) {
  const Json parts = Json::parse(openapi_parts());
  Json paths = Json::object();
#define KINGLET_ROUTE(method, path, handler, view, role, query, summary) \
  paths[path][key_of_method(method)] =                                   \
      operation(Route{method, path, nullptr, Role::role, query, summary}, #handler, parts);
#include "daemon/http/routes/routes.def"
#undef KINGLET_ROUTE
  // A path may be there twice (/healthz is /readyz), an operation's name may not.
  paths["/healthz"]["get"]["operationId"] = "get_healthz";
  const Json json{
      {"openapi", "3.1.0"},
      {"info", {{"title", "kinglet"}, {"version", build_info().version}, {"license", {{"name", "Apache-2.0"}}}}},
      {"paths", std::move(paths)},
      {"components", {{"schemas", parts["schemas"]}}}};
  return json_reply(json.dump());
}

}  // namespace kinglet::daemon::http
