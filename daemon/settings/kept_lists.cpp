// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings/kept_lists.h"

#include <system_error>

#include "engine/base/file.h"

namespace kinglet::daemon {
namespace {

constexpr std::uint64_t kMostBytes = 4U << 20;

}  // namespace

std::filesystem::path kept_list_file(const std::filesystem::path& folder, KeptList list) {
  if (folder.empty()) return {};
  return folder / (list == KeptList::kRegion ? "region.txt" : "names.tsv");
}

Result<std::optional<std::string>> read_kept_list(const std::filesystem::path& folder, KeptList list) {
  const std::filesystem::path path = kept_list_file(folder, list);
  std::error_code failed;
  if (path.empty() || std::filesystem::symlink_status(path, failed).type() == std::filesystem::file_type::not_found) {
    return std::nullopt;
  }
  return KINGLET_TRY(read_file(path, kMostBytes));
}

Result<void> write_kept_list(const std::filesystem::path& folder, KeptList list, std::string_view text) {
  const std::filesystem::path path = kept_list_file(folder, list);
  if (!text.empty()) {
    KINGLET_TRY(write_file(path, text, Overwrite::kReplace, Readers::kOwner));
    return sync_folder(folder);
  }
  std::error_code failed;
  if (!std::filesystem::remove(path, failed) && failed) {
    return fail(ErrorCode::kIo, "the list cannot be taken away: " + failed.message(), path.string());
  }
  return sync_folder(folder);
}

}  // namespace kinglet::daemon
