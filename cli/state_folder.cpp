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

namespace {

std::string first_address(const config::Config& config) {
  for (const std::string& address : config.http.listen) {
    if (!address.starts_with("unix:")) return address;
  }
  return "[::]:8420";
}

std::string address_of(const config::Config& config, const std::string& host) {
  const std::string listened = first_address(config);
  const std::string_view scheme = config.http.tls_certificate.empty() ? "http" : "https";
  return format_text("{}://{}:{}/", scheme, host.empty() ? "localhost" : host,
                     listened.substr(listened.rfind(':') + 1));
}

}  // namespace

std::string page_address(const config::Config& config) {
  if (const std::string& url = config.http.public_url; !url.empty()) return url.ends_with('/') ? url : url + '/';
  return address_of(config, daemon::name_at_home());
}

std::vector<std::string> page_addresses(const config::Config& config) {
  if (config.http.public_url.empty() && daemon::is_loopback_host(first_address(config)))
    return {address_of(config, "localhost")};
  std::vector<std::string> found{page_address(config)};
  const std::string number = daemon::address_at_home();
  if (config.http.public_url.empty() && !number.empty() && address_of(config, number) != found.front())
    found.push_back(address_of(config, number));
  return found;
}

}  // namespace kinglet::cli
