// SPDX-License-Identifier: Apache-2.0
#include "store/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>

namespace kinglet::store {

Result<FileDescriptor> lock_folder(const std::filesystem::path& folder) {
  FileDescriptor lock(::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640));
  if (!lock.valid()) {
    const int code = errno;
    return fail(code == ENOSPC ? ErrorCode::kIo : ErrorCode::kNotPermitted,
                "cannot write into the state folder: " + errno_text(code), folder.string(),
                code == ENOSPC ? "free some space" : "make it writable for this user, or set store.path");
  }
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  return fail(ErrorCode::kBusy, "another kingletd uses this state folder", folder.string(),
              "end it, or set store.path");
}

}  // namespace kinglet::store
