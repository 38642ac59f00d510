// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet doctor`: what is wrong with this feeder and what helps, also when the daemon does not run; and a bundle
// to send along with a question, without secrets.
#include "daemon/doctor/doctor.h"

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>

#include "cli/command.h"
#include "cli/daemon_client.h"
#include "daemon/doctor/json.h"
#include "daemon/machine/clock_sync.h"
#include "daemon/models/model_prover.h"
#include "daemon/settings/settings.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/log.h"
#include "engine/base/text.h"

namespace kinglet::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  DaemonOptions daemon;
  std::string bundle;
  bool force = false;
};

// What can be seen without the daemon.
daemon::DoctorInput seen_from_here(const Options& options, const Error& why) {
  daemon::DoctorInput input{.daemon_problem = describe(why),
                            .cameras = {},
                            .model = {},
                            .disk = {},
                            .network = {},
                            .clock_synced = daemon::clock_is_synced()};
  daemon::UpdateWatch watch;
  while (watch.look(SteadyClock::now())) {
  }
  input.update = watch.found();
  const auto loaded = load_config(options.daemon.config);
  if (!loaded) {
    input.daemon_problem = "its configuration is wrong: " + describe(loaded.error().front());
    return input;
  }
  const auto store = daemon::store_options(loaded->config, {});
  if (store) input.disk = {.folder = store->folder, .note = {}};
  daemon::DoctorInput::Model model;
  const auto settings = daemon::line_model_options(loaded->config);
  daemon::ModelProver prover({});
  const auto opened = settings ? prover.open(*settings, {}) : std::unexpected(settings.error());
  if (opened) {
    const daemon::ModelFacts& facts = *opened->facts();
    model = {.loaded = true,
             .name = facts.name,
             .problem = {},
             .recipe_found = facts.recipe_found,
             .labels_named = facts.labels_from_file,
             .demonstration = facts.demonstration,
             .fallback_nodes = facts.plan.fallback_nodes};
  } else {
    model.problem = describe(opened.error());
  }
  input.model = std::move(model);
  return input;
}

void print(const Json& findings, Output& out) {
  const Json checks = findings.value("checks", Json::array());
  for (const Json& check : checks) {
    const std::string status = check.value("status", "");
    out.print(format_text("{:<5} {:<8} {}\n", status == "pass" ? "good" : status, printable(check.value("name", "")),
                          printable(check.value("detail", ""), 400)));
    if (status != "pass" && check.contains("hint")) {
      out.print(format_text("{:15}{}\n", "", printable(check.value("hint", ""), 400)));
    }
  }
}

// Nothing of a bundle may let anybody in: logins within addresses, tokens.
std::string without_secrets(const std::string& text) {
  static const std::regex token("kgl_[A-Za-z0-9_-]{43}");
  return std::regex_replace(without_logins(text), token, "kgl_***");
}

// Everything a helper asks for, one member a route; what could not be had, and why.
Json collect(const DaemonClient& client, const Json& findings) {
  constexpr std::array kRoutes{"/api/v1/version", "/readyz",           "/livez",         "/api/v1/stats",
                               "/api/v1/cameras", "/api/v1/model",     "/api/v1/models", "/api/v1/config",
                               "/api/v1/log",     "/api/v1/model/plan"};
  Json bundle{{"made_at", to_rfc3339(std::chrono::system_clock::now())},
              {"tool", KINGLET_VERSION},
              {"doctor", findings},
              {"answers", Json::object()},
              {"missing", Json::object()}};
  for (const std::string path : kRoutes) {
    const Result<DaemonAnswer> answer = client.look(path);
    if (!answer || (answer->status >= 400 && answer->status != 503)) {
      bundle["missing"][path] = answer ? format_text("answered with {}", answer->status) : describe(answer.error());
      continue;
    }
    const Json json = answer->json();
    if (!json.is_discarded()) {
      bundle["answers"][path] = json;
      continue;
    }
    Json lines = Json::array();
    std::size_t at = 0;
    while (at < answer->body.size()) {
      const std::size_t end = std::min(answer->body.find('\n', at), answer->body.size());
      const Json line = Json::parse(answer->body.substr(at, end - at), nullptr, false);
      if (!line.is_discarded()) lines.push_back(line);
      at = end + 1;
    }
    bundle["answers"][path] = std::move(lines);
  }
  return bundle;
}

Result<int> run(const Options& options, Output& out) {
  const DaemonClient client = KINGLET_TRY(DaemonClient::open(options.daemon));
  const Result<DaemonAnswer> answer = client.ask("GET", "/api/v1/doctor");
  Json findings = answer ? answer->json() : doctor_json(daemon::examine(seen_from_here(options, answer.error())));
  if (!findings.is_object() || !findings.contains("checks")) {
    return fail(ErrorCode::kUnavailable, "what answers there is no kingletd", client.address());
  }
  if (out.json()) {
    out.print_json(findings);
  } else {
    print(findings, out);
  }
  if (!options.bundle.empty()) {
    const std::string text =
        without_secrets(collect(client, findings).dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
    KINGLET_TRY(
        write_file(options.bundle, text, options.force ? Overwrite::kReplace : Overwrite::kRefuse, Readers::kOwner));
    out.note(format_text("wrote {}: look into it before you send it", options.bundle));
  }
  return findings.value("status", "") == "fail" ? 1 : 0;
}

}  // namespace

Body doctor_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--bundle", options->bundle,
                 "write a file for who helps: findings, state, configuration, log; no secrets")
      ->type_name("OUT");
  app.add_flag("--force", options->force, "replace that file");
  add_daemon_options(app, options->daemon);
  add_config_options(app, options->daemon.config);
  return [options](Output& out) { return run(*options, out); };
}

}  // namespace kinglet::cli
