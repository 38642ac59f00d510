// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet models`: the models that the daemon can change to while it runs.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/activate.h"
#include "cli/adopt_model.h"
#include "cli/command.h"
#include "cli/prove_model.h"
#include "cli/state_folder.h"
#include "daemon/models/model_folder.h"
#include "daemon/models/model_prover.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Options {
  std::string action;
  std::string name;
  std::vector<std::string> names;
  bool yes = false;
  ActivateOptions activate;
  ProveOptions prove;
  AdoptOptions adopt;

  [[nodiscard]] const ConfigOptions& config() const { return activate.daemon.config; }
};

Result<int> list(const Options& options, Output& out) {
  const DaemonClient client = KINGLET_TRY(DaemonClient::open(options.activate.daemon));
  const Json models = KINGLET_TRY(client.ask("GET", "/api/v1/models")).json();
  if (out.json()) {
    out.print_json(models);
    return 0;
  }
  Table table({"name", "state", ">size", "is", "why"});
  const Json items = models.value("items", Json::array());
  for (const Json& model : items) {
    const std::string is = model.value("active", false)       ? "answering"
                           : model.value("configured", false) ? "configured"
                                                              : "";
    table.add({printable(model.value("name", "")), model.value("state", ""),
               human_bytes(model.value("size_bytes", std::uint64_t{0})), is,
               printable(model.value("reason", ""), 200)});
  }
  out.print(table.text(out));
  return 0;
}

// A path, or a name in the model folder.
Result<fs::path> find_model(const std::string& name, const Options& options) {
  std::error_code ignored;
  if (name.find('/') != std::string::npos || fs::is_regular_file(name, ignored)) return fs::path(name);
  const fs::path folder = KINGLET_TRY(daemon_model_folder(options.config()));
  const std::vector<daemon::ModelFile> found = daemon::list_models(folder);
  const auto model = std::ranges::find(found, name, &daemon::ModelFile::name);
  if (model != found.end()) return model->path;
  std::vector<std::string_view> names;
  names.reserve(found.size());
  for (const daemon::ModelFile& file : found) names.emplace_back(file.name);
  const std::string_view near = nearest_name(name, names);
  return fail(ErrorCode::kNotFound, format_text("there is no model \"{}\"", printable(name)), folder.string(),
              near.empty() ? "kinglet models list shows them" : format_text("did you mean {}?", near));
}

// Each in a process of its own, as the daemon does.
Result<int> check(const Options& options, Output& out) {
  std::vector<fs::path> paths;
  paths.reserve(options.names.size());
  for (const std::string& name : options.names) paths.push_back(KINGLET_TRY(find_model(name, options)));
  if (options.names.empty()) {
    const fs::path folder = KINGLET_TRY(daemon_model_folder(options.config()));
    for (const daemon::ModelFile& file : daemon::list_models(folder)) paths.push_back(file.path);
  }
  Json items = Json::array();
  bool good = true;
  daemon::ModelProver prover({});
  for (const fs::path& path : paths) {
    const Result<daemon::Proof> proven = prover.prove({.model = path}, {});
    good = good && proven.has_value();
    Json item{{"name", path.stem().string()}, {"valid", proven.has_value()}};
    if (proven) {
      item["classes"] = proven->classes;
      item["digest"] = proven->digest;
    } else {
      item["reason"] = describe(proven.error());
      if (!proven.error().hint.empty()) item["hint"] = proven.error().hint;
    }
    if (!out.json()) {
      out.print(format_text("{}: {}\n", printable(path.stem().string()),
                            proven ? format_text("good, {} classes", proven->classes) : describe(proven.error())));
    }
    items.push_back(std::move(item));
  }
  if (out.json()) out.print_json(Json{{"items", items}});
  return good ? 0 : 1;
}

// What the daemon needs now, or at its next start, stays.
Result<void> check_unused(const fs::path& model, const Options& options) {
  const std::string hint = "activate another one first";
  const auto loaded = load_config(options.config());
  if (!loaded) return std::unexpected(loaded.error().front());
  const fs::path state = KINGLET_TRY(state_folder(loaded->config));
  const auto choice = KINGLET_TRY(daemon::read_choice(state));
  if (choice && choice->file == model.filename()) {
    return fail(ErrorCode::kBusy, "it is the model that was activated", model.stem().string(), hint);
  }
  std::error_code ignored;
  if (fs::equivalent(model, loaded->config.model.path, ignored)) {
    return fail(ErrorCode::kBusy, "it is the model of the configuration (model.path)", model.stem().string());
  }
  return {};
}

Result<int> remove(const Options& options, Output& out) {
  const fs::path model = KINGLET_TRY(find_model(options.name, options));
  const fs::path folder = KINGLET_TRY(daemon_model_folder(options.config()));
  if (model.parent_path() != folder) {
    return fail(ErrorCode::kUsage, "only models of the model folder are removed", options.name);
  }
  KINGLET_TRY(check_unused(model, options));
  if (!options.yes) {
    return fail(ErrorCode::kUsage, "what is removed cannot be had back", "models remove", "add --yes");
  }
  const std::size_t files = KINGLET_TRY(daemon::remove_model(model));
  if (out.json()) out.print_json(Json{{"name", options.name}, {"files_removed", files}});
  out.note(format_text("{} removed, {} files", options.name, files));
  return 0;
}

Result<int> run(const Options& options, Output& out) {
  if (options.action == "list") return list(options, out);
  if (options.action == "check") return check(options, out);
  if (options.action == "prove") return prove_model(options.prove, out);
  if (options.action == "adopt") return adopt_model(options.adopt, out);
  if (options.action == "activate") return activate_model(options.name, options.activate, out);
  return remove(options, out);
}

}  // namespace

Body models_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  const auto action = [&](const std::string& name, const std::string& summary) {
    CLI::App* sub = add_action(app, options, name, summary);
    add_config_options(*sub, options->activate.daemon.config);
    return sub;
  };
  add_daemon_options(*action("list", "those of the daemon's model folder, valid or not and why"),
                     options->activate.daemon);
  action("check", "load and run models here; exit code 1 when one cannot be used")
      ->add_option("NAME", options->names, "names, or files; by default all of the folder");
  CLI::App* activate = action("activate", "have the running daemon change to a model, and wait for it");
  activate->add_option("NAME", options->name, "as `kinglet models list` shows it")->required();
  add_trial_options(*activate, options->activate);
  add_daemon_options(*activate, options->activate.daemon);
  CLI::App* remove = action("remove", "remove a model and what goes with it from the folder");
  remove->add_option("NAME", options->name, "as `kinglet models list` shows it")->required();
  remove->add_flag("--yes", options->yes, "really");
  CLI::App* prove = app.add_subcommand("prove", "what `check` and the daemon start for each model")->group("");
  prove->callback([options] { options->action = "prove"; });
  add_prove_options(*prove, options->prove);
  CLI::App* adopt =
      app.add_subcommand("adopt", "what the daemon starts for a file that came from elsewhere")->group("");
  adopt->callback([options] { options->action = "adopt"; });
  add_adopt_options(*adopt, options->adopt);
  app.require_subcommand(1);
  return [options](Output& out) { return run(*options, out); };
}

}  // namespace kinglet::cli
