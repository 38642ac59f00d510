// SPDX-License-Identifier: Apache-2.0
// Why: "recording:FILE": a recording as if its camera were still there, at the times when the frames were taken.
#include "camera/stream/recording.h"

#include <filesystem>
#include <optional>

#include "camera/source/lease_pool.h"
#include "camera/source/spec.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::camera {
namespace {

constexpr int kDepth = 4;
// Between the last frame and the first of the next round, where only the recording's own times say when.
constexpr std::chrono::milliseconds kRoundPause{100};
constexpr std::chrono::milliseconds kLate{200};
constexpr std::uint64_t kMaxJump = 1'000'000;

class RecordingSource final : public FrameSource {
 public:
  // Without a period the recording's own times count; zero: as fast as it is asked.
  RecordingSource(std::string path, std::optional<SteadyClock::duration> period, Repeat repeat, LogSink log)
      : path_(std::move(path)), period_(period), repeat_(repeat), log_(std::move(log)) {}

  Result<void> start() override {
    stop();
    reader_ = KINGLET_TRY(RecordingReader::open(path_));
    facts_ = KINGLET_TRY(examine(*reader_));
    if (facts_.frames == 0) {
      return fail(ErrorCode::kBadData, "the recording has no whole frame", printable(path_),
                  "make another one with `kinglet record`");
    }
    if (log_ && (!facts_.complete || facts_.skipped_bytes > 0)) {
      log_(LogLevel::kWarning,
           format_text("recording {}: damaged or cut off, {} frames are left", printable(path_), facts_.frames));
    }
    sequence_ = 0;
    dropped_ = 0;
    given_in_round_ = 0;
    waiting_ = {};
    round_begin_ = SteadyClock::now();
    pool_->set_running(true);
    return {};
  }

  Result<std::variant<Frame, NoFrame>> next(SteadyTime deadline) override {
    while (true) {
      if (!pool_->running()) return no_frame(Waited::kStopped);
      if (!waiting_) {
        Pool::Loan loan;
        if (const Waited waited = pool_->take(deadline, loan); waited != Waited::kDone) return no_frame(waited);
        if (!KINGLET_TRY(read(*loan))) return NoFrame{NoFrame::Reason::kEnd};
        waiting_ = std::move(loan);
      }
      const SteadyTime due = due_of(*waiting_);
      if (const Waited waited = pool_->wait(due, deadline); waited != Waited::kDone) return no_frame(waited);
      const SteadyTime now = SteadyClock::now();
      // Nobody asked for long: the rest comes later, not all at once.
      if (!period_ && now - due > kLate) round_begin_ += now - due;
      const FrameInfo info{.sequence = take_sequence(waiting_->sequence),
                           .captured_at = now,
                           .captured_wall = std::chrono::system_clock::now()};
      last_given_ = now;
      pool_->fit(waiting_->bytes.size());
      const FrameView view = waiting_->view;
      return std::move(waiting_).into_frame(view, info);
    }
  }

  void stop() override { pool_->set_running(false); }
  [[nodiscard]] int depth() const override { return pool_->depth(); }
  [[nodiscard]] std::uint64_t dropped_count() const override { return dropped_; }
  [[nodiscard]] std::string description() const override {
    return format_text("recording {}{}{}", printable(path_), repeat_ == Repeat::kOnce ? ", once" : "",
                       reader_ && !reader_->description().empty() ? " of " + reader_->description() : "");
  }
  // The whole file is looked through, which an SD card does at 16 MiB a second.
  [[nodiscard]] SteadyClock::duration longest_start() const override {
    std::error_code failed;
    const std::uintmax_t bytes = std::filesystem::file_size(path_, failed);
    return FrameSource::longest_start() + std::chrono::seconds(failed ? 0 : bytes >> 24);
  }
  [[nodiscard]] SteadyClock::duration longest_pause() const override {
    return period_ ? *period_ : std::max<SteadyClock::duration>(facts_.longest_pause, kRoundPause);
  }

 private:
  using Pool = LeasePool<RecordedFrame, kDepth>;

  // The next frame, of the next round when this one is over. False: there is none.
  [[nodiscard]] Result<bool> read(RecordedFrame& frame) {
    if (KINGLET_TRY(reader_->next(frame))) return true;
    if (repeat_ == Repeat::kOnce) return false;
    if (given_in_round_ == 0) return fail(ErrorCode::kBadData, "the recording has no whole frame", printable(path_));
    reader_->rewind();
    given_in_round_ = 0;
    round_begin_ += facts_.duration + kRoundPause;
    return reader_->next(frame);
  }

  [[nodiscard]] SteadyTime due_of(const RecordedFrame& frame) const {
    if (!period_) return round_begin_ + frame.at;
    return last_given_ + *period_;
  }

  // Jumps of the recording are kept: they are frames that its camera lost.
  [[nodiscard]] std::uint64_t take_sequence(std::uint64_t recorded) {
    if (given_in_round_++ > 0 && recorded > last_recorded_ && recorded - last_recorded_ < kMaxJump) {
      dropped_ += recorded - last_recorded_ - 1;
      sequence_ += recorded - last_recorded_ - 1;
    }
    last_recorded_ = recorded;
    return sequence_++;
  }

  const std::string path_;
  const std::optional<SteadyClock::duration> period_;
  const Repeat repeat_;
  const LogSink log_;
  const std::shared_ptr<Pool> pool_ = std::make_shared<Pool>();
  std::optional<RecordingReader> reader_;
  RecordingFacts facts_;
  Pool::Loan waiting_;  // read, but not due yet
  SteadyTime round_begin_{};
  SteadyTime last_given_{};
  std::uint64_t given_in_round_ = 0;
  std::uint64_t last_recorded_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace

Result<std::unique_ptr<FrameSource>> open_recording(std::string_view rest, const SourceOptions& options) {
  Playback playback = KINGLET_TRY(parse_playback("recording", "file", rest, options));
  return std::make_unique<RecordingSource>(std::move(playback.path), playback.period, playback.repeat, options.log);
}

}  // namespace kinglet::camera
