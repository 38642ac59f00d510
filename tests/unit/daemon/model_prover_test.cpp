// SPDX-License-Identifier: Apache-2.0
// Why: what a process says that a stranger's model may have taken over is data, and it never outstays its time.
#include "daemon/models/model_prover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "engine/base/file.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Prover : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(write_file(model_, "a model, as far as this goes", Overwrite::kRefuse)); }

  // A tool that is this shell script.
  [[nodiscard]] ProverOptions tool(const std::string& script, const std::string& wall = "60000") const {
    const fs::path program = scratch_.path() / "kinglet";
    EXPECT_TRUE(write_file(program, "#!/bin/sh\n" + script + "\n", Overwrite::kReplace));
    fs::permissions(program, fs::perms::owner_all);
    return {.state_folder = {},
            .program = program.string(),
            .limits = {.memory_bytes = 0, .wall = std::chrono::milliseconds(std::stoi(wall))}};
  }
  [[nodiscard]] Result<Proof> prove(const ProverOptions& options, const std::stop_token& stop = {}) const {
    return ModelProver(options).prove({.model = model_}, stop);
  }

  kinglet::testing::ScratchFolder scratch_;
  fs::path model_ = scratch_.path() / "bird.onnx";
};

TEST_F(Prover, TakesTheWordOfATool) {
  const auto proof = prove(tool(R"(echo '{"valid": true, "classes": 3, "data_files": []}')"));
  ASSERT_TRUE(proof) << describe(proof.error());
  EXPECT_EQ(proof->classes, 3U);
  EXPECT_THAT(proof->digest, ::testing::StartsWith("sha256:"));
}

TEST_F(Prover, TellsWhatTheToolSaysOfTheModel) {
  const auto proof = prove(tool(
      R"(echo '{"valid": false, "code": "unsupported", "message": "an\u001b[31m operator", "where": "n", "hint": "h"}')"));
  ASSERT_FALSE(proof);
  EXPECT_EQ(proof.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(proof.error().message, "an?[31m operator");
}

TEST_F(Prover, BelievesNoNonsense) {
  for (const char* text :
       {"", "{", "[]", "null", R"({"valid": 1})", R"({"valid": true})", R"({"valid": true, "classes": 3})",
        R"({"valid": true, "classes": 0, "data_files": []})", R"({"valid": true, "classes": -3, "data_files": []})",
        R"({"valid": true, "classes": 1e30, "data_files": []})", R"({"valid": true, "classes": 3, "data_files": [7]})",
        R"({"valid": true, "classes": 3, "data_files": {}})", R"({"valid": true, "classes": 3, "data_files": []} x)"}) {
    const auto proof = prove(tool("cat <<'END'\n" + std::string(text) + "\nEND"));
    ASSERT_FALSE(proof) << text;
    EXPECT_THAT(proof.error().message, HasSubstr("says nothing sensible")) << text;
  }
}

TEST_F(Prover, FollowsNoNamesThatLeadAway) {
  for (const char* name : {"../secret", "/etc/passwd", "..", ""}) {
    const auto proof =
        prove(tool(R"(echo '{"valid": true, "classes": 3, "data_files": [")" + std::string(name) + R"("]}')"));
    ASSERT_FALSE(proof) << name;
    EXPECT_THAT(proof.error().message, HasSubstr("no plain file name")) << name;
  }
}

TEST_F(Prover, EndsWhatDoesNotEnd) {
  const auto proof =
      prove(tool("trap '' TERM; echo $$ > " + (scratch_.path() / "pid").string() + "; exec sleep 600", "2000"));
  ASSERT_FALSE(proof);
  EXPECT_EQ(proof.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(proof.error().message, HasSubstr("took longer than"));
  const std::string pid = read_file(scratch_.path() / "pid", 100).value();
  const fs::path place = "/proc/" + pid.substr(0, pid.find('\n'));
  const SteadyTime patience = SteadyClock::now() + std::chrono::seconds(30);
  while (fs::exists(place) && SteadyClock::now() < patience) std::this_thread::yield();
  EXPECT_FALSE(fs::exists(place));
}

TEST_F(Prover, IsNotHeldByWhatAToolLeavesBehind) {
  const auto proof = prove(tool(R"(sleep 600 & echo '{"valid": true, "classes": 3, "data_files": []}')"));
  EXPECT_TRUE(proof) << describe(proof.error());
}

TEST_F(Prover, IsCalledOff) {
  std::stop_source stop;
  const std::jthread asker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop.request_stop();
  });
  const auto proof = prove(tool("exec sleep 600"), stop.get_token());
  ASSERT_FALSE(proof);
  EXPECT_THAT(proof.error().message, HasSubstr("called off"));
}

TEST_F(Prover, ProvesNoFileThatChangedMeanwhile) {
  const auto proof =
      prove(tool("echo more >> " + model_.string() + R"(; echo '{"valid": true, "classes": 3, "data_files": []}')"));
  ASSERT_FALSE(proof);
  EXPECT_THAT(proof.error().message, HasSubstr("changed while"));
}

TEST_F(Prover, RemembersUntilTheFileChanges) {
  const fs::path count = scratch_.path() / "count";
  ModelProver prover(
      tool("echo . >> " + count.string() + R"(; echo '{"valid": true, "classes": 3, "data_files": []}')"));
  const auto asked = [&] { return fs::file_size(count) / 2; };
  EXPECT_TRUE(prover.prove({.model = model_}, {}));
  EXPECT_TRUE(prover.prove({.model = model_}, {}));
  EXPECT_EQ(asked(), 1U);
  ASSERT_TRUE(write_file(scratch_.path() / "bird.labels.txt", "a\nb\nc\n", Overwrite::kRefuse));
  EXPECT_TRUE(prover.prove({.model = model_}, {}));
  EXPECT_EQ(asked(), 2U);
}

}  // namespace
}  // namespace kinglet::daemon
