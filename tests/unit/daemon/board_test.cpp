// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/board.h"
#include "tests/support/scratch_folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;

class BoardTest : public ::testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  kinglet::testing::ScratchFolder scratch_;
  const fs::path& root_ = scratch_.path();
};

TEST_F(BoardTest, ReadsWhatARaspberryPiSays) {
  put("proc/device-tree/model", std::string("Raspberry Pi 4 Model B Rev 1.4\0", 31));
  put("sys/class/thermal/thermal_zone0/temp", "58426\n");
  put("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1800000\n");
  put("sys/devices/platform/soc/soc:firmware/get_throttled", "50005\n");
  const BoardFacts facts = read_board(root_);
  EXPECT_EQ(facts.model, "Raspberry Pi 4 Model B Rev 1.4");
  EXPECT_DOUBLE_EQ(facts.temperature_celsius.value(), 58.426);
  EXPECT_EQ(facts.cpu_hz, 1'800'000'000U);
  EXPECT_EQ(facts.throttling->now, (std::vector<std::string>{"under_voltage", "throttled"}));
  EXPECT_EQ(facts.throttling->since_boot, (std::vector<std::string>{"under_voltage", "throttled"}));
}

TEST_F(BoardTest, LeavesOutWhatIsNotThere) {
  const BoardFacts facts = read_board(root_);
  EXPECT_FALSE(facts.model || facts.temperature_celsius || facts.cpu_hz || facts.throttling || facts.resident_bytes);
}

TEST_F(BoardTest, LeavesOutNonsense) {
  put("sys/class/thermal/thermal_zone0/temp", "hot\n");
  EXPECT_FALSE(read_board(root_).temperature_celsius);
}

TEST_F(BoardTest, CountsProcessorTimeAfterANameWithBlanks) {
  put("proc/self/stat", "42 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 1 0 1 1 1\n");
  EXPECT_DOUBLE_EQ(read_board(root_).cpu_seconds.value(), 2.0);
}

TEST_F(BoardTest, IsReadOnceASecondForThoseWhoAskOften) {
  RecentBoard board(root_);
  const SteadyTime now = SteadyClock::now();
  put("sys/class/thermal/thermal_zone0/temp", "40000\n");
  EXPECT_EQ(board.get(now).temperature_celsius, 40.0);
  put("sys/class/thermal/thermal_zone0/temp", "50000\n");
  EXPECT_EQ(board.get(now + std::chrono::milliseconds(999)).temperature_celsius, 40.0);
  EXPECT_EQ(board.get(now + std::chrono::seconds(1)).temperature_celsius, 50.0);
}

TEST(Board, KnowsItsOwnMemory) {
  const BoardFacts facts = read_board();
  ASSERT_TRUE(facts.resident_bytes && facts.peak_bytes);
  EXPECT_GT(*facts.resident_bytes, 1U << 20);
  EXPECT_GE(*facts.peak_bytes, *facts.resident_bytes);
}

}  // namespace
}  // namespace kinglet::daemon
