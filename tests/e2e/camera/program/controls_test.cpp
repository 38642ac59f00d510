// SPDX-License-Identifier: Apache-2.0
// Why: settings become libcamera's controls or a refusal that names the setting, for a camera that offers what a
// sensor of a Raspberry Pi does, and for one that offers nothing.
#include "camera/libcamera/program/controls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libcamera/control_ids.h>
#include <libcamera/geometry.h>

namespace kinglet::camera {
namespace {

namespace controls = libcamera::controls;
using libcamera::ControlInfo;
using libcamera::ControlValue;
using libcamera::Rectangle;
using ::testing::HasSubstr;

// A list of its own, as libcamera wants ranges and enumerations.
const libcamera::ControlInfoMap& sensor() {
  static const libcamera::ControlInfoMap map(
      {{&controls::ExposureTime, ControlInfo(13, 112'015'443, 20'000)},
       {&controls::AnalogueGain, ControlInfo(1.0F, 16.0F, 1.0F)},
       {&controls::ExposureValue, ControlInfo(-8.0F, 8.0F, 0.0F)},
       {&controls::AwbMode, ControlInfo(controls::AwbModeValues)},
       {&controls::AfMode, ControlInfo(controls::AfModeValues)},
       {&controls::AfTrigger, ControlInfo(controls::AfTriggerValues)},
       {&controls::LensPosition, ControlInfo(0.0F, 15.0F, 1.0F)},
       {&controls::ScalerCrop, ControlInfo(Rectangle(0, 0, 64, 64), Rectangle(16, 24, 4608, 2592))},
       {&controls::FrameDurationLimits, ControlInfo(std::int64_t{33'333}, std::int64_t{120'000'000})}},
      controls::controls);
  return map;
}

const libcamera::ControlInfoMap& nothing() {
  static const libcamera::ControlInfoMap map({}, controls::controls);
  return map;
}

std::string refusal(const CameraSettings& settings, const libcamera::ControlInfoMap& offered = sensor()) {
  const auto list = make_controls(settings, 0, offered);
  return list ? "taken" : list.error().message;
}

TEST(Controls, SettingsArriveInLibcamerasUnits) {
  const auto list = make_controls({.exposure = 8.5,
                                   .gain = 2,
                                   .exposure_value = -0.5,
                                   .white_balance = "cloudy",
                                   .focus = "manual",
                                   .lens_position = 2},
                                  10, sensor())
                        .value();
  EXPECT_EQ(list.get(controls::ExposureTime), 8500);
  EXPECT_EQ(list.get(controls::AnalogueGain), 2.0F);
  EXPECT_EQ(list.get(controls::ExposureValue), -0.5F);
  EXPECT_EQ(list.get(controls::AwbMode), controls::AwbCloudy);
  EXPECT_EQ(list.get(controls::AfMode), controls::AfModeManual);
  EXPECT_EQ(list.get(controls::LensPosition), 2.0F);
  EXPECT_EQ((*list.get(controls::FrameDurationLimits))[1], 100'000);
}

TEST(Controls, CropIsAShareOfTheWholePicture) {
  const auto list = make_controls({.crop = {0.25, 0.5, 0.5, 0.25}}, 0, sensor()).value();
  EXPECT_EQ(list.get(controls::ScalerCrop), Rectangle(16 + 1152, 24 + 1296, 2304, 648));
}

TEST(Controls, DefaultsTouchNothingButAMovingLens) {
  EXPECT_TRUE(make_controls({}, 10, nothing()).value().empty());
  const auto list = make_controls({}, 0, sensor()).value();
  EXPECT_EQ(list.size(), 1U);
  EXPECT_EQ(list.get(controls::AfMode), controls::AfModeContinuous);
}

TEST(Controls, FocusOnceIsTriggered) {
  const auto list = make_controls({.focus = "once"}, 0, sensor()).value();
  EXPECT_EQ(list.get(controls::AfMode), controls::AfModeAuto);
  EXPECT_EQ(list.get(controls::AfTrigger), controls::AfTriggerStart);
}

TEST(Controls, WhatTheCameraDoesNotOfferIsRefusedByName) {
  EXPECT_EQ(refusal({.exposure = 8}, nothing()), "camera.exposure: the camera has no control ExposureTime");
  EXPECT_EQ(refusal({.gain = 2}, nothing()), "camera.gain: the camera has no control AnalogueGain");
  EXPECT_THAT(refusal({.exposure_value = 1}, nothing()), HasSubstr("camera.exposure_value"));
  EXPECT_THAT(refusal({.white_balance = "indoor"}, nothing()), HasSubstr("no control AwbMode"));
  EXPECT_THAT(refusal({.focus = "continuous"}, nothing()), HasSubstr("no control AfMode"));
  EXPECT_THAT(refusal({.focus = "manual"}, nothing()), HasSubstr("no control AfMode"));
  EXPECT_THAT(refusal({.crop = {0, 0, 0.5, 0.5}}, nothing()), HasSubstr("no control ScalerCrop"));
}

TEST(Controls, ValuesOutsideTheCamerasRangeAreRefusedWithIt) {
  EXPECT_EQ(refusal({.gain = 32}), "camera.gain: AnalogueGain is 32.000000, the camera takes 1.000000 to 16.000000");
  EXPECT_EQ(refusal({.exposure = 0.001}), "camera.exposure: ExposureTime is 1, the camera takes 13 to 112015443");
  EXPECT_THAT(refusal({.focus = "manual", .lens_position = 20}), HasSubstr("camera.lens_position"));
}

TEST(Controls, ValuesThatNoCameraHasAreRefused) {
  EXPECT_THAT(refusal({.white_balance = "candle"}), HasSubstr("\"candle\""));
  EXPECT_THAT(refusal({.focus = "near"}), HasSubstr("\"near\""));
  EXPECT_THAT(refusal({.lens_position = 2}), HasSubstr("counts with focus = \"manual\" only"));
  EXPECT_EQ(make_transform({.rotation = 45}).error().code, ErrorCode::kUsage);
}

TEST(Controls, FlipsComeOnTopOfTheRotation) {
  EXPECT_EQ(make_transform({}).value(), libcamera::Transform::Identity);
  EXPECT_EQ(make_transform({.rotation = 180}).value(), libcamera::Transform::Rot180);
  EXPECT_EQ(make_transform({.hflip = true}).value(), libcamera::Transform::HFlip);
  EXPECT_EQ((make_transform({.rotation = 180, .hflip = true}).value()), libcamera::Transform::VFlip);
}

}  // namespace
}  // namespace kinglet::camera
