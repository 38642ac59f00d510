// SPDX-License-Identifier: Apache-2.0
// Why: which pixels a part of a picture is, and what is cut out around a bird.
#include "camera/preprocess/geometry.h"

#include <gtest/gtest.h>

namespace kinglet::camera {
namespace {

TEST(PixelsOf, AnAreaAreItsWholePixelsInsideTheFrame) {
  EXPECT_EQ(pixels_of({.left = 0.25, .top = 0.5, .width = 0.5, .height = 0.5}, 640, 480),
            (CropRect{160, 240, 320, 240}));
  EXPECT_EQ(pixels_of(Area{}, 641, 479), (CropRect{0, 0, 641, 479}));
}

TEST(PixelsOf, AnAreaIsAtLeastOnePixel) {
  EXPECT_EQ(pixels_of({.left = 1 - 1e-9, .top = 0, .width = 1e-9, .height = 1e-9}, 100, 100), (CropRect{99, 0, 1, 1}));
}

constexpr CropRect kFrame{0, 0, 640, 480};

TEST(SquareAround, HasTheBoxInItsMiddleWithRoom) {
  EXPECT_EQ(square_around({200, 200, 100, 60}, kFrame, 96), (CropRect{185, 165, 130, 130}));
}

TEST(SquareAround, StaysInsideTheFrame) {
  EXPECT_EQ(square_around({0, 0, 100, 60}, kFrame, 96), (CropRect{0, 0, 130, 130}));
  EXPECT_EQ(square_around({600, 440, 40, 40}, kFrame, 96), (CropRect{544, 384, 96, 96}));
}

TEST(SquareAround, IsNoLargerThanTheRegion) {
  EXPECT_EQ(square_around({100, 100, 500, 300}, kFrame, 96), (CropRect{110, 0, 480, 480}));
  EXPECT_EQ(square_around({110, 110, 60, 60}, {100, 100, 80, 200}, 96), (CropRect{100, 100, 80, 80}));
}

}  // namespace
}  // namespace kinglet::camera
