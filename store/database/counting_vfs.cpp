// SPDX-License-Identifier: Apache-2.0
// As SQLite's documents describe a VFS shim (sqlite.org/vfs.html): a file object with the real one behind it.
#include "store/database/counting_vfs.h"

#include <sqlite3.h>

#include <memory>

#include "engine/base/check.h"
#include "engine/base/format.h"

namespace kinglet::store {

struct CountingVfs::State {
  sqlite3_vfs vfs{};
  sqlite3_vfs* real = nullptr;
  std::string name;
  std::atomic<std::uint64_t> written{0};
};

namespace {

struct CountedFile : sqlite3_file {
  std::atomic<std::uint64_t>* written;
  sqlite3_file* real;  // lies behind this object in SQLite's own buffer
};

CountedFile* counted(sqlite3_file* file) { return static_cast<CountedFile*>(file); }
sqlite3_file* real(sqlite3_file* file) { return counted(file)->real; }

int close_file(sqlite3_file* file) { return real(file)->pMethods->xClose(real(file)); }
int read_file_at(sqlite3_file* file, void* out, int amount, sqlite3_int64 offset) {
  return real(file)->pMethods->xRead(real(file), out, amount, offset);
}
int write_file_at(sqlite3_file* file, const void* bytes, int amount, sqlite3_int64 offset) {
  const int code = real(file)->pMethods->xWrite(real(file), bytes, amount, offset);
  if (code == SQLITE_OK) *counted(file)->written += static_cast<std::uint64_t>(amount);
  return code;
}
int truncate_file(sqlite3_file* file, sqlite3_int64 size) { return real(file)->pMethods->xTruncate(real(file), size); }
int sync_file(sqlite3_file* file, int flags) { return real(file)->pMethods->xSync(real(file), flags); }
int file_size(sqlite3_file* file, sqlite3_int64* size) { return real(file)->pMethods->xFileSize(real(file), size); }
int lock_file(sqlite3_file* file, int level) { return real(file)->pMethods->xLock(real(file), level); }
int unlock_file(sqlite3_file* file, int level) { return real(file)->pMethods->xUnlock(real(file), level); }
int check_lock(sqlite3_file* file, int* out) { return real(file)->pMethods->xCheckReservedLock(real(file), out); }
int control_file(sqlite3_file* file, int operation, void* argument) {
  return real(file)->pMethods->xFileControl(real(file), operation, argument);
}
int sector_size(sqlite3_file* file) { return real(file)->pMethods->xSectorSize(real(file)); }
int device_traits(sqlite3_file* file) { return real(file)->pMethods->xDeviceCharacteristics(real(file)); }
int shm_map(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
  return real(file)->pMethods->xShmMap(real(file), page, size, extend, out);
}
int shm_lock(sqlite3_file* file, int offset, int n, int flags) {
  return real(file)->pMethods->xShmLock(real(file), offset, n, flags);
}
void shm_barrier(sqlite3_file* file) { real(file)->pMethods->xShmBarrier(real(file)); }
int shm_unmap(sqlite3_file* file, int remove) { return real(file)->pMethods->xShmUnmap(real(file), remove); }

// Version 2: without xFetch nothing is read through mapped memory, where a cut file is a SIGBUS.
constexpr sqlite3_io_methods kMethods = {
    2,         close_file,  read_file_at, write_file_at, truncate_file, sync_file,     file_size,
    lock_file, unlock_file, check_lock,   control_file,  sector_size,   device_traits, shm_map,
    shm_lock,  shm_barrier, shm_unmap,    nullptr,       nullptr};

CountingVfs::State& state(sqlite3_vfs* vfs) { return *static_cast<CountingVfs::State*>(vfs->pAppData); }
sqlite3_vfs* real(sqlite3_vfs* vfs) { return state(vfs).real; }

int open_file(sqlite3_vfs* vfs, sqlite3_filename path, sqlite3_file* file, int flags, int* out_flags) {
  auto* mine = std::construct_at(static_cast<CountedFile*>(file));
  mine->written = &state(vfs).written;
  mine->real = reinterpret_cast<sqlite3_file*>(mine + 1);
  const int code = real(vfs)->xOpen(real(vfs), path, mine->real, flags, out_flags);
  // SQLite closes a file that failed to open only when it has methods.
  mine->pMethods = mine->real->pMethods == nullptr ? nullptr : &kMethods;
  return code;
}
int delete_file(sqlite3_vfs* vfs, const char* path, int sync) { return real(vfs)->xDelete(real(vfs), path, sync); }
int access_file(sqlite3_vfs* vfs, const char* path, int flags, int* out) {
  return real(vfs)->xAccess(real(vfs), path, flags, out);
}
int full_path(sqlite3_vfs* vfs, const char* path, int size, char* out) {
  return real(vfs)->xFullPathname(real(vfs), path, size, out);
}
int randomness(sqlite3_vfs* vfs, int size, char* out) { return real(vfs)->xRandomness(real(vfs), size, out); }
int sleep_for(sqlite3_vfs* vfs, int microseconds) { return real(vfs)->xSleep(real(vfs), microseconds); }
int last_error(sqlite3_vfs* vfs, int size, char* out) { return real(vfs)->xGetLastError(real(vfs), size, out); }
int current_time(sqlite3_vfs* vfs, double* out) { return real(vfs)->xCurrentTime(real(vfs), out); }
int current_time_ms(sqlite3_vfs* vfs, sqlite3_int64* out) { return real(vfs)->xCurrentTimeInt64(real(vfs), out); }

}  // namespace

CountingVfs::CountingVfs() : state_(std::make_unique<State>()) {
  state_->real = sqlite3_vfs_find(nullptr);
  KINGLET_CHECK(state_->real != nullptr);
  state_->name = format_text("kinglet-{}", static_cast<const void*>(state_.get()));
  KINGLET_CHECK(state_->real->iVersion >= 2);
  state_->vfs.iVersion = 2;
  state_->vfs.szOsFile = static_cast<int>(sizeof(CountedFile)) + state_->real->szOsFile;
  state_->vfs.mxPathname = state_->real->mxPathname;
  state_->vfs.zName = state_->name.c_str();
  state_->vfs.pAppData = state_.get();
  state_->vfs.xOpen = open_file;
  state_->vfs.xDelete = delete_file;
  state_->vfs.xAccess = access_file;
  state_->vfs.xFullPathname = full_path;
  state_->vfs.xRandomness = randomness;
  state_->vfs.xSleep = sleep_for;
  state_->vfs.xGetLastError = last_error;
  state_->vfs.xCurrentTime = current_time;
  state_->vfs.xCurrentTimeInt64 = current_time_ms;
  KINGLET_CHECK(sqlite3_vfs_register(&state_->vfs, 0) == SQLITE_OK);
}

CountingVfs::~CountingVfs() { sqlite3_vfs_unregister(&state_->vfs); }

const std::string& CountingVfs::name() const { return state_->name; }

std::uint64_t CountingVfs::written_bytes() const { return state_->written.load(); }

}  // namespace kinglet::store
