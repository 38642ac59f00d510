// SPDX-License-Identifier: Apache-2.0
#include "cli/box_options.h"

#include "cli/state_folder.h"
#include "daemon/settings/settings.h"

namespace kinglet::cli {

void add_box_options(CLI::App& app, BoxOptions& options) {
  app.add_option("--etc", options.etc, "the owner's files (default /etc/kinglet)")->type_name("DIR");
  add_config_options(app, options.config);
}

Result<daemon::backup::Places> places_of(const BoxOptions& options) {
  const auto loaded = load_config(options.config);
  if (!loaded) return std::unexpected(loaded.error().front());
  const std::filesystem::path state = KINGLET_TRY(state_folder(loaded->config));
  return daemon::backup::Places{
      .state = state, .models = daemon::model_folder(loaded->config, state), .etc = options.etc};
}

}  // namespace kinglet::cli
