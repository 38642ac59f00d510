// SPDX-License-Identifier: Apache-2.0
// Why: what tests of programs and of network cameras share: a source with its log, small programs, frames out of it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "camera/sources/open_source.h"
#include "engine/base/file.h"
#include "engine/base/mutex.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::camera {

class StreamSources : public ::testing::Test {
 protected:
  std::unique_ptr<FrameSource> open(const std::string& spec) {
    options_.spec = spec;
    options_.log = [this](LogLevel, std::string_view line) {
      const MutexLock lock(mutex_);
      log_ += std::string(line) + "\n";
    };
    auto source = open_source(options_);
    EXPECT_TRUE(source) << describe(source.error());
    return source ? std::move(*source) : nullptr;
  }

  std::string script(const std::string& text) {
    const auto path = folder_.path() / ("program" + std::to_string(++scripts_));
    EXPECT_TRUE(write_file(path, "#!/bin/sh\n" + text + "\n", Overwrite::kReplace));
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path.string();
  }

  std::string log() {
    const MutexLock lock(mutex_);
    return log_;
  }

  // The next frame; bad ones are counted and passed by.
  std::optional<Frame> frame(FrameSource& source) {
    const SteadyTime deadline = SteadyClock::now() + std::chrono::seconds(30);
    while (SteadyClock::now() < deadline) {
      auto got = source.next(deadline);
      if (got && std::holds_alternative<Frame>(*got)) return std::get<Frame>(*std::move(got));
      if (got || got.error().code != ErrorCode::kBadData) return std::nullopt;
      ++bad_;
    }
    return std::nullopt;
  }

  // The Error that next() comes to.
  Error end_of(FrameSource& source) {
    const SteadyTime deadline = SteadyClock::now() + std::chrono::seconds(30);
    while (SteadyClock::now() < deadline) {
      auto got = source.next(deadline);
      if (!got && got.error().code != ErrorCode::kBadData) return got.error();
    }
    return {};
  }

  kinglet::testing::ScratchFolder folder_;
  SourceOptions options_;
  int bad_ = 0;

 private:
  int scripts_ = 0;
  Mutex mutex_;
  std::string log_ KINGLET_GUARDED_BY(mutex_);
};

}  // namespace kinglet::camera
