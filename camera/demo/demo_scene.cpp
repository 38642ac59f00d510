// SPDX-License-Identifier: Apache-2.0
#include "camera/demo/demo_scene.h"

#include <algorithm>
#include <array>
#include <optional>

#include "camera/demo/demo_painter.h"
#include "camera/demo/demo_parts.h"
#include "engine/base/check.h"

namespace kinglet::camera {
namespace {

using namespace demo;

constexpr std::uint64_t kSlotFrames = 80;   // one visit at most in each
constexpr std::uint64_t kDayFrames = 1800;  // noon to dusk and back
constexpr int kEveningSteps = 48;           // the garden is drawn again when the light moved one of these
constexpr float kFlightFrames = 7;

Image blank(int width, int height) {
  KINGLET_CHECK(width > 0 && height > 0);
  Image image{width, height, {}};
  image.rgb.resize(3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  return image;
}

int evening_step(std::uint64_t index) {
  const std::uint64_t phase = index % kDayFrames;
  const std::uint64_t folded = phase < kDayFrames / 2 ? phase : kDayFrames - phase;
  return static_cast<int>(folded * kEveningSteps / (kDayFrames / 2));
}

float smooth(float share) {
  share = std::clamp(share, 0.0F, 1.0F);
  return share * share * (3 - 2 * share);
}

// One stay: who, where, from when to when (frames within the slot).
struct Visit {
  bool takes_place;
  std::size_t species;
  Point perch;
  float size;
  float facing;
  Point from;  // where it comes from and goes to
  float arrives;
  float leaves;
  float peck_phase;
};

Visit visit_of(const Garden& garden, std::uint64_t seed, std::uint64_t slot) {
  Random random(seed ^ 0x5EEDULL, slot);
  Visit visit{};
  visit.takes_place = random.chance(0.8F);
  visit.species = static_cast<std::size_t>(random.below(static_cast<int>(kSpeciesCount)));
  const int perch = random.below(4);
  visit.perch = garden.perches[static_cast<std::size_t>(perch)];
  visit.size = random.between(0.26F, 0.36F);
  visit.facing = perch == 1 ? -1.0F : perch == 0 ? 1.0F : random.chance(0.5F) ? 1.0F : -1.0F;
  visit.from = {random.chance(0.5F) ? -0.4F : garden.aspect + 0.4F, random.between(0.1F, 0.5F)};
  visit.arrives = random.between(6, 16);
  visit.leaves = random.between(58, 70);
  visit.peck_phase = random.between(0, 1);
  return visit;
}

// Where the visitor is at `frame` of its slot; nothing before it comes and after it has gone.
std::optional<Pose> pose_at(const Visit& visit, float frame) {
  if (!visit.takes_place) return std::nullopt;
  const float coming = (frame - visit.arrives) / kFlightFrames;
  const float going = (frame - visit.leaves) / kFlightFrames;
  if (coming <= 0 || going >= 1) return std::nullopt;
  Pose pose{.feet = visit.perch, .size = visit.size, .facing = visit.facing};
  const float away = coming < 1 ? 1 - smooth(coming) : smooth(going);
  if (away > 0) {
    pose.feet = {visit.perch.x + (visit.from.x - visit.perch.x) * away,
                 visit.perch.y + (visit.from.y - visit.perch.y) * away};
    const bool to_the_right = (visit.from.x < visit.perch.x) == (coming < 1);
    pose.facing = to_the_right ? 1.0F : -1.0F;
    pose.wing = std::min(1.0F, away * 6);
    pose.flap = sine(frame * 0.31F);
    return pose;
  }
  const float beat = sine(frame * 0.045F + visit.peck_phase);
  pose.tilt = beat > 0.55F ? smooth((beat - 0.55F) / 0.3F) * 0.13F : 0.0F;
  pose.feet.y -= 0.004F * (1 + sine(frame * 0.11F + visit.peck_phase));
  return pose;
}

CropRect to_pixels(const Extent& extent, const Image& image) {
  const auto scale = static_cast<float>(image.height);
  const auto pixel = [&](float value, int limit) { return std::clamp(static_cast<int>(value * scale), 0, limit); };
  const int x0 = pixel(extent.low.x, image.width);
  const int y0 = pixel(extent.low.y, image.height);
  return {x0, y0, pixel(extent.high.x, image.width) - x0, pixel(extent.high.y, image.height) - y0};
}

// Labelled with a bird when most of it is in the picture.
void mark(DemoFrame& frame, const Image& image, std::size_t species, const Extent& extent) {
  const auto scale = static_cast<float>(image.height);
  const float whole = (extent.high.x - extent.low.x) * (extent.high.y - extent.low.y) * scale * scale;
  const CropRect seen = to_pixels(extent, image);
  if (static_cast<float>(seen.width) * static_cast<float>(seen.height) < 0.6F * whole) return;
  frame.label = species;
  frame.bird_px = seen;
}

// Fine grain as a sensor adds it in the dark; a repeated tile, shifted.
void add_grain(Image& image, Random& random, float strength) {
  std::array<std::int8_t, 1021> tile{};
  for (std::int8_t& grain : tile) grain = static_cast<std::int8_t>(random.between(-strength, strength));
  std::size_t at = static_cast<std::size_t>(random.below(1021));
  for (std::byte& value : image.rgb) {
    value = static_cast<std::byte>(std::clamp(std::to_integer<int>(value) + tile[at], 0, 255));
    at = at == tile.size() - 1 ? 0 : at + 1;
  }
}

Pose random_pose(Random& random, const Garden& garden) {
  const int perch = random.below(6);
  Pose pose;
  pose.size = random.between(0.23F, 0.40F);
  pose.facing = random.chance(0.5F) ? 1.0F : -1.0F;
  if (perch < 4) {
    pose.feet = garden.perches[static_cast<std::size_t>(perch)];
    pose.feet.x += random.between(-0.06F, 0.06F);
  } else {
    pose.feet = {random.between(0.3F, garden.aspect - 0.3F), random.between(0.45F, 0.90F)};
  }
  if (random.chance(0.25F)) {
    pose.wing = random.between(0.5F, 1.0F);
    pose.flap = random.between(-1, 1);
  } else if (random.chance(0.3F)) {
    pose.tilt = random.between(0.02F, 0.13F);
  }
  return pose;
}

}  // namespace

namespace demo {

ScenePainter::ScenePainter(std::uint64_t seed, int width, int height)
    : seed_(seed),
      garden_(seed, static_cast<float>(width) / static_cast<float>(height)),
      still_(blank(width, height)) {}

void ScenePainter::draw(std::uint64_t index, DemoFrame& frame, Light wanted) {
  show(index, frame, wanted, [&](const Image& image) { frame.image = image; });
}

void ScenePainter::show(std::uint64_t index, DemoFrame& frame, Light wanted,
                        const std::function<void(const Image&)>& look) {
  const int step = wanted == Light::kAsBefore && drawn_step_ >= 0 ? drawn_step_ : evening_step(index);
  const float evening = static_cast<float>(step) / kEveningSteps;
  const Color light = light_at(evening);
  if (step != drawn_step_) {
    Canvas canvas(still_, light);
    draw_garden(canvas, garden_, evening);
    drawn_step_ = step;
  }
  frame.label = kSpeciesCount;
  frame.bird_px = {};
  frame.evening = evening;
  Canvas canvas(still_, light, &over_it_);
  const std::uint64_t slot = index / kSlotFrames;
  const Visit visit = visit_of(garden_, seed_, slot);
  if (const auto pose = pose_at(visit, static_cast<float>(index % kSlotFrames))) {
    mark(frame, still_, visit.species, draw_bird(canvas, visit.species, *pose));
  }
  draw_leaves(canvas, garden_, static_cast<float>(index % 100'000) * 0.1F);
  look(still_);
  over_it_.take_back(still_);
}

}  // namespace demo

std::span<const std::string_view> demo_labels() { return kLabels; }

DemoFrame draw_demo_scene(std::uint64_t seed, std::uint64_t index, int width, int height) {
  DemoFrame frame;
  ScenePainter(seed, width, height).draw(index, frame);
  return frame;
}

DemoFrame draw_demo_sample(std::uint64_t seed, std::uint64_t index, int width, int height) {
  Random random(seed ^ 0x5A3F1EULL, index);
  DemoFrame frame{.image = blank(width, height), .label = kSpeciesCount};
  // Each run of nine holds every class once, in an order of its own.
  const auto shift = Random(seed, index / (kSpeciesCount + 1)).next();
  const std::size_t wanted = (index + shift % (kSpeciesCount + 1)) % (kSpeciesCount + 1);
  const float evening = random.between(0, 1);
  frame.evening = evening;
  const Garden garden(random.next(), static_cast<float>(width) / static_cast<float>(height));
  Canvas canvas(frame.image, scaled(light_at(evening), random.between(0.85F, 1.1F)));
  draw_garden(canvas, garden, evening);
  while (wanted < kSpeciesCount && frame.label != wanted) {
    const Pose pose = random_pose(random, garden);
    const Extent extent = draw_bird(canvas, wanted, pose);
    mark(frame, frame.image, wanted, extent);
    frame.covered = random.chance(0.3F);
    if (frame.covered) {  // a leaf that hides a little of it
      const Point at{random.between(extent.low.x, extent.high.x), random.between(extent.low.y, extent.high.y)};
      const Color color{random.between(0.2F, 0.7F), random.between(0.35F, 0.6F), 0.15F};
      const float turns = random.between(0, 1);
      draw_leaf(canvas, at, pose.size * random.between(0.06F, 0.14F), turns, color);
    }
  }
  draw_leaves(canvas, garden, random.between(0, 1000));
  add_grain(frame.image, random, random.between(1, 4 + 8 * evening));
  return frame;
}

}  // namespace kinglet::camera
