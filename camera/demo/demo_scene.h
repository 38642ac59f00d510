// SPDX-License-Identifier: Apache-2.0
// Why: the demonstration's world: a feeder drawn by us, with visitors, day and dusk. A pure function of seed and time,
// so that frames, labels and tests agree on every machine.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "camera/frame/frame.h"
#include "camera/preprocess/preprocess.h"

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

}  // namespace kinglet::camera
