// SPDX-License-Identifier: Apache-2.0
// Why: what both files of tests need: a folder of their own, scripts that stand for kinglet-camera, waiting.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "camera/source/source.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::camera {

// The row of sources.def, without the other sources.
Result<std::unique_ptr<FrameSource>> open_libcamera(std::string_view rest, const SourceOptions& options);

}  // namespace kinglet::camera

namespace kinglet::camera::testing {

class LibcameraTest : public ::testing::Test {
 protected:
  // The program is built with this test's sanitizer: what it reports there is a failure here.
  void TearDown() override { EXPECT_THAT(log(), ::testing::Not(::testing::HasSubstr("Sanitizer"))); }

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

  // An executable script in the place of kinglet-camera.
  std::string script(const std::string& text) {
    const auto path = folder_ / ("program-" + std::to_string(++scripts_));
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path.string();
  }

  [[nodiscard]] SourceOptions options(const std::string& program) {
    return {.width = 640, .height = 480, .camera_program = program, .log = [this](LogLevel, std::string_view line) {
              const std::lock_guard lock(mutex_);
              lines_.emplace_back(line);
            }};
  }

  [[nodiscard]] std::unique_ptr<FrameSource> open(const std::string& program, const std::string& camera = {}) {
    return std::move(open_libcamera(camera, options(program)).value());
  }

  [[nodiscard]] std::string log() {
    const std::lock_guard lock(mutex_);
    std::string all;
    for (const std::string& line : lines_) all += line + "\n";
    return all;
  }

 private:
  kinglet::testing::ScratchFolder scratch_;
  const std::filesystem::path& folder_ = scratch_.path();
  int scripts_ = 0;
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

inline SteadyTime in(std::chrono::milliseconds time) { return SteadyClock::now() + time; }
inline constexpr std::chrono::seconds kLong{120};  // for what must come

// The frame of a next() that must give one.
inline Frame must_get(FrameSource& source) {
  auto next = source.next(in(kLong));
  if (!next) {
    ADD_FAILURE() << describe(next.error());
    return {};
  }
  if (auto* frame = std::get_if<Frame>(&*next)) return std::move(*frame);
  ADD_FAILURE() << "no frame, reason " << static_cast<int>(std::get<NoFrame>(*next).reason);
  return {};
}

}  // namespace kinglet::camera::testing
