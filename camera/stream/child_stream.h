// SPDX-License-Identifier: Apache-2.0
// Why: the output of a program as a stream of bytes. What it says on its error output becomes log lines; it is ended
// with the stream, politely first.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "camera/process/process.h"
#include "camera/stream/byte_stream.h"
#include "engine/base/file.h"

namespace kinglet::camera {

struct ChildStreamOptions {
  std::string program;  // a path
  std::vector<std::string> arguments;
  int inherited = -1;      // a descriptor the program gets as number 3; -1: none
  int polite_signal = 15;  // SIGTERM; some programs put their device in order at SIGINT only
  LogSink log;
};

class ChildStream final : public ByteStream {
 public:
  // kUnavailable: the program cannot be started.
  [[nodiscard]] static Result<std::unique_ptr<ChildStream>> open(const ChildStreamOptions& options);
  ~ChildStream() override { close(); }

  [[nodiscard]] Result<std::size_t> read(std::span<std::byte> out, SteadyTime deadline) override;
  // Within the system: no byte is copied.
  [[nodiscard]] Result<std::size_t> drop(std::size_t count, std::span<std::byte> scratch, SteadyTime deadline) override;
  void close() override;

  // What the program has said by now goes to the log.
  void forward_log() { child_->forward_output(); }

  // The program said "done": exit code 0. Known after read() gave its end.
  [[nodiscard]] bool ended_well() const { return child_->end_text() == "exit code 0"; }

 private:
  ChildStream() = default;
  // `some()` says how many bytes it took, as ::read() does.
  template <typename Some>
  [[nodiscard]] Result<std::size_t> take(Some some, SteadyTime deadline);
  [[nodiscard]] Error over();
  void wait(SteadyTime deadline);

  std::string name_;
  int polite_signal_ = 15;
  LogSink log_;
  FileDescriptor frames_;
  FileDescriptor nowhere_;  // /dev/null, where that takes bytes of a pipe
  FileDescriptor wake_;
  std::unique_ptr<ChildProcess> child_;
  bool log_open_ = true;
  std::atomic<bool> closed_ = false;
};

}  // namespace kinglet::camera
