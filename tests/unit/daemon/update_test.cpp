// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/update.h"

#include <gtest/gtest.h>

#include "engine/base/file.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;

// A machine with kinglet installed and lists of apt.
class UpdateWatchTest : public ::testing::Test {
 protected:
  UpdateWatchTest() {
    fs::create_directories(root_.path() / "var/lib/dpkg");
    fs::create_directories(root_.path() / "var/lib/apt/lists");
  }
  void write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(write_file(root_.path() / "var/lib" / name, text, Overwrite::kReplace));
  }
  void install(const std::string& version, const std::string& status = "install ok installed") const {
    write("dpkg/status",
          "Package: zlib1g\nStatus: install ok installed\nVersion: 9\n\nPackage: kinglet\nStatus: " + status +
              "\nPriority: optional\nVersion: " + version + "\n\nPackage: other\nVersion: 7\n\n");
  }
  void offer(const std::string& version,
             const std::string& list = "feeder_dists_stable_main_binary-arm64_Packages") const {
    write("apt/lists/" + list,
          "Package: kinglet-camera\nVersion: 99\n\nPackage: kinglet\nArchitecture: arm64\nVersion: " + version +
              "\nDescription: names birds\n");
  }
  // "INSTALLED AVAILABLE", after all was read.
  std::string found() {
    now_ += std::chrono::hours(2);
    while (watch_.look(now_)) {
    }
    const std::optional<Update> update = watch_.found();
    return update ? update->installed + " " + update->available : "nothing";
  }

  kinglet::testing::ScratchFolder root_;
  UpdateWatch watch_{root_.path()};
  SteadyTime now_ = SteadyClock::now();
};

TEST_F(UpdateWatchTest, TellsOfTheNewestThatAptKnowsWhereItIsNewerThanWhatIsInstalled) {
  install("0.1.0-1");
  EXPECT_EQ(found(), "nothing") << "apt knows none";
  offer("0.1.0-1");
  EXPECT_EQ(found(), "nothing") << "the same";
  offer("0.2.0-1", "older_Packages");
  offer("0.10.0-1", "newest_Packages");
  EXPECT_EQ(found(), "0.1.0-1 0.10.0-1");
  install("0.10.0-1");
  EXPECT_EQ(found(), "nothing") << "it was installed";
}

TEST_F(UpdateWatchTest, SaysNothingOfAKingletThatIsNotInstalledAsAPackage) {
  offer("9.0");
  EXPECT_EQ(found(), "nothing");
  install("0.1.0", "deinstall ok config-files");
  EXPECT_EQ(found(), "nothing");
}

TEST_F(UpdateWatchTest, FindsItAnywhereInAListThatIsReadInSteps) {
  install("0.1.0");
  std::string others;
  while (others.size() < (9U << 20))
    others += "Package: other\nVersion: 1\nDescription: " + std::string(900, 'x') + "\n\n";
  write("apt/lists/large_Packages", others + "Package: kinglet\nVersion: 0.3.0\n");
  now_ += std::chrono::hours(2);
  int steps = 0;
  while (watch_.look(now_)) ++steps;
  EXPECT_GE(steps, 3) << "the daemon's own thread is not held up";
  EXPECT_EQ(watch_.found()->available, "0.3.0");
}

TEST_F(UpdateWatchTest, ReadsAgainOnlyWhatHasChanged) {
  install("0.1.0");
  offer("0.2.0");
  EXPECT_EQ(found(), "0.1.0 0.2.0");
  now_ += std::chrono::hours(2);
  EXPECT_FALSE(watch_.look(now_));
  EXPECT_EQ(watch_.found()->available, "0.2.0") << "it is still known";
}

TEST(CompareVersions, OrdersAsDebianDoes) {
  // Each is older than the next (deb-version(7)).
  const std::vector<std::string> ordered{
      "0.1.0~rc1", "0.1.0", "0.1.0-1", "0.1.0-1+deb13u1", "0.1.0-2", "0.1.0+git", "0.1.1", "0.9", "0.10", "1:0.1"};
  for (std::size_t i = 0; i + 1 < ordered.size(); ++i) {
    EXPECT_LT(compare_versions(ordered[i], ordered[i + 1]), 0) << ordered[i] << " " << ordered[i + 1];
    EXPECT_GT(compare_versions(ordered[i + 1], ordered[i]), 0) << ordered[i] << " " << ordered[i + 1];
  }
  EXPECT_EQ(compare_versions("0:1.0", "1.0"), 0);
  EXPECT_EQ(compare_versions("1.00", "1.0"), 0);
}

}  // namespace
}  // namespace kinglet::daemon
