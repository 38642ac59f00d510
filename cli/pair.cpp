// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet pair`: for an hour a browser at home may become the first owner.
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/load_config.h"
#include "cli/state_folder.h"
#include "daemon/tokens/token_file.h"
#include "engine/base/format.h"

namespace kinglet::cli {

Body pair_command(CLI::App& app) {
  auto options = std::make_shared<ConfigOptions>();
  add_config_options(app, *options);
  return [options](Output& out) -> Result<int> {
    const auto loaded = load_config(*options);
    if (!loaded) return std::unexpected(loaded.error().front());
    const std::filesystem::path folder = KINGLET_TRY(state_folder(loaded->config));
    KINGLET_TRY(daemon::change_tokens(folder, [](daemon::TokenList& list) -> Result<void> {
      list.pairing = true;
      if (!list.owned) return {};
      return fail(ErrorCode::kUsage, "this device has an owner", {},
                  "kinglet token add --role admin --link makes one more, kinglet token revoke takes one away");
    }));
    const std::string address = page_address(loaded->config);
    if (out.json()) {
      out.print_json(nlohmann::ordered_json{{"address", address}, {"seconds", 3600}});
    } else {
      out.print(format_text("{}\n", address));
      out.note("open this on a phone at home within an hour and press the button there");
    }
    return 0;
  };
}

}  // namespace kinglet::cli
