// SPDX-License-Identifier: Apache-2.0
// Why: see server.h.
#include "camera/libcamera/program/server.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <format>
#include <optional>
#include <print>
#include <thread>

#include "camera/libcamera/program/desk.h"

namespace kinglet::camera {
namespace {

// Ends the process when the daemon has gone and libcamera does not let go within a second. (A parent-death signal
// would follow the thread that started us, not the daemon.)
class HangGuard {
 public:
  explicit HangGuard(int socket) : done_(::eventfd(0, EFD_CLOEXEC)), thread_([this, socket] { watch(socket); }) {}
  ~HangGuard() {
    const std::uint64_t one = 1;
    static_cast<void>(::write(done_.get(), &one, sizeof(one)));
  }
  HangGuard(const HangGuard&) = delete;
  HangGuard& operator=(const HangGuard&) = delete;

 private:
  void watch(int socket) const {
    std::array<pollfd, 2> waiting{pollfd{done_.get(), POLLIN, 0}, pollfd{socket, 0, 0}};
    while (::poll(waiting.data(), waiting.size(), -1) < 0) {
    }
    if (waiting[0].revents != 0) return;
    if (::poll(waiting.data(), 1, 1000) == 0) ::_exit(70);
  }

  FileDescriptor done_;
  std::jthread thread_;
};

FileDescriptor open_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return FileDescriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

class Server {
 public:
  Server(Device& device, int socket, double frames_per_second)
      : device_(device),
        socket_(socket),
        signals_(open_signals()),
        desk_(device.hello().buffer_count, interval(frames_per_second),
              {.send = [this](const protocol::FrameReady& frame) { send(frame); },
               .queue = [this](std::uint32_t index) { keep(device_.queue(index)); }}) {}

  [[nodiscard]] Result<void> run() {
    KINGLET_TRY(device_.start());
    KINGLET_TRY(protocol::send(socket_, device_.hello()));
    for (const BufferDescription& buffer : device_.buffers()) {
      KINGLET_TRY(protocol::send(socket_, buffer.message, buffer.descriptors));
    }
    while (!ended_ && result_) step();
    device_.stop();
    return result_;
  }

 private:
  static std::chrono::nanoseconds interval(double frames_per_second) {
    if (frames_per_second <= 0) return {};
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(1 / frames_per_second));
  }

  void step() {
    std::array<pollfd, 3> waiting{pollfd{socket_, POLLIN, 0}, pollfd{device_.event(), POLLIN, 0},
                                  pollfd{signals_.get(), POLLIN, 0}};
    int timeout = -1;
    if (const auto tick = desk_.next_tick()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*tick - SteadyClock::now()).count();
      timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
    }
    static_cast<void>(::poll(waiting.data(), waiting.size(), timeout));
    if (waiting[2].revents != 0) ended_ = true;
    read_socket();
    if (device_.disconnected()) {
      keep(fail(ErrorCode::kUnavailable, "the camera was disconnected", "", "connect it again"));
    }
    for (const Completed& completed : device_.take_completed()) {
      if (!ended_ && result_) take(completed);
    }
    if (!ended_ && result_) desk_.tick(SteadyClock::now());
  }

  void read_socket() {
    while (!ended_ && result_) {
      auto received = protocol::receive(socket_);
      if (!received) {
        // The daemon has gone or says what it must not: either way there is nobody to work for.
        ended_ = true;
        if (received.error().code != ErrorCode::kUnavailable) keep(std::unexpected(received.error()));
        return;
      }
      if (!*received) return;
      const protocol::Message& message = (*received)->message;
      if (std::holds_alternative<protocol::Want>(message)) {
        desk_.wanted();
      } else if (const auto* back = std::get_if<protocol::Return>(&message);
                 back == nullptr || !desk_.returned(back->index)) {
        keep(fail(ErrorCode::kInternal, "the daemon sent a message out of turn"));
      }
    }
  }

  void take(const Completed& completed) {
    switch (completed.kind) {
      case Completed::Kind::kGood:
        desk_.completed(completed.frame, completed.lost, SteadyClock::now());
        break;
      case Completed::Kind::kBad:
        desk_.failed(completed.frame.index, true);
        break;
      case Completed::Kind::kStartup:
        desk_.failed(completed.frame.index, false);
        break;
      case Completed::Kind::kCancelled:
        // While running this means that the camera's own time limit has passed; nothing follows until a new start.
        keep(fail(ErrorCode::kUnavailable, "the camera stopped giving pictures (libcamera cancelled a request)", "",
                  "check the camera's cable and power"));
    }
  }

  void send(protocol::FrameReady frame) {
    frame.sent_at_ns = std::chrono::nanoseconds(SteadyClock::now().time_since_epoch()).count();
    keep(protocol::send(socket_, frame));
  }

  // The first failure is what the daemon is told.
  void keep(Result<void> result) {
    if (result_ && !result) result_ = std::move(result);
  }

  Device& device_;
  const int socket_;
  const FileDescriptor signals_;
  Desk desk_;
  bool ended_ = false;
  Result<void> result_;
};

Result<void> open_and_run(const DeviceWish& wish, int socket) {
  const std::unique_ptr<Device> device = KINGLET_TRY(Device::open(wish));
  std::println(stderr, "{}", device->summary());
  return Server(*device, socket, wish.frames_per_second).run();
}

}  // namespace

Result<void> serve(const DeviceWish& wish, int socket) {
  const HangGuard guard(socket);
  Result<void> result = open_and_run(wish, socket);
  if (!result) {
    const Error& error = result.error();
    static_cast<void>(
        protocol::send(socket, protocol::Failure{protocol::to_text(describe(error)), protocol::to_text(error.hint)}));
  }
  return result;
}

}  // namespace kinglet::camera
