// SPDX-License-Identifier: Apache-2.0
// Why: what every row of sources.def promises (camera/source/source.h), tried on each row that can run on this machine.
#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <set>
#include <thread>

#include "camera/decode/decode.h"
#include "camera/decode/to_rgb.h"
#include "camera/source/source.h"
#include "camera/sources/open_source.h"
#include "camera/stream/recording.h"
#include "engine/base/file.h"
#include "tests/support/faulty_source.h"
#include "tests/support/picture_server.h"
#include "tests/support/pictures.h"
#include "tests/support/pillow_oracle.h"

namespace kinglet::camera {
namespace {

using namespace std::chrono_literals;
using kinglet::testing::Fault;
using Next = Result<std::variant<Frame, NoFrame>>;

// A row of the table with what it needs to run.
struct Subject {
  std::string scheme;
  std::string spec;  // FOLDER stands for one with three pictures and a recording, BIN for that of programs, HOST for a
                     // network camera's address
  // What depth() promises is all there is: with so many leases out, nothing more comes.
  bool exact_depth = true;
  bool rests = false;  // makes fewer frames where fewer are wanted
};

void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.scheme; }

class SourceContract : public ::testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    for (const std::string name : {"a.png", "b.png", "c.png"}) {
      const auto png =
          encode_png(kinglet::testing::make_picture(96, 64, static_cast<unsigned>(name[0])).view()).value();
      ASSERT_TRUE(write_file(folder_.path() / name, {reinterpret_cast<const char*>(png.data()), png.size()},
                             Overwrite::kRefuse));
    }
    ASSERT_TRUE(
        write_file(folder_.path() / "it.kgr", [](const PutBytes& put) { return record(put); }, Overwrite::kRefuse));
    SourceOptions options = options_of(GetParam().spec);
    auto source = open_source(options);
    ASSERT_TRUE(source) << describe(source.error());
    source_ = std::move(*source);
  }

  static Result<void> record(const PutBytes& put) {
    RecordingWriter writer = KINGLET_TRY(RecordingWriter::begin(put, {}));
    for (unsigned i = 0; i < 5; ++i) {
      const SteadyTime at{std::chrono::milliseconds(5 * i)};
      static_cast<void>(KINGLET_TRY(writer.add(kinglet::testing::make_picture(64, 48, i).view(),
                                               {.sequence = i, .captured_at = at, .captured_wall = {}})));
    }
    return writer.end();
  }

  [[nodiscard]] SourceOptions options_of(std::string spec) {
    const auto replace = [&spec](std::string_view what, const std::string& by) {
      if (const auto at = spec.find(what); at != std::string::npos) spec.replace(at, what.size(), by);
    };
    replace("FOLDER", folder_.path().string());
    replace("BIN", KINGLET_BIN_DIR);
    if (spec.contains("HOST")) server_ = std::make_unique<kinglet::testing::PictureServer>();
    if (server_) replace("HOST", server_->address(""));
    SourceOptions options;
    options.spec = spec;
    options.width = 320;
    options.height = 180;
    options.frames_per_second = 200;
    options.camera_program = program("camera", "fake-kinglet-camera good");
    options.rpicam_program = program("rpicam-vid", "fake-frames yuv420p 384 180");
    options.ffmpeg_program = program("ffmpeg", "fake-frames y4m 320 180");
    return options;
  }

  // A script in the folder that runs one of our own programs whatever it is asked.
  [[nodiscard]] std::string program(const std::string& name, const std::string& command) {
    const auto path = folder_.path() / name;
    EXPECT_TRUE(write_file(path, "#!/bin/sh\nexec " KINGLET_BIN_DIR "/" + command + "\n", Overwrite::kReplace));
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  [[nodiscard]] Frame frame() {
    Next got = source_->next(SteadyClock::now() + 30s);
    EXPECT_TRUE(got && std::holds_alternative<Frame>(*got));
    return got && std::holds_alternative<Frame>(*got) ? std::get<Frame>(*std::move(got)) : Frame();
  }
  [[nodiscard]] static NoFrame::Reason reason(const Next& got) {
    EXPECT_TRUE(got && std::holds_alternative<NoFrame>(*got));
    return got && std::holds_alternative<NoFrame>(*got) ? std::get<NoFrame>(*got).reason : NoFrame::Reason::kEnd;
  }

  kinglet::testing::ScratchFolder folder_;
  std::unique_ptr<kinglet::testing::PictureServer> server_;
  std::unique_ptr<FrameSource> source_;
};

std::ptrdiff_t open_descriptors() {
  return std::ranges::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                               std::filesystem::directory_iterator());
}

TEST_P(SourceContract, GivesFramesThatFitTheirFormat) {
  ASSERT_TRUE(source_->start());
  const Frame got = frame();
  EXPECT_TRUE(check_view(got.view()));
  EXPECT_GT(got.view().width, 0);
}

TEST_P(SourceContract, CountsTheSequenceUpFromZero) {
  ASSERT_TRUE(source_->start());
  std::uint64_t last = frame().info().sequence;
  for (int i = 0; i < 20; ++i) {
    const Frame got = frame();
    EXPECT_GT(got.info().sequence, last);
    last = got.info().sequence;
  }
  source_->stop();
  ASSERT_TRUE(source_->start());
  EXPECT_LT(frame().info().sequence, last);
}

TEST_P(SourceContract, TakesCaptureTimesFromTheSteadyClock) {
  const SteadyTime before = SteadyClock::now();
  ASSERT_TRUE(source_->start());
  const SteadyTime first = frame().info().captured_at;
  EXPECT_GE(first, before);
  EXPECT_LE(first, SteadyClock::now());
  EXPECT_GE(frame().info().captured_at, first);
}

TEST_P(SourceContract, HandsOutAsManyLeasesAsItsDepthAndGoesOnWhenOneComesBack) {
  ASSERT_TRUE(source_->start());
  std::vector<Frame> held;
  std::set<const std::byte*> buffers;
  for (int i = 0; i < source_->depth(); ++i) {
    held.push_back(frame());
    buffers.insert(held.back().view().planes[0].bytes.data());
  }
  EXPECT_EQ(buffers.size(), held.size());
  if (GetParam().exact_depth) {
    EXPECT_EQ(reason(source_->next(SteadyClock::now() + 20ms)), NoFrame::Reason::kDeadline);
  }
  held.erase(held.begin());
  EXPECT_TRUE(check_view(frame().view()));
}

TEST_P(SourceContract, LeavesALeasedFrameAlone) {
  ASSERT_TRUE(source_->start());
  const Frame kept = frame();
  const auto before = kinglet::testing::digest(kept.view().planes[0].bytes);
  for (int i = 0; i < 10; ++i) (void)frame();
  EXPECT_EQ(kinglet::testing::digest(kept.view().planes[0].bytes), before);
}

TEST_P(SourceContract, KeepsAFrameReadableAfterStopAndAfterItsOwnEnd) {
  ASSERT_TRUE(source_->start());
  const Frame kept = frame();
  const auto before = kinglet::testing::digest(kept.view().planes[0].bytes);
  source_->stop();
  source_.reset();
  EXPECT_EQ(kinglet::testing::digest(kept.view().planes[0].bytes), before);
}

TEST_P(SourceContract, GivesNoFrameAfterStop) {
  ASSERT_TRUE(source_->start());
  (void)frame();
  source_->stop();
  source_->stop();
  EXPECT_EQ(reason(source_->next(SteadyClock::now() + 30s)), NoFrame::Reason::kStopped);
}

TEST_P(SourceContract, WakesAWaitingNextOnStop) {
  ASSERT_TRUE(source_->start());
  std::vector<Frame> held;
  for (int i = 0; i < source_->depth(); ++i) held.push_back(frame());  // so that the next one has to wait
  auto waiting = std::async(std::launch::async, [&] {
    Next got = source_->next(SteadyClock::now() + 60s);
    while (got && std::holds_alternative<Frame>(*got)) got = source_->next(SteadyClock::now() + 60s);
    return got;
  });
  std::this_thread::sleep_for(5ms);
  source_->stop();
  ASSERT_EQ(waiting.wait_for(30s), std::future_status::ready);
  EXPECT_EQ(reason(waiting.get()), NoFrame::Reason::kStopped);
}

TEST_P(SourceContract, KeepsToADeadlineWhileFramesCome) {
  ASSERT_TRUE(source_->start());
  for (int i = 0; i < 50; ++i) {
    const Next got = source_->next(SteadyClock::now() + 1ms);
    ASSERT_TRUE(got) << describe(got.error());
  }
}

TEST_P(SourceContract, GivesBackAllThatItOpens) {
  ASSERT_TRUE(source_->start());  // what is opened once and kept, libraries for example
  (void)frame();
  source_->stop();
  const std::ptrdiff_t before = open_descriptors();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(source_->start());
    (void)frame();
    source_->stop();
  }
  // The test's own server closes its ends a moment later.
  const SteadyTime deadline = SteadyClock::now() + 30s;
  while (open_descriptors() > before && SteadyClock::now() < deadline) std::this_thread::sleep_for(5ms);
  EXPECT_LE(open_descriptors(), before);
}

TEST_P(SourceContract, TellsItsPauses) {
  ASSERT_TRUE(source_->start());
  EXPECT_GE(source_->longest_pause(), 0s);
  EXPECT_LE(source_->longest_pause(), 10s);
}

TEST_P(SourceContract, StartsAgainWithLeasesOut) {
  ASSERT_TRUE(source_->start());
  const Frame kept = frame();
  source_->stop();
  ASSERT_TRUE(source_->start());
  EXPECT_NE(frame().view().planes[0].bytes.data(), kept.view().planes[0].bytes.data());
}

TEST_P(SourceContract, IsStoppedBeforeItStarts) {
  EXPECT_EQ(reason(source_->next(SteadyClock::now() + 30s)), NoFrame::Reason::kStopped);
}

TEST_P(SourceContract, ReturnsAtOnceWhenTheDeadlineHasPassedAndNothingIsThere) {
  ASSERT_TRUE(source_->start());
  std::vector<Frame> held;
  for (int i = 0; i < source_->depth(); ++i) held.push_back(frame());
  if (!GetParam().exact_depth) return (void)source_->next(SteadyClock::now() - 1s);
  EXPECT_EQ(reason(source_->next(SteadyClock::now() - 1s)), NoFrame::Reason::kDeadline);
}

TEST_P(SourceContract, GivesAllFramesAgainWhenTheyAreWantedAgain) {
  ASSERT_TRUE(source_->start());
  (void)frame();
  source_->want_every(24h);
  for (int i = 0; i < 3; ++i) {
    const Next got = source_->next(SteadyClock::now() + 20ms);
    ASSERT_TRUE(got) << describe(got.error());
    EXPECT_FALSE(GetParam().rests && std::holds_alternative<Frame>(*got));
  }
  const std::uint64_t dropped = source_->dropped_count();
  source_->want_every({});
  EXPECT_TRUE(check_view(frame().view()));
  EXPECT_TRUE(!GetParam().rests || source_->dropped_count() == dropped) << "nobody missed them";
}

TEST_P(SourceContract, DescribesItself) { EXPECT_FALSE(source_->description().empty()); }

TEST_P(SourceContract, ComesBackAfterEveryFault) {
  const auto faults = std::make_shared<kinglet::testing::FaultSwitch>();
  source_ = std::make_unique<kinglet::testing::FaultySource>(std::move(source_), faults);
  ASSERT_TRUE(source_->start());
  (void)frame();
  faults->set(Fault::kStall);
  EXPECT_EQ(reason(source_->next(SteadyClock::now() + 5ms)), NoFrame::Reason::kDeadline);
  faults->set(Fault::kTruncated);
  EXPECT_FALSE(to_rgb(frame().view()));
  faults->set(Fault::kGarbage);
  EXPECT_FALSE(check_view(frame().view()));
  faults->set(Fault::kDisconnect);
  EXPECT_EQ(source_->next(SteadyClock::now() + 30s).error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(source_->start());
  faults->set(Fault::kNone);
  ASSERT_TRUE(source_->start());
  EXPECT_TRUE(check_view(frame().view()));
}

const Subject kSubjects[] = {
    {"demo", "demo:3", true, true},
    {"images", "images:FOLDER", true, true},
    {"images_max", "images:FOLDER?fps=max", true, true},
    {"recording", "recording:FOLDER/it.kgr"},
    {"recording_max", "recording:FOLDER/it.kgr?fps=max"},
    {"exec", "exec:BIN/fake-frames mjpeg"},
    {"exec_y4m", "exec:BIN/fake-frames y4m?format=y4m"},
    {"exec_raw", "exec:BIN/fake-frames yuv420p 320 180?format=yuv420p&size=320x180"},
    {"mjpeg", "mjpeg:HOST/stream"},
    {"snapshot", "snapshot:HOST/snapshot.jpg"},
    {"rtsp", "rtsp://127.0.0.1/live"},
    {"libcamera", "libcamera:", false, true},
    {"rpicam", "rpicam:1"},
};
INSTANTIATE_TEST_SUITE_P(Sources, SourceContract, ::testing::ValuesIn(kSubjects),
                         [](const auto& test) { return test.param.scheme; });

TEST(SourceTable, HasEveryRowTriedHere) {
  for (const SourceRow& row : source_table()) {
    const bool tried =
        std::ranges::any_of(kSubjects, [&](const Subject& subject) { return subject.scheme == row.scheme; });
    EXPECT_TRUE(tried) << row.scheme;
  }
}

// What is not there, by scheme; each an Error of one line that says what to do or what it is about.
struct Absent {
  std::string scheme;
  std::string spec;
  std::string word;
};
void PrintTo(const Absent& absent, std::ostream* out) { *out << absent.scheme; }
class AbsentSource : public ::testing::TestWithParam<Absent> {};

TEST_P(AbsentSource, SaysSoInOneLine) {
  SourceOptions options;
  options.spec = GetParam().spec;
  options.camera_program = "/nowhere/kinglet-camera";
  options.rpicam_program = "/nowhere/rpicam-vid";
  options.ffmpeg_program = "/nowhere/ffmpeg";
  auto source = open_source(options);
  Error error;
  if (source) {
    const Result<void> started = (*source)->start();
    ASSERT_FALSE(started);
    error = started.error();
    EXPECT_EQ(std::get<NoFrame>((*source)->next(SteadyClock::now()).value()).reason, NoFrame::Reason::kStopped);
  } else {
    error = source.error();
  }
  const std::string line = describe(error);
  EXPECT_NE(line.find(GetParam().word), std::string::npos) << line;
  EXPECT_EQ((line + error.hint).find_first_of("\r\n"), std::string::npos) << line;
  EXPECT_LT(line.size(), 300U) << line;
}

const Absent kAbsent[] = {
    {"demo", "demo:no", "no"},
    {"images", "images:/nowhere", "/nowhere"},
    {"recording", "recording:/nowhere", "/nowhere"},
    {"recording_no", "recording:/proc/self/cmdline", "cmdline"},
    {"exec", "exec:/nowhere/program", "/nowhere/program"},
    {"exec_fails", "exec:sh -c 'echo no camera here >&2; exit 3'", "exit code 3: no camera here"},
    {"exec_says_nothing", "exec:true", "exit code 0"},
    {"exec_no_frames", "exec:echo hello?format=y4m", "\"hello\""},
    {"exec_option", "exec:true ?formt=y4m", "formt"},
    {"exec_quote", "exec:sh -c 'x", "second one"},
    {"mjpeg", "mjpeg:http://127.0.0.1:9/stream", "127.0.0.1"},
    {"mjpeg_no", "mjpeg:rtsp://camera/stream", "rtsp"},
    {"mjpeg_password", "mjpeg:http://me:secret@camera/stream", "http://camera/stream"},
    {"snapshot", "snapshot:http://127.0.0.1:9/it.jpg", "127.0.0.1"},
    {"snapshot_rate", "snapshot:http://127.0.0.1:9/it.jpg#fps=no", "fps"},
    {"rtsp", "rtsp://camera/live", "ffmpeg"},
    {"rtsp_no", "rtsp:http://camera/live", "rtsp:http://camera/live"},
    {"rtsp_nothing", "rtsp://", "rtsp://"},
    {"rtsp_space", "rtsp://camera/live main", "needs an address"},
    {"rtsp_password", "rtsp://me:secret@camera/live", "rtsp://camera/live"},
    {"rtsp_transport", "rtsp://camera/live#transport=pigeon", "pigeon"},
    {"rtsp_option", "rtsp://camera/live#transprt=udp", "transprt"},
    {"rtsp_stream", "rtsp://camera#stream=third", "third"},
    {"rtsp_stream_path", "rtsp://camera/live#stream=main", "rtsp://camera/live"},
    {"libcamera", "libcamera:", "/nowhere/kinglet-camera"},
    {"rpicam", "rpicam:", "rpicam-vid"},
    {"rpicam_name", "rpicam:front", "front"},
};
INSTANTIATE_TEST_SUITE_P(Sources, AbsentSource, ::testing::ValuesIn(kAbsent),
                         [](const auto& test) { return test.param.scheme; });

TEST(DemoSource, TwoCamerasOfOneProgramShowDifferentScenes) {
  const auto scene = [](const char* spec, std::size_t camera) {
    return open_source({.spec = spec, .camera_index = camera}).value()->description();
  };
  EXPECT_TRUE(scene("demo:", 0).ends_with("seed 1")) << scene("demo:", 0);
  EXPECT_NE(scene("demo:", 1), scene("demo:", 0));
  EXPECT_EQ(scene("demo:7", 1), scene("demo:7", 0)) << "as somebody wished it";
}

TEST(OpenSource, NamesTheNearestSchemeAndListsAll) {
  SourceOptions options;
  options.spec = "image:/tmp";
  const Error error = open_source(options).error();
  EXPECT_EQ(error.code, ErrorCode::kUsage);
  EXPECT_EQ(error.hint, "did you mean \"images:\"?");
  for (const SourceRow& row : source_table()) EXPECT_NE(error.message.find(row.scheme), std::string::npos);
  const auto hint_of = [&](const char* spec) {
    options.spec = spec;
    return open_source(options).error().hint;
  };
  EXPECT_EQ(hint_of("rtps://camera/live"), "did you mean \"rtsp:\"?");
  EXPECT_EQ(hint_of("photos/may"), "for a folder of pictures write images:FOLDER");
  EXPECT_EQ(hint_of("gopher://camera"), "");
}

}  // namespace
}  // namespace kinglet::camera
