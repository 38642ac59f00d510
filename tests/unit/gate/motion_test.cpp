// SPDX-License-Identifier: Apache-2.0
// Why: what counts as motion at a feeder and what does not: weather, light and noise against birds.
#include "daemon/line/gate/motion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "camera/demo/demo_painter.h"

namespace kinglet::daemon {
namespace {

using camera::kGridCells;
using camera::kGridColumns;

constexpr SteadyTime kFirstFrame{std::chrono::hours(1)};
constexpr std::chrono::milliseconds kPeriod{100};

using camera::Cells;
using Weather = std::function<void(int frame, Cells& cells)>;

std::size_t cell(int column, int row) { return static_cast<std::size_t>(row * kGridColumns + column); }

// A garden with noise of one level, and what `weather` does to it.
class Garden {
 public:
  explicit Garden(const std::optional<Area>& region = std::nullopt) : detector_(region) {}

  // Frames in which something moved.
  int watch(int frames, const Weather& weather = {}) {
    int moving = 0;
    for (int i = 0; i < frames; ++i) moving += next(weather).moving ? 1 : 0;
    return moving;
  }
  Motion next(const Weather& weather = {}, std::span<const Area> kept = {}) {
    Cells cells;
    const auto noise = [this] { return std::uniform_real_distribution<float>(-1, 1)(random_); };
    for (std::size_t i = 0; i < kGridCells; ++i) {
      cells.luma[i] = 60 + static_cast<float>((i * 37) % 120) + noise();
      cells.blue[i] = (0.6F + 0.1F * static_cast<float>(i % 7)) * cells.luma[i] + noise();
      cells.red[i] = (0.7F + 0.1F * static_cast<float>(i % 5)) * cells.luma[i] + noise();
    }
    if (weather) weather(frame_, cells);
    return detector_.update(cells, kFirstFrame + frame_++ * kPeriod, kept);
  }
  std::mt19937& random() { return random_; }
  [[nodiscard]] int frame() const { return frame_; }

 private:
  MotionDetector detector_;
  std::mt19937 random_{1};
  int frame_ = 0;
};

Weather bird_at(int column, int row) {
  return [=](int /*frame*/, Cells& cells) {
    for (int y = row; y < row + 3; ++y) {
      for (int x = column; x < column + 4; ++x) cells.luma[cell(x, y)] = 20;
    }
  };
}

TEST(MotionDetector, TakesTheFirstFrameForTheScene) {
  Garden garden;
  const Motion first = garden.next();
  EXPECT_TRUE(first.new_scene);
  EXPECT_FALSE(first.moving);
}

TEST(MotionDetector, TellsEachClusterTheLargestFirst) {
  Garden garden;
  garden.watch(100);
  const Motion motion = garden.next([](int /*frame*/, Cells& cells) {
    bird_at(2, 2)(0, cells);
    for (int y = 14; y < 20; ++y) {
      for (int x = 25; x < 31; ++x) cells.luma[cell(x, y)] = 20;
    }
  });
  ASSERT_EQ(motion.cluster_count, 2U);
  EXPECT_EQ(motion.clusters[0].cells, 36);
  EXPECT_EQ(motion.clusters[1].cells, 12);
  EXPECT_EQ(motion.where, motion.clusters[0].where);
  EXPECT_EQ(motion.clusters[1].where, (Area{2.0 / 40, 2.0 / 24, 4.0 / 40, 3.0 / 24}));
}

// Twenty leaves: the smallest give way, and nobody forgets how many there were.
TEST(MotionDetector, KeepsTheLargestOfManyClusters) {
  Garden garden;
  garden.watch(100);
  const Motion motion = garden.next([](int /*frame*/, Cells& cells) {
    for (int i = 0; i < 20; ++i) {
      for (int x = 0; x < (i == 19 ? 3 : 2); ++x) {
        for (int y = 0; y < 2; ++y) cells.luma[cell(1 + (i % 10) * 4 + x, 3 + (i / 10) * 8 + y)] = 20;
      }
    }
  });
  ASSERT_EQ(motion.cluster_count, kMaxClusters);
  EXPECT_EQ(motion.clusters_beyond, 4U);
  EXPECT_EQ(motion.clusters[0].cells, 6);
}

TEST(MotionDetector, SeesNothingInNoise) {
  Garden garden;
  EXPECT_EQ(garden.watch(3000), 0);
}

TEST(MotionDetector, SeesABirdInTheFirstFrameAndWhereItIs) {
  Garden garden;
  garden.watch(100);
  const Motion motion = garden.next(bird_at(10, 8));
  EXPECT_TRUE(motion.moving);
  EXPECT_NEAR(motion.share, 12.0 / kGridCells, 1e-9);
  EXPECT_EQ(motion.where, (Area{10.0 / 40, 8.0 / 24, 4.0 / 40, 3.0 / 24}));
}

// A robin among leaves of its brightness.
Weather red_bird_at(int column, int row) {
  return [=](int /*frame*/, Cells& cells) {
    for (int y = row; y < row + 3; ++y) {
      for (int x = column; x < column + 4; ++x) cells.red[cell(x, y)] += 40;
    }
  };
}

TEST(MotionDetector, SeesABirdOfTheBackgroundsBrightnessByItsColour) {
  Garden garden;
  garden.watch(100);
  EXPECT_EQ(garden.next(red_bird_at(10, 8)).where, (Area{10.0 / 40, 8.0 / 24, 4.0 / 40, 3.0 / 24}));
}

TEST(MotionDetector, TakesAWhiteBalanceThatFollowsForNothing) {
  Garden garden;
  const Weather evening = [](int frame, Cells& cells) {
    const float warmer = 0.15F * std::min(1.0F, static_cast<float>(frame) / 300);
    for (std::size_t i = 0; i < kGridCells; ++i) {
      cells.red[i] *= 1 + warmer;
      cells.blue[i] *= 1 - warmer;
    }
  };
  EXPECT_EQ(garden.watch(1000, evening), 0);
}

TEST(MotionDetector, TakesAColouredGardensDuskForNothing) {
  Garden garden;
  const Weather dusk = [](int frame, Cells& cells) {
    const float light = std::exp(-static_cast<float>(frame) / 6000);
    for (std::size_t i = 0; i < kGridCells; ++i) {
      cells.luma[i] *= light;
      cells.red[i] *= light;
      cells.blue[i] *= light;
    }
  };
  EXPECT_EQ(garden.watch(9000, dusk), 0);
}

TEST(MotionDetector, GetsUsedToFalseColoursOfTheNight) {
  Garden garden;
  const Weather night = [&garden](int /*frame*/, Cells& cells) {
    std::uniform_real_distribution<float> blotch(-9, 9);
    for (std::size_t i = 0; i < kGridCells; ++i) {
      cells.luma[i] = 12 + cells.luma[i] / 20;
      cells.red[i] = cells.luma[i] + blotch(garden.random());
      cells.blue[i] = cells.luma[i] + blotch(garden.random());
    }
  };
  garden.watch(600, night);
  EXPECT_LT(garden.watch(600, night), 30);
}

TEST(MotionDetector, GoesOnSeeingABirdThatIsKeptForAsLongAsItIs) {
  Garden garden;
  garden.watch(300);
  const Area around{.left = 9.0 / 40, .top = 7.0 / 24, .width = 6.0 / 40, .height = 5.0 / 24};
  const Weather bird = bird_at(10, 8);
  for (int i = 0; i < 3000; ++i) static_cast<void>(garden.next(bird, std::span(&around, 1)));
  EXPECT_EQ(garden.next(bird).where, (Area{10.0 / 40, 8.0 / 24, 4.0 / 40, 3.0 / 24}));
}

TEST(MotionDetector, LeavesNothingBehindOfABirdThatWasKept) {
  Garden garden;
  garden.watch(300);
  const Area around{.left = 9.0 / 40, .top = 7.0 / 24, .width = 6.0 / 40, .height = 5.0 / 24};
  for (int i = 0; i < 1200; ++i) static_cast<void>(garden.next(bird_at(10, 8), std::span(&around, 1)));
  EXPECT_EQ(garden.watch(100), 0);
}

TEST(MotionDetector, GoesOnSeeingABirdThatSitsStillForHalfAMinute) {
  Garden garden;
  garden.watch(300);
  EXPECT_EQ(garden.watch(300, bird_at(10, 8)), 300);
}

TEST(MotionDetector, ForgetsWhatStaysForGood) {
  Garden garden;
  garden.watch(300);
  garden.watch(1200, bird_at(10, 8));  // a new flowerpot
  EXPECT_EQ(garden.watch(300, bird_at(10, 8)), 0);
}

TEST(MotionDetector, TakesDuskForNothing) {
  Garden garden;
  const Weather dusk = [](int frame, Cells& cells) {
    for (float& value : cells.luma) value *= std::exp(-static_cast<float>(frame) / 6000);
  };
  EXPECT_EQ(garden.watch(12'000, dusk), 0);
}

TEST(MotionDetector, TakesCloudsForNothing) {
  Garden garden;
  const Weather clouds = [](int frame, Cells& cells) {
    const float light = 0.92F + 0.08F * std::sin(static_cast<float>(frame) / 40);
    for (float& value : cells.luma) value *= light;
  };
  garden.watch(600, clouds);
  EXPECT_EQ(garden.watch(2000, clouds), 0);
}

TEST(MotionDetector, TakesSingleDropsOfRainForNothing) {
  Garden garden;
  garden.watch(50);
  const Weather rain = [&garden](int /*frame*/, Cells& cells) {
    for (int drop = 0; drop < 6; ++drop) cells.luma[garden.random()() % kGridCells] += 40;
  };
  EXPECT_LT(garden.watch(1000, rain), 120);
}

TEST(MotionDetector, LearnsTheLeavesThatMoveInTheWind) {
  Garden garden;
  const Weather wind = [&garden](int /*frame*/, Cells& cells) {
    for (int y = 2; y < 8; ++y) {
      for (int x = 25; x < 33; ++x)
        cells.luma[cell(x, y)] += std::uniform_real_distribution<float>(-25, 25)(garden.random());
    }
  };
  EXPECT_GT(garden.watch(20, wind), 10);
  garden.watch(600, wind);
  EXPECT_LT(garden.watch(600, wind), 30);
  const Weather wind_and_bird = [&](int frame, Cells& cells) {
    wind(frame, cells);
    bird_at(10, 12)(frame, cells);
  };
  EXPECT_TRUE(garden.next(wind_and_bird).moving);
}

TEST(MotionDetector, TakesALampForANewScene) {
  Garden garden;
  garden.watch(100);
  const Weather lamp = [](int /*frame*/, Cells& cells) {
    for (std::size_t i = 0; i < kGridCells; ++i) cells.luma[i] = 200 - static_cast<float>((i * 53) % 90);
  };
  EXPECT_TRUE(garden.next(lamp).new_scene);
  EXPECT_EQ(garden.watch(100, lamp), 0);
}

TEST(MotionDetector, LooksAtItsRegionOnly) {
  Garden garden(Area{.left = 0.5, .top = 0, .width = 0.5, .height = 1});
  garden.watch(100);
  EXPECT_FALSE(garden.next(bird_at(5, 8)).moving);
  EXPECT_TRUE(garden.next(bird_at(25, 8)).moving);
}

// The demonstration's own garden, where we know who is there.
TEST(MotionDetector, FollowsTheVisitorsOfTheScene) {
  camera::demo::ScenePainter painter(3, 320, 192);
  camera::DemoFrame frame;
  camera::CellGrid grid;
  MotionDetector detector(std::nullopt);
  int arrivals = 0;
  int seen = 0;
  int empty = 0;
  int moving_while_empty = 0;
  bool was_there = true;
  bool found = true;
  int quiet = 0;
  for (std::uint64_t index = 0; index < 3000; ++index) {
    painter.draw(index, frame);
    ASSERT_TRUE(grid.measure(frame.image.view()));
    const Motion motion = detector.update(grid.cells(), kFirstFrame + static_cast<int>(index) * kPeriod);
    const bool there = frame.bird_px.width > 0;
    if (there && !was_there) {
      ++arrivals;
      found = false;
    }
    if (there && !found && motion.moving) {
      found = true;
      ++seen;
    }
    quiet = there ? 0 : quiet + 1;
    if (quiet > 20 && index > 600) {
      ++empty;
      moving_while_empty += motion.moving ? 1 : 0;
    }
    was_there = there;
  }
  EXPECT_GT(arrivals, 10);
  EXPECT_EQ(seen, arrivals);
  EXPECT_LT(moving_while_empty, empty / 4) << "of " << empty;
}

}  // namespace
}  // namespace kinglet::daemon
