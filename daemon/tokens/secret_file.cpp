// SPDX-License-Identifier: Apache-2.0
#include "daemon/tokens/secret_file.h"

#include <cstdlib>

#include "engine/base/file.h"
#include "engine/base/text.h"

namespace kinglet::daemon {

namespace fs = std::filesystem;

Result<std::string> read_secret(const fs::path& file) {
  std::string text = KINGLET_TRY(read_file(file, 4096));
  std::error_code failed;
  const fs::perms rights = fs::status(file, failed).permissions();
  const std::string name = printable(file.string());
  if (failed || (rights & fs::perms::others_all) != fs::perms::none) {
    return fail(ErrorCode::kNotPermitted, "a file with a secret may be read by others", name, "chmod o-rwx " + name);
  }
  text.resize(std::min(text.size(), text.find_first_of("\r\n")));
  if (text.empty()) return fail(ErrorCode::kConfig, "the first line of the file is empty", name);
  return text;
}

fs::path secret_path(const fs::path& file, std::string_view credential) {
  if (!file.empty()) return file;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment
  const char* folder = std::getenv("CREDENTIALS_DIRECTORY");
  if (folder == nullptr || *folder != '/') return {};
  const fs::path path = fs::path(folder) / credential;
  std::error_code failed;
  return fs::is_regular_file(path, failed) ? path : fs::path();
}

}  // namespace kinglet::daemon
