// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <format>

#include "camera/preprocess/preprocess.h"
#include "tests/support/pictures.h"
#include "tests/support/pillow_oracle.h"

namespace kinglet::camera {
namespace {

using engine::Interpolation;
using kinglet::testing::make_picture;

struct Case {
  Interpolation interpolation;
  CropRect box;
  int width;
  int height;
  std::uint64_t digest;  // of what Pillow gives; the other test below asks Pillow itself
};

constexpr int kFullWidth = 311;
constexpr int kFullHeight = 203;
constexpr CropRect kAll{0, 0, kFullWidth, kFullHeight};
constexpr auto kNearest = Interpolation::kNearest;
constexpr auto kBilinear = Interpolation::kBilinear;
constexpr auto kBicubic = Interpolation::kBicubic;

constexpr Case kCases[] = {
#include "tests/unit/camera/resize_cases.inc"
};

std::string_view name(Interpolation interpolation) {
  constexpr std::array<std::string_view, 3> kNames{"nearest", "bilinear", "bicubic"};
  return kNames[static_cast<std::size_t>(interpolation)];
}

std::string text(const Case& row) {
  return std::format("{},{},{},{},{},{},{}", name(row.interpolation), row.box.x, row.box.y, row.box.x + row.box.width,
                     row.box.y + row.box.height, row.width, row.height);
}

Image resized(const Image& picture, const Case& row) {
  return resize_like_pillow(picture.view(), row.box, row.width, row.height, row.interpolation).value();
}

TEST(ResizeLikePillow, GivesTheBytesThatPillowGave) {
  const Image picture = make_picture(kFullWidth, kFullHeight);
  for (const Case& row : kCases) {
    EXPECT_EQ(kinglet::testing::digest(resized(picture, row).rgb), row.digest)
        << text(row) << std::format(" gives {:#018x}", kinglet::testing::digest(resized(picture, row).rgb));
  }
}

TEST(ResizeLikePillow, AgreesWithThePillowInstalledHereToTheLastBit) {
  const kinglet::testing::ScratchFolder scratch;
  const Image picture = make_picture(kFullWidth, kFullHeight);
  const std::string_view bytes(reinterpret_cast<const char*>(picture.rgb.data()), picture.rgb.size());
  ASSERT_TRUE(write_file(scratch.path() / "in.raw", bytes, Overwrite::kRefuse));
  std::string arguments =
      std::format("resize {0}/in.raw {1} {2} {0}", scratch.path().string(), kFullWidth, kFullHeight);
  for (const Case& row : kCases) arguments += " " + text(row);
  KINGLET_RUN_PILLOW(arguments);
  std::size_t number = 0;
  for (const Case& row : kCases) {
    const auto wanted = kinglet::testing::read_bytes(scratch.path() / std::format("{}.raw", number++));
    EXPECT_EQ(kinglet::testing::largest_difference(resized(picture, row).rgb, wanted), 0) << text(row);
  }
}

TEST(ResizeLikePillow, LeavesAPictureOfTheWantedSizeAlone) {
  const Image picture = make_picture(40, 30);
  EXPECT_EQ(resize_like_pillow(picture.view(), {0, 0, 40, 30}, 40, 30, kBilinear).value().rgb, picture.rgb);
}

TEST(ResizeLikePillow, ReadsOnlyTheRowsOfTheStride) {
  const Image picture = make_picture(20, 10);
  constexpr std::size_t kStride = 77;
  std::vector<std::byte> padded(kStride * 9 + 60, std::byte{255});
  for (std::size_t y = 0; y < 10; ++y) {
    std::copy_n(picture.rgb.begin() + static_cast<std::ptrdiff_t>(60 * y), 60,
                padded.begin() + static_cast<std::ptrdiff_t>(kStride * y));
  }
  FrameView view = picture.view();
  view.planes[0] = {padded, kStride};
  EXPECT_EQ(resize_like_pillow(view, {0, 0, 20, 10}, 7, 5, kBilinear).value().rgb,
            resize_like_pillow(picture.view(), {0, 0, 20, 10}, 7, 5, kBilinear).value().rgb);
}

TEST(ResizeLikePillow, RefusesABoxOutsideThePicture) {
  const Image picture = make_picture(20, 10);
  for (const CropRect box :
       {CropRect{0, 0, 21, 10}, {-1, 0, 5, 5}, {0, 0, 0, 5}, {19, 9, 1, 2}, {1 << 30, 0, 1 << 30, 1}}) {
    EXPECT_EQ(resize_like_pillow(picture.view(), box, 7, 5, kBilinear).error().code, ErrorCode::kBadData);
  }
}

TEST(ResizeLikePillow, RefusesSizesThatCannotBe) {
  const Image picture = make_picture(20, 10);
  const CropRect all{0, 0, 20, 10};
  EXPECT_FALSE(resize_like_pillow(picture.view(), all, 0, 5, kBilinear));
  EXPECT_FALSE(resize_like_pillow(picture.view(), all, 100'000, 100'000, kBilinear));
}

}  // namespace
}  // namespace kinglet::camera
