// SPDX-License-Identifier: Apache-2.0
// Why: children are always ended and reaped, and what they say reaches the log.
#include "camera/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace kinglet::camera {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Result<std::unique_ptr<ChildProcess>> shell(const std::string& script, LogSink log = {}) {
  return ChildProcess::start({.program = "/bin/sh", .arguments = {"-c", script}, .log = std::move(log)});
}

TEST(ChildProcess, TellsHowItEnded) {
  const auto exits = shell("exit 69");
  ASSERT_TRUE(exits);
  EXPECT_TRUE((*exits)->wait(SteadyClock::now() + seconds(10)));
  EXPECT_EQ((*exits)->end_text(), "exit code 69");
  const auto dies = shell("kill -9 $$");
  ASSERT_TRUE(dies);
  EXPECT_TRUE((*dies)->wait(SteadyClock::now() + seconds(10)));
  EXPECT_THAT((*dies)->end_text(), StartsWith("signal 9"));
}

TEST(ChildProcess, OutputBecomesLogLinesWithTheirLevel) {
  std::vector<std::pair<LogLevel, std::string>> lines;
  const auto child =
      shell("echo one; echo '[1] ERROR Camera two' >&2; printf 'a\\033[31mb\\n'",
            [&](LogLevel level, std::string_view text) { lines.emplace_back(level, std::string(text)); });
  ASSERT_TRUE(child);
  ASSERT_TRUE((*child)->wait(SteadyClock::now() + seconds(10)));
  (*child)->forward_output();
  EXPECT_THAT(
      lines, ElementsAre(std::pair(LogLevel::kInfo, "sh: one"), std::pair(LogLevel::kError, "sh: [1] ERROR Camera two"),
                         std::pair(LogLevel::kInfo, "sh: a?[31mb")));
  EXPECT_EQ((*child)->last_line(), "a?[31mb");
}

TEST(ChildProcess, EndsWhatIgnoresSignals) {
  const auto child = shell("trap '' TERM INT HUP; while :; do sleep 1; done");
  ASSERT_TRUE(child);
  EXPECT_FALSE((*child)->wait(SteadyClock::now()));
  (*child)->kill();
  EXPECT_TRUE((*child)->wait(SteadyClock::now() + seconds(10)));
}

TEST(ChildProcess, MissingProgramIsUnavailable) {
  const auto child = ChildProcess::start({.program = "/nowhere/kinglet-camera"});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(child.error().message, HasSubstr("/nowhere/kinglet-camera"));
}

TEST(ChildProcess, InheritsNothingButThreeDescriptors) {
  const FileDescriptor leaked(::fcntl(0, F_DUPFD, 100));  // without close-on-exec
  std::string listed;
  const auto child = ChildProcess::start({.program = "/bin/sh",
                                          .arguments = {"-c", "echo /proc/self/fd/[0-9]*"},
                                          .log = [&](LogLevel, std::string_view text) { listed = text; }});
  ASSERT_TRUE(child);
  ASSERT_TRUE((*child)->wait(SteadyClock::now() + seconds(10)));
  (*child)->forward_output();
  EXPECT_THAT(listed, HasSubstr("/proc/self/fd/2"));
  EXPECT_EQ(listed.find("/proc/self/fd/" + std::to_string(leaked.get())), std::string::npos) << listed;
}

TEST(FindProgram, WishThatCannotRunIsNotReplaced) {
  EXPECT_EQ(find_program("sh", "/nowhere/sh", "KINGLET_TEST_UNSET"), "");
  EXPECT_EQ(find_program("sh", "/bin/sh", "KINGLET_TEST_UNSET"), "/bin/sh");
}

TEST(FindProgram, LooksInPath) {
  EXPECT_EQ(std::filesystem::path(find_program("sh", "", "KINGLET_TEST_UNSET")).filename(), "sh");
  EXPECT_EQ(find_program("kinglet-nowhere", "", "KINGLET_TEST_UNSET"), "");
}

}  // namespace
}  // namespace kinglet::camera
