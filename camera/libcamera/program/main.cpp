// SPDX-License-Identifier: Apache-2.0
// Why: kinglet-camera, the one program that links libcamera. kingletd starts it; a person uses --list.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <print>
#include <string>
#include <type_traits>
#include <vector>

#include "camera/libcamera/program/device.h"
#include "camera/libcamera/program/server.h"
#include "engine/base/error.h"
#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

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
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
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
