// SPDX-License-Identifier: Apache-2.0
// Why: see process.h. A pidfd makes waiting with a deadline possible and can never mean another process.
#include "camera/process/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "engine/base/format.h"
#include "engine/base/log.h"
#include "engine/base/text.h"

namespace kinglet::camera {
namespace {

constexpr std::size_t kLongestLine = 512;
constexpr std::chrono::milliseconds kDeathWait{200};

Error system_error(const std::string& program, const char* what, int code) {
  return {ErrorCode::kUnavailable, format_text("cannot start {}: {}: {}", program, what, errno_text(code)), "", ""};
}

// What posix_spawn needs, freed together.
struct SpawnPlan {
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  void redirect(int log, int output, int inherited) {
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output >= 0 ? output : log, 1);
    posix_spawn_file_actions_adddup2(&actions, log, 2);
    if (inherited >= 0) posix_spawn_file_actions_adddup2(&actions, inherited, 3);
    posix_spawn_file_actions_addclosefrom_np(&actions, inherited >= 0 ? 4 : 3);
  }

  void reset_signals() {
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

bool executable(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

int milliseconds_left(SteadyTime deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
}

std::string describe_end(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return format_text("exit code {}", info.si_status);
  const char* name = ::sigdescr_np(info.si_status);
  return format_text("signal {} ({})", info.si_status, name != nullptr ? name : "without a name");
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(const ProcessOptions& options) {
  std::array<int, 2> ends{};
  // Non-blocking at both ends: a reader that is late costs log lines, never the camera's time.
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return std::unexpected(system_error(options.program, "pipe", errno));
  }
  FileDescriptor reader(ends[0]);
  const FileDescriptor writer(ends[1]);

  SpawnPlan plan;
  plan.redirect(writer.get(), options.standard_output, options.inherited);
  plan.reset_signals();
  std::vector<std::string> words{options.program};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  ProcessFamily family;
  pid_t pid = -1;
  const int code = ::posix_spawn(&pid, options.program.c_str(), &plan.actions, &plan.attributes, arguments.data(),
                                 family.environment().data());
  if (code != 0) return std::unexpected(system_error(options.program, "posix_spawn", code));

  std::unique_ptr<ChildProcess> child(new ChildProcess(std::move(family)));
  child->name_ = std::filesystem::path(options.program).filename().string();
  child->log_ = options.log;
  child->pid_ = pid;
  child->output_ = std::move(reader);
  child->pidfd_ = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!child->pidfd_.valid()) return std::unexpected(system_error(options.program, "pidfd_open", errno));
  return child;
}

ChildProcess::~ChildProcess() {
  if (wait(SteadyClock::now())) return;
  kill();
  static_cast<void>(wait(SteadyClock::now() + kDeathWait));
}

bool ChildProcess::wait(SteadyTime deadline) {
  while (true) {
    {
      const MutexLock lock(mutex_);
      if (ended_) return true;
      siginfo_t info{};
      if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
        ended_ = true;  // ECHILD: the parent ignores SIGCHLD, so nobody can know how it ended
        end_text_ = "unknown";
        return true;
      }
      if (info.si_pid == pid_) {
        // What it started ends with it; until it is reaped, its group can be nobody else's.
        ::kill(-pid_, SIGKILL);
        family_.kill(pid_);
        ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED);
        ended_ = true;
        end_text_ = describe_end(info);
        return true;
      }
    }
    pollfd waiting{pidfd_.get(), POLLIN, 0};
    if (!pidfd_.valid()) return false;
    const int left = milliseconds_left(deadline);
    if (::poll(&waiting, 1, left) == 0 && left == 0) return false;
  }
}

void ChildProcess::kill() {
  const MutexLock lock(mutex_);
  if (ended_) return;
  family_.kill(pid_);
  ::kill(-pid_, SIGKILL);
}

void ChildProcess::send_signal(int signal) {
  const MutexLock lock(mutex_);
  if (ended_) return;
  family_.send_beyond_group(pid_, signal);  // first: who has lost its parent is harder to find
  ::kill(-pid_, signal);
}

std::string ChildProcess::end_text() const {
  const MutexLock lock(mutex_);
  return end_text_;
}

std::string ChildProcess::last_line() const {
  const MutexLock lock(mutex_);
  return last_line_;
}

void ChildProcess::forward_output() {
  const MutexLock lock(mutex_);
  std::array<char, 4096> bytes;
  // Bounded: a program that never stops talking must not keep the caller here.
  for (int round = 0; round < 16; ++round) {
    const ssize_t length = ::read(output_.get(), bytes.data(), bytes.size());
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return;
    for (const char c : std::string_view(bytes.data(), static_cast<std::size_t>(length))) {
      if (c != '\n') {
        partial_line_ += c;
        if (partial_line_.size() < kLongestLine) continue;
      }
      forward_line(partial_line_);
      partial_line_.clear();
    }
  }
}

void ChildProcess::forward_line(std::string_view line) {
  if (line.empty()) return;
  last_line_ = without_logins(printable(line, kLongestLine));
  if (!log_) return;
  // libcamera writes its level as a word of the line. Memory that it cannot have where no camera needs it is no error:
  // one that does need it says so itself.
  const auto has = [line](std::string_view word) { return line.find(word) != std::string_view::npos; };
  const LogLevel level = has(" DmaBufAllocator ")                                         ? LogLevel::kDebug
                         : has(" ERROR ") || has(" FATAL ") || line.starts_with("error:") ? LogLevel::kError
                         : has(" WARN ") || line.starts_with("warning:")                  ? LogLevel::kWarning
                                                                                          : LogLevel::kInfo;
  log_(level, format_text("{}: {}", name_, last_line_));
}

std::string find_program(std::string_view name, const std::string& wish, const char* variable) {
  if (!wish.empty()) return executable(wish) ? wish : std::string();
  if (const char* path = std::getenv(variable); path != nullptr && *path != '\0') {
    return executable(path) ? std::string(path) : std::string();
  }
  std::error_code ignored;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  if (const auto beside = self.parent_path() / name; !self.empty() && executable(beside)) return beside.string();
  return find_command(name);
}

std::string find_command(std::string_view name) {
  if (name.contains('/')) return executable(name) ? std::string(name) : std::string();
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    if (const auto candidate = std::filesystem::path(folder) / name; !folder.empty() && executable(candidate)) {
      return candidate.string();
    }
  }
  return {};
}

}  // namespace kinglet::camera
