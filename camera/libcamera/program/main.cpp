// SPDX-License-Identifier: Apache-2.0
// Why: kinglet-camera, the one program that links libcamera. kingletd starts it; a person uses --list.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <print>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "camera/libcamera/program/desk.h"
#include "camera/libcamera/program/device.h"
#include "engine/base/error.h"
#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

// --- The camera for one daemon ---------------------------------------------------------------------------------------

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

// What ends the program as a closed socket does.
sigset_t end_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

FileDescriptor open_signals() {
  const sigset_t set = end_signals();
  return FileDescriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// One camera and one daemon: frames to it, buffers back, until the socket ends.
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

// Runs on the calling thread until the daemon closes `socket` or an end signal comes, which the caller has blocked.
// kUnavailable: the camera cannot be had or has failed; the daemon has been told.
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

// --- The command -----------------------------------------------------------------------------------------------------

struct Options {
  DeviceWish wish;
  std::string size = "1280x720";
  int socket = -1;
  bool list = false;
  bool json = false;
};

int report(const Error& error) {
  std::println(stderr, "error: {}", describe(error));
  if (!error.hint.empty()) std::println(stderr, "hint: {}", error.hint);
  return exit_code(error.code);
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      out += format_text("\\u{:04x}", byte);
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + '"';
}

int list(bool json) {
  const auto cameras = Device::list();
  if (!cameras) return report(cameras.error());
  std::string separator;
  if (json) std::print("[");
  for (std::size_t i = 0; i < cameras->size(); ++i) {
    const CameraName& camera = (*cameras)[i];
    if (json) {
      std::print("{}{{\"index\":{},\"id\":{},\"model\":{},\"location\":{}}}", std::exchange(separator, ","), i,
                 json_text(camera.id), json_text(camera.model), json_text(camera.location));
    } else {
      std::println("{}: {}  {}  {}", i, camera.id, camera.model, camera.location);
    }
  }
  if (json) std::println("]");
  if (cameras->empty()) std::println(stderr, "no camera found");
  return 0;
}

template <typename Value>
void add_setting(CLI::App& app, const char* name, Value& value, const char* help) {
  if constexpr (std::is_same_v<Value, bool>) {
    app.add_flag(option_of(name), value, help);
  } else if constexpr (std::is_same_v<Value, Area>) {
    const auto assign = [&value](const std::vector<double>& shares) {
      value = {shares[0], shares[1], shares[2], shares[3]};
    };
    app.add_option_function<std::vector<double>>(option_of(name), assign, help)->expected(4);
  } else {
    app.add_option(option_of(name), value, help);
  }
}

void add_settings(CLI::App& app, CameraSettings& settings) {
#define KINGLET_CAMERA_SETTING(type, name, default_, help) add_setting(app, #name, settings.name, help);
#include "camera/source/settings.def"
#undef KINGLET_CAMERA_SETTING
}

bool parse_size(const std::string& text, StreamWish& wish) {
  char end = '\0';
  return std::sscanf(text.c_str(), "%5ux%5u%c", &wish.width, &wish.height, &end) == 2 && wish.width > 0 &&
         wish.height > 0;
}

bool is_socket(int descriptor) {
  int type = 0;
  socklen_t length = sizeof(type);
  return ::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_SEQPACKET;
}

int run(const Options& options) {
  // libcamera reads these at its first line of log, and tells every start at INFO. There are no other threads yet.
  ::setenv("LIBCAMERA_LOG_LEVELS", "*:WARN", 0);  // NOLINT(concurrency-mt-unsafe)
  ::setenv("LIBCAMERA_LOG_NO_COLOR", "1", 0);     // NOLINT(concurrency-mt-unsafe)
  if (options.list) return list(options.json);
  if (!is_socket(options.socket)) {
    return report({ErrorCode::kUsage, "kinglet-camera is started by kingletd, which gives it a socket with --fd", "",
                   "kinglet-camera --list shows the cameras"});
  }
  // Blocked before libcamera makes its threads, so that they inherit it and the signals reach the server's signalfd.
  const sigset_t ends = end_signals();
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  ::fcntl(options.socket, F_SETFD, FD_CLOEXEC);
  const Result<void> served = serve(options.wish, options.socket);
  return served ? 0 : exit_code(served.error().code);  // the daemon was told
}

}  // namespace
}  // namespace kinglet::camera

int main(int argc, char** argv) {
  kinglet::camera::Options options;
  CLI::App app("kinglet-camera: gives kingletd the pictures of a libcamera camera", "kinglet-camera");
  app.add_flag("--list", options.list, "list the cameras and end");
  app.add_flag("--json", options.json, "with --list: as JSON");
  app.add_option("--camera", options.wish.which.camera, "id, index or model of the camera (default: the first)");
  app.add_option("--model", options.wish.which.model,
                 "with an id: take the only camera of this model where that one is gone; it may be in another port");
  app.add_option("--size", options.size, "wished size of the picture (default 1280x720)");
  app.add_option("--small-width", options.wish.streams.small_width,
                 "width of a second stream of smaller pictures, where the camera has one (default 0: none)")
      ->check(CLI::Range(0, 16384));
  app.add_option("--fps", options.wish.frames_per_second, "pictures per second (default 0: the camera's own)")
      ->check(CLI::Range(0.0, 1000.0));
  kinglet::camera::add_settings(app, options.wish.streams.settings);
  app.add_option("--fd", options.socket, "the socket to kingletd");
  app.set_version_flag("--version", "kinglet-camera " KINGLET_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    std::println(stderr, "error: {}", error.what());
    return kinglet::exit_code(kinglet::ErrorCode::kUsage);
  }
  if (!kinglet::camera::parse_size(options.size, options.wish.streams)) {
    return kinglet::camera::report(
        {kinglet::ErrorCode::kUsage, "--size is \"" + options.size + "\", expected WIDTHxHEIGHT", "", ""});
  }
  return kinglet::camera::run(options);
}
