// SPDX-License-Identifier: Apache-2.0
// Why: the demonstration's pictures as files with their labels, for training, for tests and for looking at.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "engine/base/error.h"

namespace kinglet::camera {

enum class DemoFramesKind {
  kSamples,  // independent pictures, every class equally often
  kScene,    // the animated scene, every tenth frame (one a second)
};

struct DemoFramesOptions {
  std::uint64_t seed = 1;
  std::uint64_t count = 100;  // at most 1,000,000
  int width = 640;            // 32 to 4,096
  int height = 480;
  DemoFramesKind kind = DemoFramesKind::kSamples;
};

// Writes frame_000000.png ... and labels.csv (file,index,label,x,y,width,height: the visitor's box in pixels) into
// `folder`, which is made if missing. `progress` is called with the number of files written; it may be empty.
// kUsage: options out of range. kCannotCreate: the folder holds a labels.csv already, or cannot be written.
[[nodiscard]] Result<void> write_demo_frames(const std::filesystem::path& folder, const DemoFramesOptions& options,
                                             const std::function<void(std::uint64_t done)>& progress = {});

}  // namespace kinglet::camera
