// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/thread_wait.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

#include "engine/base/format.h"

namespace kinglet::daemon {
namespace {

// What a thread of ours waits in that is up to us. A file system in user space lets calls on files look as these do.
constexpr std::array kOurWaits{SYS_futex,
#ifdef SYS_poll
                               SYS_poll,      SYS_select,          SYS_epoll_wait,      SYS_pause,
#endif
                               SYS_ppoll,     SYS_pselect6,        SYS_epoll_pwait,     SYS_accept,
                               SYS_accept4,   SYS_connect,         SYS_recvfrom,        SYS_recvmsg,
                               SYS_sendto,    SYS_sendmsg,         SYS_wait4,           SYS_waitid,
                               SYS_nanosleep, SYS_clock_nanosleep, SYS_rt_sigtimedwait, SYS_restart_syscall};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

bool tells_of_disk(std::string_view stat, std::string_view syscall) {
  // The name before it may have parentheses of its own.
  const std::size_t name_end = stat.rfind(") ");
  if (name_end == std::string_view::npos || name_end + 2 >= stat.size()) return true;
  const char state = stat[name_end + 2];
  if (state != 'S') return state == 'D';
  long number = 0;
  if (std::from_chars(syscall.data(), syscall.data() + syscall.size(), number).ec != std::errc()) {
    return !syscall.starts_with("running");
  }
  return !std::ranges::contains(kOurWaits, number);
}

bool waits_for_disk(pid_t thread) {
  const std::string folder = format_text("/proc/self/task/{}", thread);
  return tells_of_disk(text_of(folder + "/stat"), text_of(folder + "/syscall"));
}

}  // namespace kinglet::daemon
