// SPDX-License-Identifier: Apache-2.0
// Why: draws one scene after another without drawing again what stands still; draw_demo_scene is the same without
// memory.
#pragma once

#include <cstdint>
#include <functional>

#include "camera/demo/demo_parts.h"
#include "camera/demo/demo_scene.h"

namespace kinglet::camera::demo {

// Thread-bound. Keeps the garden in the light of the hour.
class ScenePainter {
 public:
  ScenePainter(std::uint64_t seed, int width, int height);
  // kAsBefore: the garden, which takes the most of the time, stays as it was drawn last, if it was.
  enum class Light : std::uint8_t { kOfTheHour, kAsBefore };
  // Reuses the frame's buffer.
  void draw(std::uint64_t index, DemoFrame& frame, Light light = Light::kOfTheHour);
  // The same for who looks at the picture once and needs no copy: `frame` gets all but its image.
  void show(std::uint64_t index, DemoFrame& frame, Light light, const std::function<void(const Image&)>& look);

 private:
  std::uint64_t seed_;
  Garden garden_;
  Image still_;
  Undo over_it_;  // the visitor and the leaves, while they are shown
  int drawn_step_ = -1;
};

}  // namespace kinglet::camera::demo
