// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/geometry.h"

#include <algorithm>
#include <cmath>

#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

AxisSpan stretched(int input_size, int begin, int length, int output_size) {
  return {input_size, static_cast<double>(begin), static_cast<double>(length), output_size, 0, output_size};
}

// `wanted` outputs from the middle of `resized`; halves go to the even neighbour.
AxisSpan middle_of(int input_size, int resized, int wanted) {
  const auto skip = static_cast<int>(std::nearbyint((resized - wanted) / 2.0));
  return {input_size, 0.0, static_cast<double>(input_size), resized, skip, wanted};
}

// The two sides after the resize that comes before the centre crop.
std::pair<int, int> resized_sides(const engine::Recipe& recipe, int width, int height, int model_width,
                                  int model_height) {
  const auto whole = [](double side) { return static_cast<int>(std::min(side, 0x1p30)); };
  const double ratio =
      recipe.resize_size > 0 ? std::min(model_width, model_height) / double{1} / recipe.resize_size : recipe.crop_ratio;
  if (model_width == model_height) {
    const int short_side = recipe.resize_size > 0 ? recipe.resize_size : whole(std::floor(model_width / ratio));
    const int long_side = whole(double{1} * short_side * std::max(width, height) / std::min(width, height));
    return width <= height ? std::pair(short_side, long_side) : std::pair(long_side, short_side);
  }
  const double factor = std::max(model_width / ratio / width, model_height / ratio / height);
  return {std::max(model_width, whole(width * factor)), std::max(model_height, whole(height * factor))};
}

int used_begin(const AxisSpan& span) {
  return static_cast<int>(std::lround(span.length * span.skip / span.output_size));
}
int used_length(const AxisSpan& span) {
  const auto length = static_cast<int>(std::lround(span.length * span.keep / span.output_size));
  return std::clamp(length, 1, span.input_size - std::min(used_begin(span), span.input_size - 1));
}

}  // namespace

Result<Geometry> make_geometry(const engine::Recipe& recipe, int frame_width, int frame_height,
                               const std::optional<CropRect>& crop, int model_width, int model_height) {
  if (!crop && recipe.resize_mode == engine::ResizeMode::kCenterCrop) {
    if (recipe.resize_size > 0 && recipe.resize_size < std::min(model_width, model_height)) {
      return fail(ErrorCode::kBadData, format_text("the recipe's resize_size {} is less than the model's input {}x{}",
                                                   recipe.resize_size, model_width, model_height));
    }
    const auto [width, height] = resized_sides(recipe, frame_width, frame_height, model_width, model_height);
    const AxisSpan columns = middle_of(frame_width, width, model_width);
    const AxisSpan rows = middle_of(frame_height, height, model_height);
    const CropRect used{std::min(used_begin(columns), frame_width - 1), std::min(used_begin(rows), frame_height - 1),
                        used_length(columns), used_length(rows)};
    return Geometry{columns, rows, used};
  }
  const CropRect used = crop.value_or(CropRect{0, 0, frame_width, frame_height});
  const bool inside = used.x >= 0 && used.y >= 0 && used.width > 0 && used.height > 0 && used.x < frame_width &&
                      used.y < frame_height && used.width <= frame_width - used.x &&
                      used.height <= frame_height - used.y;
  if (!inside) {
    return fail(ErrorCode::kBadData, format_text("crop {},{} {}x{} does not lie inside the frame of {}x{} pixels",
                                                 used.x, used.y, used.width, used.height, frame_width, frame_height));
  }
  return Geometry{stretched(frame_width, used.x, used.width, model_width),
                  stretched(frame_height, used.y, used.height, model_height), used};
}

CropRect pixels_of(const Area& area, int frame_width, int frame_height) {
  const auto span = [](double begin, double length, int side) {
    const int first = std::clamp(static_cast<int>(std::lround(begin * side)), 0, side - 1);
    const int last = std::clamp(static_cast<int>(std::lround((begin + length) * side)), first + 1, side);
    return std::pair(first, last - first);
  };
  const auto [x, width] = span(area.left, area.width, frame_width);
  const auto [y, height] = span(area.top, area.height, frame_height);
  return {x, y, width, height};
}

CropRect square_around(const CropRect& box, const CropRect& limits, int least) {
  constexpr double kRoom =
      1.3;  // a beak and a tail move less than the rest, and classifiers are trained with some garden
  const int wanted = std::max(least, static_cast<int>(std::lround(kRoom * std::max(box.width, box.height))));
  const int side = std::min({wanted, limits.width, limits.height});
  const auto place = [side](int begin, int length, int first, int room) {
    return std::clamp(begin + length / 2 - side / 2, first, first + room - side);
  };
  return {place(box.x, box.width, limits.x, limits.width), place(box.y, box.height, limits.y, limits.height), side,
          side};
}

}  // namespace kinglet::camera
