// SPDX-License-Identifier: Apache-2.0
// Scenes of the demonstration through the daemon's own line on a virtual clock: the visits are those that were drawn,
// those of the golden files (KINGLET_UPDATE_GOLDEN=1 writes them), and the same in every run.
#include "daemon/line/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ranges>
#include <utility>

#include "camera/demo/demo_scene.h"
#include "config/config.h"
#include "daemon/line/replay_input.h"
#include "daemon/settings/settings.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "tests/support/scratch_folder.h"
#include "visits/json.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;
using std::chrono::minutes;
using std::chrono::seconds;
using visits::Visit;

constexpr int kWidth = 320;
constexpr int kHeight = 180;

ReplayReport replayed(const std::string& spec, SteadyClock::duration length,
                      const std::vector<std::string>& settings = {}) {
  config::LoadOptions options{.folder = "/nowhere"};
  options.assignments = {format_text("model.path={}", KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx"),
                         "inference.threads=1", format_text("source.size={}x{}", kWidth, kHeight)};
  options.assignments.insert(options.assignments.end(), settings.begin(), settings.end());
  const config::Config config = config::load(options).value().config;
  ReplayOptions replay_options{.classifier = line_model_options(config).value(),
                               .line = line_options(config).value(),
                               .source = source_options(config, {}),
                               .length = length};
  replay_options.source.spec = spec;
  Result<ReplayReport> report = replay(replay_options);
  EXPECT_TRUE(report) << (report ? "" : describe(report.error()));
  return report.value_or(ReplayReport{});
}

double seconds_in(const Visit& visit) { return Seconds(visit.started_at - kReplayDate).count(); }

std::string golden_text(const ReplayReport& report) {
  std::string text;
  for (const auto& [visit, named_at] : report.visits) {
    text +=
        format_text("{} at {:.1f} s for {:.1f} s: {}{}{}\n", visit.seq, seconds_in(visit),
                    Seconds(visit.duration).count(), visit.species_id(),
                    visit.count > 1 ? format_text(", {} at once", visit.count) : "", visit.unusual ? ", unusual" : "");
  }
  return text;
}

std::string json_text(const ReplayReport& report) {
  std::string text;
  for (const auto& [visit, named_at] : report.visits) text += visits::to_json(visit).dump() + "\n";
  return text;
}

class Scene : public ::testing::TestWithParam<int> {};

TEST_P(Scene, GivesTheVisitsOfItsGoldenFile) {
  const ReplayReport report = replayed(format_text("demo:{}", GetParam()), minutes(1));
  const fs::path path = fs::path(KINGLET_SOURCE_DIR) / "tests/golden/replay" / format_text("demo_{}.txt", GetParam());
  if (std::getenv("KINGLET_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(write_file(path, golden_text(report), Overwrite::kReplace));
  }
  EXPECT_EQ(golden_text(report), read_file(path, 1 << 20).value_or(""));
}

TEST_P(Scene, GivesTheVisitorsThatWereDrawn) {
  const auto seed = static_cast<std::uint64_t>(GetParam());
  const ReplayReport report = replayed(format_text("demo:{}", seed), minutes(1));
  const engine::Labels labels = engine::Labels::open(KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.labels.txt").value();
  for (std::uint64_t index = 0; index < 600; ++index) {
    const camera::DemoFrame frame = camera::draw_demo_scene(seed, index, kWidth, kHeight);
    const std::string& drawn = labels[frame.label].species_id;
    if (drawn == "background") continue;
    const double at = static_cast<double>(index) / 10;
    const bool told = std::ranges::any_of(report.visits, [&](const ReplayedVisit& replayed) {
      const Visit& visit = replayed.visit;
      return visit.species_id() == drawn && at >= seconds_in(visit) - 1 &&
             at <= seconds_in(visit) + Seconds(visit.duration).count() + 1;
    });
    EXPECT_TRUE(told) << drawn << " at " << at << " s";
  }
  for (const auto& [visit, named_at] : report.visits) {
    // A bird that flies in is seen before the scene calls it there.
    const auto soon = static_cast<std::uint64_t>(std::llround(seconds_in(visit) * 10)) + 3;
    EXPECT_EQ(labels[camera::draw_demo_scene(seed, soon, kWidth, kHeight).label].species_id, visit.species_id());
  }
}

INSTANTIATE_TEST_SUITE_P(Demo, Scene, ::testing::Values(1, 7, 42));

TEST(Replay, GivesTheSameBytesInEveryRunAndWithEveryNumberOfThreads) {
  const std::string first = json_text(replayed("demo:3", seconds(15)));
  EXPECT_GT(first.size(), 500U);
  EXPECT_EQ(json_text(replayed("demo:3", seconds(15))), first);
  EXPECT_EQ(json_text(replayed("demo:3", seconds(15), {"inference.threads=2"})), first);
}

TEST(Replay, TakesTheSettingsOfTheDaemon) {
  const ReplayReport plain = replayed("demo:1", seconds(30));
  ASSERT_GE(plain.visits.size(), 2U);
  EXPECT_EQ(plain.frames, 300U);
  EXPECT_EQ(plain.predictions, 300U);
  const std::string bird = plain.visits[0].visit.species_id();

  const ReplayReport slow = replayed("demo:1", seconds(30), {"gate.max_fps=2"});
  EXPECT_NEAR(static_cast<double>(slow.predictions), 60, 1);
  EXPECT_EQ(slow.predictions + slow.skipped[std::to_underlying(SkipReason::kRate)], 300U);

  const ReplayReport blocked = replayed("demo:1", seconds(30), {"decide.block=" + bird});
  EXPECT_GT(blocked.by_outcome[static_cast<std::size_t>(Outcome::kBlocked)], 20U);
  for (const auto& [visit, named_at] : blocked.visits) EXPECT_NE(visit.species_id(), bird);

  const ReplayReport strict = replayed("demo:1", seconds(30), {"decide.min_score=1"});
  EXPECT_LT(strict.visits.size(), plain.visits.size());
}

TEST(Replay, SaysWhenEachVisitWasNamed) {
  const ReplayReport report = replayed("demo:1", minutes(1));
  ASSERT_GE(report.visits.size(), 2U);
  for (const auto& [visit, named_at] : report.visits) {
    // One glance is not enough.
    EXPECT_GE(Seconds(named_at).count(), seconds_in(visit) + 0.3);
    EXPECT_LE(Seconds(named_at).count(), seconds_in(visit) + Seconds(visit.duration).count());
  }
}

// The visitor fills more of what the model sees, and the crop that is kept is about it.
TEST(Replay, ClassifiesTheMovingPartWhereTheRecipeSaysSo) {
  const kinglet::testing::ScratchFolder folder;
  auto recipe =
      nlohmann::json::parse(read_file(KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.recipe.json", 1 << 20).value());
  recipe.erase("regions");  // the demonstration looks at the whole
  recipe["crop_to_motion"] = true;
  const fs::path path = folder.path() / "motion.recipe.json";
  ASSERT_TRUE(write_file(path, recipe.dump(), Overwrite::kRefuse));
  const ReplayReport report = replayed("demo:1", minutes(1), {"model.recipe=" + path.string()});
  ASSERT_FALSE(report.visits.empty());
  for (const auto& [visit, named_at] : report.visits) {
    EXPECT_LT(visit.best_crop.width, kWidth);
    EXPECT_EQ(visit.best_crop.width, visit.best_crop.height);
    // Where the bird was in some frame of the visit: which one was the best is not told.
    const auto shows_bird = [&](std::uint64_t index) {
      const CropRect bird = camera::draw_demo_scene(1, index, kWidth, kHeight).bird_px;
      const double x = bird.x + bird.width / 2.0;
      return x > visit.best_crop.x && x < visit.best_crop.x + visit.best_crop.width;
    };
    const auto first = static_cast<std::uint64_t>(std::llround(seconds_in(visit) * 10));
    const auto last = first + static_cast<std::uint64_t>(std::llround(Seconds(visit.duration).count() * 10));
    EXPECT_TRUE(std::ranges::any_of(std::views::iota(first, last + 1), shows_bird)) << visit.species_id();
  }
}

TEST(Replay, TellsNamesThatTheModelDoesNotKnow) {
  const ReplayReport report = replayed("demo:1", seconds(1), {"decide.allow=[\"plain demothrus\"]"});
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_EQ(report.warnings[0],
            "decide.allow: this model does not know \"plain demothrus\"; did you mean plain-demothrush?");
}

TEST(ReplayInput, RefusesWhatHasNoEndAndNoTimes) {
  EXPECT_EQ(open_replay_input({.spec = "libcamera:"}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(open_replay_input({.spec = "demo:?fps=5"}).error().message, "a replayed scene has ten frames a second");
  EXPECT_EQ(open_replay_input({.spec = "images:/nowhere"}).error().code, ErrorCode::kNotFound);
}

TEST(ReplayInput, PicturesOfAFolderComeOnceAtTheirPace) {
  const kinglet::testing::ScratchFolder folder;
  const std::string picture = read_file(KINGLET_SOURCE_DIR "/docs/page.png", 1 << 24).value();
  for (const char* name : {"a.png", "b.png", "c.png"}) {
    ASSERT_TRUE(write_file(folder.path() / name, picture, Overwrite::kReplace));
  }
  auto input = open_replay_input({.spec = "images:" + folder.path().string() + "?fps=4"}).value();
  std::vector<double> times;
  while (true) {
    const auto frame = input->next().value();
    if (!frame) break;
    times.push_back(Seconds(frame->info().captured_wall - kReplayDate).count());
  }
  EXPECT_EQ(times, (std::vector<double>{0, 0.25, 0.5}));
}

}  // namespace
}  // namespace kinglet::daemon
