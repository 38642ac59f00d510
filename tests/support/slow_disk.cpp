// SPDX-License-Identifier: Apache-2.0
// Why: LD_PRELOAD=libslow_disk.so: each fsync, fdatasync and syncfs takes as long as on a worn card, SLOW_DISK_MS "150"
// or "0-300" (at random). This machine's own disk, on which builds may write beside the tests, is not asked then: who
// is killed loses nothing of what the system holds. What was synced is written down by its path in the file
// SLOW_DISK_LOG. Where the path SLOW_DISK_HANGS is a pipe, it takes until somebody writes into that: to the kernel a
// call on a file that does not end.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

namespace {

bool wait_as_told() {
  const char* text = std::getenv("SLOW_DISK_MS");
  if (text == nullptr) return false;
  char* end = nullptr;
  const long low = std::strtol(text, &end, 10);
  const long high = *end == '-' ? std::strtol(end + 1, nullptr, 10) : low;
  thread_local std::minstd_rand random(std::random_device{}());
  std::this_thread::sleep_for(std::chrono::milliseconds(std::uniform_int_distribution<long>(low, high)(random)));
  return true;
}

void hang_as_told() {
  const char* pipe = std::getenv("SLOW_DISK_HANGS");
  const int file = pipe == nullptr ? -1 : ::open(pipe, O_RDONLY | O_CLOEXEC);
  if (file >= 0) ::close(file);
}

void write_down(int fd) {
  const char* log = std::getenv("SLOW_DISK_LOG");
  if (log == nullptr) return;
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  char line[PATH_MAX + 1];
  const ssize_t size = ::readlink(link, line, PATH_MAX);
  if (size <= 0) return;
  line[size] = '\n';
  const int file = ::open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, line, static_cast<std::size_t>(size) + 1);
  ::close(file);
}

int sync_with(long number, int fd) {
  const bool waited = wait_as_told();
  hang_as_told();
  const int result = waited ? 0 : static_cast<int>(::syscall(number, fd));
  if (result == 0) write_down(fd);
  return result;
}

}  // namespace

extern "C" {
int fsync(int fd) { return sync_with(SYS_fsync, fd); }
int fdatasync(int fd) { return sync_with(SYS_fdatasync, fd); }
int syncfs(int fd) noexcept { return sync_with(SYS_syncfs, fd); }
}
