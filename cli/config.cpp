// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet config`: what the daemon would make of its configuration, said before it is started.
#include "config/config.h"
#include "engine/base/format.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/load_config.h"
#include "cli/state_folder.h"

namespace kinglet::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  ConfigOptions config;
  std::string action;
};

Result<int> report_faults(const config::Faults& faults, Output& out) {
  if (out.json()) {
    Json errors = Json::array();
    for (const Error& fault : faults) {
      errors.push_back({{"where", fault.where}, {"detail", fault.message}});
      if (!fault.hint.empty()) errors.back()["hint"] = fault.hint;
    }
    out.print_json(Json{{"valid", false}, {"errors", std::move(errors)}});
  } else {
    for (const Error& fault : faults) out.error(fault);
  }
  return 1;
}

Json to_json(const config::Loaded& loaded) {
  Json keys = Json::object();
  for (std::size_t i = 0; i < loaded.origins.size(); ++i) {
    const config::Key& key = config::key_table()[i];
    keys[key.full_name()] = {
        {"value", key.value(loaded.config)}, {"source", loaded.origins[i]}, {"reload", config::to_string(key.reload)}};
  }
  return keys;
}

Result<int> check_or_tell(const Options& options, Output& out) {
  const auto loaded = options.action == "check" ? check_config(options.config) : load_config(options.config);
  if (!loaded) {
    const bool missing = config::exit_code(loaded.error()) == exit_code(ErrorCode::kNotFound);
    if (missing) return std::unexpected(loaded.error().front());
    return report_faults(loaded.error(), out);
  }
  if (options.action == "page") {
    const std::vector<std::string> addresses = page_addresses(loaded->config);
    if (out.json()) {
      out.print_json(Json{{"addresses", addresses}});
    } else {
      for (const std::string& address : addresses) out.print(address + "\n");
    }
    return 0;
  }
  if (options.action == "show") {
    for (const std::string& warning : loaded->warnings) out.warn(warning);
    if (out.json()) {
      out.print_json(to_json(*loaded));
    } else {
      out.print(config::show(*loaded));
    }
    return 0;
  }
  for (const std::string& warning : loaded->warnings) out.warn(warning);
  if (out.json()) {
    out.print_json(Json{{"valid", true}, {"errors", Json::array()}});
    return 0;
  }
  const auto set =
      std::ranges::count_if(loaded->origins, [](const std::string& origin) { return origin != "default"; });
  out.print(format_text("ok: {} {} read, {} {} set\n", loaded->files.size(),
                        loaded->files.size() == 1 ? "file" : "files", set, set == 1 ? "key" : "keys"));
  return 0;
}

}  // namespace

Body config_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_config_options(*add_action(app, options, "check", "find every fault; exit code 1 when there is one"),
                     options->config);
  add_config_options(*add_action(app, options, "show", "print the values in force and where each comes from"),
                     options->config);
  add_config_options(*add_action(app, options, "page", "print where a browser finds the page"), options->config);
  add_action(app, options, "docs", "print the table of all keys as Markdown");
  add_action(app, options, "default", "print the annotated file of all keys, commented out");
  app.require_subcommand(1);
  return [options](Output& out) -> Result<int> {
    if (options->action == "docs" || options->action == "default") {
      out.print(options->action == "docs" ? config::docs() : config::default_file());
      return 0;
    }
    return check_or_tell(*options, out);
  };
}

}  // namespace kinglet::cli
