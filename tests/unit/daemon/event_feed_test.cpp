// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/live/event_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "camera/frame/mailbox.h"
#include "camera/sources/open_source.h"
#include "daemon/answer/latest.h"
#include "daemon/capture/frame_samples.h"
#include "daemon/capture/snapshot.h"
#include "daemon/doctor/health.h"
#include "daemon/http/figures/slots.h"
#include "daemon/http/figures/traffic.h"
#include "daemon/http/live/stats.h"
#include "daemon/line/line_model.h"
#include "daemon/line/prediction.h"
#include "daemon/line/stats.h"
#include "daemon/machine/board.h"
#include "daemon/models/model_board.h"
#include "daemon/mqtt/status.h"
#include "daemon/notify/status.h"
#include "daemon/webhook/status.h"
#include "engine/threads/pool.h"
#include "store/store.h"
#include "tests/fuzz/daemon_parts.h"

namespace kinglet::daemon::http {
namespace {

using ::testing::HasSubstr;

// As after a disk that stood still for as long as 300 events took.
TEST(EventFeed, OfTooManyVisitsTheOldestAreLeftOutAndCounted) {
  constexpr std::uint64_t kNoted = 300;
  EventFeed feed("a");
  const auto reader = feed.bus().subscribe(set_of({EventType::kVisitStart}), {});
  for (std::uint64_t i = 0; i < kNoted; ++i) feed.note(visits::VisitEvent::kStart, {.id = "vis_1", .seq = i});
  const fuzz::DaemonParts& daemon = fuzz::DaemonParts::instance();
  feed.start({.visits = daemon.book(),
              .predictions = std::get<PredictionsView>(daemon.views()),
              .figures = std::get<FiguresView>(daemon.views())});
  std::uint64_t missed = 0;
  std::uint64_t told = 0;
  const SteadyTime deadline = SteadyClock::now() + std::chrono::minutes(1);
  while (missed + told < kNoted && SteadyClock::now() < deadline) {
    const auto event = feed.bus().take_one(*reader, std::chrono::milliseconds(100));
    if (!event) continue;
    missed += event->missed;
    told += event->type == EventType::kVisitStart ? 1 : 0;
  }
  EXPECT_EQ(missed + told, kNoted);
  EXPECT_GE(missed, 44U) << "256 wait";
}

// A feed over a camera, models and predictions that the test has in its hand.
class EventFeedTest : public ::testing::Test {
 protected:
  ~EventFeedTest() override {
    store_.finish();  // its thread may still be telling of a picture
    feed_.stop();
  }

  std::shared_ptr<EventBus::Reader> started(EventSet types) {
    auto reader = feed_.bus().subscribe(types, {});
    feed_.start({.visits = book_, .predictions = predictions_, .figures = figures_});
    return reader;
  }
  // The visit ends, and that is the next that is told.
  void expect_end(const visits::Visit& visit, EventBus::Reader& reader) {
    feed_.note(visits::VisitEvent::kEnd, visit);
    const auto end = feed_.bus().take_one(reader, std::chrono::minutes(1));
    ASSERT_TRUE(end);
    EXPECT_EQ(end->type, EventType::kVisitEnd);
  }
  std::string next(EventBus::Reader& reader) {
    const auto told = feed_.bus().take_one(reader, std::chrono::minutes(1));
    return told ? data_with_type(*told) : "nothing within a minute";
  }
  void set_camera(CameraState state) {
    {
      MutexLock lock(mutex_);
      vitals_.cameras[0].status.state = state;
    }
    feed_.look();
  }
  Vitals vitals() {
    MutexLock lock(mutex_);
    return vitals_;
  }

  Mutex mutex_;
  Vitals vitals_ KINGLET_GUARDED_BY(mutex_);
  store::Store store_{store::StoreOptions{}};
  const visits::VisitBook book_ = store_.book();
  ModelBoard models_{{}, [this] { feed_.look(); }};
  LatestPredictions latest_{8, [this] { feed_.look(); }};
  Stats stats_{SteadyClock::now()};
  camera::Mailbox mailbox_;
  RecentBoard board_;
  Slots slots_{{8, 4}, 8};
  Traffic traffic_;
  SnapshotBoard snapshots_;
  engine::PoolFacts workers_;
  FrameSamples samples_{{.count = 0}, {}};
  const PredictionsView predictions_{.cameras = {"camera"}, .models = models_, .latest = latest_, .store = store_};
  const CamerasView cameras_{.cameras = {{.name = "camera",
                                          .kind = [] { return camera::SourceKind::kAttached; },
                                          .is_demonstration = [] { return false; },
                                          .stats = stats_,
                                          .mailbox = mailbox_,
                                          .snapshots = snapshots_,
                                          .samples = samples_}},
                             .vitals = [this] { return vitals(); },
                             .latest = latest_,
                             .long_answers = slots_};
  const FiguresView figures_{.cameras = cameras_,
                             .stats = stats_,
                             .models = models_,
                             .workers = [this] { return workers_; },
                             .board = board_,
                             .store = store_,
                             .long_answers = slots_,
                             .traffic = traffic_,
                             .mqtt = [] { return std::optional<mqtt::Status>(); },
                             .webhook = [] { return std::optional<webhook::Status>(); },
                             .notify = [] { return std::vector<notify::Status>(); }};
  EventFeed feed_{"a", 3};  // cameras
};

TEST_F(EventFeedTest, TellsTheCamerasStateWhenItChanges) {
  set_camera(CameraState::kStarting);
  const auto reader = started(set_of({EventType::kCamera}));
  EXPECT_THAT(next(*reader), HasSubstr("\"state\":\"starting\""));
  set_camera(CameraState::kStreaming);
  EXPECT_THAT(next(*reader), HasSubstr("\"state\":\"streaming\""));
}

TEST_F(EventFeedTest, TellsAnotherModelWithTheOneBefore) {
  const auto publish = [&](const std::string& name) {
    const auto model =
        LineModel::open({.model = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx", .name = name}).value();
    std::vector<std::string> warnings;
    models_.publish(model.facts(), visits::Rule::make(model.facts()->taxa, {}, warnings));
  };
  publish("old");
  const auto reader = started(set_of({EventType::kModel}));
  publish("new");
  const std::string told = next(*reader);
  EXPECT_THAT(told, HasSubstr("\"name\":\"new\""));
  EXPECT_THAT(told, HasSubstr("\"before\":{\"name\":\"old\""));
}

TEST_F(EventFeedTest, StatsSayHowManyThreadsWorkNowAndForWhichShareOneWorkedAlone) {
  const auto model =
      LineModel::open({.model = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx", .threads = 2}).value();
  std::vector<std::string> warnings;
  models_.publish(model.facts(), visits::Rule::make(model.facts()->taxa, {}, warnings));
  workers_ = {.shared = 3, .alone = 1, .pauses = 1, .alone_now = true};
  EXPECT_EQ(stats_json(figures_)["threads"].dump(), R"({"inference":2,"in_use":1,"alone_ratio":0.25})");
  workers_.alone_now = false;
  EXPECT_EQ(stats_json(figures_)["threads"].dump(), R"({"inference":2,"in_use":2,"alone_ratio":0.25})");
}

TEST_F(EventFeedTest, WhoHasJustComeGetsTheNextPredictionAndNoneFromBefore) {
  const auto model = LineModel::open({.model = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx"}).value();
  std::vector<std::string> warnings;
  const std::uint32_t number = models_.publish(model.facts(), visits::Rule::make(model.facts()->taxa, {}, warnings));
  const auto publish = [&](std::uint64_t seq) {
    Prediction prediction;
    prediction.seq = seq;
    prediction.model = number;
    latest_.publish(prediction);
  };
  publish(1);
  const auto reader = started(set_of({EventType::kPrediction, EventType::kStats}));
  // Statistics come in the turn in which the feed has noticed who listens.
  EXPECT_THAT(next(*reader), HasSubstr("\"stats\":"));
  publish(2);
  EXPECT_THAT(next(*reader), HasSubstr("\"prediction\":{\"id\":"));
}

TEST_F(EventFeedTest, AVisitsFirstPictureIsToldOnceItCanBeHadAndNotAgain) {
  const visits::Visit visit{.id = "vis_1", .seq = store_.next_seq()};
  const auto reader = started(set_of({EventType::kVisitStart, EventType::kVisitPicture, EventType::kVisitEnd}));
  store_.put(visit);
  feed_.note(visits::VisitEvent::kStart, visit);
  EXPECT_THAT(next(*reader), ::testing::Not(HasSubstr("crop.jpg")));
  store_.add_pictures(
      visit.seq, [] { return store::Pictures{.crop = "crop", .frame = {}, .clip = {}}; },
      [this] { feed_.note_picture("vis_1"); });
  EXPECT_THAT(next(*reader), HasSubstr("/api/v1/visits/vis_1/crop.jpg"));
  feed_.note_picture("vis_1");
  expect_end(visit, *reader);
}

TEST_F(EventFeedTest, OfManyCamerasEachVisitsFirstPictureIsToldWhenAllAreOpenAtOnce) {
  const auto reader = started(set_of({EventType::kVisitStart, EventType::kVisitPicture}));
  const std::size_t open = 3 * visits::VisitTracker::kMostOpen;
  for (std::size_t i = 0; i < open; ++i) {
    const visits::Visit visit{.id = "vis_" + std::to_string(i), .seq = store_.next_seq()};
    store_.put(visit);
    feed_.note(visits::VisitEvent::kStart, visit);
    EXPECT_THAT(next(*reader), HasSubstr("visit.start"));
  }
  for (std::size_t i = 0; i < open; ++i) {
    feed_.note_picture("vis_" + std::to_string(i));
    EXPECT_THAT(next(*reader), HasSubstr("visit.picture")) << i;
  }
}

TEST_F(EventFeedTest, AVisitThatBeginsWithAPictureIsNotToldOfItAgain) {
  const visits::Visit visit{.id = "vis_1", .seq = store_.next_seq()};
  const auto reader = started(set_of({EventType::kVisitStart, EventType::kVisitPicture, EventType::kVisitEnd}));
  store_.put(visit);
  std::promise<void> made;
  store_.add_pictures(
      visit.seq, [] { return store::Pictures{.crop = "crop", .frame = {}, .clip = {}}; }, [&] { made.set_value(); });
  made.get_future().wait();
  feed_.note(visits::VisitEvent::kStart, visit);
  EXPECT_THAT(next(*reader), HasSubstr("crop.jpg"));
  feed_.note_picture("vis_1");
  expect_end(visit, *reader);
}

TEST_F(EventFeedTest, AVisitThatTheHistoryDoesNotKnowIsToldAsItWasNoted) {
  const auto reader = started(set_of({EventType::kVisitEnd}));
  feed_.note(visits::VisitEvent::kEnd, {.id = "vis_1"});
  EXPECT_THAT(next(*reader), HasSubstr("\"id\":\"vis_1\""));
}

}  // namespace
}  // namespace kinglet::daemon::http
