// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/trial_pictures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <format>
#include <vector>

#include "camera/decode/decode.h"
#include "engine/base/file.h"
#include "engine/picture/made_pictures.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::daemon {
namespace {

class TrialPictures : public ::testing::Test {
 protected:
  void keep(int number, std::uint8_t level) {
    camera::Image image;
    image.width = image.height = 32;
    image.rgb.assign(3 * 32 * 32, std::byte{level});
    const auto jpeg = camera::encode_jpeg(image.view(), 95).value();
    write(number, std::string(reinterpret_cast<const char*>(jpeg.data()), jpeg.size()));
  }
  void write(int number, const std::string& bytes) {
    const auto folder = folder_.path() / "pictures" / std::to_string(number % 3);
    std::filesystem::create_directories(folder);
    ASSERT_TRUE(write_file(folder / std::format("vis_{:026}.crop.jpg", number), bytes, Overwrite::kReplace));
  }
  std::vector<float> filled(const engine::TrialPictures& pictures, std::size_t index) {
    std::vector<float> numbers(std::size_t{3} * 16 * 16);
    EXPECT_TRUE(pictures.fill(index, {}, input_of(numbers)));
    return numbers;
  }
  static engine::PictureInput input_of(std::vector<float>& numbers) {
    return {.bytes = std::as_writable_bytes(std::span(numbers)), .width = 16, .height = 16};
  }

  kinglet::testing::ScratchFolder folder_;
};

TEST_F(TrialPictures, AreMadeOnesWhereFewAreKept) {
  EXPECT_EQ(stored_trial_pictures(folder_.path()).count, 0U);
  for (int number = 0; number < 3; ++number) keep(number, 100);
  EXPECT_EQ(stored_trial_pictures(folder_.path()).count, 0U);
}

TEST_F(TrialPictures, AreTheNewestThatAreKept) {
  for (int number = 0; number < 12; ++number) keep(number, static_cast<std::uint8_t>(10 * number));
  write(12, "no picture");
  ASSERT_TRUE(
      write_file(folder_.path() / "pictures" / "0" / "vis_99.frame.jpg", "of another kind", Overwrite::kReplace));
  const engine::TrialPictures pictures = stored_trial_pictures(folder_.path());
  ASSERT_EQ(pictures.count, 8U);
  for (std::size_t index = 1; index < pictures.count; ++index) {
    const std::vector<float> numbers = filled(pictures, index);
    EXPECT_NEAR(numbers.front(), static_cast<float>(10 * (12 - index)) / 255, 0.02F) << index;
  }
}

TEST_F(TrialPictures, AreMadeOnesInPlaceOfThoseThatCannotBeRead) {
  for (int number = 0; number < 4; ++number) write(number, "no picture");
  const engine::TrialPictures pictures = stored_trial_pictures(folder_.path());
  ASSERT_EQ(pictures.count, 4U);
  std::vector<float> made(std::size_t{3} * 16 * 16);
  engine::draw_made_picture(2, {}, input_of(made));
  EXPECT_EQ(filled(pictures, 2), made);
}

}  // namespace
}  // namespace kinglet::daemon
