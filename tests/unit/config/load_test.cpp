// SPDX-License-Identifier: Apache-2.0
// Why: precedence, short forms and every fault text of the configuration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "config/config.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::config {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

// The keys that differ from their defaults.
std::vector<const Key*> changed(const Config& config) {
  std::vector<const Key*> out;
  for (const Key& key : key_table()) {
    if (key.value(Config{}) != key.value(config)) out.push_back(&key);
  }
  return out;
}

// A configuration folder that lives for one test.
class LoadTest : public ::testing::Test {
 protected:
  LoadTest() { options_.folder = folder_; }

  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  Config loaded() {
    auto result = load(options_);
    EXPECT_TRUE(result) << (result ? "" : report("test", result.error()));
    return result ? result->config : Config{};
  }
  // The lines a user sees, the folder's name taken out.
  std::string fault_report() {
    const auto result = load(options_);
    if (result) return "no fault";
    std::string text = report("kingletd", result.error());
    const std::string prefix = folder_.string() + "/";
    for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix))
      text.erase(at, prefix.size());
    return text;
  }
  std::string fault_of(const std::string& file_text) {
    write("kinglet.toml", file_text);
    return fault_report();
  }

  kinglet::testing::ScratchFolder scratch_;
  const std::filesystem::path& folder_ = scratch_.path();
  LoadOptions options_;
};

TEST_F(LoadTest, WorksWithoutAnyFile) {
  const Config config = loaded();
  EXPECT_EQ(config.decide.min_score, 0.5);
  EXPECT_EQ(config.decide.min_margin, 0.15);
  EXPECT_EQ(config.source.spec, "auto");
  EXPECT_EQ(config.source.size, (PixelSize{1280, 720}));
  EXPECT_EQ(config.http.max_body, Bytes{8 << 20});
  EXPECT_THAT(config.http.listen, ElementsAre("[::]:8420"));
  EXPECT_EQ(config.http.anonymous, "read");
}

TEST_F(LoadTest, ThreadsAreBetweenOneAndFourByDefault) {
  EXPECT_GE(loaded().inference.threads, 1);
  EXPECT_LE(loaded().inference.threads, 4);
}

TEST_F(LoadTest, TheNodeIsNamedAfterTheHost) { EXPECT_FALSE(loaded().node.name.empty()); }

TEST_F(LoadTest, DropInsFollowTheMainFileByName) {
  write("kinglet.toml", "[decide]\nmin_score = 0.1\nmin_margin = 0.1\n");
  write("conf.d/20-b.toml", "[decide]\nmin_score = 0.3\n");
  write("conf.d/10-a.toml", "[decide]\nmin_score = 0.2\n");
  write("conf.d/99-ignored.txt", "not toml");
  EXPECT_EQ(loaded().decide.min_score, 0.3);
  EXPECT_EQ(loaded().decide.min_margin, 0.1);
}

TEST_F(LoadTest, ConfigFileReplacesTheFolder) {
  write("kinglet.toml", "[decide]\nmin_score = 0.1\n");
  write("conf.d/10-a.toml", "[decide]\nmin_margin = 0.2\n");
  write("other.toml", "[gate]\nmax_fps = 3\n");
  options_.file = folder_ / "other.toml";
  EXPECT_EQ(loaded().decide.min_score, 0.5);
  EXPECT_EQ(loaded().gate.max_fps, 3);
}

TEST_F(LoadTest, EnvironmentIsStrongerThanFilesAndSetIsStrongest) {
  write("kinglet.toml", "[decide]\nmin_score = 0.1\nmin_margin = 0.1\n[gate]\nmax_fps = 1\n");
  options_.environment = {"KINGLET_DECIDE__MIN_SCORE=0.2", "KINGLET_DECIDE__MIN_MARGIN=0.2", "HOME=/root"};
  options_.assignments = {"decide.min_score=0.3"};
  const auto result = load(options_);
  ASSERT_TRUE(result) << report("test", result.error());
  EXPECT_EQ(result->config.decide.min_score, 0.3);
  EXPECT_EQ(result->config.decide.min_margin, 0.2);
  EXPECT_EQ(result->config.gate.max_fps, 1);
}

TEST_F(LoadTest, TheLaterAssignmentWins) {
  options_.assignments = {"gate.max_fps=1", "gate.max_fps=2"};
  EXPECT_EQ(loaded().gate.max_fps, 2);
}

TEST_F(LoadTest, SourceHasAShortForm) {
  write("kinglet.toml", "source = \"images:/var/pictures\"\n");
  EXPECT_EQ(loaded().source.spec, "images:/var/pictures");
}

TEST_F(LoadTest, SourceIsAnArrayOfOneTable) {
  write("kinglet.toml", "[[source]]\nspec = \"demo:\"\nsize = \"640x480\"\nfps = 5\n");
  EXPECT_EQ(loaded().source.size, (PixelSize{640, 480}));
  EXPECT_EQ(loaded().source.fps, 5);
}

TEST_F(LoadTest, AnotherSourceReplacesTheWholeEntry) {
  write("kinglet.toml", "[[source]]\nspec = \"demo:\"\nsize = \"640x480\"\n");
  options_.assignments = {"source=images:photos", "source.fps=2"};
  const Config config = loaded();
  EXPECT_EQ(config.source.spec, "images:photos");
  EXPECT_EQ(config.source.size, (PixelSize{1280, 720}));
  EXPECT_EQ(config.source.fps, 2);
}

TEST_F(LoadTest, BareTextOfAnAssignmentIsAString) {
  options_.assignments = {"model.path=/models/5.onnx", "model.name=12", "http.listen=127.0.0.1:0", "log.level=debug"};
  const Config config = loaded();
  EXPECT_EQ(config.model.path, "/models/5.onnx");
  EXPECT_EQ(config.model.name, "12");
  EXPECT_THAT(config.http.listen, ElementsAre("127.0.0.1:0"));
  EXPECT_EQ(config.log.level, "debug");
}

TEST_F(LoadTest, AListInTheEnvironmentIsTomlText) {
  options_.environment = {R"(KINGLET_HTTP__LISTEN=["127.0.0.1:1", "[::1]:2"])"};
  EXPECT_THAT(loaded().http.listen, ElementsAre("127.0.0.1:1", "[::1]:2"));
}

TEST_F(LoadTest, RelativePathsStartAtTheFile) {
  write("kinglet.toml", "[model]\npath = \"models/bird.onnx\"\nlabels = \"/abs/l.txt\"\n");
  EXPECT_EQ(loaded().model.path, folder_ / "models/bird.onnx");
  EXPECT_EQ(loaded().model.labels, "/abs/l.txt");
  options_.assignments = {"model.path=here.onnx"};
  EXPECT_EQ(loaded().model.path, "here.onnx");
}

TEST_F(LoadTest, OriginsNameTheStrongestPlace) {
  write("kinglet.toml", "[decide]\nmin_score = 0.1\n");
  options_.environment = {"KINGLET_DECIDE__MIN_MARGIN=0.2"};
  options_.assignments = {"gate.max_fps=4"};
  const auto result = load(options_);
  ASSERT_TRUE(result);
  const std::string text = show(*result);
  EXPECT_NE(text.find("min_score = 0.1  # " + (folder_ / "kinglet.toml").string() + ":2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("min_margin = 0.2  # KINGLET_DECIDE__MIN_MARGIN\n"), std::string::npos) << text;
  EXPECT_NE(text.find("max_fps = 4  # --set\n"), std::string::npos) << text;
  EXPECT_NE(text.find("level = \"info\"  # default\n"), std::string::npos) << text;
}

// --- Faults: the exact lines ---

TEST_F(LoadTest, NamesTheNearestKey) {
  EXPECT_EQ(fault_of("[decide]\nmin_scor = 0.5\n"),
            "kingletd: kinglet.toml:2:1: unknown key \"decide.min_scor\"\nhint: did you mean decide.min_score?\n");
}

TEST_F(LoadTest, NamesTheNearestSection) {
  EXPECT_EQ(fault_of("\n[decied]\nmin_score = 0.5\n"),
            "kingletd: kinglet.toml:2:2: unknown key \"decied\"\nhint: did you mean decide?\n");
}

TEST_F(LoadTest, PointsToTheListWhenNothingIsNear) {
  EXPECT_EQ(fault_of("[telegraph]\nenabled = true\n"),
            "kingletd: kinglet.toml:1:2: unknown key \"telegraph\"\nhint: `kinglet config docs` lists all keys\n");
}

TEST_F(LoadTest, NamesValueAndRangeOfANumber) {
  EXPECT_EQ(fault_of("[decide]\nmin_score = 1.5\n"),
            "kingletd: kinglet.toml:2:13: decide.min_score = 1.5: expected a number from 0 to 1\n");
  EXPECT_EQ(fault_of("[decide]\nmin_score = nan\n"),
            "kingletd: kinglet.toml:2:13: decide.min_score = nan: expected a number from 0 to 1\n");
  EXPECT_EQ(fault_of("[gate]\nmax_fps = \"fast\"\n"),
            "kingletd: kinglet.toml:2:11: gate.max_fps = \"fast\": expected a number from 0.1 to 1000\n");
}

TEST_F(LoadTest, NamesValueAndRangeOfACount) {
  EXPECT_EQ(fault_of("[http]\nmax_pixels = 0\n"),
            "kingletd: kinglet.toml:2:14: http.max_pixels = 0: expected a whole number from 1 to 200000000\n");
  EXPECT_EQ(fault_of("[inference]\nthreads = 5\n"),
            "kingletd: kinglet.toml:2:11: inference.threads = 5: expected \"auto\" or a whole number from 1 to 4\n");
}

TEST_F(LoadTest, NamesValueAndRangeOfASize) {
  EXPECT_EQ(
      fault_of("[http]\nmax_body = \"1GiB\"\n"),
      "kingletd: kinglet.toml:2:12: http.max_body = \"1GiB\": expected a size from \"64KiB\" to \"64MiB\" in B, KiB, "
      "MiB or GiB\n");
  EXPECT_EQ(
      fault_of("[[source]]\nsize = \"1280\"\n"),
      "kingletd: kinglet.toml:2:8: source.size = \"1280\": expected a size such as \"1280x720\", each side even and "
      "from 64 to 4096\n");
}

TEST_F(LoadTest, NamesTheChoices) {
  EXPECT_EQ(
      fault_of("[log]\nlevel = \"infos\"\n"),
      "kingletd: kinglet.toml:2:9: log.level = \"infos\": expected one of \"debug\", \"info\", \"warning\", \"error\"\n"
      "hint: did you mean \"info\"?\n");
}

TEST_F(LoadTest, ListensOnEveryKindOfAddress) {
  options_.assignments = {R"(http.listen=["0.0.0.0:1", "[::]:2", "192.168.1.7:3", "localhost:4", "unix:/run/k.sock"])"};
  EXPECT_EQ(loaded().http.listen.size(), 5U);
}

TEST_F(LoadTest, RefusesANameForAnAddress) {
  EXPECT_EQ(fault_of("[http]\nlisten = [\"feeder.local:8420\"]\n"),
            "kingletd: kinglet.toml:2:10: http.listen = [ \"feeder.local:8420\" ]: expected a list of addresses with "
            "port, such as [\"[::]:8420\"], [\"127.0.0.1:8420\", \"unix:/run/kinglet/http.sock\"]\n"
            "hint: a name is no address; [::] is all of them\n");
}

TEST_F(LoadTest, RefusesAnAddressWithoutPort) {
  EXPECT_THAT(fault_of("[http]\nlisten = [\"127.0.0.1\"]\n"), StartsWith("kingletd: kinglet.toml:2:10: http.listen"));
  EXPECT_THAT(fault_of("[http]\nlisten = [\"127.0.0.1:99999\"]\n"),
              StartsWith("kingletd: kinglet.toml:2:10: http.listen"));
  EXPECT_THAT(fault_of("[http]\nlisten = []\n"), StartsWith("kingletd: kinglet.toml:2:10: http.listen"));
}

TEST_F(LoadTest, RefusesANodeNameThatTopicsCannotHave) {
  EXPECT_EQ(
      fault_of("[node]\nname = \"Garden 1\"\n"),
      "kingletd: kinglet.toml:2:8: node.name = \"Garden 1\": expected \"auto\" or a name of a to z, 0 to 9 and _, at "
      "most 63 long\n");
}

TEST_F(LoadTest, RefusesAKeyWhereASectionIsExpected) {
  EXPECT_EQ(
      fault_of("http = 8420\n"),
      "kingletd: kinglet.toml:1:1: http = 8420: expected a section of keys\nhint: write [http] and its keys below\n");
}

TEST_F(LoadTest, EachCameraHasAPartOfTheConfigurationOfItsOwn) {
  write("kinglet.toml",
        "[[source]]\nspec = \"libcamera:\"\n[[source]]\nname = \"tree\"\nspec = \"libcamera:1\"\nrotation = 180\n"
        "region = [0.1, 0.1, 0.5, 0.5]\nmasks = [[0, 0, 0.2, 0.2]]\n[camera]\nhflip = true\n[privacy]\n"
        "masks = [[0.5, 0.5, 0.5, 0.5]]\n[gate]\nmax_fps = 3\n");
  const Config config = loaded();
  ASSERT_EQ(camera_count(config), 2U);
  const Config first = of_camera(config, 0);
  EXPECT_EQ(first.source.name, "camera");
  EXPECT_TRUE(first.camera.hflip);
  EXPECT_FALSE(first.gate.region);
  const Config second = of_camera(config, 1);
  EXPECT_EQ(second.source.name, "tree");
  EXPECT_EQ(second.source.spec, "libcamera:1");
  EXPECT_EQ(second.camera.rotation, 180);
  EXPECT_FALSE(second.camera.hflip) << "the first one's";
  EXPECT_EQ(second.gate.region, (Area{0.1, 0.1, 0.5, 0.5}));
  EXPECT_THAT(second.privacy.masks, ElementsAre(Area{0, 0, 0.2, 0.2}));
  EXPECT_EQ(second.gate.max_fps, 3) << "of all";
  EXPECT_THAT(show(load(options_).value()), ::testing::HasSubstr("kinglet.toml:3:1\n[[source]]\nname = \"tree\"\n"));
}

TEST_F(LoadTest, CamerasNeedNamesOfTheirOwn) {
  EXPECT_EQ(fault_of("[[source]]\nmasks = [[0, 0, 0.5, 0.5]]\n"),
            "kingletd: kinglet.toml:2:1: unknown key \"source.masks\"\n"
            "hint: of the first camera it is privacy.masks\n");
  EXPECT_EQ(fault_of("[[source]]\nspec = \"demo:\"\n[[source]]\nspec = \"demo:\"\n"),
            "kingletd: kinglet.toml:3:1: source.name: a [[source]] after the first needs a name\n"
            "hint: such as name = \"garden\"\n");
  EXPECT_EQ(fault_of("[[source]]\nspec = \"demo:\"\n[[source]]\nname = \"camera\"\n"),
            "kingletd: kinglet.toml:3:1: source.name = \"camera\": another [[source]] has this name\n"
            "hint: each camera has a name of its own; the first one's is camera unless it says otherwise\n");
  EXPECT_EQ(fault_of("[[source]]\nname = \"a\"\n[[source]]\nname = \"Tree 1\"\nrotaton = 180\n"),
            "kingletd: kinglet.toml:4:8: source.name = \"Tree 1\": expected a name of a to z, 0 to 9 and _, at most 32 "
            "long, and not demo\n"
            "kingletd: kinglet.toml:5:1: unknown key \"source.rotaton\"\nhint: did you mean rotation?\n");
}

TEST_F(LoadTest, TheShortFormIsTheOnlyCamera) {
  write("kinglet.toml", "[[source]]\nspec = \"demo:\"\n[[source]]\nname = \"tree\"\nspec = \"demo:\"\n");
  EXPECT_EQ(camera_count(loaded()), 2U);
  options_.assignments = {"source=images:photos"};
  EXPECT_EQ(camera_count(loaded()), 1U);
  options_.assignments = {"source.spec=images:photos"};
  EXPECT_EQ(loaded().source.spec, "images:photos");
  EXPECT_EQ(camera_count(loaded()), 2U) << "the first one's";
}

TEST_F(LoadTest, ReportsTheFirstSyntaxErrorOfAFile) {
  EXPECT_THAT(fault_of("[decide]\nmin_score = = 2\n"), StartsWith("kingletd: kinglet.toml:2:13: not TOML: "));
  EXPECT_THAT(fault_of("[decide]\nmin_score = 0.1\nmin_score = 0.2\n"),
              StartsWith("kingletd: kinglet.toml:3:13: not TOML: "));
}

TEST_F(LoadTest, ReportsAllFaultsOfAllPlacesAtOnce) {
  write("kinglet.toml", "[decide]\nmin_scor = 0.5\nmin_margin = -1\n");
  write("conf.d/10.toml", "[log]\nlevel = 3\n");
  options_.environment = {"KINGLET_DECIDE__MIN_SCOR=1", "KINGLET_CORPUS=/somewhere",
                          "KINGLET_CAMERA_PROGRAM=/somewhere", "KINGLET_RPICAM_PROGRAM=/somewhere",
                          "KINGLET_FFMPEG_PROGRAM=/somewhere"};
  options_.assignments = {"gate.max_fps=0", "novalue"};
  EXPECT_EQ(fault_report(),
            "kingletd: kinglet.toml:2:1: unknown key \"decide.min_scor\"\n"
            "hint: did you mean decide.min_score?\n"
            "kingletd: kinglet.toml:3:14: decide.min_margin = -1: expected a number from 0 to 1\n"
            "kingletd: conf.d/10.toml:2:9: log.level = 3: expected one of \"debug\", \"info\", \"warning\", \"error\"\n"
            "kingletd: KINGLET_DECIDE__MIN_SCOR: unknown key \"decide.min_scor\"\n"
            "hint: did you mean KINGLET_DECIDE__MIN_SCORE?\n"
            "kingletd: --set gate.max_fps: gate.max_fps = 0: expected a number from 0.1 to 1000\n"
            "kingletd: --set novalue: expected KEY=VALUE\n"
            "hint: such as --set decide.min_score=0.5\n");
}

TEST_F(LoadTest, FaultsOfValuesEndWith78) {
  options_.assignments = {"gate.max_fps=0"};
  EXPECT_EQ(exit_code(load(options_).error()), 78);
}

TEST_F(LoadTest, AMissingConfigFileEndsWith66) {
  options_.file = folder_ / "none.toml";
  EXPECT_EQ(fault_report(),
            "kingletd: none.toml: cannot open the file: No such file or directory\nhint: check the path\n");
  EXPECT_EQ(exit_code(load(options_).error()), 66);
}

TEST_F(LoadTest, AnAssignmentCannotSmuggleASecondKey) {
  options_.assignments = {"decide.min_score=0.5\n[gate]\nmax_fps=1"};
  EXPECT_THAT(fault_report(), StartsWith("kingletd: --set decide.min_score: decide.min_score = "));
}

// --- What is generated from the table ---

TEST_F(LoadTest, TheDefaultFileChangesNothing) {
  write("kinglet.toml", default_file());
  EXPECT_TRUE(changed(loaded()).empty());
}

TEST_F(LoadTest, TheDefaultFileIsValidWithEveryKeyUncommented) {
  std::string text;
  std::istringstream lines(default_file());
  for (std::string line; std::getline(lines, line);)
    text += (line.starts_with("# ") ? line : line.substr(line.starts_with('#'))) + "\n";
  write("kinglet.toml", text);
  EXPECT_TRUE(changed(loaded()).empty()) << text;
}

TEST_F(LoadTest, ServicesOfMessagesAreTablesWithDefaultsOfTheirOwn) {
  write("kinglet.toml", "[[notify]]\nname = \"phone\"\nto = \"birds\"\n[[notify]]\nname = \"mail\"\nat_most = 3\n");
  const Config config = loaded();
  ASSERT_EQ(config.notify.size(), 2U);
  EXPECT_EQ(config.notify[0].to, "birds");
  EXPECT_THAT(config.notify[0].events, ElementsAre("visit.start"));
  EXPECT_EQ(config.notify[0].at_most, 12);
  EXPECT_EQ(config.notify[1].at_most, 3);
  EXPECT_THAT(config.notify[1].place, ::testing::HasSubstr("kinglet.toml:4"));
}

TEST_F(LoadTest, EveryFaultOfAServiceIsTold) {
  EXPECT_EQ(fault_of("[[notify]]\nnam = \"phone\"\nat_most = 0\nservice = \"ntfi\"\n"),
            "kingletd: kinglet.toml:3:11: notify.at_most = 0: expected a whole number from 1 to 1000\n"
            "kingletd: kinglet.toml:2:7: unknown key \"notify.nam\"\n"
            "hint: did you mean name?\n"
            "kingletd: kinglet.toml:4:11: notify.service = \"ntfi\": expected one of \"ntfy\", \"telegram\", \"mail\", "
            "\"template\"\nhint: did you mean \"ntfy\"?\n");
}

TEST(ServicesSetOverHttp, AreReadAsTheyAreWrittenAndNameNothingOfTheOwners) {
  Notify notify;
  notify.name = "phone";
  notify.to = "a \"b\"";
  notify.only = {"first_ever"};
  notify.picture = false;
  const auto read = load_notify({.file = "notify.toml", .text = notify_text(notify)});
  ASSERT_TRUE(read) << report("test", read.error());
  ASSERT_EQ(read->size(), 1U);
  EXPECT_EQ(notify_text(read->front()), notify_text(notify));
  for (const char* key : {"server", "secret_file", "certificates", "username", "body"}) {
    const std::string text = "[[notify]]\nname = \"phone\"\n" + std::string(key) + " = \"x\"\n";
    EXPECT_FALSE(load_notify({.file = "notify.toml", .text = text})) << key;
  }
}

TEST(DefaultFile, IsTheOneInTheTree) {
  std::ifstream file(std::filesystem::path(KINGLET_SOURCE_DIR) / "config" / "kinglet.toml");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(text, default_file()) << "write it anew: kinglet config default > config/kinglet.toml";
}

TEST(KeyTable, NamesKeyAndReloadRule) {
  Config after;
  after.decide.min_score = 0.7;
  after.http.listen = {"[::1]:1"};
  const auto keys = changed(after);
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[0]->full_name(), "decide.min_score");
  EXPECT_EQ(keys[0]->reload, Reload::kLive);
  EXPECT_EQ(keys[1]->reload, Reload::kRestart);
  Config mixed;
  keys[0]->copy(after, mixed);
  EXPECT_EQ(mixed.decide.min_score, 0.7);
  EXPECT_EQ(mixed.http.listen, Config{}.http.listen);
}

TEST(KeyTable, EveryKeyHasHelpAndADocsLine) {
  for (const Key& key : key_table()) {
    EXPECT_FALSE(key.help.empty()) << key.full_name();
    EXPECT_NE(docs().find("| `" + key.full_name() + "` |"), std::string::npos) << key.full_name();
  }
}

}  // namespace
}  // namespace kinglet::config
