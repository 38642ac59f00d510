// SPDX-License-Identifier: Apache-2.0
// Why: what a board's cores are is read of all of them, wherever the thread stands that asks.
#include "engine/backend/xnnpack/processor.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/support/scratch_folder.h"

namespace kinglet::engine::xnn {
namespace {

namespace fs = std::filesystem;

constexpr const char* kA53 = "0x00000000410fd034";
constexpr const char* kA55 = "0x00000000412fd050";
constexpr const char* kA72 = "0x00000000410fd083";
constexpr const char* kA76 = "0x00000000414fd0b1";
constexpr const char* kOfAnotherMaker = "0x00000000510fd034";

// As Linux tells of cores, beside what is none.
std::optional<bool> all_in_order(const std::vector<std::string>& cores) {
  const kinglet::testing::ScratchFolder folder;
  fs::create_directories(folder.path() / "cpufreq");
  std::ofstream(folder.path() / "possible") << "0-" << cores.size() << "\n";
  for (std::size_t i = 0; i < cores.size(); ++i) {
    const fs::path registers = folder.path() / ("cpu" + std::to_string(i)) / "regs" / "identification";
    fs::create_directories(registers);
    std::ofstream(registers / "midr_el1") << cores[i] << "\n";
  }
  return all_run_in_order(folder.path());
}

TEST(Processor, RunsInOrderWhereAllItsCoresDo) {
  EXPECT_EQ(all_in_order({kA53, kA53, kA53, kA53}), true);
  EXPECT_EQ(all_in_order({kA53, kA55}), true);
  EXPECT_EQ(all_in_order({kA72, kA72}), false);
  EXPECT_EQ(all_in_order({kOfAnotherMaker}), false);
}

TEST(Processor, OfSmallAndLargeCoresDoesNotWhicheverComesFirst) {
  EXPECT_EQ(all_in_order({kA53, kA53, kA72}), false);
  EXPECT_EQ(all_in_order({kA76, kA55, kA55, kA55}), false);
}

TEST(Processor, ThatTellsOfNoCoreIsNotKnown) {
  EXPECT_EQ(all_in_order({}), std::nullopt);
  EXPECT_EQ(all_in_order({"no number"}), std::nullopt);
  EXPECT_EQ(all_run_in_order("/nowhere"), std::nullopt);
}

TEST(Processor, AnswersTheSameEachTime) { EXPECT_EQ(runs_in_order(), runs_in_order()); }

}  // namespace
}  // namespace kinglet::engine::xnn
