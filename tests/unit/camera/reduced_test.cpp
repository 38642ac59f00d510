// SPDX-License-Identifier: Apache-2.0
// Why: a photograph that is decoded to fewer pixels because a model needs no more is the same picture, in the same
// place, and what is wrong with it is found all the same.
#include <gtest/gtest.h>

#include <string>

#include "camera/decode/decode.h"
#include "camera/preprocess/preprocess.h"
#include "tests/support/corpus.h"
#include "tests/support/pictures.h"
#include "tests/support/pillow_oracle.h"

namespace kinglet::camera {
namespace {

using Buffer = std::vector<std::byte>;

Buffer jpeg(int width, int height) {
  return encode_jpeg(kinglet::testing::make_picture(width, height).view(), 90).value();
}

EnoughPixels enough(int width, int height) {
  return [=](ImageSize) { return ImageSize{width, height}; };
}

Result<DecodedImage> decode(const Buffer& bytes, const EnoughPixels& pixels = {}) {
  return decode_image(bytes, {.max_pixels = 64'000'000}, Upright::kApplyExif, pixels);
}

// Between SOI and the rest: EXIF that says this orientation.
Buffer turned(Buffer bytes, int orientation) {
  constexpr std::array<int, 36> kExif{0xFF, 0xE1, 0, 34, 'E', 'x', 'i', 'f', 0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8,
                                      0,    1,    1, 18, 0,   3,   0,   0,   0, 1, 0,   0,   0, 0,  0, 0, 0, 0};
  Buffer exif;
  for (const int value : kExif) exif.push_back(static_cast<std::byte>(value));
  exif[29] = static_cast<std::byte>(orientation);
  bytes.insert(bytes.begin() + 2, exif.begin(), exif.end());
  return bytes;
}

std::pair<int, int> sides(const Image& image) { return {image.width, image.height}; }

TEST(ReducedDecoding, TakesTheSmallestSizeThatIsEnough) {
  const Buffer picture = jpeg(400, 300);
  EXPECT_EQ(sides(decode(picture, enough(100, 75))->image), std::pair(100, 75));
  EXPECT_EQ(sides(decode(picture, enough(101, 75))->image), std::pair(200, 150));
  EXPECT_EQ(sides(decode(picture, enough(10, 151))->image), std::pair(400, 300));
  EXPECT_EQ(sides(decode(picture, enough(1, 1))->image), std::pair(50, 38));
  EXPECT_EQ(sides(decode(jpeg(401, 299), enough(101, 75))->image), std::pair(101, 75));
  EXPECT_EQ(decode(picture, enough(5000, 5000))->image.rgb, decode(picture)->image.rgb);
}

TEST(ReducedDecoding, TellsTheSizeOfThePictureAndAsksForThatOfTheUprightOne) {
  ImageSize asked;
  const auto decoded = decode(turned(jpeg(400, 300), 6), [&](ImageSize size) {
    asked = size;
    return ImageSize{70, 100};
  });
  ASSERT_TRUE(decoded);
  EXPECT_EQ(std::pair(asked.width, asked.height), std::pair(300, 400));
  EXPECT_EQ(std::pair(decoded->size.width, decoded->size.height), std::pair(300, 400));
  EXPECT_EQ(sides(decoded->image), std::pair(75, 100));
  EXPECT_TRUE(decoded->orientation_applied);
}

TEST(ReducedDecoding, LeavesAPngAsItIs) {
  const Image picture = kinglet::testing::make_picture(64, 48);
  const auto decoded = decode(encode_png(picture.view()).value(), enough(8, 8));
  EXPECT_EQ(decoded->image.rgb, picture.rgb);
  EXPECT_EQ(decoded->size.width, 64);
}

TEST(ReducedDecoding, KeepsNoMorePixelsThanItMay) {
  const auto kept = [](const Buffer& bytes, std::int64_t pixels, const EnoughPixels& least = {}) {
    const DecodeLimits limits{.kept_pixels = pixels};
    return decode_image(bytes, limits, Upright::kApplyExif, least).value();
  };
  const Buffer picture = jpeg(400, 300);
  EXPECT_EQ(sides(kept(picture, 120'000).image), std::pair(400, 300));
  EXPECT_EQ(sides(kept(picture, 119'999).image), std::pair(350, 263)) << "seven eighths";
  EXPECT_EQ(sides(kept(turned(picture, 6), 60'000).image), std::pair(188, 250)) << "five";
  EXPECT_EQ(sides(kept(picture, 60'000, enough(100, 75)).image), std::pair(100, 75)) << "fewer are enough";
  EXPECT_EQ(sides(kept(picture, 6'000, enough(400, 300)).image), std::pair(50, 38)) << "more are not to be had";
  EXPECT_EQ(kept(picture, 60'000).size.width, 400);
  const Image all = decode(picture)->image;
  const Image smaller = kept(picture, 60'000).image;
  const Image wanted =
      resize_like_pillow(all.view(), {0, 0, 400, 300}, 250, 188, engine::Interpolation::kBilinear).value();
  EXPECT_EQ(sides(smaller), std::pair(250, 188));
  EXPECT_LT(kinglet::testing::mean_difference(smaller.rgb, wanted.rgb), 8.0) << "the same picture, but for its noise";
}

TEST(ReducedDecoding, KeepsMeansOfPixelsOfAPng) {
  Image picture{.width = 5, .height = 3, .rgb = {}};
  for (int i = 0; i < 45; ++i) picture.rgb.push_back(static_cast<std::byte>(i));
  const auto kept = [&](std::int64_t pixels) {
    const DecodeLimits limits{.kept_pixels = pixels};
    return decode_image(encode_png(picture.view()).value(), limits, Upright::kApplyExif).value();
  };
  EXPECT_EQ(kept(15).image.rgb, picture.rgb);
  const auto half = kept(14);
  EXPECT_EQ(sides(half.image), std::pair(3, 2));
  EXPECT_EQ(half.size.width, 5);
  // Red of (0,0) (1,0) (0,1) (1,1); of the two at the right; of the single one in the corner.
  EXPECT_EQ(half.image.rgb[0], static_cast<std::byte>((0 + 3 + 15 + 18 + 2) / 4));
  EXPECT_EQ(half.image.rgb[6], static_cast<std::byte>((12 + 27 + 1) / 2));
  EXPECT_EQ(half.image.rgb[17], std::byte{44});
  EXPECT_EQ(sides(kept(1).image), std::pair(1, 1));
}

TEST(ReducedDecoding, FindsDamageAsFullDecodingDoes) {
  Buffer bytes = jpeg(400, 300);
  for (std::size_t size = bytes.size() - 10; size > bytes.size() / 2; size -= bytes.size() / 20) {
    const Buffer part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    ASSERT_FALSE(decode(part)) << size;
    EXPECT_EQ(decode(part, enough(50, 38)).error().message, decode(part).error().message) << size;
  }
  bytes.resize(bytes.size() - 2);
  EXPECT_TRUE(decode(bytes, enough(50, 38))) << "only the end marker is missing";
}

TEST(EnoughPixels, AreTwiceWhatTheModelTakesOfTheWholePicture) {
  const auto of = [](const engine::Recipe& recipe, ImageSize picture, const std::optional<CropRect>& crop) {
    const ImageSize pixels = enough_pixels(recipe, {224, 224}, picture, crop);
    return std::pair(pixels.width, pixels.height);
  };
  engine::Recipe recipe;
  EXPECT_EQ(of(recipe, {1920, 1080}, std::nullopt), std::pair(448, 448));
  EXPECT_EQ(of(recipe, {300, 200}, std::nullopt), std::pair(300, 200)) << "there are no more";
  EXPECT_EQ(of(recipe, {1920, 1080}, CropRect{0, 0, 960, 540}), std::pair(896, 896)) << "a crop shows a part";
  EXPECT_EQ(of(recipe, {1920, 1080}, CropRect{0, 0, 0, 540}), std::pair(1920, 1080)) << "none";
  recipe.resize_mode = engine::ResizeMode::kCenterCrop;
  EXPECT_EQ(of(recipe, {1920, 1080}, std::nullopt), std::pair(910, 512)) << "256 for the short side, 224 of it";
  recipe.resize_mode = engine::ResizeMode::kLetterbox;
  EXPECT_EQ(of(recipe, {1920, 1080}, std::nullopt), std::pair(448, 252));
  recipe.antialias = false;
  EXPECT_EQ(of(recipe, {1920, 1080}, std::nullopt), std::pair(1920, 1080)) << "single pixels of the picture are meant";
  recipe.antialias = true;
  recipe.interpolation = engine::Interpolation::kNearest;
  EXPECT_EQ(of(recipe, {1920, 1080}, std::nullopt), std::pair(1920, 1080)) << "the same";
}

// A model's input in bytes, as its pixels are.
struct Input {
  explicit Input(int width, int height)
      : pixels(3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height)),
        tensor{.bytes = pixels,
               .type = engine::DataType::kU8,
               .width = width,
               .height = height,
               .layout = engine::TensorLayout::kNhwc} {}
  Buffer pixels;
  engine::PictureInput tensor;
};

struct Both {
  Input full;
  Input reduced;
  CropRect used;
  CropRect used_of_reduced;
};

// The picture as a model of this input sees it, from all pixels and from those that are enough.
Both both_ways(engine::Recipe recipe, const Buffer& bytes, int side, const std::optional<CropRect>& crop) {
  recipe.mean = {0, 0, 0};
  recipe.std = {1, 1, 1};
  Both both{.full = Input(side, side), .reduced = Input(side, side), .used = {}, .used_of_reduced = {}};
  const auto all = decode(bytes).value();
  const auto fewer =
      decode(bytes, [&](ImageSize size) { return enough_pixels(recipe, {side, side}, size, crop); }).value();
  Preprocessor preprocessor(recipe, side, side);
  both.used = preprocessor.run(all.image.view(), crop, both.full.tensor).value();
  both.used_of_reduced = preprocessor.run_reduced(fewer.image.view(), fewer.size, crop, both.reduced.tensor).value();
  return both;
}

TEST(ReducedStill, IsSeenAsThePictureItShows) {
  const Buffer bytes = jpeg(1283, 959);  // a reduced pixel at the border stands for a part of one
  for (const auto mode :
       {engine::ResizeMode::kStretch, engine::ResizeMode::kCenterCrop, engine::ResizeMode::kLetterbox}) {
    for (const std::optional<CropRect> crop :
         {std::optional<CropRect>(), std::optional(CropRect{101, 203, 707, 511})}) {
      engine::Recipe recipe;
      recipe.resize_mode = mode;
      const Both seen = both_ways(recipe, bytes, 96, crop);
      EXPECT_EQ(seen.used, seen.used_of_reduced);
      EXPECT_NE(seen.full.pixels, seen.reduced.pixels) << "that is, it was reduced";
      EXPECT_LT(kinglet::testing::mean_difference(seen.full.pixels, seen.reduced.pixels), 1.0);
      EXPECT_LT(kinglet::testing::largest_difference(seen.full.pixels, seen.reduced.pixels), 12);
    }
  }
}

TEST(ReducedStill, WithAllItsPixelsIsTheStillToTheLastBit) {
  const Image picture = kinglet::testing::make_picture(300, 200);
  Input one(64, 64);
  Input other(64, 64);
  Preprocessor preprocessor(engine::Recipe{}, 64, 64);
  ASSERT_TRUE(preprocessor.run(picture.view(), std::nullopt, one.tensor));
  ASSERT_TRUE(preprocessor.run_reduced(picture.view(), {300, 200}, std::nullopt, other.tensor));
  EXPECT_EQ(one.pixels, other.pixels);
}

TEST(ReducedStill, IsThePhotographOfTheCorpusAlmost) {
  KINGLET_NEEDS_CORPUS();
  int reduced = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kinglet::testing::corpus() / "photos")) {
    if (entry.path().extension() != ".jpg") continue;
    const Buffer bytes = kinglet::testing::read_bytes(entry.path());
    if (!decode(bytes)) continue;
    const Both seen = both_ways(engine::Recipe{}, bytes, 224, std::nullopt);
    EXPECT_LT(kinglet::testing::mean_difference(seen.full.pixels, seen.reduced.pixels), 2.0) << entry.path();
    reduced += seen.full.pixels != seen.reduced.pixels ? 1 : 0;
  }
  EXPECT_GE(reduced, 8);
}

}  // namespace
}  // namespace kinglet::camera
