// SPDX-License-Identifier: Apache-2.0
// Why: files are read and written in one careful way: regular files only, size limits, outputs beside and renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/error.h"

namespace kinglet {

// An owned POSIX descriptor.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  [[nodiscard]] int release();
  void reset();

 private:
  int fd_ = -1;
};

enum class Links { kFollow, kRefuse };

// A regular file opened for reading at offsets; never mapped, so that a file replaced or cut meanwhile is an error
// (kIo), not a SIGBUS. Reentrant.
class InputFile {
 public:
  // kNotFound: missing, unreadable, a folder or a device. With Links::kRefuse a symbolic link or a file with a second
  // hard link is kNotPermitted (for names that come from untrusted files).
  [[nodiscard]] static Result<InputFile> open(const std::filesystem::path& path, Links links = Links::kFollow);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Fills all of `out` from `offset`; kIo when the file is shorter.
  [[nodiscard]] Result<void> read_at(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  std::filesystem::path path_;
  FileDescriptor fd_;
  std::uint64_t size_ = 0;
};

// Of what cannot be made: kIo where the disk is full, else kCannotCreate. `code`: of errno.h.
[[nodiscard]] ErrorCode code_of_making(int code);

// The whole file. kNotFound as above, kBadData when it is larger than `limit_bytes`.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t limit_bytes);

enum class Overwrite { kRefuse, kReplace };
enum class Readers { kAll, kOwner };  // kOwner: mode 0600, and of the folder's owner when root writes

// For a file that root makes in another user's folder: that user must be able to read it. Where it cannot be given, it
// stays root's.
void give_to_owner_of(const std::filesystem::path& folder, int fd);

// All of them, however many calls it takes; `path` names the file in an error. kIo.
[[nodiscard]] Result<void> write_all(int fd, std::string_view bytes, const std::filesystem::path& path);

// Writes beside `path` and renames: readers see the old file or the whole new one. kCannotCreate: the folder is
// missing or not writable, or the file exists and Overwrite::kRefuse. kIo: the disk is full; nothing is left behind.
[[nodiscard]] Result<void> write_file(const std::filesystem::path& path, std::string_view bytes, Overwrite overwrite,
                                      Readers readers = Readers::kAll);
// The same for bytes that lie in pieces.
[[nodiscard]] Result<void> write_file(const std::filesystem::path& path, std::span<const std::string_view> pieces,
                                      Overwrite overwrite);
// The same for bytes that are made while writing; an error of `make` ends the writing and nothing is left behind.
using PutBytes = std::function<Result<void>(std::string_view)>;
[[nodiscard]] Result<void> write_file(const std::filesystem::path& path,
                                      const std::function<Result<void>(const PutBytes& put)>& make, Overwrite overwrite,
                                      Readers readers = Readers::kAll);

// Names made or renamed in it are on the disk when it returns. kIo.
[[nodiscard]] Result<void> sync_folder(const std::filesystem::path& folder);

}  // namespace kinglet
