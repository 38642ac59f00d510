// SPDX-License-Identifier: Apache-2.0
// Why: cameras answer a wish with less than it, each in its own way. The virtual camera takes any; here the answers are
// those that libcamera documents of CameraConfiguration::validate().
#include "camera/libcamera/program/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libcamera/formats.h>

#include <functional>
#include <utility>

namespace kinglet::camera {
namespace {

using libcamera::CameraConfiguration;
using libcamera::Orientation;
using ::testing::HasSubstr;

// A camera of one stream whose validate() does this.
class Answering final : public CameraConfiguration {
 public:
  using Answer = std::function<Status(Answering& wish)>;
  explicit Answering(Answer answer) : answer_(std::move(answer)) {
    libcamera::StreamConfiguration stream;
    stream.pixelFormat = libcamera::formats::NV12;
    stream.size = {1280, 720};
    addConfiguration(stream);
  }
  Status validate() override { return answer_(*this); }

 private:
  Answer answer_;
};

// The sensor can do no more than this.
Answering::Answer turns_at_most(Orientation most) {
  return [most](Answering& wish) {
    if (wish.orientation == Orientation::Rotate0 || wish.orientation == most) return CameraConfiguration::Valid;
    wish.orientation = Orientation::Rotate0;
    return CameraConfiguration::Adjusted;
  };
}

TEST(Configuration, ARotationThatTheCameraDoesNotTakeIsRefused) {
  Answering camera(turns_at_most(Orientation::Rotate180));
  for (const Orientation wish : {Orientation::Rotate90, Orientation::Rotate270, Orientation::Rotate0Mirror}) {
    const auto settled = settle(camera, wish, "imx708");
    ASSERT_FALSE(settled);
    EXPECT_EQ(settled.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(settled.error().message, HasSubstr("camera imx708 cannot turn the picture as camera.rotation"));
    EXPECT_THAT(settled.error().hint, HasSubstr("180 degrees"));
  }
}

TEST(Configuration, ARotationThatTheCameraTakesIsKept) {
  Answering camera(turns_at_most(Orientation::Rotate180));
  for (const Orientation wish : {Orientation::Rotate0, Orientation::Rotate180}) {
    EXPECT_TRUE(settle(camera, wish, "imx708"));
    EXPECT_EQ(camera.orientation, wish);
  }
}

TEST(Configuration, AnotherSizeIsTakenAsTheCameraHasIt) {
  Answering camera([](Answering& wish) {
    wish.at(0).size = {640, 480};
    return CameraConfiguration::Adjusted;
  });
  EXPECT_TRUE(settle(camera, Orientation::Rotate0, "usb"));
  EXPECT_EQ(camera.at(0).size, libcamera::Size(640, 480));
}

TEST(Configuration, AWishThatTheCameraCannotMeetAtAllIsRefusedWithIt) {
  Answering camera([](Answering&) { return CameraConfiguration::Invalid; });
  const auto settled = settle(camera, Orientation::Rotate0, "usb");
  ASSERT_FALSE(settled);
  EXPECT_THAT(settled.error().message, HasSubstr("camera usb: cannot give 1280x720-NV12"));
}

TEST(Configuration, AFormatThatKingletDoesNotReadIsRefusedByName) {
  Answering camera([](Answering& wish) {
    wish.at(0).pixelFormat = libcamera::formats::SRGGB10;
    return CameraConfiguration::Adjusted;
  });
  const auto settled = settle(camera, Orientation::Rotate0, "raw");
  ASSERT_FALSE(settled);
  EXPECT_THAT(settled.error().message, HasSubstr("camera raw: gives SRGGB10, which kinglet does not read"));
}

}  // namespace
}  // namespace kinglet::camera
