// SPDX-License-Identifier: Apache-2.0
// Why: nothing healthy is killed by the watchdog, and nothing stuck lives on: every row of sources.def at the ends of
// its ranges, minutes of each in virtual time, well and with each thread stuck in turn.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "camera/source/source.h"
#include "camera/sources/auto_source.h"
#include "camera/sources/open_source.h"
#include "camera/stream/recording.h"
#include "daemon/app/watchdog.h"
#include "daemon/capture/patience.h"
#include "daemon/doctor/health.h"
#include "daemon/line/stats.h"
#include "engine/base/file.h"
#include "tests/support/pictures.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::daemon {
namespace {

using namespace std::chrono_literals;

constexpr SteadyClock::duration kTurn = 200ms;  // of main's loop
constexpr SteadyTime kReady{1h};
constexpr auto kWatchdog = 30s;  // WatchdogSec= of the unit

struct Subject {
  std::string name;
  std::string spec;  // FILE stands for a recording of two frames that are 90 s apart
  double fps = 0;    // source.fps
  double exposure_ms = 0;
  SteadyClock::duration starts_in;  // what the world does: slow, but well
  SteadyClock::duration every;      // a frame
  SteadyClock::duration settle = 0s;
};

void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.name; }

constexpr auto kQuick = 100ms;

const Subject kSubjects[] = {
    {.name = "demo", .spec = "demo:", .starts_in = 1s, .every = kQuick},
    {.name = "demo_slow", .spec = "demo:?fps=0.01", .starts_in = 1s, .every = 100s},
    {.name = "demo_by_key", .spec = "demo:", .fps = 0.01, .starts_in = 1s, .every = 100s},
    {.name = "images", .spec = "images:/tmp?fps=max", .starts_in = 10s, .every = kQuick},
    {.name = "images_slow", .spec = "images:/tmp?fps=0.02", .starts_in = 10s, .every = 50s},
    {.name = "images_slowest", .spec = "images:/tmp?fps=0.01", .starts_in = 10s, .every = 100s},
    {.name = "recording", .spec = "recording:FILE", .starts_in = 15s, .every = 90s},
    {.name = "recording_slowest", .spec = "recording:FILE?fps=0.01", .starts_in = 15s, .every = 100s},
    {.name = "exec", .spec = "exec:true", .starts_in = 9s, .every = 1s},
    {.name = "exec_slow", .spec = "exec:true", .fps = 0.01, .starts_in = 205s, .every = 110s},
    {.name = "mjpeg", .spec = "mjpeg:http://camera/stream", .starts_in = 9s, .every = 1s},
    {.name = "mjpeg_slow", .spec = "mjpeg:http://camera/stream", .fps = 0.01, .starts_in = 205s, .every = 110s},
    {.name = "rtsp", .spec = "rtsp://camera/stream2", .starts_in = 19s, .every = 1s},
    {.name = "rtsp_asked", .spec = "rtsp://camera#stream=sub", .starts_in = 31s, .every = 1s},
    {.name = "rtsp_slow", .spec = "rtsp://camera/stream2", .fps = 0.01, .starts_in = 19s, .every = 110s},
    {.name = "snapshot", .spec = "snapshot:http://camera/it.jpg", .starts_in = 9s, .every = 9s},
    {.name = "snapshot_slow", .spec = "snapshot:http://camera/it.jpg#fps=0.01", .starts_in = 9s, .every = 109s},
    {.name = "libcamera", .spec = "libcamera:", .starts_in = 9s, .every = kQuick},
    {.name = "libcamera_settles", .spec = "libcamera:", .starts_in = 9s, .every = kQuick, .settle = 60s},
    {.name = "libcamera_slow", .spec = "libcamera:", .fps = 0.01, .starts_in = 9s, .every = 110s, .settle = 60s},
    {.name = "libcamera_exposes", .spec = "libcamera:", .exposure_ms = 120'000, .starts_in = 9s, .every = 130s},
    {.name = "rpicam", .spec = "rpicam:", .starts_in = 9s, .every = kQuick, .settle = 60s},
    {.name = "rpicam_slow", .spec = "rpicam:", .fps = 0.01, .starts_in = 205s, .every = 110s},
    {.name = "rpicam_exposes", .spec = "rpicam:", .exposure_ms = 120'000, .starts_in = 240s, .every = 130s},
    {.name = "auto", .spec = "auto", .starts_in = 23s, .every = kQuick, .settle = 60s},
};

enum class Stuck { kNothing, kStart, kCapture, kAnswer, kSource };

// The daemon's threads as main sees them, each turn of main a step. What the capture thread tells is what
// capture.cpp tells.
class Simulation {
 public:
  Simulation(const Subject& subject, camera::FrameSource& source) : subject_(subject), source_(source) {}

  void run(SteadyClock::duration duration, Stuck stuck, SteadyClock::duration from) {
    watchdog_.ready();
    capture_turn_ = answer_turn_ = kReady;
    patience_.turn(kReady);
    patience_.start(kReady, source_.longest_start());
    for (now_ = kReady; now_ < kReady + duration; now_ += kTurn) {
      stuck_ = now_ >= kReady + from ? stuck : Stuck::kNothing;
      capture();
      answer();
      look();
    }
  }

  // Of the service manager: without food for so long at most.
  [[nodiscard]] SteadyClock::duration longest_hunger() const {
    SteadyClock::duration longest{};
    SteadyTime last = kReady;
    for (const SteadyTime fed : feeds_) {
      longest = std::max(longest, fed - last);
      last = fed;
    }
    return std::max(longest, now_ - last);
  }
  [[nodiscard]] SteadyTime last_fed() const { return feeds_.empty() ? kReady : feeds_.back(); }

 private:
  void capture() {
    if (!started_) {
      if (stuck_ == Stuck::kStart || now_ < kReady + subject_.starts_in) return;
      started_ = true;
      patience_.started(now_, source_.longest_pause());
      next_frame_ = now_ + subject_.every;
      settled_at_ = now_ + (source_.settles() ? subject_.settle : 0s);
    }
    if (stuck_ == Stuck::kCapture) return;
    capture_turn_ = now_;
    patience_.turn(now_);
    if (stuck_ == Stuck::kSource || now_ < next_frame_) return;
    next_frame_ += subject_.every;
    patience_.frame(now_);
    if (now_ < settled_at_) return;
    stats_.add_handed(now_);
    ++handed_;
  }

  void answer() {
    if (stuck_ == Stuck::kAnswer) return;
    answer_turn_ = now_;
    if (std::exchange(answered_, handed_) != handed_) stats_.add_prediction(now_, {});
  }

  void look() {
    Vitals vitals{.now = now_, .answer_heartbeat = answer_turn_, .model_loaded = true};
    vitals.cameras[0].unanswered_since = stats_.unanswered_since();
    vitals.cameras[0].status.heartbeat = capture_turn_;
    vitals.cameras[0].status.turn_by = patience_.turn_by();
    vitals.cameras[0].status.sign_by = patience_.sign_by();
    watchdog_.look(vitals, {});
  }

  const Subject& subject_;
  camera::FrameSource& source_;
  Patience patience_{2s, 4s};
  Stats stats_{kReady};
  std::vector<SteadyTime> feeds_;
  Watchdog watchdog_{[this](const std::string& state) {
    if (state == "WATCHDOG=1") feeds_.push_back(now_);
  }};
  Stuck stuck_ = Stuck::kNothing;
  SteadyTime now_ = kReady;
  SteadyTime capture_turn_;
  SteadyTime answer_turn_;
  SteadyTime next_frame_;
  SteadyTime settled_at_;
  bool started_ = false;
  int handed_ = 0;
  int answered_ = 0;
};

class EverySource : public ::testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    const auto path = folder_.path() / "slow.kgr";
    ASSERT_TRUE(write_file(path, [](const PutBytes& put) { return record(put); }, Overwrite::kRefuse));
    camera::SourceOptions options;
    options.spec = GetParam().spec;
    options.frames_per_second = GetParam().fps;
    options.camera.exposure = GetParam().exposure_ms;
    if (const auto at = options.spec.find("FILE"); at != std::string::npos) options.spec.replace(at, 4, path.string());
    if (options.spec == "auto") {
      source_ = choice_.open(options, camera::StandIn::kNothing);
    } else {
      source_ = camera::open_source(options).value();
    }
    // Only a recording has to be read before it knows.
    if (options.spec.starts_with("recording")) {
      ASSERT_TRUE(source_->start());
    }
  }

  static Result<void> record(const PutBytes& put) {
    camera::RecordingWriter writer = KINGLET_TRY(camera::RecordingWriter::begin(put, {}));
    for (unsigned i = 0; i < 2; ++i) {
      static_cast<void>(
          KINGLET_TRY(writer.add(kinglet::testing::make_picture(64, 48, i).view(),
                                 {.sequence = i, .captured_at = SteadyTime(90s * i), .captured_wall = {}})));
    }
    return writer.end();
  }

  // From being stuck to the last food.
  [[nodiscard]] SteadyClock::duration fed_while(Stuck stuck, SteadyClock::duration from) {
    Simulation simulation(GetParam(), *source_);
    simulation.run(from + 1h, stuck, from);
    return simulation.last_fed() - (kReady + from);
  }
  // Some frames have come by then.
  [[nodiscard]] static SteadyClock::duration flowing() {
    return GetParam().starts_in + GetParam().settle + 3 * GetParam().every;
  }

  kinglet::testing::ScratchFolder folder_;
  camera::AutoChoice choice_;
  std::unique_ptr<camera::FrameSource> source_;
};

TEST_P(EverySource, FeedsTheWatchdogInTimeWhileItIsWell) {
  Simulation simulation(GetParam(), *source_);
  simulation.run(20min, Stuck::kNothing, {});
  EXPECT_LE(simulation.longest_hunger(), kWatchdog / 2);
}

TEST_P(EverySource, FeedsNoLongerWhenItsStartNeverEnds) {
  EXPECT_LE(fed_while(Stuck::kStart, 0s), source_->longest_start() + 11s);
}

TEST_P(EverySource, FeedsNoLongerWhenTheCaptureThreadIsStuckInIt) {
  EXPECT_LE(fed_while(Stuck::kCapture, flowing()), kDeadAfter + 1s);
}

TEST_P(EverySource, FeedsNoLongerWhenTheAnswerThreadIsStuck) {
  EXPECT_LE(fed_while(Stuck::kAnswer, flowing()), kDeadAfter + 1s);
}

TEST_P(EverySource, FeedsNoLongerWhenNoFrameComesAnyMore) {
  EXPECT_LE(fed_while(Stuck::kSource, flowing()), 2 * source_->longest_pause() + 3s);
}

INSTANTIATE_TEST_SUITE_P(Sources, EverySource, ::testing::ValuesIn(kSubjects),
                         [](const auto& test) { return test.param.name; });

TEST(Watchdog, IsTriedWithEveryRowOfSources) {
  for (const camera::SourceRow& row : camera::source_table()) {
    EXPECT_TRUE(std::ranges::any_of(kSubjects, [&](const Subject& subject) {
      return subject.spec.starts_with(std::string(row.scheme) + ":");
    })) << row.scheme;
  }
}

TEST(Patience, ARestartIsACureUntilOneIsInVain) {
  Patience patience(2s, 4s);
  patience.start(kReady, 10s);
  patience.started(kReady, 0s);
  patience.frame(kReady + 1s);
  EXPECT_EQ(patience.sign_by(), kReady + 3s);
  EXPECT_TRUE(patience.is_to_restart(kReady + 6s));
  patience.gave_up();
  patience.rest(kReady + 60s);
  EXPECT_GE(patience.sign_by(), kReady + 60s) << "it worked for a while, the next start is waited for";
  patience.start(kReady + 60s, 10s);
  patience.started(kReady + 65s, 0s);
  EXPECT_EQ(patience.sign_by(), kReady + 67s);
  patience.gave_up();
  patience.rest(kReady + 130s);
  patience.start(kReady + 130s, 10s);
  patience.started(kReady + 131s, 0s);
  EXPECT_EQ(patience.sign_by(), kReady + 67s) << "starts that nothing follows";
  patience.frame(kReady + 132s);
  EXPECT_EQ(patience.sign_by(), kReady + 134s);
}

TEST(Patience, AKnownAbsenceMayLastAndEndsWithAStartThatGoesWell) {
  Patience patience(2s, 4s);
  patience.start(kReady, 10s);
  patience.absent();
  patience.rest(kReady + 60s);
  patience.start(kReady + 60s, 10s);
  EXPECT_EQ(patience.sign_by(), SteadyTime::max());
  EXPECT_EQ(patience.turn_by(), kReady + 90s) << "the thread that tries again must not hang";
  patience.started(kReady + 61s, 0s);
  EXPECT_EQ(patience.sign_by(), kReady + 63s);
}

}  // namespace
}  // namespace kinglet::daemon
