// SPDX-License-Identifier: Apache-2.0
#include "store/database/picture_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <memory>
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
  SharedBytes Pictures::* bytes;
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

// A name that write() gives: of a picture, or of one that is not whole yet ("vis_....crop.jpg.Xy12ab").
struct OwnName {
  std::string id;
  Picture kind = Picture::kCrop;
  bool whole = true;
};
std::optional<OwnName> own_name(std::string_view name) {
  constexpr std::size_t kIdSize = 30;
  constexpr std::size_t kTemporarySize = 7;
  constexpr std::string_view kTemporaryLetters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const std::string_view id = name.substr(0, kIdSize);
  if (!is_visit_id(id)) return std::nullopt;
  for (const KindRow& row : kKinds) {
    if (!name.substr(kIdSize).starts_with(row.ending)) continue;
    const std::string_view rest = name.substr(kIdSize + row.ending.size());
    const bool temporary = rest.size() == kTemporarySize && rest.front() == '.' &&
                           rest.find_first_not_of(kTemporaryLetters, 1) == std::string_view::npos;
    if (rest.empty() || temporary) return OwnName{std::string(id), row.kind, rest.empty()};
  }
  return std::nullopt;
}

bool is_letter(std::string_view name) {
  return name.size() == 1 && kLetters.find(name.front()) != std::string_view::npos;
}

// The folder of all pictures. An owner may have put a link there, to a larger disk.
FileDescriptor open_top(const fs::path& path, bool& is_a_link) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  FileDescriptor top(::open(path.c_str(), kFlags | O_NOFOLLOW));
  is_a_link = !top.valid() && (errno == ELOOP || errno == ENOTDIR);
  return is_a_link ? FileDescriptor(::open(path.c_str(), kFlags)) : std::move(top);
}

FileDescriptor open_folder_in(int folder, const std::string& name) {
  return FileDescriptor(::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

std::optional<std::uint64_t> size_of_plain_file(int folder, const std::string& name) {
  struct stat status{};
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(status.st_size);
}

Result<void> for_each_name(int folder, const std::function<Result<void>(const std::string& name)>& look) {
  struct Close {
    void operator()(DIR* list) const { ::closedir(list); }
  };
  const int own = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, Close> list(own < 0 ? nullptr : ::fdopendir(own));
  if (!list) return fail(ErrorCode::kIo, "cannot read the folder of pictures: " + errno_text());
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own
  while (const dirent* entry = ::readdir(list.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") KINGLET_TRY(look(name));
  }
  return {};
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
  Result<void> written = write_all(id, pictures);
  if (!written) {
    for (const KindRow& row : kKinds) {
      if (!(pictures.*(row.bytes)).empty()) (void)remove(id, row.kind);
    }
  }
  return written;
}

Result<void> PictureFiles::write_all(std::string_view id, const Pictures& pictures) const {
  const fs::path folder = KINGLET_TRY(path_of(id, Picture::kCrop)).parent_path();
  if (pictures.total() == 0) return {};
  std::error_code failed;
  const bool is_new = fs::create_directories(folder, failed);
  if (failed) {
    const bool is_full = failed == std::errc::no_space_on_device || failed == std::errc::read_only_file_system;
    return fail(is_full ? ErrorCode::kIo : ErrorCode::kCannotCreate, "cannot make the folder: " + failed.message(),
                folder.string(), is_full ? "free some space" : "");
  }
  for (const KindRow& row : kKinds) {
    const SharedBytes& bytes = pictures.*(row.bytes);
    if (bytes.empty()) continue;
    const fs::path path = KINGLET_TRY(path_of(id, row.kind));
    KINGLET_TRY(write_file(path, bytes.pieces(), Overwrite::kReplace));
  }
  // The files are on the disk; their names only after this.
  KINGLET_TRY(sync_folder(folder));
  if (!is_new) return {};
  KINGLET_TRY(sync_folder(folder.parent_path()));
  return sync_folder(folder_);
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
  const FileDescriptor top = open_top(folder_ / kFolder, found.through_a_link);
  if (!top.valid()) {
    if (errno == ENOENT) return found;
    return fail(ErrorCode::kIo, "cannot read the folder: " + errno_text(), (folder_ / kFolder).string());
  }
  const bool remove = remove_strays && !found.through_a_link;
  const auto look_at = [&](int folder, const std::string& name, char letter) -> Result<void> {
    const std::optional<OwnName> own = own_name(name);
    const std::optional<std::uint64_t> size = size_of_plain_file(folder, name);
    if (!own || own->id.back() != letter || !size) {
      ++found.foreign;
    } else if (own->whole && KINGLET_TRY(wanted(own->id, own->kind))) {
      ++found.files;
      found.bytes += *size;
    } else {
      ++found.strays;
      if (remove && ::unlinkat(folder, name.c_str(), 0) == 0) ++found.removed;
    }
    return {};
  };
  KINGLET_TRY(for_each_name(top.get(), [&](const std::string& letter) -> Result<void> {
    const FileDescriptor folder = is_letter(letter) ? open_folder_in(top.get(), letter) : FileDescriptor();
    if (!folder.valid()) {
      ++found.foreign;
      return {};
    }
    return for_each_name(folder.get(),
                         [&](const std::string& name) { return look_at(folder.get(), name, letter.front()); });
  }));
  return found;
}

bool PictureFiles::any() const {
  bool seen = false;
  const auto stop_at_the_first = [&](std::string_view, Picture) -> Result<bool> {
    seen = true;
    return fail(ErrorCode::kBusy, "seen");
  };
  (void)sweep(stop_at_the_first, false);
  return seen;
}

}  // namespace kinglet::store
