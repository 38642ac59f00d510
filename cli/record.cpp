// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet record`: what a camera sees into one file, to be looked at again as often as one likes.
#include "camera/stream/recording.h"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "camera/source/source.h"
#include "cli/command.h"
#include "cli/source_options.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/base/units.h"

namespace kinglet::cli {
namespace {

using camera::Frame;
using camera::NoFrame;
using camera::RecordingWriter;

constexpr std::chrono::milliseconds kTurn{200};
constexpr std::chrono::seconds kSilence{15};  // without a frame: the camera is gone

struct Options {
  SourceWish source;
  std::string file;
  double seconds = 60;
  std::uint64_t frames = 0;
  std::string bytes = "1GiB";
  int jpeg_quality = 0;
  bool force = false;
};

// The signals that end a recording, kept from ending the process while this lives. Made before the source, which may
// start threads, and told of the source afterwards.
class EndSignals {
 public:
  EndSignals() {
    sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~EndSignals() {
    watcher_ = {};
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  // Stops the source, which outlives this, at the first one: also while it still waits for its camera.
  void watch(camera::FrameSource& source) {
    watcher_ = std::jthread([this, &source](const std::stop_token& stop) {
      constexpr timespec kPatience{.tv_sec = 0, .tv_nsec = 50'000'000};
      while (!stop.stop_requested()) {
        const int signal = sigtimedwait(&signals_, nullptr, &kPatience);
        if (signal > 0) seen_ = signal;
        if (seen_ != 0) source.stop();
      }
    });
  }
  // The last one that came, or 0.
  [[nodiscard]] int seen() const { return seen_; }

 private:
  sigset_t signals_{};
  sigset_t before_{};
  std::atomic<int> seen_ = 0;
  std::jthread watcher_;
};

struct Done {
  std::uint64_t frames = 0;
  std::uint64_t bytes = 0;
  std::uint64_t dropped = 0;
  std::uint64_t damaged = 0;
  Seconds duration{0};
  std::string_view ended_by;
  int signal = 0;
  std::optional<Error> failure;  // why the source ended before it should; the frames until then are kept
};

class Recorder {
 public:
  Recorder(const Options& options, std::uint64_t limit, camera::FrameSource& source, const EndSignals& signals,
           Output& out)
      : options_(options), limit_(limit), source_(source), signals_(signals), out_(out) {}

  [[nodiscard]] Result<Done> run(const PutBytes& put) {
    KINGLET_TRY(source_.start());
    RecordingWriter writer = KINGLET_TRY(RecordingWriter::begin(put, {.description = source_.description(),
                                                                      .started_at = std::chrono::system_clock::now(),
                                                                      .max_bytes = limit_,
                                                                      .jpeg_quality = options_.jpeg_quality}));
    begun_ = last_frame_ = SteadyClock::now();
    while (done_.ended_by.empty()) KINGLET_TRY(turn(writer));
    done_.dropped = source_.dropped_count();
    source_.stop();
    out_.end_progress();
    if (writer.frame_count() == 0) return std::unexpected(nothing_came());
    KINGLET_TRY(writer.end());
    done_.frames = writer.frame_count();
    done_.bytes = writer.byte_count();
    return done_;
  }

 private:
  Result<void> turn(RecordingWriter& writer) {
    const SteadyTime now = SteadyClock::now();
    done_.signal = signals_.seen();
    if (done_.signal != 0) return end("signal");
    if (now - begun_ >= Seconds(options_.seconds)) return end("seconds");
    const SteadyTime limit = begun_ + std::chrono::duration_cast<SteadyClock::duration>(Seconds(options_.seconds));
    auto next = source_.next(std::min(limit, now + kTurn));
    if (!next && next.error().code == ErrorCode::kBadData) {
      ++done_.damaged;
    } else if (!next) {
      done_.failure = next.error();
      return end("source");
    } else if (auto* frame = std::get_if<Frame>(&*next)) {
      return take(writer, *frame);
    } else if (std::get<NoFrame>(*next).reason == NoFrame::Reason::kEnd) {
      return end("source");
    }
    if (SteadyClock::now() - last_frame_ > kSilence + source_.longest_pause()) {
      done_.failure = Error{ErrorCode::kUnavailable, format_text("no frame for {}", kSilence), {}, {}};
      return end("source");
    }
    return {};
  }

  Result<void> take(RecordingWriter& writer, const Frame& frame) {
    if (const Result<void> good = camera::check_view(frame.view()); !good) {
      ++done_.damaged;
      return {};
    }
    if (!KINGLET_TRY(writer.add(frame.view(), frame.info()))) return end("bytes");
    if (writer.frame_count() == 1) first_at_ = frame.info().captured_at;
    done_.duration = frame.info().captured_at - first_at_;
    last_frame_ = SteadyClock::now();
    out_.progress(format_text("{} frames", writer.frame_count()),
                  static_cast<std::uint64_t>(Seconds(last_frame_ - begun_).count()),
                  static_cast<std::uint64_t>(options_.seconds));
    if (options_.frames > 0 && writer.frame_count() == options_.frames) return end("frames");
    return {};
  }

  Result<void> end(std::string_view by) {
    done_.ended_by = by;
    return {};
  }

  [[nodiscard]] Error nothing_came() const {
    if (done_.failure) return *done_.failure;
    if (done_.ended_by == "bytes") {
      return {ErrorCode::kUsage, "the first frame is larger than --bytes", options_.bytes, "allow more"};
    }
    return {ErrorCode::kUnavailable, "no frame came before the end", {}, "is the camera on?"};
  }

  const Options& options_;
  const std::uint64_t limit_;
  camera::FrameSource& source_;
  const EndSignals& signals_;
  Output& out_;
  SteadyTime begun_{};
  SteadyTime first_at_{};
  SteadyTime last_frame_{};
  Done done_;
};

void report(const Options& options, const Done& done, Output& out) {
  if (out.json()) {
    return out.print_json({{"file", options.file},
                           {"frames", done.frames},
                           {"duration_seconds", done.duration.count()},
                           {"size_bytes", done.bytes},
                           {"ended_by", done.ended_by},
                           {"dropped", done.dropped},
                           {"damaged", done.damaged}});
  }
  out.print(format_text("{}: {} frames in {:.1f} s, {}\n", options.file, done.frames, done.duration.count(),
                        human_bytes(done.bytes)));
  if (done.dropped > 0) out.note(format_text("the camera lost {} frames", done.dropped));
  if (done.damaged > 0) out.note(format_text("{} damaged frames were left out", done.damaged));
}

Result<int> record(const Options& options, Output& out) {
  const Bytes limit = KINGLET_TRY(parse_bytes(options.bytes));
  camera::AutoChoice choice;
  std::unique_ptr<camera::FrameSource> source;
  EndSignals signals;
  source = KINGLET_TRY(open_wished_source(options.source, choice, out));
  signals.watch(*source);
  std::optional<Done> done;
  const auto make = [&](const PutBytes& put) -> Result<void> {
    done = KINGLET_TRY(Recorder(options, limit.count, *source, signals, out).run(put));
    return {};
  };
  const Result<void> written = write_file(options.file, make, options.force ? Overwrite::kReplace : Overwrite::kRefuse);
  if (!written && signals.seen() != 0) {
    out.note("nothing was recorded");
    return 128 + signals.seen();
  }
  if (!written) return std::unexpected(written.error());
  report(options, *done, out);
  if (done->failure) return std::unexpected(with_context(*done->failure, "the source ended early"));
  return done->signal == 0 ? 0 : 128 + done->signal;
}

}  // namespace

Body record_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_source_options(app, options->source);
  app.add_option("-o,--out", options->file, "the file to write")->required()->type_name("FILE");
  app.add_option("--seconds", options->seconds, "end after so long (default 60)")
      ->check(CLI::Range(0.1, 86'400.0))
      ->option_text("N");
  app.add_option("--frames", options->frames, "end after so many frames")->option_text("N");
  app.add_option("--bytes", options->bytes, "end before the file is larger (default 1GiB)")->option_text("SIZE");
  app.add_option("--jpeg", options->jpeg_quality, "keep frames as JPEG of this quality, 1 to 100 (default: unchanged)")
      ->check(CLI::Range(1, 100))
      ->option_text("Q");
  app.add_flag("--force", options->force, "replace a file that is there");
  return [options](Output& out) { return record(*options, out); };
}

}  // namespace kinglet::cli
