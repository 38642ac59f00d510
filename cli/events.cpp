// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet events`: what happens, a line each, as it happens.
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.h"
#include "cli/daemon_client.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  DaemonOptions daemon;
  std::string types;
  std::uint64_t count = 0;  // 0: no end
};

struct Event {
  std::string type;
  std::string data;
};

// Server-sent events out of pieces as they come.
class Reader {
 public:
  // The next whole event; nothing: more has to come.
  std::optional<Event> next() {
    for (std::size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
      const std::string line = text_.substr(0, end);
      text_.erase(0, end + 1);
      if (line.empty() && !event_.type.empty()) return std::exchange(event_, {});
      if (line.starts_with("event: ")) event_.type = line.substr(7);
      if (line.starts_with("data: ")) event_.data = line.substr(6);
    }
    return std::nullopt;
  }
  void add(std::string_view piece) { text_ += piece; }
  [[nodiscard]] bool too_long() const { return text_.size() > kMostWaiting; }

 private:
  static constexpr std::size_t kMostWaiting = 4U << 20;
  std::string text_;
  Event event_;
};

std::string text_of(const Json& json, const char* member) {
  return json.is_object() && json.contains(member) && json[member].is_string()
             ? printable(json[member].get<std::string>(), 200)
             : std::string();
}

// What a person wants to know of it.
std::string words_of(const std::string& type, const Json& data) {
  if (type.starts_with("visit.") && data.contains("visit")) {
    const Json& visit = data["visit"];
    std::string text = text_of(visit, "common_name");
    if (text.empty()) text = text_of(visit, "species_id");
    if (text.empty()) text = text_of(visit, "id");
    if (visit.contains("model_result")) text += format_text(" {:.2f}", visit["model_result"].value("score", 0.0));
    if (visit.contains("duration_seconds")) text += format_text(", {:.0f} s", visit.value("duration_seconds", 0.0));
    return text;
  }
  if (type == "prediction" && data.contains("prediction")) {
    const Json& prediction = data["prediction"];
    const Json top = prediction.value("top", Json::array());
    return format_text(
        "{} {}", text_of(prediction, "outcome"),
        top.empty() ? "" : format_text("{} {:.2f}", text_of(top[0], "label"), top[0].value("score", 0.0)));
  }
  if (type == "camera" && data.contains("camera")) {
    return text_of(data["camera"], "state") + " " + text_of(data["camera"], "detail");
  }
  if (type == "model" && data.contains("model")) return text_of(data["model"], "name");
  if (type == "stats" && data.contains("stats")) {
    const Json::json_pointer rate("/images_per_second/now");
    const Json& stats = data["stats"];
    return stats.contains(rate) ? format_text("{:.1f} images/s", stats[rate].get<double>()) : "no images yet";
  }
  return text_of(data, "reason");
}

Result<int> run(const Options& options, Output& out) {
  const DaemonClient client = KINGLET_TRY(DaemonClient::open(options.daemon));
  Reader reader;
  std::uint64_t seen = 0;
  const auto take = [&](std::string_view piece) {
    reader.add(piece);
    while (const std::optional<Event> event = reader.next()) {
      Json data = Json::parse(event->data, nullptr, false);
      if (!data.is_object()) continue;
      if (out.json()) {
        Json line{{"type", event->type}};
        line.update(data);
        out.print(line.dump() + "\n");
      } else {
        out.print(format_text("{} {:<14} {}\n", text_of(data, "at"), printable(event->type, 20),
                              words_of(event->type, data)));
      }
      if (!out.flush() || (options.count > 0 && ++seen >= options.count)) return false;
    }
    return !reader.too_long();
  };
  const std::string query = options.types.empty() ? "" : "?types=" + url_encoded(options.types);
  KINGLET_TRY(client.follow("/api/v1/events" + query, take));
  if (options.count == 0 || seen < options.count) {
    return fail(ErrorCode::kUnavailable, "the events ended", client.address(), "kinglet status says whether it runs");
  }
  return 0;
}

}  // namespace

Body events_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--types", options->types, "such as visit,prediction (docs/live.md)")->type_name("NAMES");
  app.add_option("--count", options->count, "end after so many")->type_name("N");
  add_daemon_options(app, options->daemon);
  add_config_options(app, options->daemon.config);
  return [options](Output& out) { return run(*options, out); };
}

}  // namespace kinglet::cli
