// SPDX-License-Identifier: Apache-2.0
#include "cli/state_folder.h"

#include "daemon/settings/settings.h"
#include "daemon/values/page_address.h"
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
  if (const std::string& url = config.http.public_url; !url.empty()) return url.ends_with('/') ? url : url + '/';
  std::string port = "8420";
  for (const std::string& address : config.http.listen) {
    if (address.starts_with("unix:")) continue;
    port = address.substr(address.rfind(':') + 1);
    break;
  }
  const std::string_view scheme = config.http.tls_certificate.empty() ? "http" : "https";
  const std::string name = daemon::name_at_home();
  return format_text("{}://{}:{}/", scheme, name.empty() ? "localhost" : name, port);
}

}  // namespace kinglet::cli
