// SPDX-License-Identifier: Apache-2.0
#include "camera/demo/demo_parts.h"

#include <algorithm>

namespace kinglet::camera::demo {
namespace {

// Lengths are shares of the size; x forward, y up from the feet.
struct Outline {
  Point body;
  float body_length;
  float body_depth;
  float body_turn;  // how upright it sits
  Point head;
  float head_radius;
  float bill_length;
  float bill_depth;
  float tail_length;
  float tail_width;
};

struct Plumage {
  Color back;
  Color breast;
  Color belly;
  Color face;
  Color cap;
  Color wing;
  Color bill;
  float cap_size = 0;  // 0: none
  bool eye_stripe = false;
  bool spots = false;
  bool wing_bar = false;
};

constexpr Outline kFinch{{0.02F, 0.46F}, 0.33F, 0.235F, -0.09F, {0.20F, 0.76F}, 0.165F, 0.13F, 0.13F, 0.38F, 0.10F};
constexpr Outline kTit{{0.00F, 0.45F}, 0.30F, 0.26F, -0.06F, {0.17F, 0.75F}, 0.19F, 0.08F, 0.06F, 0.30F, 0.08F};
constexpr Outline kThrush{{0.00F, 0.48F}, 0.40F, 0.225F, -0.10F, {0.27F, 0.80F}, 0.145F, 0.15F, 0.06F, 0.50F, 0.13F};
constexpr Outline kPecker{{0.02F, 0.46F}, 0.40F, 0.19F, -0.17F, {0.18F, 0.82F}, 0.14F, 0.25F, 0.075F, 0.34F, 0.09F};

constexpr Color kDark{0.10F, 0.09F, 0.09F};
constexpr Color kWhite{0.95F, 0.94F, 0.91F};

struct Species {
  const Outline* outline;
  Plumage plumage;
};

constexpr Color kBrown{0.42F, 0.33F, 0.25F};
constexpr Color kOlive{0.38F, 0.42F, 0.27F};
constexpr Color kSlate{0.34F, 0.38F, 0.44F};

// Two species of one outline differ in what a classifier has to see.
constexpr Plumage finch(Color breast) {
  return {.back = kBrown,
          .breast = breast,
          .belly = {0.86F, 0.78F, 0.70F},
          .face = kBrown,
          .cap = kBrown,
          .wing = {0.30F, 0.24F, 0.20F},
          .bill = {0.35F, 0.30F, 0.26F},
          .wing_bar = true};
}

constexpr Plumage tit(Color cap, bool eye_stripe) {
  return {.back = kOlive,
          .breast = {0.88F, 0.82F, 0.42F},
          .belly = {0.90F, 0.87F, 0.62F},
          .face = kWhite,
          .cap = cap,
          .wing = kSlate,
          .bill = kDark,
          .cap_size = 0.9F,
          .eye_stripe = eye_stripe,
          .wing_bar = true};
}

constexpr Plumage pecker(Color cap) {
  return {.back = kDark,
          .breast = {0.90F, 0.88F, 0.84F},
          .belly = {0.88F, 0.80F, 0.74F},
          .face = kWhite,
          .cap = cap,
          .wing = kDark,
          .bill = {0.25F, 0.25F, 0.27F},
          .cap_size = 1.0F,
          .eye_stripe = true,
          .wing_bar = true};
}

// In the order of the labels.
constexpr std::array<Species, kSpeciesCount> kSpecies{{
    {.outline = &kFinch, .plumage = finch({0.80F, 0.22F, 0.12F})},
    {.outline = &kFinch, .plumage = finch({0.93F, 0.76F, 0.13F})},
    {.outline = &kTit, .plumage = tit({0.14F, 0.40F, 0.80F}, true)},
    {.outline = &kTit, .plumage = tit(kDark, false)},
    {.outline = &kThrush,
     .plumage = {.back = {0.45F, 0.36F, 0.26F},
                 .breast = {0.93F, 0.88F, 0.76F},
                 .belly = kWhite,
                 .face = {0.52F, 0.42F, 0.31F},
                 .cap = {0.45F, 0.36F, 0.26F},
                 .wing = {0.37F, 0.29F, 0.20F},
                 .bill = {0.45F, 0.36F, 0.20F},
                 .spots = true}},
    {.outline = &kThrush,
     .plumage = {.back = {0.20F, 0.19F, 0.20F},
                 .breast = {0.25F, 0.24F, 0.25F},
                 .belly = {0.28F, 0.27F, 0.27F},
                 .face = {0.20F, 0.19F, 0.20F},
                 .cap = {0.20F, 0.19F, 0.20F},
                 .wing = {0.14F, 0.13F, 0.14F},
                 .bill = {0.92F, 0.62F, 0.12F}}},
    {.outline = &kPecker, .plumage = pecker({0.85F, 0.08F, 0.10F})},
    {.outline = &kPecker, .plumage = pecker({0.50F, 0.52F, 0.54F})},
}};

// Turns shares of the size, as seen from the side, into scene coordinates.
class Frame {
 public:
  explicit Frame(const Pose& pose) : pose_(pose), cosine_(cosine(pose.tilt)), sine_(sine(pose.tilt)) {}

  [[nodiscard]] Point at(float forward, float up) const {
    const float x = forward * cosine_ + up * sine_;
    const float y = up * cosine_ - forward * sine_;
    return {pose_.feet.x + x * pose_.size * pose_.facing, pose_.feet.y - y * pose_.size};
  }
  [[nodiscard]] float length(float share) const { return share * pose_.size; }
  // A turn in the bird's own sense (forward and down positive) as the canvas counts it.
  [[nodiscard]] float turn(float turns) const { return (turns + pose_.tilt) * pose_.facing; }

 private:
  const Pose& pose_;
  float cosine_;
  float sine_;
};

struct Painter {
  Canvas& canvas;
  Frame frame;
  Extent extent;

  void ellipse(float forward, float up, float length, float depth, float turns, Color color, float opacity = 1) {
    const Point center = frame.at(forward, up);
    canvas.fill_ellipse(center, frame.length(length), frame.length(depth), frame.turn(turns), color, opacity);
    const float reach = frame.length(std::max(length, depth));
    extent.include({center.x - reach, center.y - reach});
    extent.include({center.x + reach, center.y + reach});
  }
  void polygon(std::initializer_list<Point> shares, Color color, float opacity = 1) {
    std::array<Point, 8> points;
    std::size_t count = 0;
    for (const Point& share : shares) {
      points[count] = frame.at(share.x, share.y);
      extent.include(points[count++]);
    }
    canvas.fill_polygon(std::span(points).first(count), color, opacity);
  }
};

void draw_behind(Painter& painter, const Outline& outline, const Plumage& plumage, const Pose& pose) {
  const float slope = 0.55F + outline.body_turn;  // upright birds hold the tail down
  const float tail_x = outline.body.x - outline.body_length * 0.75F;
  const float tail_y = outline.body.y - outline.body_length * 0.22F;
  const float end_x = tail_x - outline.tail_length * 0.85F;
  const float end_y = tail_y - outline.tail_length * slope;
  painter.polygon({{tail_x + 0.08F, tail_y + outline.tail_width},
                   {end_x, end_y + outline.tail_width * 0.7F},
                   {end_x + 0.03F, end_y - outline.tail_width * 0.5F},
                   {tail_x + 0.10F, tail_y - outline.tail_width}},
                  scaled(plumage.wing, 0.9F));
  if (pose.wing < 0.1F) {
    for (const float leg : {-0.02F, 0.09F}) {
      painter.canvas.fill_line(painter.frame.at(leg, 0.28F), painter.frame.at(leg + 0.03F, 0.0F),
                               painter.frame.length(0.035F), painter.frame.length(0.025F), {0.30F, 0.22F, 0.18F});
    }
  } else {
    const float lift = pose.flap * 0.45F * pose.wing;
    painter.polygon({{outline.body.x + 0.14F, outline.body.y + 0.12F},
                     {outline.body.x - 0.25F, outline.body.y + 0.20F + lift * 1.2F},
                     {outline.body.x - 0.20F, outline.body.y + 0.05F}},
                    scaled(plumage.wing, 0.8F));
  }
}

void draw_body(Painter& painter, const Outline& outline, const Plumage& plumage) {
  const float turn = outline.body_turn;
  painter.ellipse(outline.body.x, outline.body.y, outline.body_length, outline.body_depth, turn, plumage.back);
  painter.ellipse(outline.body.x + 0.06F, outline.body.y - outline.body_depth * 0.28F, outline.body_length * 0.78F,
                  outline.body_depth * 0.66F, turn, plumage.belly);
  painter.ellipse(outline.body.x + outline.body_length * 0.45F, outline.body.y + outline.body_depth * 0.02F,
                  outline.body_length * 0.46F, outline.body_depth * 0.68F, turn - 0.06F, plumage.breast);
  if (!plumage.spots) return;
  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < 3; ++column) {
      painter.ellipse(outline.body.x + 0.03F + 0.085F * static_cast<float>(row),
                      outline.body.y - 0.16F + 0.085F * static_cast<float>(column) + 0.02F * static_cast<float>(row),
                      0.026F, 0.032F, 0, {0.22F, 0.15F, 0.10F});
    }
  }
}

void draw_wing(Painter& painter, const Outline& outline, const Plumage& plumage, const Pose& pose) {
  if (pose.wing < 0.1F) {
    painter.ellipse(outline.body.x - 0.11F, outline.body.y + 0.03F, outline.body_length * 0.66F,
                    outline.body_depth * 0.50F, outline.body_turn, plumage.wing);
    if (plumage.wing_bar) {
      painter.ellipse(outline.body.x + 0.00F, outline.body.y + 0.04F, 0.025F, outline.body_depth * 0.40F,
                      outline.body_turn + 0.03F, kWhite);
    }
    return;
  }
  const float lift = pose.flap * 0.55F * pose.wing;
  painter.polygon({{outline.body.x + 0.18F, outline.body.y + 0.08F},
                   {outline.body.x - 0.02F, outline.body.y + 0.10F + lift},
                   {outline.body.x - 0.36F, outline.body.y + 0.06F + lift * 1.3F},
                   {outline.body.x - 0.24F, outline.body.y - 0.02F}},
                  plumage.wing);
}

void draw_head(Painter& painter, const Outline& outline, const Plumage& plumage) {
  const float x = outline.head.x;
  const float y = outline.head.y;
  const float r = outline.head_radius;
  painter.polygon({{x + r * 0.80F, y + outline.bill_depth * 0.55F},
                   {x + r * 0.85F + outline.bill_length, y - outline.bill_depth * 0.20F},
                   {x + r * 0.75F, y - outline.bill_depth * 0.65F}},
                  plumage.bill);
  painter.ellipse(x, y, r, r * 0.97F, 0, plumage.face);
  if (plumage.cap_size > 0) {
    painter.polygon({{x - r * 0.98F, y + r * 0.05F},
                     {x - r * 0.75F, y + r * 0.68F},
                     {x - r * 0.10F, y + r * 1.02F},
                     {x + r * 0.60F, y + r * 0.80F},
                     {x + r * 0.85F, y + r * 0.42F},
                     {x, y + r * 0.36F}},
                    plumage.cap);
  }
  if (plumage.eye_stripe) painter.ellipse(x + r * 0.20F, y + r * 0.10F, r * 0.72F, r * 0.13F, 0.02F, kDark);
  painter.ellipse(x + r * 0.38F, y + r * 0.14F, r * 0.17F, r * 0.17F, 0, kDark);
  painter.ellipse(x + r * 0.43F, y + r * 0.20F, r * 0.05F, r * 0.05F, 0, kWhite);
}

}  // namespace

void Extent::include(Point point) {
  low = {std::min(low.x, point.x), std::min(low.y, point.y)};
  high = {std::max(high.x, point.x), std::max(high.y, point.y)};
}

Extent draw_bird(Canvas& canvas, std::size_t species, const Pose& pose) {
  const Outline& outline = *kSpecies[species].outline;
  const Plumage& plumage = kSpecies[species].plumage;
  Painter painter{canvas, Frame(pose), {}};
  draw_behind(painter, outline, plumage, pose);
  draw_body(painter, outline, plumage);
  draw_wing(painter, outline, plumage, pose);
  draw_head(painter, outline, plumage);
  return painter.extent;
}

}  // namespace kinglet::camera::demo
