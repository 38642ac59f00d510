// SPDX-License-Identifier: Apache-2.0
#include "daemon/backup/parts.h"

#include <algorithm>
#include <array>

#include "engine/base/text.h"
#include "store/history_copy.h"

namespace kinglet::daemon::backup {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestModelFile = 4ULL << 30;
constexpr std::uint64_t kLargestPicture = 64U << 20;
constexpr std::uint64_t kLargestDatabase = (8ULL << 30) - 1;
constexpr std::size_t kLongestPart = 180;
constexpr int kDeepest = 4;

constexpr std::string_view kState = "state/";
constexpr std::string_view kModels = "models/";
constexpr std::string_view kEtc = "etc/";

// Files of the state folder that an owner has set and that hold no secret: these may go over HTTP. To carry one more: a
// row here. All others are carried by `kinglet backup` only.
constexpr std::array<std::string_view, 5> kSettings{"settings.toml", "settings-history.json", "model.json",
                                                    "region.txt", "names.tsv"};
// What the state folder has besides: of this machine, of this moment, or carried in another way.
constexpr std::array<std::string_view, 9> kStays{"lock",   "tokens.lock", "proofs.json", "sequence",      "pictures",
                                                 "models", "packed",      "restore",     "before-restore"};

bool is_plain_part(std::string_view part) {
  return !part.empty() && part.size() <= kLongestPart && !part.starts_with('.') && !part.contains('\\') &&
         printable(part, part.size()) == part;
}

// Relative, downwards, visible.
bool is_plain_path(std::string_view path) {
  int depth = 0;
  while (true) {
    const std::size_t end = path.find('/');
    if (++depth > kDeepest || !is_plain_part(path.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    path.remove_prefix(end + 1);
  }
}

bool stays(std::string_view path) {
  const std::string_view top = path.substr(0, path.find('/'));
  return std::ranges::contains(kStays, top) || top.starts_with("kinglet.db");
}

// Below `folder`, without following links.
void add_files(const fs::path& folder, std::string_view prefix, Carry carry, std::vector<PartFile>& files,
               std::vector<std::string>& left_out) {
  std::error_code failed;
  for (fs::recursive_directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    const std::string below = entry->path().lexically_relative(folder).string();
    const bool hidden = entry->path().filename().string().starts_with('.');
    if (hidden || (prefix == kState && stays(below))) {
      entry.disable_recursion_pending();
      continue;
    }
    std::error_code ignored;
    const fs::file_status status = entry->symlink_status(ignored);
    if (fs::is_directory(status)) continue;
    const std::string name = std::string(prefix) + below;
    const std::optional<PartKind> kind = part_of(name);
    if (kind && !is_carried(*kind, carry)) continue;
    const std::uintmax_t size = fs::is_regular_file(status) ? entry->file_size(ignored) : 0;
    if (!kind || !fs::is_regular_file(status) || ignored || size > largest(*kind)) {
      left_out.push_back(printable(entry->path().string()));
    } else {
      files.push_back({.name = name, .path = entry->path()});
    }
  }
}

}  // namespace

std::optional<PartKind> part_of(std::string_view name) {
  if (name == kDatabase || name == "state/sequence") return PartKind::kHistory;
  if (name.starts_with(kState)) {
    const std::string_view below = name.substr(kState.size());
    if (store::is_picture_name(below)) return PartKind::kPicture;
    if (std::ranges::contains(kSettings, below)) return PartKind::kSetting;
    if (is_plain_path(below) && !stays(below)) return PartKind::kPrivate;
  }
  if (name.starts_with(kModels) && is_plain_part(name.substr(kModels.size()))) return PartKind::kModel;
  if (name.starts_with(kEtc) && is_plain_path(name.substr(kEtc.size()))) return PartKind::kOwnersFile;
  return std::nullopt;
}

std::uint64_t largest(PartKind kind) {
  switch (kind) {
    case PartKind::kHistory:
      return kLargestDatabase;
    case PartKind::kPicture:
      return kLargestPicture;
    case PartKind::kModel:
      return kLargestModelFile;
    default:
      return kLargestSmallFile;
  }
}

bool is_carried(PartKind kind, Carry carry) {
  return carry == Carry::kEverything || (kind != PartKind::kPrivate && kind != PartKind::kOwnersFile);
}

std::vector<PartFile> part_files(const Places& places, Carry carry, std::vector<std::string>& left_out) {
  std::vector<PartFile> files;
  add_files(places.state, kState, carry, files, left_out);
  if (!places.models.empty()) add_files(places.models, kModels, carry, files, left_out);
  if (!places.etc.empty() && carry == Carry::kEverything) add_files(places.etc, kEtc, carry, files, left_out);
  std::ranges::sort(files, {}, &PartFile::name);
  return files;
}

std::vector<std::string> setting_names() { return {kSettings.begin(), kSettings.end()}; }

}  // namespace kinglet::daemon::backup
