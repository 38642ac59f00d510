// SPDX-License-Identifier: Apache-2.0
// Why: children are always ended and reaped, and what they say reaches the log.
#include "camera/process/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "tests/support/scratch_folder.h"

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
  EXPECT_TRUE((*exits)->wait(SteadyClock::now() + seconds(60)));
  EXPECT_EQ((*exits)->end_text(), "exit code 69");
  const auto dies = shell("kill -9 $$");
  ASSERT_TRUE(dies);
  EXPECT_TRUE((*dies)->wait(SteadyClock::now() + seconds(60)));
  EXPECT_THAT((*dies)->end_text(), StartsWith("signal 9"));
}

TEST(ChildProcess, OutputBecomesLogLinesWithTheirLevel) {
  std::vector<std::pair<LogLevel, std::string>> lines;
  const auto child = shell(
      "echo one; echo '[1] ERROR Camera two' >&2; echo '[1] ERROR DmaBufAllocator none' >&2; printf 'a\\033[31mb\\n'",
      [&](LogLevel level, std::string_view text) { lines.emplace_back(level, std::string(text)); });
  ASSERT_TRUE(child);
  ASSERT_TRUE((*child)->wait(SteadyClock::now() + seconds(60)));
  (*child)->forward_output();
  EXPECT_THAT(
      lines, ElementsAre(std::pair(LogLevel::kInfo, "sh: one"), std::pair(LogLevel::kError, "sh: [1] ERROR Camera two"),
                         std::pair(LogLevel::kDebug, "sh: [1] ERROR DmaBufAllocator none"),
                         std::pair(LogLevel::kInfo, "sh: a?[31mb")));
  EXPECT_EQ((*child)->last_line(), "a?[31mb");
}

TEST(ChildProcess, EndsWhatIgnoresSignals) {
  const auto child = shell("trap '' TERM INT HUP; while :; do sleep 1; done");
  ASSERT_TRUE(child);
  EXPECT_FALSE((*child)->wait(SteadyClock::now()));
  (*child)->kill();
  EXPECT_TRUE((*child)->wait(SteadyClock::now() + seconds(60)));
}

// Programs that leave the group of the one that started them: each writes its number into a file and then sleeps.
class ChildProcessFamily : public ::testing::Test {
 protected:
  static constexpr auto kLong = seconds(60);

  void start(const std::string& script) {
    child_ = shell(script + "\nsleep 1000");
    ASSERT_TRUE(child_);
  }
  [[nodiscard]] std::string file() const { return folder_.path() / "number"; }
  // Shell words that write and sleep as said above.
  [[nodiscard]] std::string sleeper() const { return "echo $$ > " + file() + "; exec sleep 1000"; }

  // Those that wrote their numbers, once there are so many.
  std::vector<pid_t> pids(std::size_t count) {
    std::vector<pid_t> found;
    for (const SteadyTime deadline = SteadyClock::now() + kLong; SteadyClock::now() < deadline;) {
      std::ifstream lines(file());
      found.assign(std::istream_iterator<pid_t>(lines), {});
      if (found.size() >= count) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_GE(found.size(), count);
    return found;
  }
  static bool lives(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(file, text);
    return !text.empty() && !text.substr(text.rfind(')')).starts_with(") Z");
  }
  static bool dies(pid_t pid) {
    for (const SteadyTime deadline = SteadyClock::now() + kLong; SteadyClock::now() < deadline;) {
      if (!lives(pid)) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  // The one that wrote its number, when what was started goes.
  bool ends_with_us() {
    const auto numbers = pids(1);
    child_->reset();
    return dies(numbers[0]);
  }

  const kinglet::testing::ScratchFolder folder_;
  Result<std::unique_ptr<ChildProcess>> child_;
};

TEST_F(ChildProcessFamily, AProgramInASessionOfItsOwnEndsWithIt) {
  start("setsid sh -c '" + sleeper() + "' &");
  EXPECT_TRUE(ends_with_us());
}

TEST_F(ChildProcessFamily, ADaemonThatForkedTwiceEndsWithIt) {
  start("(setsid sh -c \"sh -c '" + std::string("echo \\$\\$ > ") + file() + "; exec sleep 1000' &\" &)");
  EXPECT_TRUE(ends_with_us());
}

TEST_F(ChildProcessFamily, WhatItStartedEndsWhenItEndsByItself) {
  child_ = shell("setsid sh -c '" + sleeper() + "' & while [ ! -s " + file() + " ]; do sleep 0.01; done; exit 3");
  ASSERT_TRUE(child_);
  const auto numbers = pids(1);
  ASSERT_TRUE((*child_)->wait(SteadyClock::now() + kLong));
  EXPECT_EQ((*child_)->end_text(), "exit code 3");
  EXPECT_TRUE(dies(numbers[0]));
}

TEST_F(ChildProcessFamily, AProgramThatStartsAnotherForEachThatIsKilledEndsWithIt) {
  start("setsid sh -c 'while :; do sh -c \"echo \\$\\$ >> " + file() + "; exec sleep 1000\"; done' &");
  (void)pids(1);
  child_->reset();
  for (const pid_t pid : pids(1)) EXPECT_TRUE(dies(pid));
}

TEST_F(ChildProcessFamily, AProgramWithoutAnyEnvironmentEndsWithItsParent) {
  start("setsid env -i sh -c '" + sleeper() + "' & wait");
  EXPECT_TRUE(ends_with_us());
}

TEST_F(ChildProcessFamily, ASignalReachesASessionOfItsOwn) {
  start("setsid sh -c 'trap \"echo told > " + file() + ".told; exit\" TERM; echo $$ > " + file() +
        "; while :; do sleep 0.01; done' & wait; sleep 1000");
  const auto numbers = pids(1);
  (*child_)->send_signal(SIGTERM);
  EXPECT_TRUE(dies(numbers[0]));
  EXPECT_TRUE(std::filesystem::exists(file() + ".told"));
}

TEST_F(ChildProcessFamily, AnotherChildIsLeftAlone) {
  start("setsid sh -c '" + sleeper() + "' &");
  const auto numbers = pids(1);
  auto other = shell("sleep 1000");
  ASSERT_TRUE(other);
  other->reset();
  EXPECT_TRUE(lives(numbers[0]));
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
  ASSERT_TRUE((*child)->wait(SteadyClock::now() + seconds(60)));
  (*child)->forward_output();
  EXPECT_THAT(listed, HasSubstr("/proc/self/fd/2"));
  EXPECT_EQ(listed.find("/proc/self/fd/" + std::to_string(leaked.get())), std::string::npos) << listed;
}

TEST(ChildProcess, FindsNoSettingInItsEnvironmentThatNobodyMade) {
  std::set<std::string, std::less<>> listed;
  const auto child =
      shell("env | grep ^KINGLET_", [&](LogLevel, std::string_view text) { listed.emplace(text.substr(4)); });
  ASSERT_TRUE(child);
  ASSERT_TRUE((*child)->wait(SteadyClock::now() + seconds(60)));
  (*child)->forward_output();
  std::set<std::string, std::less<>> ours;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::string_view(*variable).starts_with("KINGLET_")) ours.emplace(*variable);
  }
  EXPECT_EQ(listed, ours);
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
