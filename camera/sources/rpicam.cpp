// SPDX-License-Identifier: Apache-2.0
// Why: "rpicam:": the Raspberry Pi's own rpicam-vid, whose raw frames come through a pipe: works with whatever
// libcamera the board has, at the cost of one copy of each frame.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <csignal>

#include "camera/stream/child_stream.h"
#include "camera/stream/stream_source.h"
#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"

namespace kinglet::camera {
namespace {

// Newest name first; the second is that of systems before 2024.
constexpr std::array kPrograms{"rpicam-vid", "libcamera-vid"};

// rpicam-vid writes the buffers as the driver made them, with padded rows. Rows of a multiple of this many pixels have
// no padding on any board (64 up to the Pi 4, 128 on the Pi 5).
constexpr int kRowUnit = 128;

int unpadded(int width) { return std::max(kRowUnit, (width + kRowUnit / 2) / kRowUnit * kRowUnit); }

// Its words for what differs from the defaults.
std::vector<std::string> words_for(const CameraSettings& settings) {
  std::vector<std::string> words;
  const auto add = [&words](const char* option, auto value) {
    words.insert(words.end(), {option, format_text("{}", value)});
  };
  if (settings.exposure > 0) add("--shutter", std::lround(settings.exposure * 1000));
  if (settings.gain > 0) add("--gain", settings.gain);
  if (settings.exposure_value != 0) add("--ev", settings.exposure_value);
  if (settings.white_balance != "auto") add("--awb", settings.white_balance);
  if (settings.focus != "auto") add("--autofocus-mode", settings.focus == "once" ? "auto" : settings.focus);
  if (settings.focus == "manual") add("--lens-position", settings.lens_position);
  if (settings.rotation != 0) add("--rotation", settings.rotation);
  if (settings.hflip) words.emplace_back("--hflip");
  if (settings.vflip) words.emplace_back("--vflip");
  const Area& crop = settings.crop;
  if (crop != Area{}) add("--roi", format_text("{},{},{},{}", crop.left, crop.top, crop.width, crop.height));
  return words;
}

// What would make its output something else than frames of the size asked for.
constexpr std::array<std::string_view, 24> kOurs{"-t",
                                                 "--timeout",
                                                 "-n",
                                                 "--nopreview",
                                                 "-o",
                                                 "--output",
                                                 "--codec",
                                                 "--width",
                                                 "--height",
                                                 "--camera",
                                                 "--frames",
                                                 "--flush",
                                                 "--segment",
                                                 "--split",
                                                 "--inline",
                                                 "--lores-width",
                                                 "--lores-height",
                                                 "--raw",
                                                 "--circular",
                                                 "--initial",
                                                 "--keypress",
                                                 "--signal",
                                                 "--pause",
                                                 "--framerate"};

Result<void> check_arguments(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    const std::string_view name = std::string_view(argument).substr(0, argument.find('='));
    if (std::ranges::find(kOurs, name) == kOurs.end()) continue;
    return fail(ErrorCode::kUsage, format_text("rpicam: {} is set by kinglet", printable(argument, 40)),
                "source.rpicam_arguments", "size and rate are source.size and source.fps; the camera is rpicam:NUMBER");
  }
  return {};
}

class RpicamSource final : public StreamSource {
 public:
  RpicamSource(std::string camera, const SourceOptions& options)
      : StreamSource(options.log, sensor_pause_of(options)),
        camera_(std::move(camera)),
        wished_program_(options.rpicam_program),
        settings_(options.camera),
        further_(options.rpicam_arguments),
        width_(unpadded(options.width)),
        height_(std::max(2, options.height / 2 * 2)),
        frames_per_second_(options.frames_per_second) {}

  [[nodiscard]] std::string description() const override {
    return format_text("camera {} via rpicam-vid, {}x{} YUV420", camera_.empty() ? "0" : camera_, width_, height_);
  }
  [[nodiscard]] bool settles() const override { return true; }

 protected:
  Result<std::unique_ptr<ByteStream>> open_stream() override {
    std::string program;
    for (const char* name : kPrograms) {
      if (program.empty()) program = find_program(name, wished_program_, "KINGLET_RPICAM_PROGRAM");
    }
    if (program.empty()) {
      return fail(ErrorCode::kUnavailable, "rpicam-vid, the camera program of the Raspberry Pi, is not installed", {},
                  "apt install rpicam-apps-lite");
    }
    configured_ = std::make_shared<std::atomic<std::uint64_t>>(0);
    return KINGLET_TRY(ChildStream::open({.program = program,
                                          .arguments = arguments(),
                                          .polite_signal = SIGINT,  // it gives the camera back then
                                          .log = watching_log()}));
  }

  Result<std::unique_ptr<StreamParser>> open_parser(ByteStream& /*stream*/, SteadyTime /*deadline*/) override {
    // It asks the camera for the colours of JPEG with this codec: BT.601, full range.
    return make_raw_parser(PixelFormat::kYuv420, width_, height_,
                           {.matrix = ColorMatrix::kBt601, .range = ColorRange::kFull});
  }

  // A camera that gives another size than asked would be cut into slanted pictures.
  Result<void> check_frame(ByteStream& stream, const FrameView& /*view*/) override {
    static_cast<ChildStream&>(stream).forward_log();
    const std::uint64_t size = *configured_;
    if (size == 0 || size == pair_of(width_, height_)) return {};
    return fail(
        ErrorCode::kUnavailable,
        format_text("rpicam-vid was asked for {}x{} and gives {}x{}", width_, height_, size >> 32, size & 0xFFFF'FFFF),
        {}, "set source.size to that");
  }

  [[nodiscard]] std::string subject() const override { return "rpicam-vid"; }

 private:
  static std::uint64_t pair_of(int width, int height) {
    return std::uint64_t{static_cast<std::uint32_t>(width)} << 32 | static_cast<std::uint32_t>(height);
  }

  [[nodiscard]] std::vector<std::string> arguments() const {
    std::vector<std::string> words{"-t",
                                   "0",
                                   "-n",
                                   "--codec",
                                   "yuv420",
                                   "--width",
                                   std::to_string(width_),
                                   "--height",
                                   std::to_string(height_),
                                   "--flush",
                                   "-o",
                                   "-"};
    if (frames_per_second_ > 0) words.insert(words.end(), {"--framerate", format_text("{}", frames_per_second_)});
    if (!camera_.empty()) words.insert(words.end(), {"--camera", camera_});
    const std::vector<std::string> settings = words_for(settings_);
    words.insert(words.end(), settings.begin(), settings.end());
    words.insert(words.end(), further_.begin(), further_.end());
    return words;
  }

  // libcamera says what it configured: "configuring streams: (0) 1280x720-YUV420 ...". The rest is for the log.
  [[nodiscard]] LogSink watching_log() const {
    return [sink = log(), configured = configured_](LogLevel level, std::string_view line) {
      constexpr std::string_view kMark = "configuring streams: (0) ";
      if (const std::size_t place = line.find(kMark); place != std::string_view::npos) {
        const std::string_view size = line.substr(place + kMark.size());
        const auto sides = parse_sides<int>(size.substr(0, size.find_first_not_of("0123456789x")));
        if (sides) *configured = pair_of(sides->first, sides->second);
      }
      // Older ones tell each frame: "#12 (30.00 fps) exp ...".
      if (sink) sink(level == LogLevel::kInfo ? LogLevel::kDebug : level, line);
    };
  }

  const std::string camera_;
  const std::string wished_program_;
  const CameraSettings settings_;
  const std::vector<std::string> further_;
  const int width_;
  const int height_;
  const double frames_per_second_;
  std::shared_ptr<std::atomic<std::uint64_t>> configured_;  // width << 32 | height; 0: not told yet
};

}  // namespace

Result<std::unique_ptr<FrameSource>> open_rpicam(std::string_view rest, const SourceOptions& options) {
  if (!std::ranges::all_of(rest, [](char c) { return c >= '0' && c <= '9'; }) || rest.size() > 2) {
    return fail(ErrorCode::kUsage, format_text("rpicam: camera \"{}\" is no number", printable(rest, 40)), {},
                "write rpicam: or rpicam:1; `rpicam-hello --list-cameras` shows them");
  }
  KINGLET_TRY(check_arguments(options.rpicam_arguments));
  return std::make_unique<RpicamSource>(std::string(rest), options);
}

}  // namespace kinglet::camera
