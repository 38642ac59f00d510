// SPDX-License-Identifier: Apache-2.0
// Why: pictures with patches of one colour, which a detector of colours (made_detector.h) knows.
#pragma once

#include "camera/frame/frame.h"
#include "engine/base/area.h"

namespace kinglet::testing {

struct Colour {
  int red, green, blue;
};
inline constexpr Colour kRed{250, 10, 10};
inline constexpr Colour kGreen{10, 250, 10};
inline constexpr Colour kBlue{10, 10, 250};
inline constexpr Colour kGrey{110, 110, 110};

inline void paint(camera::Image& image, const CropRect& where, const Colour& colour) {
  for (int y = where.y; y < where.y + where.height; ++y) {
    for (int x = where.x; x < where.x + where.width; ++x) {
      const auto at =
          3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) + static_cast<std::size_t>(x));
      image.rgb[at] = static_cast<std::byte>(colour.red);
      image.rgb[at + 1] = static_cast<std::byte>(colour.green);
      image.rgb[at + 2] = static_cast<std::byte>(colour.blue);
    }
  }
}

inline camera::Image grey_picture(int width, int height) {
  camera::Image image{
      .width = width,
      .height = height,
      .rgb = std::vector<std::byte>(3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height))};
  paint(image, {0, 0, width, height}, kGrey);
  return image;
}

}  // namespace kinglet::testing
