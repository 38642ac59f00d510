// SPDX-License-Identifier: Apache-2.0
// Why: one child program with one owner: started without a shell, its output becomes log lines, and it is always
// ended and reaped with all that it started, without ever blocking the caller for longer than it said.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "camera/process/process_family.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/base/log.h"
#include "engine/base/mutex.h"

namespace kinglet::camera {

struct ProcessOptions {
  std::string program;                 // a path
  std::vector<std::string> arguments;  // without the program's own name
  int inherited = -1;                  // a descriptor the child gets as number 3; -1: none
  int standard_output = -1;            // where its output goes; -1: into the log, as its errors do
  LogSink log;                         // gets "NAME: line" for each line of output, without logins; may be empty
};

// The child has a process group of its own (Ctrl-C of a terminal is the parent's to answer), no input, default
// signals and no descriptor beyond 3. Thread-safe.
class ChildProcess {
 public:
  // kUnavailable: no such program, not executable.
  [[nodiscard]] static Result<std::unique_ptr<ChildProcess>> start(const ProcessOptions& options);
  ~ChildProcess();  // kills and reaps; a child that even SIGKILL does not end within 200 ms is left to init
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Readable when output waits; never blocks.
  [[nodiscard]] int output() const { return output_.get(); }
  void forward_output();

  // True when the child has ended, at the latest at the deadline; reaps it.
  [[nodiscard]] bool wait(SteadyTime deadline);
  // SIGKILL for the child and what it started, also where that left its process group.
  void kill();
  // Another signal for them: SIGTERM or SIGINT ask a program to end.
  void send_signal(int signal);
  // "exit code 69", "signal 9 (Killed)"; empty while it runs.
  [[nodiscard]] std::string end_text() const;
  // The last line of output, for the message that says why it ended.
  [[nodiscard]] std::string last_line() const;

 private:
  explicit ChildProcess(ProcessFamily family) : family_(std::move(family)) {}
  void forward_line(std::string_view line) KINGLET_REQUIRES(mutex_);

  std::string name_;
  LogSink log_;
  const ProcessFamily family_;
  pid_t pid_ = -1;
  FileDescriptor pidfd_;
  FileDescriptor output_;

  mutable Mutex mutex_;
  bool ended_ KINGLET_GUARDED_BY(mutex_) = false;
  std::string end_text_ KINGLET_GUARDED_BY(mutex_);
  std::string partial_line_ KINGLET_GUARDED_BY(mutex_);
  std::string last_line_ KINGLET_GUARDED_BY(mutex_);
};

// Where a program that belongs to kinglet is: `wish` when not empty, else the environment variable `variable`, else
// beside this program, else PATH. Empty: nowhere.
[[nodiscard]] std::string find_program(std::string_view name, const std::string& wish, const char* variable);

// A program as a person names it: a path, or a name that stands in PATH. Empty: there is none.
[[nodiscard]] std::string find_command(std::string_view name);

}  // namespace kinglet::camera
