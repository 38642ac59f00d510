// SPDX-License-Identifier: Apache-2.0
#include "engine/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "engine/base/format.h"

namespace kinglet {
namespace {

// Renames without replacing when asked to: link() fails where the target exists, rename() does not.
Result<void> publish(const std::string& temporary, const std::filesystem::path& path, Overwrite overwrite) {
  if (overwrite == Overwrite::kReplace) {
    if (::rename(temporary.c_str(), path.c_str()) == 0) return {};
    return fail(ErrorCode::kCannotCreate, "cannot rename the finished file into place: " + errno_text(), path.string());
  }
  const bool linked = ::link(temporary.c_str(), path.c_str()) == 0;
  const int link_error = errno;
  if (!linked && link_error != EEXIST && ::access(path.c_str(), F_OK) != 0 &&
      ::rename(temporary.c_str(), path.c_str()) == 0) {
    return {};  // a file system without hard links
  }
  ::unlink(temporary.c_str());
  if (linked) return {};
  return fail(ErrorCode::kCannotCreate, "the file exists already", path.string(), "add --force to replace it");
}

}  // namespace

Result<void> write_all(int fd, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(ErrorCode::kIo, "cannot write: " + errno_text(), path.string(), "free some space");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int FileDescriptor::release() {
  const int fd = fd_;
  fd_ = -1;
  return fd;
}

void FileDescriptor::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<InputFile> InputFile::open(const std::filesystem::path& path, Links links) {
  InputFile file;
  file.path_ = path;
  const int no_follow = links == Links::kRefuse ? O_NOFOLLOW : 0;
  file.fd_ = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | no_follow));
  const auto is_a_link = [&] { return fail(ErrorCode::kNotPermitted, "is a link, not a plain file", path.string()); };
  if (!file.fd_.valid()) {
    if (errno == ELOOP && links == Links::kRefuse) return is_a_link();
    const char* cure = errno == ENOENT ? "check the path" : errno == EACCES ? "make it readable for this user" : "";
    return fail(ErrorCode::kNotFound, "cannot open the file: " + errno_text(), path.string(), cure);
  }
  struct stat status{};
  if (::fstat(file.fd_.get(), &status) != 0) return fail(ErrorCode::kIo, "cannot stat: " + errno_text(), path.string());
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::kNotFound, S_ISDIR(status.st_mode) ? "is a folder, not a file" : "is not a regular file",
                path.string(), "name a file");
  }
  if (links == Links::kRefuse && status.st_nlink != 1) return is_a_link();
  file.size_ = static_cast<std::uint64_t>(status.st_size);
  return file;
}

Result<void> InputFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(fd_.get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(ErrorCode::kIo, "cannot read: " + errno_text(), path_.string());
    if (got == 0) {
      return fail(ErrorCode::kIo, format_text("the file ends at byte {}, {} more were expected", offset, out.size()),
                  path_.string());
    }
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return {};
}

Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t limit_bytes) {
  const InputFile file = KINGLET_TRY(InputFile::open(path));
  if (file.size() > limit_bytes) {
    return fail(ErrorCode::kBadData, format_text("has {} bytes, the limit is {}", file.size(), limit_bytes),
                path.string());
  }
  std::string bytes(file.size(), '\0');
  KINGLET_TRY(file.read_at(0, std::as_writable_bytes(std::span(bytes))));
  return bytes;
}

void give_to_owner_of(const std::filesystem::path& folder, int fd) {
  struct stat owner{};
  // The path that is left of a bare name is empty.
  if (::geteuid() != 0 || ::stat(folder.empty() ? "." : folder.c_str(), &owner) != 0) return;
  [[maybe_unused]] const int given = ::fchown(fd, owner.st_uid, owner.st_gid);
}

Result<void> write_file(const std::filesystem::path& path, std::string_view bytes, Overwrite overwrite,
                        Readers readers) {
  return write_file(path, [&](const PutBytes& put) { return put(bytes); }, overwrite, readers);
}

ErrorCode code_of_making(int code) {
  return code == ENOSPC || code == EDQUOT ? ErrorCode::kIo : ErrorCode::kCannotCreate;
}

Result<void> write_file(const std::filesystem::path& path, std::span<const std::string_view> pieces,
                        Overwrite overwrite) {
  const auto make = [&](const PutBytes& put) -> Result<void> {
    for (const std::string_view piece : pieces) KINGLET_TRY(put(piece));
    return {};
  };
  return write_file(path, make, overwrite);
}

Result<void> write_file(const std::filesystem::path& path, const std::function<Result<void>(const PutBytes& put)>& make,
                        Overwrite overwrite, Readers readers) {
  if (overwrite == Overwrite::kRefuse && ::access(path.c_str(), F_OK) == 0) {
    return fail(ErrorCode::kCannotCreate, "the file exists already", path.string(), "add --force to replace it");
  }
  std::string temporary = path.string() + ".XXXXXX";
  FileDescriptor fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid()) {
    const ErrorCode code = code_of_making(errno);
    return fail(code, "cannot create the file: " + errno_text(), path.string(),
                errno == ENOENT          ? "make the folder first"
                : code == ErrorCode::kIo ? "free some space"
                                         : "");
  }
  if (readers == Readers::kAll) {
    ::fchmod(fd.get(), 0644);
  } else {
    give_to_owner_of(path.parent_path(), fd.get());
  }
  Result<void> written = make([&](std::string_view piece) { return write_all(fd.get(), piece, path); });
  if (written && ::fsync(fd.get()) != 0) {
    written = fail(ErrorCode::kIo, "cannot write: " + errno_text(), path.string(), "free some space");
  }
  if (written) written = publish(temporary, path, overwrite);
  if (!written) ::unlink(temporary.c_str());
  return written;
}

Result<void> sync_folder(const std::filesystem::path& folder) {
  const FileDescriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.valid() && ::fsync(directory.get()) == 0) return {};
  return fail(ErrorCode::kIo, "cannot write: " + errno_text(), folder.string(), "check the disk");
}

}  // namespace kinglet
