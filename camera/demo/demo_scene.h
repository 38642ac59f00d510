// SPDX-License-Identifier: Apache-2.0
// Why: the demonstration's world: a feeder drawn by us, with visitors, day and dusk. A pure function of seed and time,
// so that frames, labels and tests agree on every machine; also as files, for training and for looking at.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

#include "camera/frame/frame.h"
#include "camera/preprocess/preprocess.h"
#include "engine/base/error.h"

namespace kinglet::camera {

// Class names of the demonstration, index = class; the last one is "background" (nobody there).
[[nodiscard]] std::span<const std::string_view> demo_labels();

struct DemoFrame {
  Image image;
  std::size_t label = 0;  // index into demo_labels()
  CropRect bird_px;       // where the visitor is; width 0 for background
  float evening = 0;      // light: 0 noon, 1 dusk
  bool covered = false;   // a leaf was drawn over the visitor
};

// The animated scene: frame `index` at 10 frames a second. Visitors come, stay for seconds and leave.
[[nodiscard]] DemoFrame draw_demo_scene(std::uint64_t seed, std::uint64_t index, int width, int height);

// One independent training or test picture: random species (balanced), pose, light, clutter.
[[nodiscard]] DemoFrame draw_demo_sample(std::uint64_t seed, std::uint64_t index, int width, int height);

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
