// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/replay_input.h"

#include <algorithm>
#include <array>

#include "camera/source/spec.h"
#include "camera/sources/masked_source.h"
#include "camera/sources/open_source.h"
#include "camera/stream/recording.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon {
namespace {

// No time of a replay is near the clock's zero.
constexpr SteadyTime kSteadyStart{std::chrono::hours(1)};
constexpr std::chrono::milliseconds kScenePeriod{100};
constexpr std::chrono::minutes kPatience{1};  // for one picture

// A source that makes its own pictures, asked as fast as it can, each at its place on the virtual clock.
class MadeInput final : public ReplayInput {
 public:
  MadeInput(std::unique_ptr<camera::FrameSource> source, SteadyClock::duration period)
      : source_(std::move(source)), period_(period) {}

  Result<std::optional<camera::Frame>> next() override {
    std::variant<camera::Frame, camera::NoFrame> taken = KINGLET_TRY(source_->next(SteadyClock::now() + kPatience));
    if (!std::holds_alternative<camera::Frame>(taken)) return std::nullopt;
    auto frame = std::make_shared<camera::Frame>(std::move(std::get<camera::Frame>(taken)));
    const SteadyClock::duration at = static_cast<SteadyClock::rep>(frame->info().sequence) * period_;
    const camera::FrameInfo info{.sequence = frame->info().sequence,
                                 .captured_at = kSteadyStart + at,
                                 .captured_wall = kReplayDate + std::chrono::duration_cast<WallTime::duration>(at),
                                 .still = frame->info().still};
    const camera::FrameView view = frame->view();
    const camera::FrameView small = frame->small();
    return camera::Frame(view, small, info, [frame] {});
  }

  [[nodiscard]] std::string description() const override { return source_->description(); }

 private:
  std::unique_ptr<camera::FrameSource> source_;
  SteadyClock::duration period_;
};

class RecordedInput final : public ReplayInput {
 public:
  RecordedInput(camera::RecordingReader reader, std::string path, std::vector<Area> masks)
      : reader_(std::move(reader)), path_(std::move(path)), masks_(std::move(masks)) {}

  Result<std::optional<camera::Frame>> next() override {
    if (!KINGLET_TRY(reader_.next(frame_))) return std::nullopt;
    const camera::FrameInfo info{
        .sequence = frame_.sequence, .captured_at = kSteadyStart + frame_.at, .captured_wall = frame_.wall};
    return camera::Frame(KINGLET_TRY(masks_.painted(frame_.view, painted_)), info, [] {});
  }

  [[nodiscard]] std::string description() const override { return reader_.description(); }
  [[nodiscard]] std::string complaint() const override {
    if (reader_.complete() && reader_.skipped_bytes() == 0) return {};
    return format_text("recording {}: {}, {} damaged bytes were skipped", printable(path_),
                       reader_.complete() ? "damaged" : "cut off", reader_.skipped_bytes());
  }

 private:
  camera::RecordingReader reader_;
  std::string path_;
  camera::RecordedFrame frame_;
  const camera::Masks masks_;
  std::vector<std::byte> painted_;
};

Result<std::unique_ptr<ReplayInput>> open_made(camera::SourceOptions options, std::string_view scheme) {
  constexpr std::array<std::string_view, 3> kKnown{"fps", "once", "loop"};
  const std::string rest = options.spec.substr(scheme.size() + 1);
  const camera::Spec spec = KINGLET_TRY(camera::parse_spec(rest, kKnown));
  SteadyClock::duration period = KINGLET_TRY(camera::period_of(spec, {}));
  if (period == period.zero()) period = kScenePeriod;
  if (scheme == "demo" && period != kScenePeriod) {
    return fail(ErrorCode::kUsage, "a replayed scene has ten frames a second", options.spec,
                "to look at fewer of them, set gate.max_fps");
  }
  std::string fast = format_text("{}:{}?fps=max", scheme, spec.path);
  const bool loops = std::ranges::contains(spec.options, std::string_view("loop"), &camera::SpecOption::key);
  if (scheme == "images" && !loops) fast += "&once";
  options.spec = std::move(fast);
  options.frames_per_second = 0;
  std::unique_ptr<camera::FrameSource> source = KINGLET_TRY(camera::open_source(options));
  KINGLET_TRY(source->start());
  return std::make_unique<MadeInput>(std::move(source), period);
}

}  // namespace

Result<std::unique_ptr<ReplayInput>> open_replay_input(const camera::SourceOptions& options) {
  const std::string_view scheme = std::string_view(options.spec).substr(0, options.spec.find(':'));
  if (scheme == "recording") {
    const std::string path = options.spec.substr(scheme.size() + 1);
    return std::make_unique<RecordedInput>(KINGLET_TRY(camera::RecordingReader::open(path)), path, options.masks);
  }
  if (scheme == "demo" || scheme == "images") return open_made(options, scheme);
  return fail(ErrorCode::kUsage, format_text("\"{}\" cannot be replayed", printable(options.spec, 80)), {},
              "name a recording, demo:[SEED] or images:DIR");
}

}  // namespace kinglet::daemon
