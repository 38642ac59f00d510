// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet token`: who may do more than look. The daemon follows the file within a second.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/load_config.h"
#include "cli/state_folder.h"
#include "daemon/tokens/qr.h"
#include "daemon/tokens/token_file.h"
#include "daemon/values/page_address.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::cli {
namespace {

namespace fs = std::filesystem;
using daemon::Role;
using daemon::Token;
using daemon::TokenList;
using Json = nlohmann::ordered_json;

struct Options {
  ConfigOptions config;
  std::string action;
  std::string name;
  std::string role = "read";
  bool link = false;
  bool qr = false;
};

Result<int> add(const Options& options, const config::Config& config, const fs::path& folder, Output& out) {
  // Before a token is made that nobody would see.
  if (options.qr && !out.json()) {
    KINGLET_TRY(daemon::make_qr("kinglet"));
    if (daemon::is_loopback_host(page_address(config))) {
      return fail(ErrorCode::kUnavailable, "this machine has no name or address by which a phone would find it", {},
                  "set http.public_url, or give it a name (hostnamectl set-hostname)");
    }
  }
  const Role role = daemon::role_of(options.role).value_or(Role::kRead);
  std::string name = options.name;
  std::string text;
  const auto make = [&](TokenList& list) -> Result<void> {
    if (name.empty()) name = daemon::free_token_name(list, options.role);
    text = KINGLET_TRY(daemon::add_token(list, name, role, std::chrono::system_clock::now()));
    return {};
  };
  KINGLET_TRY(daemon::change_tokens(folder, make));
  // A fragment never reaches a log.
  const std::string link = page_address(config) + "#token=" + text;
  if (out.json()) {
    out.print_json(Json{{"name", name}, {"role", options.role}, {"token", text}, {"link", link}});
  } else {
    if (options.qr) out.print(qr_for_terminal(KINGLET_TRY(daemon::make_qr(link))));
    out.print((options.link || options.qr ? link : text) + "\n");
    out.note(format_text("\"{}\" may {}; nobody can show this token again", name, options.role));
  }
  return 0;
}

Result<int> list_tokens(const fs::path& folder, Output& out) {
  Result<TokenList> list = daemon::read_tokens(folder);
  if (!list && list.error().code == ErrorCode::kNotFound && !fs::exists(daemon::token_file(folder))) list = TokenList{};
  if (!list) return std::unexpected(list.error());
  if (out.json()) {
    Json items = Json::array();
    for (const Token& token : list->tokens) {
      items.push_back({{"name", token.name}, {"role", to_string(token.role)}, {"created_at", token.created_at}});
      if (!token.claimed_from.empty()) items.back()["claimed_from"] = token.claimed_from;
    }
    out.print_json(Json{{"tokens", items}});
    return 0;
  }
  if (list->tokens.empty()) {
    out.note("there are no tokens; the first owner claims the device on its page (kinglet pair)");
    return 0;
  }
  Table table({"name", "role", "created", "claimed from"});
  for (const Token& token : list->tokens) {
    table.add({token.name, std::string(to_string(token.role)), token.created_at, token.claimed_from});
  }
  out.print(table.text(out));
  return 0;
}

Result<int> revoke(const Options& options, const fs::path& folder, Output& out) {
  KINGLET_TRY(daemon::change_tokens(folder, [&](TokenList& list) -> Result<void> {
    if (std::erase_if(list.tokens, [&](const Token& token) { return token.name == options.name; }) > 0) return {};
    std::vector<std::string_view> names;
    names.reserve(list.tokens.size());
    for (const Token& token : list.tokens) names.emplace_back(token.name);
    const std::string_view near = nearest_name(options.name, names);
    return fail(ErrorCode::kNotFound, format_text("there is no token called \"{}\"", printable(options.name)), {},
                near.empty() ? "kinglet token list shows them" : format_text("did you mean \"{}\"?", near));
  }));
  out.note(format_text("\"{}\" is revoked", options.name));
  return 0;
}

Result<int> run(const Options& options, Output& out) {
  const auto loaded = load_config(options.config);
  if (!loaded) return std::unexpected(loaded.error().front());
  const fs::path folder = KINGLET_TRY(state_folder(loaded->config));
  if (options.action == "add") return add(options, loaded->config, folder, out);
  if (options.action == "list") return list_tokens(folder, out);
  return revoke(options, folder, out);
}

}  // namespace

Body token_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  const auto action = [&](const std::string& name, const std::string& summary) {
    CLI::App* sub = add_action(app, options, name, summary);
    add_config_options(*sub, options->config);
    return sub;
  };
  CLI::App* add = action("add", "make a token and print it, once");
  add->add_option("NAME", options->name, "whose it is; by default its role");
  add->add_option("--role", options->role, "read, live (watch as well) or admin (everything)")
      ->check(CLI::IsMember({"read", "live", "admin"}))
      ->type_name("ROLE");
  add->add_flag("--link", options->link, "print the address that signs a browser in, instead of the token");
  add->add_flag("--qr", options->qr, "the same as a QR code that a phone reads");
  action("list", "the names and roles of all tokens");
  action("revoke", "this token is worth nothing from now on")
      ->add_option("NAME", options->name, "as `kinglet token list` shows it")
      ->required();
  app.require_subcommand(1);
  return [options](Output& out) { return run(*options, out); };
}

}  // namespace kinglet::cli
