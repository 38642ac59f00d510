// SPDX-License-Identifier: Apache-2.0
// The routes by which somebody looks on: version, camera, pictures, events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "camera/frame/mailbox.h"
#include "camera/sources/open_source.h"
#include "daemon/answer/latest.h"
#include "daemon/capture/frame_samples.h"
#include "daemon/capture/snapshot.h"
#include "daemon/doctor/health.h"
#include "daemon/http/figures/slots.h"
#include "daemon/http/routes/routes.h"
#include "daemon/line/stats.h"
#include "daemon/machine/build_info.h"
#include "daemon/machine/update.h"
#include "daemon/tell/event_bus.h"
#include "tests/support/pictures.h"
#include "tests/unit/daemon/handlers/asked.h"

namespace kinglet::daemon::http {
namespace {

using ::testing::HasSubstr;

class VersionHandler : public ::testing::Test {
 protected:
  Parsed ask() { return Parsed::parse(get_version(view_, {}).body); }

  const Stats stats_{SteadyClock::now() - std::chrono::hours(1)};
  std::optional<Update> update_;
  const VersionView view_{.stats = stats_, .update = [this] { return update_; }};
};

TEST_F(VersionHandler, SaysWhatRunsAndForHowLong) {
  const Parsed json = ask();
  EXPECT_EQ(json["version"], build_info().version);
  EXPECT_GE(json["uptime_seconds"], 3600);
}

TEST_F(VersionHandler, TellsOfAnUpdateOnlyWhereThereIsOne) {
  EXPECT_FALSE(ask().contains("update"));
  update_ = Update{.installed = "1.2", .available = "1.3"};
  EXPECT_EQ(ask()["update"], (Parsed{{"installed", "1.2"}, {"available", "1.3"}}));
}

// Two cameras, garden and tree.
class WithCameras : public ::testing::Test {
 protected:
  [[nodiscard]] CameraView seen(const std::string& name, SnapshotBoard& snapshots) {
    return {.name = name,
            .kind = [] { return camera::SourceKind::kNetwork; },
            .is_demonstration = [] { return false; },
            .stats = stats_,
            .mailbox = mailbox_,
            .snapshots = snapshots,
            .samples = samples_};
  }

  Vitals vitals_{.cameras = {{.name = "garden"}, {.name = "tree"}}};
  const Stats stats_{SteadyClock::now()};
  const camera::Mailbox mailbox_;
  LatestPredictions latest_;
  SnapshotBoard snapshots_;
  SnapshotBoard other_snapshots_;
  FrameSamples samples_{{}, {}};
  Slots slots_{{8, 1}, 8};
  const CamerasView view_{.cameras = {seen("garden", snapshots_), seen("tree", other_snapshots_)},
                          .vitals = [this] { return vitals_; },
                          .latest = latest_,
                          .long_answers = slots_};
};

class CameraHandlers : public WithCameras {
 protected:
  Call named(const std::string& name) { return {.method = "GET", .path_parameters = {{"source", name}}}; }
};

TEST_F(CameraHandlers, TheStateComesWithItsReason) {
  vitals_.cameras[0].status = {.state = CameraState::kStalled, .detail = "no frame for 3 s"};
  const Parsed json = Parsed::parse(get_camera(view_, {}).body);
  EXPECT_EQ(json["state"], "stalled");
  EXPECT_EQ(json["detail"], "no frame for 3 s");
  EXPECT_EQ(json["kind"], "network");
}

TEST_F(CameraHandlers, OneThatStreamsHasNoReason) {
  vitals_.cameras[0].status.state = CameraState::kStreaming;
  EXPECT_FALSE(Parsed::parse(get_camera(view_, {}).body).contains("detail"));
}

TEST_F(CameraHandlers, TheListLeadsToEachAndToItsPictures) {
  const Parsed items = Parsed::parse(get_cameras(view_, {}).body)["items"];
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[1]["source"], "tree");
  EXPECT_EQ(items[0]["links"]["self"], "/api/v1/cameras/garden");
  EXPECT_EQ(items[0]["links"]["snapshot"], "/api/v1/cameras/garden/snapshot.jpg");
  EXPECT_EQ(Parsed::parse(get_named_camera(view_, named("garden")).body)["source"], "garden");
}

TEST_F(CameraHandlers, WithoutANameItIsTheFirst) {
  vitals_.cameras[1].status = {.state = CameraState::kAbsent, .detail = "it is not plugged in"};
  EXPECT_EQ(Parsed::parse(get_camera(view_, {}).body)["source"], "garden");
  EXPECT_FALSE(Parsed::parse(get_camera(view_, {}).body).contains("detail"));
  EXPECT_EQ(Parsed::parse(get_named_camera(view_, named("tree")).body)["detail"], "it is not plugged in");
}

TEST_F(CameraHandlers, ACameraThatIsNotThereIsNotTakenForTheOneThatIs) {
  EXPECT_EQ(get_named_camera(view_, named("attic")).problem.slug, "not-found");
}

class PictureHandlers : public WithCameras {
 protected:
  Call call(std::vector<std::pair<std::string, std::string>> query = {}, const std::string& source = "garden") {
    return {.method = "GET", .query = std::move(query), .path_parameters = {{"source", source}}};
  }
  // As if it had come just now, however slow this machine is.
  void show_frame() { snapshots_.offer(picture_.view(), {.sequence = 7}, SteadyClock::now() + std::chrono::hours(1)); }

  const camera::Image picture_ = kinglet::testing::make_picture(640, 480);
};

TEST_F(PictureHandlers, ASnapshotIsTheNewestFrameAsAJpeg) {
  show_frame();
  const Reply reply = get_named_snapshot(view_, call());
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.content_type, "image/jpeg");
  EXPECT_THAT(reply.body, ::testing::StartsWith("\xFF\xD8"));
  EXPECT_EQ(header(reply, "X-Frame-Seq"), "7");
}

TEST_F(PictureHandlers, EachCameraShowsItsOwnFrame) {
  show_frame();
  vitals_.cameras[1].status = {.state = CameraState::kAbsent, .detail = "it is not plugged in"};
  EXPECT_EQ(get_snapshot(view_, {.method = "GET"}).status, 200) << "the first";
  EXPECT_EQ(get_snapshot(view_, {.method = "GET", .query = {{"source", "garden"}}}).status, 200);
  for (const Call& tree : {call({}, "tree"), Call{.method = "GET", .query = {{"source", "tree"}}}}) {
    for (const auto handler : {&get_snapshot, &get_stream}) {
      EXPECT_EQ(handler(view_, tree).problem.slug, "no-camera");
    }
    EXPECT_THAT(get_snapshot(view_, tree).problem.hint, HasSubstr("absent: it is not plugged in"));
  }
  EXPECT_EQ(get_stream(view_, {.method = "GET", .query = {{"source", "attic"}}}).problem.slug, "not-found");
}

TEST_F(PictureHandlers, WithoutAFrameTheCameraSaysWhy) {
  vitals_.cameras[0].status = {.state = CameraState::kAbsent, .detail = "it is not plugged in"};
  for (const auto handler : {&get_named_snapshot, &get_named_stream}) {
    const Reply reply = handler(view_, call());
    EXPECT_EQ(reply.problem.slug, "no-camera");
    EXPECT_EQ(reply.status, 503);
  }
  EXPECT_THAT(get_named_snapshot(view_, call()).problem.hint, HasSubstr("absent: it is not plugged in"));
}

TEST_F(PictureHandlers, OtherWidthsAndOtherCamerasAreRefused) {
  show_frame();
  for (const auto handler : {&get_named_snapshot, &get_named_stream}) {
    EXPECT_EQ(handler(view_, call({{"width", "100"}})).problem.slug, "bad-parameter");
    EXPECT_EQ(handler(view_, call({}, "attic")).problem.slug, "not-found");
  }
  EXPECT_EQ(get_frames(view_, call({}, "attic")).problem.slug, "not-found");
  EXPECT_EQ(get_frames(view_, call({{"last", "0"}})).problem.slug, "bad-parameter");
}

TEST_F(PictureHandlers, AStreamGivesTheFrameAndHoldsItsPlaceAsLongAsSomebodyWatches) {
  show_frame();
  {
    const Reply stream = get_named_stream(view_, call());
    ASSERT_EQ(stream.status, 200) << stream.body;
    EXPECT_THAT(next_piece(stream), HasSubstr("X-Frame-Seq: 7\r\n\r\n\xFF\xD8"));
    EXPECT_EQ(get_named_stream(view_, call()).problem.slug, "too-many-streams");
    EXPECT_EQ(get_frames(view_, call()).problem.slug, "too-many-streams");
  }
  EXPECT_EQ(get_named_stream(view_, call()).status, 200);
}

TEST_F(PictureHandlers, FramesForCalibrationComeOneAfterTheOtherAndEnd) {
  samples_.offer({picture_.view(), {.sequence = 3}, [] {}}, SteadyClock::now());
  const SteadyTime deadline = SteadyClock::now() + std::chrono::minutes(1);
  while (samples_.newest(1).empty() && SteadyClock::now() < deadline) std::this_thread::yield();
  const Reply reply = get_frames(view_, call());
  EXPECT_EQ(header(reply, "X-Frames"), "1");
  EXPECT_THAT(next_piece(reply), HasSubstr("X-Frame-Seq: 3\r\n\r\n\xFF\xD8"));
  EXPECT_EQ(next_piece(reply), "--kinglet--\r\n");
}

class EventHandler : public ::testing::Test {
 protected:
  Call call(const std::string& name, const std::string& value) { return {.method = "GET", .query = {{name, value}}}; }
  void delete_visit_event(const std::string& id) { bus_.publish(EventType::kVisitDeleted, {.visit = {.id = id}}); }

  EventBus bus_{"a"};
  Slots slots_{{1, 8}, 8};
  const EventsView view_{.bus = bus_, .long_answers = slots_};
};

TEST_F(EventHandler, WhatHappensFromNowOnIsTold) {
  delete_visit_event("vis_0");
  const Reply reply = get_events(view_, {});
  EXPECT_EQ(reply.content_type, "text/event-stream");
  EXPECT_EQ(next_piece(reply), "retry: 3000\n\n");
  delete_visit_event("vis_1");
  const std::string told = next_piece(reply);
  EXPECT_THAT(told, HasSubstr("event: visit.deleted\n"));
  EXPECT_THAT(told, HasSubstr("vis_1"));
}

TEST_F(EventHandler, OnlyTheTypesThatWereWishedAreTold) {
  const Reply reply = get_events(view_, call("types", "camera"));
  delete_visit_event("vis_1");
  bus_.publish(EventType::kCamera, "camera", R"({"state":"stalled"})");
  const std::string told = next_piece(reply);
  EXPECT_THAT(told, HasSubstr("stalled"));
  EXPECT_THAT(told, ::testing::Not(HasSubstr("vis_1")));
}

TEST_F(EventHandler, WhoWasAwayGetsWhatWasMissedByTheHeaderOrTheParameter) {
  delete_visit_event("vis_1");
  delete_visit_event("vis_2");
  Call by_header{.method = "GET"};
  by_header.last_event_id = "a-1";
  for (const Call& one : {by_header, call("last_event_id", "a-1")}) {
    const std::string told = next_piece(get_events(view_, one));
    EXPECT_THAT(told, HasSubstr("vis_2"));
    EXPECT_THAT(told, ::testing::Not(HasSubstr("vis_1")));
  }
}

TEST_F(EventHandler, ATypeThatThereIsNotIsRefusedWithThoseThatThereAre) {
  const Reply reply = get_events(view_, call("types", "visit,weather"));
  EXPECT_EQ(reply.problem.slug, "bad-parameter");
  EXPECT_THAT(reply.problem.detail, HasSubstr("weather"));
  EXPECT_THAT(reply.problem.detail + reply.problem.hint, HasSubstr("visit.start"));
}

TEST_F(EventHandler, AReaderTooManyIsRefusedUntilOneGoes) {
  {
    const Reply reader = get_events(view_, {});
    EXPECT_EQ(get_events(view_, {}).problem.slug, "too-many-streams");
  }
  EXPECT_EQ(get_events(view_, {}).status, 200);
}

}  // namespace
}  // namespace kinglet::daemon::http
