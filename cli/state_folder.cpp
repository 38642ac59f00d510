// SPDX-License-Identifier: Apache-2.0
#include "cli/state_folder.h"

#include <unistd.h>

#include <array>

#include "daemon/settings.h"
#include "engine/base/format.h"

namespace kinglet::cli {

Result<std::filesystem::path> state_folder(const config::Config& config) {
  const store::StoreOptions settings = KINGLET_TRY(daemon::store_options(config, {}));
  std::filesystem::path folder = settings.folder.empty() ? "/var/lib/kinglet" : settings.folder;
  std::error_code missing;
  if (std::filesystem::is_directory(folder, missing)) return folder;
  return fail(ErrorCode::kNotFound, "there is no such folder, or it is not yours to see", folder.string(),
              "run this with sudo, or name the daemon's folder: --set store.path=DIR");
}

std::string page_address(const config::Config& config) {
  std::string port = "8420";
  for (const std::string& address : config.http.listen) {
    if (address.starts_with("unix:")) continue;
    port = address.substr(address.rfind(':') + 1);
    break;
  }
  const std::string_view scheme = config.http.tls_certificate.empty() ? "http" : "https";
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0')
    return format_text("{}://localhost:{}/", scheme, port);
  return format_text("{}://{}.local:{}/", scheme, name.data(), port);
}

}  // namespace kinglet::cli
