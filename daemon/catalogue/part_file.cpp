// SPDX-License-Identifier: Apache-2.0
#include "daemon/catalogue/part_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "engine/base/file.h"
#include "engine/base/format.h"

namespace kinglet::daemon {

Result<PartFile> PartFile::open(const std::filesystem::path& path, std::uint64_t expected) {
  PartFile part;
  part.path_ = path;
  part.fd_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!part.fd_.valid()) {
    const char* cure = errno == ENOENT ? "make the folder first" : "";
    return fail(code_of_making(errno), format_text("cannot create the file: {}", errno_text()), path.string(), cure);
  }
  if (::flock(part.fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorCode::kBusy, "another download is writing this file", path.string(), "wait for it to end");
  }
  const off_t size = ::lseek(part.fd_.get(), 0, SEEK_END);
  part.size_ = size > 0 ? static_cast<std::uint64_t>(size) : 0;
  if (part.size_ > expected) KINGLET_TRY(part.cut(0));
  return part;
}

Result<void> PartFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (offset != size_) KINGLET_TRY(cut(offset));
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return io_error();
    size_ += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> PartFile::sync() {
  if (::fsync(fd_.get()) != 0) return io_error();
  return {};
}

Result<void> PartFile::cut(std::uint64_t size) {
  if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) return io_error();
  size_ = size;
  return {};
}

std::unexpected<Error> PartFile::io_error() const {
  return fail(ErrorCode::kIo, format_text("cannot write: {}", errno_text()), path_.string(), "free some space");
}

}  // namespace kinglet::daemon
