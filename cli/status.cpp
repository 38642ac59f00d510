// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet status`: what the daemon does now, in a few lines.
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/daemon_client.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string text_at(const Json& json, const char* pointer) {
  const Json::json_pointer place(pointer);
  return json.is_object() && json.contains(place) && json[place].is_string() ? printable(json[place].get<std::string>())
                                                                             : std::string();
}

std::optional<double> number_at(const Json& json, const char* pointer) {
  const Json::json_pointer place(pointer);
  if (!json.is_object() || !json.contains(place) || !json[place].is_number()) return std::nullopt;
  return json[place].get<double>();
}

std::string newest_text(const Json& prediction) {
  if (!prediction.is_object()) return "nothing yet";
  const std::string label = text_at(prediction, "/top/0/label");
  const std::string outcome = text_at(prediction, "/outcome");
  std::string text =
      label.empty() ? outcome : format_text("{} {:.2f}", label, number_at(prediction, "/top/0/score").value_or(0));
  if (!label.empty() && outcome != "accepted") text += format_text(" ({})", outcome);
  return format_text("{}, {}", text, text_at(prediction, "/at"));
}

void print(const Json& status, Output& out) {
  const Json& stats = status["stats"];
  const auto line = [&](const char* name, const std::string& text) {
    if (!text.empty()) out.print(format_text("{:<8} {}\n", name, text));
  };
  const std::string detail = text_at(stats, "/camera/detail");
  line("camera", text_at(stats, "/camera/state") + (detail.empty() ? "" : ": " + detail));
  line("model", text_at(status, "/model/name"));
  line("newest", newest_text(status["prediction"]));
  const auto rate = number_at(stats, "/images_per_second/now");
  const auto latency = number_at(stats, "/latency_ms/p50");
  if (rate) line("speed", format_text("{:.1f} images/s, {:.1f} ms", *rate, latency.value_or(0)));
  line("history",
       format_text("{} visits, {}", static_cast<std::uint64_t>(number_at(stats, "/store/visits").value_or(0)),
                   text_at(stats, "/store/state")));
  if (const auto celsius = number_at(stats, "/board/temperature_celsius"))
    line("board", format_text("{:.0f} °C", *celsius));
  const Json checks = status["readiness"].value("checks", Json::object());
  for (const auto& [name, check] : checks.items()) {
    if (check.value("status", "") == "pass") continue;
    line(check.value("status", "").c_str(), printable(name) + ": " + printable(check.value("detail", ""), 400));
  }
}

Result<int> run(const DaemonOptions& options, Output& out) {
  const DaemonClient client = KINGLET_TRY(DaemonClient::open(options));
  const DaemonAnswer stats = KINGLET_TRY(client.ask("GET", "/api/v1/stats"));
  const DaemonAnswer readiness = KINGLET_TRY(client.look("/readyz"));
  Json status{{"stats", stats.json()}, {"readiness", readiness.json()}};
  const DaemonAnswer model = KINGLET_TRY(client.look("/api/v1/model"));
  if (model.status == 200) status["model"] = model.json();
  const DaemonAnswer newest = KINGLET_TRY(client.look("/api/v1/predictions/latest"));
  if (newest.status == 200) status["prediction"] = newest.json();
  if (!status["stats"].is_object() || !status["readiness"].is_object()) {
    return fail(ErrorCode::kUnavailable, "what answers there is no kingletd", client.address());
  }
  const bool ready = status["readiness"].value("status", "") != "fail";
  if (out.json()) {
    out.print_json(status);
  } else {
    if (!status.contains("prediction")) status["prediction"] = Json();
    print(status, out);
  }
  return ready ? 0 : 1;
}

}  // namespace

Body status_command(CLI::App& app) {
  auto options = std::make_shared<DaemonOptions>();
  add_daemon_options(app, *options);
  add_config_options(app, options->config);
  return [options](Output& out) { return run(*options, out); };
}

}  // namespace kinglet::cli
