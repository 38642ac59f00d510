// SPDX-License-Identifier: Apache-2.0
// Why: every photograph and every awkward file of the corpus is decoded as its manifest says, or refused in one line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <format>
#include <fstream>
#include <nlohmann/json.hpp>

#include "camera/decode/decode.h"
#include "tests/support/corpus.h"
#include "tests/support/pictures.h"
#include "tests/support/pillow_oracle.h"

namespace kinglet::camera {
namespace {

constexpr DecodeLimits kToolLimits{200'000'000, 65'535};

nlohmann::json photos() {
  std::ifstream file(kinglet::testing::corpus() / "corpus.json");
  return nlohmann::json::parse(file).at("photos");
}

Result<DecodedImage> decode(const std::string& name, Upright upright = Upright::kApplyExif) {
  const auto bytes = kinglet::testing::read_bytes(kinglet::testing::corpus() / name);
  return decode_image(bytes, kToolLimits, upright);
}

// Mean of R, G, B over one quarter; odd sizes give the middle row and column to the later quarter.
std::array<double, 3> mean_of_quarter(const Image& image, int right, int bottom) {
  const int x0 = right ? image.width / 2 : 0;
  const int x1 = right ? image.width : image.width / 2;
  const int y0 = bottom ? image.height / 2 : 0;
  const int y1 = bottom ? image.height : image.height / 2;
  std::array<double, 3> sums{};
  for (int y = y0; y < y1; ++y) {
    for (int x = x0; x < x1; ++x) {
      for (std::size_t c = 0; c < 3; ++c) {
        const std::size_t at =
            3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) + static_cast<std::size_t>(x)) + c;
        sums[c] += std::to_integer<int>(image.rgb[at]);
      }
    }
  }
  for (double& sum : sums) sum /= std::max(1, (x1 - x0) * (y1 - y0));
  return sums;
}

TEST(DecodeCorpus, GivesTheSizeAndQuarterColoursOfTheManifest) {
  KINGLET_NEEDS_CORPUS();
  int compared = 0;
  for (const auto& photo : photos()) {
    if (photo.at("decoded").is_null()) continue;
    const std::string name = photo.at("file");
    const Result<DecodedImage> decoded = decode(name);
    ASSERT_TRUE(decoded) << name << ": " << describe(decoded.error());
    const Image& image = decoded->image;
    EXPECT_EQ(photo["decoded"]["size"], (nlohmann::json{image.width, image.height})) << name;
    if (!photo["decoded"].contains("mean_rgb_top_left_top_right_bottom_left_bottom_right")) continue;
    const auto& quarters = photo["decoded"]["mean_rgb_top_left_top_right_bottom_left_bottom_right"];
    for (std::size_t quarter = 0; quarter < 4; ++quarter) {
      const auto mean = mean_of_quarter(image, quarter % 2 != 0, quarter >= 2);
      for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_NEAR(mean[c], quarters[quarter][c].get<double>(), 1.0) << name << " quarter " << quarter;
      }
    }
    ++compared;
  }
  EXPECT_EQ(compared, 40);
}

TEST(DecodeCorpus, RefusesWhatTheManifestCallsBrokenInOneLine) {
  KINGLET_NEEDS_CORPUS();
  int refused = 0;
  for (const auto& photo : photos()) {
    if (!photo.at("decoded").is_null()) continue;
    const Result<DecodedImage> decoded = decode(photo.at("file"));
    ASSERT_FALSE(decoded) << photo.at("file");
    EXPECT_EQ(decoded.error().code, ErrorCode::kBadData);
    EXPECT_THAT(decoded.error().message,
                ::testing::AllOf(::testing::Not(""), ::testing::Not(::testing::HasSubstr("\n"))));
    ++refused;
  }
  EXPECT_EQ(refused, 3);
}

TEST(DecodeCorpus, SaysWhetherThePictureWasTurned) {
  KINGLET_NEEDS_CORPUS();
  EXPECT_TRUE(decode("photos/exif6_red_winged_blackbird.jpg")->orientation_applied);
  EXPECT_FALSE(decode("photos/bald_eagle.jpg")->orientation_applied);
  const auto stored = decode("photos/exif6_red_winged_blackbird.jpg", Upright::kAsStored);
  EXPECT_FALSE(stored->orientation_applied);
  EXPECT_EQ(stored->image.width, 427);
}

TEST(DecodeCorpus, RefusesTheHugePhotographFromItsHeaderByDefault) {
  KINGLET_NEEDS_CORPUS();
  const auto bytes = kinglet::testing::read_bytes(kinglet::testing::corpus() / "photos/huge_48mp_franklins_gull.jpg");
  EXPECT_EQ(decode_image(bytes, DecodeLimits{}, Upright::kApplyExif).error().message,
            "8496x5664 is 48.1 megapixels; the limit is 24.0");
  const ImageSize size = read_image_size(bytes).value();
  EXPECT_EQ(size.width, 8496);
  EXPECT_EQ(size.height, 5664);
}

TEST(DecodeCorpus, GivesThePixelsOfPillowToTheLastBit) {
  KINGLET_NEEDS_CORPUS();
  const kinglet::testing::ScratchFolder scratch;
  std::string arguments = "decode " + scratch.path().string();
  std::vector<std::string> names;
  for (const auto& photo : photos()) {
    const std::string name = photo.at("file");
    if (photo.at("decoded").is_null() || name.find("huge") != std::string::npos) continue;
    names.push_back(name);
    arguments += " " + (kinglet::testing::corpus() / name).string();
  }
  KINGLET_RUN_PILLOW(arguments);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto wanted = kinglet::testing::read_bytes(scratch.path() / std::format("{}.raw", i));
    EXPECT_EQ(kinglet::testing::largest_difference(decode(names[i])->image.rgb, wanted), 0) << names[i];
  }
}

}  // namespace
}  // namespace kinglet::camera
