// SPDX-License-Identifier: Apache-2.0
// Why: "libcamera:": the daemon's side of the program kinglet-camera, which is started, watched and ended here.
// libcamera itself is only in that program: it may hang, crash or be missing without harm to this process.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "camera/libcamera/protocol.h"
#include "camera/libcamera/shared_frames.h"
#include "camera/process/process.h"
#include "camera/source/source.h"
#include "engine/base/format.h"
#include "engine/base/mutex.h"

namespace kinglet::camera {
namespace {

constexpr std::string_view kProgram = "kinglet-camera";
constexpr std::chrono::seconds kStartLimit{10};  // the smallest boards are slow while they do something else
constexpr std::chrono::seconds kPoliteLimit{1};
constexpr std::chrono::milliseconds kDeathLimit{300};
// A frame that waited longer in the socket (nobody called next()) is given back for a newer one.
constexpr std::chrono::milliseconds kStaleAfter{100};

// One run of the program: from spawn to reaped. Thread-safe where the source is: end().
class Flow {
 public:
  [[nodiscard]] static Result<std::shared_ptr<Flow>> spawn(const std::string& program,
                                                           std::vector<std::string> arguments, const LogSink& log) {
    auto pair = KINGLET_TRY(protocol::make_socket_pair());
    auto flow = std::make_shared<Flow>();
    flow->wake_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!flow->wake_.valid()) return fail(ErrorCode::kUnavailable, "no descriptor left for the camera");
    flow->frames_ = std::make_shared<SharedFrames>(std::move(pair.daemon));
    flow->child_ = KINGLET_TRY(ChildProcess::start(
        {.program = program, .arguments = std::move(arguments), .inherited = pair.program.get(), .log = log}));
    flow->log_ = log;
    return flow;
  }

  [[nodiscard]] SharedFrames& frames() { return *frames_; }
  [[nodiscard]] bool ended() const { return ended_.load(); }

  // The next message, or nothing at the deadline or when ended() became true. kUnavailable: the program is gone or
  // said why it cannot go on; whatever it does wrong is that, too.
  [[nodiscard]] Result<std::optional<protocol::Received>> receive(SteadyTime deadline) {
    while (!ended()) {
      auto received = protocol::receive(frames_->socket());
      if (!received) return std::unexpected(explain(std::move(received).error()));
      if (*received) {
        child_->forward_output();
        if (const auto* reason = std::get_if<protocol::Failure>(&(*received)->message)) {
          return fail(ErrorCode::kUnavailable, protocol::to_string(reason->message), "",
                      protocol::to_string(reason->hint));
        }
        return std::move(*received);
      }
      const auto now = SteadyClock::now();
      if (now >= deadline) break;
      wait(std::chrono::ceil<std::chrono::milliseconds>(deadline - now));
    }
    return std::nullopt;
  }

  [[nodiscard]] Result<void> send(const protocol::Message& message) {
    if (auto sent = protocol::send(frames_->socket(), message); !sent) {
      return std::unexpected(explain(std::move(sent).error()));
    }
    return {};
  }

  // Politely first: the end of the socket. Blocks at most kPoliteLimit + kDeathLimit.
  void end() {
    ended_.store(true);
    const std::uint64_t one = 1;
    static_cast<void>(::write(wake_.get(), &one, sizeof(one)));
    ::shutdown(frames_->socket(), SHUT_RDWR);
    if (!child_->wait(SteadyClock::now() + kPoliteLimit)) {
      if (log_) log_(LogLevel::kWarning, "kinglet-camera did not stop within a second and is killed");
      child_->kill();
      if (!child_->wait(SteadyClock::now() + kDeathLimit) && log_) {
        log_(LogLevel::kError, "kinglet-camera cannot be killed: the camera's driver hangs, a reboot may be needed");
      }
    }
    child_->forward_output();
  }

  [[nodiscard]] Error explain(Error error) {
    if (error.code == ErrorCode::kUnavailable) {
      const bool gone = child_->wait(SteadyClock::now() + kDeathLimit);
      child_->forward_output();
      const std::string last = child_->last_line();
      error.message =
          format_text("kinglet-camera {}{}{}", gone ? "ended with " + child_->end_text() : "closed its socket",
                      last.empty() ? "" : ": ", last);
      if (last.find("shared object file") != std::string::npos) {
        error.hint = "it was built for another libcamera: install the kinglet-camera package of this system";
      }
    }
    error.code = ErrorCode::kUnavailable;
    return error;
  }

  bool wanted = false;           // of the source's thread
  std::optional<Error> failure;  // of the source's thread

 private:
  void wait(std::chrono::milliseconds longest) {
    std::array<pollfd, 3> waiting{pollfd{frames_->socket(), POLLIN, 0}, pollfd{wake_.get(), POLLIN, 0},
                                  pollfd{child_->output(), POLLIN, 0}};
    // The output's end comes a moment before or after the socket's; only the socket's counts.
    const nfds_t count = output_open_ ? waiting.size() : 2;
    const auto limit = std::clamp<std::int64_t>(longest.count(), 0, 60'000);
    if (::poll(waiting.data(), count, static_cast<int>(limit)) <= 0 || !output_open_) return;
    if ((waiting[2].revents & POLLIN) != 0) child_->forward_output();
    if ((waiting[2].revents & (POLLIN | POLLHUP)) == POLLHUP) output_open_ = false;
  }

  FileDescriptor wake_;
  std::shared_ptr<SharedFrames> frames_;
  std::unique_ptr<ChildProcess> child_;
  LogSink log_;
  bool output_open_ = true;
  std::atomic<bool> ended_ = false;
};

class LibcameraSource : public FrameSource {
 public:
  LibcameraSource(std::string camera, SourceOptions options)
      : camera_(std::move(camera)), options_(std::move(options)) {}
  ~LibcameraSource() override { stop(); }

  Result<void> start() override {
    stop();
    const std::string program = find_program(kProgram, options_.camera_program, "KINGLET_CAMERA_PROGRAM");
    if (program.empty()) return std::unexpected(missing_program());
    auto flow = KINGLET_TRY(Flow::spawn(program, arguments(), options_.log));
    {
      const MutexLock lock(mutex_);
      flow_ = flow;
    }
    auto ready = handshake(*flow);
    if (!ready) {
      stop();
      return ready;
    }
    description_ = describe_camera(flow->frames().hello());
    remember(flow->frames().hello());
    depth_ = std::max(1, static_cast<int>(flow->frames().hello().buffer_count) - 2);
    delivered_ = 0;
    unwanted_ = 0;
    seen_ = 0;
    rested_ = false;
    return {};
  }

  Result<std::variant<Frame, NoFrame>> next(SteadyTime deadline) override {
    const std::shared_ptr<Flow> flow = current_flow();
    if (!flow) return NoFrame{NoFrame::Reason::kStopped};
    if (flow->failure) return std::unexpected(*flow->failure);
    auto frame = next_of(*flow, deadline);
    if (flow->ended()) return NoFrame{NoFrame::Reason::kStopped};
    if (!frame) {
      flow->failure = frame.error();
      return std::unexpected(std::move(frame).error());
    }
    if (!*frame) return NoFrame{NoFrame::Reason::kDeadline};
    ++delivered_;
    return std::move(**frame);
  }

  void stop() override {
    std::shared_ptr<Flow> flow;
    {
      const MutexLock lock(mutex_);
      flow = std::exchange(flow_, nullptr);
    }
    if (flow) flow->end();
  }

  [[nodiscard]] int depth() const override { return depth_; }
  [[nodiscard]] std::string description() const override { return description_; }
  [[nodiscard]] std::uint64_t dropped_count() const override { return seen_ - delivered_ - unwanted_; }
  void want_every(SteadyClock::duration pause) override {
    wanted_every_ = pause;
    rested_ = rested_ || rests();
  }
  [[nodiscard]] bool settles() const override { return true; }
  [[nodiscard]] SteadyClock::duration longest_start() const override {
    return kStartLimit + kPoliteLimit + 2 * kDeathLimit;
  }
  [[nodiscard]] SteadyClock::duration longest_pause() const override { return sensor_pause_of(options_); }

 private:
  [[nodiscard]] bool rests() const { return wanted_every_ > wanted_every_.zero(); }
  [[nodiscard]] std::shared_ptr<Flow> current_flow() {
    const MutexLock lock(mutex_);
    return flow_;
  }

  [[nodiscard]] std::vector<std::string> arguments() const {
    std::vector<std::string> words{"--fd", std::to_string(protocol::kSocket), "--size",
                                   format_text("{}x{}", options_.width, options_.height)};
    if (options_.small_width > 0) words.insert(words.end(), {"--small-width", std::to_string(options_.small_width)});
    const auto chosen = options_.chosen_camera ? options_.chosen_camera->choice(camera_) : std::nullopt;
    if (const std::string& which = chosen ? chosen->id : camera_; !which.empty()) {
      words.insert(words.end(), {"--camera", which});
    }
    if (chosen && !chosen->model.empty()) words.insert(words.end(), {"--model", chosen->model});
    if (options_.frames_per_second > 0) {
      words.insert(words.end(), {"--fps", format_text("{}", options_.frames_per_second)});
    }
    const std::vector<std::string> settings = to_arguments(options_.camera);
    words.insert(words.end(), settings.begin(), settings.end());
    return words;
  }

  // The only camera of a board may be replaced by any other: a new one for one that broke.
  void remember(const protocol::Hello& hello) {
    if (!options_.chosen_camera || hello.camera_count < 2) return;
    const std::string id = protocol::to_string(hello.camera);
    const bool may_move = hello.alike_count == 1 && id != camera_;
    options_.chosen_camera->remember(
        {.wish = camera_, .id = id, .model = may_move ? protocol::to_string(hello.model) : std::string()});
  }

  [[nodiscard]] Error missing_program() const {
    if (!options_.camera_program.empty()) {
      return {ErrorCode::kUnavailable, "the camera program cannot be run", options_.camera_program,
              "give the path of kinglet-camera"};
    }
    return {ErrorCode::kUnavailable, "kinglet-camera, the program for libcamera cameras, is not installed", "",
            "apt install kinglet-camera, or use source = \"demo:\" or \"images:DIR\""};
  }

  [[nodiscard]] static Result<void> handshake(Flow& flow) {
    const SteadyTime deadline = SteadyClock::now() + kStartLimit;
    while (!flow.frames().complete()) {
      auto received = KINGLET_TRY(flow.receive(deadline));
      if (!received) {
        if (flow.ended()) return fail(ErrorCode::kUnavailable, "the camera was stopped while it started");
        return fail(ErrorCode::kUnavailable, format_text("kinglet-camera gave no camera within {}", kStartLimit), "",
                    "look at its log lines; if the camera hangs, check its cable or restart the board");
      }
      Result<void> accepted = fail(ErrorCode::kBadData, "kinglet-camera sent a message out of turn");
      if (const auto* hello = std::get_if<protocol::Hello>(&received->message)) {
        accepted = flow.frames().accept(*hello);
      } else if (const auto* buffer = std::get_if<protocol::Buffer>(&received->message)) {
        accepted = flow.frames().accept(*buffer, std::span(received->descriptors).first(received->descriptor_count));
      }
      if (!accepted) return std::unexpected(flow.explain(std::move(accepted).error()));
    }
    return {};
  }

  // A frame, nothing at the deadline, or why the flow is at its end.
  [[nodiscard]] Result<std::optional<Frame>> next_of(Flow& flow, SteadyTime deadline) {
    while (true) {
      const SteadyTime due = given_at_ + wanted_every_;
      const bool too_soon = !flow.wanted && SteadyClock::now() < due;
      if (!too_soon && !std::exchange(flow.wanted, true)) KINGLET_TRY(flow.send(protocol::Want{}));
      auto received = KINGLET_TRY(flow.receive(too_soon ? std::min(due, deadline) : deadline));
      if (!received) return std::nullopt;
      const auto* ready = std::get_if<protocol::FrameReady>(&received->message);
      if (ready == nullptr || ready->sequence < seen_) {
        return std::unexpected(
            flow.explain({ErrorCode::kBadData, "kinglet-camera sent a message out of turn", "", ""}));
      }
      auto frame = flow.frames().lease(*ready);
      if (!frame) return std::unexpected(flow.explain(std::move(frame).error()));
      flow.wanted = false;
      if (std::exchange(rested_, rests())) unwanted_ += ready->sequence - seen_;
      seen_ = ready->sequence + 1;
      const SteadyTime sent_at{std::chrono::nanoseconds(ready->sent_at_ns)};
      const SteadyTime now = SteadyClock::now();
      given_at_ = now;
      if (now - sent_at < kStaleAfter) return std::move(*frame);
      if (now >= deadline) return std::nullopt;
    }
  }

  [[nodiscard]] static std::string describe_camera(const protocol::Hello& hello) {
    const std::string model = protocol::to_string(hello.model);
    const std::string small =
        hello.has_small() ? format_text(" and {}x{}", hello.small_width, hello.small_height) : std::string();
    return format_text("{} via {}, {}x{}{} {}", model.empty() ? protocol::to_string(hello.camera) : model,
                       protocol::to_string(hello.library), hello.width, hello.height, small,
                       to_string(static_cast<PixelFormat>(hello.format)));
  }

  const std::string camera_;
  const SourceOptions options_;
  std::string description_ = camera_.empty() ? "the first camera of libcamera" : "libcamera camera " + camera_;
  int depth_ = 2;
  std::uint64_t delivered_ = 0;
  std::uint64_t unwanted_ = 0;  // between frames while few were wanted
  SteadyClock::duration wanted_every_{};
  SteadyTime given_at_{};   // the newest
  bool rested_ = false;     // before the next one
  std::uint64_t seen_ = 0;  // frames up to the last one that came, those between counted

  Mutex mutex_;
  std::shared_ptr<Flow> flow_ KINGLET_GUARDED_BY(mutex_);
};

}  // namespace

Result<std::unique_ptr<FrameSource>> open_libcamera(std::string_view rest, const SourceOptions& options) {
  return std::make_unique<LibcameraSource>(std::string(rest), options);
}

}  // namespace kinglet::camera
