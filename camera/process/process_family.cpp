// SPDX-License-Identifier: Apache-2.0
// proc(5): /proc/PID/stat and /proc/PID/environ.
#include "camera/process/process_family.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <optional>
#include <random>
#include <sstream>
#include <string_view>
#include <thread>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/numbers.h"

namespace kinglet::camera {
namespace {

constexpr std::string_view kName = "CHILD_OF_KINGLET";  // KINGLET_* are settings, and an unknown one is an error
constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::chrono::milliseconds kPatience{200};
constexpr std::chrono::milliseconds kTurn{2};

struct Process {
  pid_t pid = 0;
  char state = '?';
  pid_t parent = 0;
  pid_t group = 0;
  std::string began;  // with the number it means one process, also when numbers are used again
};

std::string read_of(pid_t pid, const char* name) {
  const FileDescriptor file(::open(format_text("/proc/{}/{}", pid, name).c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> bytes;
  for (ssize_t count = 0; text.size() < kMostBytes; text.append(bytes.data(), static_cast<std::size_t>(count))) {
    count = file.valid() ? ::read(file.get(), bytes.data(), bytes.size()) : 0;
    if (count <= 0) break;
  }
  return text;
}

std::optional<Process> find_process(pid_t pid) {
  const std::string text = read_of(pid, "stat");
  // The name stands in brackets and may be anything.
  const std::size_t bracket = text.rfind(')');
  if (bracket == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(bracket + 1));
  Process process{.pid = pid, .began = {}};
  fields >> process.state >> process.parent >> process.group;
  constexpr int kBegan = 22;
  std::string field;
  for (int i = 6; i <= kBegan && fields >> field; ++i) process.began = field;
  return fields ? std::optional(process) : std::nullopt;
}

std::vector<Process> all_processes() {
  std::vector<Process> processes;
  std::error_code failed;
  for (std::filesystem::directory_iterator entry("/proc", failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const auto pid = parse_number<pid_t>(entry->path().filename().string());
    if (!pid) continue;
    if (std::optional<Process> process = find_process(*pid)) processes.push_back(std::move(*process));
  }
  return processes;
}

bool is_marked(pid_t pid, const std::string& mark) {
  const std::string environment = '\0' + read_of(pid, "environ");
  return environment.contains('\0' + mark + '\0');
}

bool is_dead(const Process& process) { return process.state == 'Z' || process.state == 'X'; }

// Those that live: with the mark, or below `child` or one of them.
std::vector<Process> family_of(const std::string& mark, pid_t child) {
  const std::vector<Process> all = all_processes();
  std::vector<Process> family;
  const auto is_known = [&](pid_t pid) { return pid == child || std::ranges::contains(family, pid, &Process::pid); };
  for (const Process& process : all) {
    if (process.pid == child || (!mark.empty() && is_marked(process.pid, mark))) family.push_back(process);
  }
  for (bool more = true; more;) {
    more = false;
    for (const Process& process : all) {
      if (is_known(process.pid) || !is_known(process.parent)) continue;
      family.push_back(process);
      more = true;
    }
  }
  std::erase_if(family, is_dead);
  return family;
}

void send(const Process& process, int signal) {
  const FileDescriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  const std::optional<Process> now = find_process(process.pid);
  if (!handle.valid() || !now || now->began != process.began) return;
  ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0);
}

// All but this process, which may be the head of it.
void kill_family(const std::string& mark, pid_t head) {
  const SteadyTime deadline = SteadyClock::now() + kPatience;
  for (;;) {
    std::vector<Process> family = family_of(mark, head);
    std::erase_if(family, [](const Process& process) { return process.pid == ::getpid(); });
    for (const Process& process : family) send(process, SIGKILL);
    if (family.empty() || SteadyClock::now() >= deadline) return;
    std::this_thread::sleep_for(kTurn);
  }
}

}  // namespace

ProcessFamily::ProcessFamily() {
  std::random_device random;
  mark_ = format_text("{}={}-{:08x}{:08x}", kName, ::getpid(), random(), random());
}

std::vector<char*> ProcessFamily::environment() const {
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (!text.starts_with(kName) || !text.substr(kName.size()).starts_with('=')) variables.push_back(*variable);
  }
  variables.push_back(const_cast<char*>(mark_.c_str()));  // posix_spawn's signature; it changes nothing
  variables.push_back(nullptr);
  return variables;
}

void ProcessFamily::send_beyond_group(pid_t child, int signal) const {
  for (const Process& process : family_of(mark_, child)) {
    if (process.group != child) send(process, signal);
  }
}

void ProcessFamily::kill(pid_t child) const { kill_family(mark_, child); }

void ProcessFamily::kill_all_of_ours() { kill_family({}, ::getpid()); }

}  // namespace kinglet::camera
