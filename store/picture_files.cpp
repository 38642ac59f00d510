// SPDX-License-Identifier: Apache-2.0
#include "store/picture_files.h"

#include <array>
#include <system_error>

#include "engine/base/check.h"
#include "engine/base/file.h"
#include "engine/base/text.h"

namespace kinglet::store {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestFile = 64U << 20;
constexpr std::string_view kFolder = "pictures";
constexpr std::string_view kIdPrefix = "vis_";
constexpr std::string_view kLetters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

struct KindRow {
  Picture kind;
  std::string_view ending;
  std::string Pictures::* bytes;
};
constexpr std::array<KindRow, 3> kKinds{{{Picture::kCrop, ".crop.jpg", &Pictures::crop},
                                         {Picture::kFrame, ".frame.jpg", &Pictures::frame},
                                         {Picture::kClip, ".clip.mjpeg", &Pictures::clip}}};

const KindRow& row_of(Picture kind) {
  for (const KindRow& row : kKinds) {
    if (row.kind == kind) return row;
  }
  KINGLET_CHECK(false && "every kind of picture has a row");
}

}  // namespace

bool is_visit_id(std::string_view id) {
  if (!id.starts_with(kIdPrefix) || id.size() != kIdPrefix.size() + 26) return false;
  return id.substr(kIdPrefix.size()).find_first_not_of(kLetters) == std::string_view::npos;
}

Result<fs::path> PictureFiles::path_of(std::string_view id, Picture kind) const {
  if (!is_visit_id(id)) return fail(ErrorCode::kNotFound, "\"" + printable(id, 60) + "\" is no id of a visit");
  return folder_ / kFolder / std::string(1, id.back()) / (std::string(id) + std::string(row_of(kind).ending));
}

Result<void> PictureFiles::write(std::string_view id, const Pictures& pictures) const {
  Result<void> written;
  for (const KindRow& row : kKinds) {
    const std::string& bytes = pictures.*(row.bytes);
    if (bytes.empty()) continue;
    const fs::path path = KINGLET_TRY(path_of(id, row.kind));
    std::error_code failed;
    fs::create_directories(path.parent_path(), failed);
    if (failed) {
      written =
          fail(ErrorCode::kCannotCreate, "cannot make the folder: " + failed.message(), path.parent_path().string());
    } else {
      written = write_file(path, bytes, Overwrite::kReplace);
    }
    if (!written) break;
  }
  if (!written) {
    for (const KindRow& row : kKinds) {
      if (!(pictures.*(row.bytes)).empty()) (void)remove(id, row.kind);
    }
  }
  return written;
}

Result<std::string> PictureFiles::read(std::string_view id, Picture kind) const {
  return read_file(KINGLET_TRY(path_of(id, kind)), kLargestFile);
}

std::optional<std::uint64_t> PictureFiles::size(std::string_view id, Picture kind) const {
  const Result<fs::path> path = path_of(id, kind);
  if (!path) return std::nullopt;
  std::error_code missing;
  const std::uintmax_t size = fs::file_size(*path, missing);
  if (missing) return std::nullopt;
  return size;
}

bool PictureFiles::remove(std::string_view id, Picture kind) const {
  const Result<fs::path> path = path_of(id, kind);
  if (!path) return true;
  std::error_code failed;
  fs::remove(*path, failed);
  return !failed;
}

Result<PictureFiles::Found> PictureFiles::sweep(const Wanted& wanted, bool remove_strays) const {
  Found found;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder_ / kFolder, failed), end; !failed && at != end;
       at.increment(failed)) {
    std::error_code unreadable;
    if (!at->is_regular_file(unreadable)) continue;
    const std::string name = at->path().filename().string();
    bool keep = false;
    for (const KindRow& row : kKinds) {
      const std::string id = name.substr(0, name.size() - std::min(name.size(), row.ending.size()));
      if (name.ends_with(row.ending) && is_visit_id(id)) keep = KINGLET_TRY(wanted(id, row.kind));
    }
    if (keep) {
      ++found.files;
      const std::uintmax_t size = at->file_size(unreadable);
      if (!unreadable) found.bytes += size;
      continue;
    }
    ++found.strays;
    if (remove_strays) fs::remove(at->path(), unreadable);
  }
  return found;
}

}  // namespace kinglet::store
