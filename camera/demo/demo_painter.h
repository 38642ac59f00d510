// SPDX-License-Identifier: Apache-2.0
// Why: draws one scene after another without drawing again what stands still; draw_demo_scene is the same without
// memory.
#pragma once

#include <cstdint>

#include "camera/demo/demo_parts.h"
#include "camera/demo/demo_scene.h"

namespace kinglet::camera::demo {

// Thread-bound. Keeps the garden in the light of the hour; reuses the frame's buffer.
class ScenePainter {
 public:
  ScenePainter(std::uint64_t seed, int width, int height);
  // kAsBefore: the garden, which takes the most of the time, stays as it was drawn last, if it was.
  enum class Light : std::uint8_t { kOfTheHour, kAsBefore };
  void draw(std::uint64_t index, DemoFrame& frame, Light light = Light::kOfTheHour);

 private:
  std::uint64_t seed_;
  Garden garden_;
  Image still_;
  int drawn_step_ = -1;
};

}  // namespace kinglet::camera::demo
