// SPDX-License-Identifier: Apache-2.0
// What the doctor makes of a board, from the files in which the kernel tells of it.
#include "daemon/doctor/doctor.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "camera/sources/open_source.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::daemon {
namespace {

class Doctor : public ::testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) {
    const std::filesystem::path file = folder_.path() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  DoctorInput input() const { return {.root = folder_.path()}; }

  kinglet::testing::ScratchFolder folder_;
};

TEST_F(Doctor, LooksAtEverythingOfItsTable) {
  const std::vector<Finding> findings = examine(input());
  std::vector<std::string> names;
  for (const Finding& finding : findings) names.push_back(finding.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"camera", "memory", "power", "clock", "disk", "model", "network", "update"}));
  EXPECT_EQ(worst(findings), CheckStatus::kFail);  // nobody answers for the camera
}

TEST_F(Doctor, SeesThatCamerasHaveNoMemoryLeft) {
  put("proc/meminfo", "MemTotal: 443000 kB\nMemAvailable: 210000 kB\nCmaTotal: 65536 kB\nCmaFree: 900 kB\n");
  const Finding finding = look_at_memory(input());
  EXPECT_EQ(finding.status, CheckStatus::kWarn);
  EXPECT_NE(finding.hint.find("cma-256"), std::string::npos) << finding.hint;
  put("proc/meminfo", "MemTotal: 443000 kB\nMemAvailable: 210000 kB\nCmaTotal: 65536 kB\nCmaFree: 40000 kB\n");
  EXPECT_EQ(look_at_memory(input()).status, CheckStatus::kPass);
  put("proc/meminfo", "MemTotal: 443000 kB\nMemAvailable: 20000 kB\n");
  EXPECT_EQ(look_at_memory(input()).status, CheckStatus::kWarn);
}

TEST_F(Doctor, ANewerKingletIsToldOfAndNoFault) {
  DoctorInput with_update = input();
  with_update.update = Update{.installed = "0.1.0", .available = "0.2.0"};
  const Finding finding = look_at_update(with_update);
  EXPECT_EQ(finding.status, CheckStatus::kPass);
  EXPECT_EQ(finding.detail, "kinglet 0.2.0 is there, 0.1.0 is installed: sudo apt install kinglet");
}

TEST_F(Doctor, TellsASupplyThatIsTooWeakFromOneThatWas) {
  const std::string file = "sys/devices/platform/soc/soc:firmware/get_throttled";
  put("sys/class/thermal/thermal_zone0/temp", "58400\n");
  put(file, "50005\n");
  Finding finding = look_at_power(input());
  EXPECT_EQ(finding.status, CheckStatus::kFail);
  EXPECT_EQ(finding.detail, "under_voltage, throttled now, 58 °C");
  put(file, "50000\n");
  finding = look_at_power(input());
  EXPECT_EQ(finding.status, CheckStatus::kWarn);
  EXPECT_NE(finding.detail.find("since the start"), std::string::npos);
  put(file, "0\n");
  EXPECT_EQ(look_at_power(input()).status, CheckStatus::kPass);
}

TEST_F(Doctor, NamesTheCamerasThatTheKernelSees) {
  put("sys/class/video4linux/video0/name", "imx708\n");
  DoctorInput with_camera = input();
  with_camera.cameras = {{.state = "absent", .detail = "permission denied", .description = {}}};
  const Finding finding = look_at_camera(with_camera);
  EXPECT_EQ(finding.status, CheckStatus::kFail);
  EXPECT_EQ(finding.detail, "absent: permission denied");
  EXPECT_EQ(std::get<std::vector<std::string>>(finding.facts.at(0).second), std::vector<std::string>{"imx708"});
  EXPECT_NE(finding.hint.find("cannot be opened"), std::string::npos);
}

TEST_F(Doctor, OfSeveralCamerasEachIsNamedAndTheWorstCounts) {
  DoctorInput both = input();
  both.cameras = {{.name = "garden", .state = "streaming", .description = "IMX708"},
                  {.name = "tree", .state = "absent", .detail = "timed out", .kind = camera::SourceKind::kNetwork}};
  const Finding finding = look_at_camera(both);
  EXPECT_EQ(finding.status, CheckStatus::kFail);
  EXPECT_EQ(finding.detail, "garden streaming: IMX708; tree absent: timed out");
  EXPECT_NE(finding.hint.find("same network"), std::string::npos);
  const auto fact = std::ranges::find(finding.facts, "tree_state", &std::pair<std::string, Fact>::first);
  ASSERT_NE(fact, finding.facts.end());
  EXPECT_EQ(std::get<std::string>(fact->second), "absent");
}

TEST_F(Doctor, SpeaksOfACableOnlyWhereThereIsOne) {
  DoctorInput with_camera = input();
  with_camera.cameras = {{.state = "absent", .detail = "timed out", .description = {}}};
  EXPECT_NE(look_at_camera(with_camera).hint.find("ribbon cable"), std::string::npos);
  for (const std::string state : {"absent", "failed", "stalled"}) {
    with_camera.cameras[0].state = state;
    with_camera.cameras[0].kind = camera::SourceKind::kNetwork;
    EXPECT_EQ(look_at_camera(with_camera).hint.find("cable"), std::string::npos) << state;
    EXPECT_NE(look_at_camera(with_camera).hint.find("same network"), std::string::npos) << state;
    with_camera.cameras[0].kind = camera::SourceKind::kFile;
    EXPECT_EQ(look_at_camera(with_camera).hint.find("cable"), std::string::npos) << state;
  }
}

TEST_F(Doctor, SeesAWeakWirelessSignal) {
  put("proc/net/wireless",
      "Inter-| sta-|   Quality        |\n face | tus | link level noise |\n wlan0: 0000   30.  -82.  -256 0 0 0 0 0 "
      "0\n");
  const Finding finding = look_at_network(input());
  if (finding.detail.find("no network") != std::string::npos) GTEST_SKIP() << "this machine has no network";
  EXPECT_EQ(finding.status, CheckStatus::kWarn);
  EXPECT_NE(finding.detail.find("-82 dBm"), std::string::npos) << finding.detail;
}

TEST_F(Doctor, SaysWhereTheHistoryIs) {
  DoctorInput with_disk = input();
  with_disk.disk = {.folder = folder_.path() / "gone", .note = {}};
  EXPECT_EQ(look_at_disk(with_disk).status, CheckStatus::kFail);
  with_disk.disk = {.folder = folder_.path(), .note = "the disk is full"};
  EXPECT_EQ(look_at_disk(with_disk).status, CheckStatus::kWarn);
  with_disk.disk = {.folder = {}, .note = {}};
  EXPECT_EQ(look_at_disk(with_disk).status, CheckStatus::kPass);
}

}  // namespace
}  // namespace kinglet::daemon
