// SPDX-License-Identifier: Apache-2.0
#include "camera/stream/child_stream.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

constexpr std::chrono::seconds kPoliteLimit{1};
constexpr std::chrono::milliseconds kDeathLimit{300};
// Room for a frame or so, so that the program seldom waits; the system may give less.
constexpr int kPipeBytes = 1 << 20;

}  // namespace

Result<std::unique_ptr<ChildStream>> ChildStream::open(const ChildStreamOptions& options) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(ErrorCode::kUnavailable, "no descriptor left for " + options.program);
  }
  std::unique_ptr<ChildStream> stream(new ChildStream());
  stream->frames_ = FileDescriptor(ends[0]);
  const FileDescriptor writer(ends[1]);
  // Only this end: programs expect an output that waits.
  ::fcntl(stream->frames_.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(stream->frames_.get(), F_SETPIPE_SZ, kPipeBytes);
  stream->nowhere_ = FileDescriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  stream->wake_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stream->wake_.valid()) return fail(ErrorCode::kUnavailable, "no descriptor left for " + options.program);
  stream->name_ = std::filesystem::path(options.program).filename().string();
  stream->polite_signal_ = options.polite_signal;
  stream->log_ = options.log;
  stream->child_ = KINGLET_TRY(ChildProcess::start({.program = options.program,
                                                    .arguments = options.arguments,
                                                    .inherited = options.inherited,
                                                    .standard_output = writer.get(),
                                                    .log = options.log}));
  return stream;
}

Result<std::size_t> ChildStream::read(std::span<std::byte> out, SteadyTime deadline) {
  return take([&] { return ::read(frames_.get(), out.data(), out.size()); }, deadline);
}

Result<std::size_t> ChildStream::drop(std::size_t count, std::span<std::byte> scratch, SteadyTime deadline) {
  const auto some = [&]() -> ssize_t {
    if (nowhere_.valid()) {
      const ssize_t moved = ::splice(frames_.get(), nullptr, nowhere_.get(), nullptr, count, SPLICE_F_NONBLOCK);
      if (moved >= 0 || errno == EAGAIN || errno == EINTR) return moved;
      nowhere_ = {};  // not allowed here
    }
    return ::read(frames_.get(), scratch.data(), std::min(count, scratch.size()));
  };
  return take(some, deadline);
}

template <typename Some>
Result<std::size_t> ChildStream::take(Some some, SteadyTime deadline) {
  while (!closed_) {
    const ssize_t count = some();
    if (count > 0) return static_cast<std::size_t>(count);
    if (count == 0) return std::unexpected(over());
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return fail(ErrorCode::kUnavailable, format_text("{}: {}", name_, errno_text()));
    if (SteadyClock::now() >= deadline) break;
    wait(deadline);
  }
  return 0;
}

// Its output is closed; the program itself may go on a moment longer.
Error ChildStream::over() {
  const bool gone = child_->wait(SteadyClock::now() + kDeathLimit);
  child_->forward_output();
  const std::string last = child_->last_line();
  return {ErrorCode::kUnavailable,
          format_text("{} {}{}{}", name_, gone ? "ended with " + child_->end_text() : "closed its output",
                      last.empty() ? "" : ": ", last),
          {},
          {}};
}

void ChildStream::wait(SteadyTime deadline) {
  std::array<pollfd, 3> waiting{pollfd{frames_.get(), POLLIN, 0}, pollfd{wake_.get(), POLLIN, 0},
                                pollfd{child_->output(), POLLIN, 0}};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now()).count();
  const int limit = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  if (::poll(waiting.data(), log_open_ ? waiting.size() : 2, limit) <= 0 || !log_open_) return;
  if ((waiting[2].revents & POLLIN) != 0) child_->forward_output();
  if ((waiting[2].revents & (POLLIN | POLLHUP)) == POLLHUP) log_open_ = false;
}

void ChildStream::close() {
  if (closed_.exchange(true)) return;
  const std::uint64_t one = 1;
  static_cast<void>(::write(wake_.get(), &one, sizeof(one)));
  if (!child_) return;
  child_->send_signal(polite_signal_);
  if (!child_->wait(SteadyClock::now() + kPoliteLimit)) {
    if (log_) log_(LogLevel::kWarning, format_text("{} did not end within a second and is killed", name_));
    child_->kill();
    if (!child_->wait(SteadyClock::now() + kDeathLimit) && log_) {
      log_(LogLevel::kError, format_text("{} cannot be killed: a driver hangs, a reboot may be needed", name_));
    }
  }
  child_->forward_output();
}

}  // namespace kinglet::camera
