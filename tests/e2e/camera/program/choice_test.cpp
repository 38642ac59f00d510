// SPDX-License-Identifier: Apache-2.0
// Why: cameras come and go; whichever is meant, never another room's picture in the place of the feeder's.
#include "camera/libcamera/program/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace kinglet::camera {
namespace {

using ::testing::HasSubstr;

const CameraName kRibbon{"/base/soc/i2c0mux/i2c@1/imx708@1a", "imx708", "back"};
const CameraName kUsb{"/base/scb/pcie@7d500000/pci@0,0/usb@0,0-1.1:1.0-046d:0825", "HD Webcam C525", "external"};
const CameraName kUsbElsewhere{"/base/scb/pcie@7d500000/pci@0,0/usb@0,0-1.4:1.0-046d:0825", kUsb.model, "external"};

std::string chosen(const std::vector<CameraName>& cameras, const CameraWish& wish) {
  const auto index = choose_camera(cameras, wish);
  return index ? cameras[*index].id : index.error().message;
}

TEST(ChooseCamera, TakesAnIdANumberAModelOrTheFirst) {
  const std::vector cameras{kRibbon, kUsb};
  EXPECT_EQ(chosen(cameras, {}), kRibbon.id);
  EXPECT_EQ(chosen(cameras, {.camera = "1"}), kUsb.id);
  EXPECT_EQ(chosen(cameras, {.camera = kUsb.id}), kUsb.id);
  EXPECT_EQ(chosen(cameras, {.camera = "HD Webcam C525"}), kUsb.id);
}

TEST(ChooseCamera, SaysWhatThereIsInsteadOfTheOneThatIsMissing) {
  EXPECT_THAT(chosen({}, {}), HasSubstr("no camera found"));
  const auto missing = choose_camera(std::vector{kRibbon}, {.camera = "1"});
  EXPECT_EQ(missing.error().message, "no camera \"1\"");
  EXPECT_THAT(missing.error().hint, HasSubstr("there are 0: " + kRibbon.id));
}

TEST(ChooseCamera, AnUnpluggedOneIsNotReplacedByAnother) {
  const auto missing = choose_camera(std::vector{kRibbon}, {.camera = kUsb.id, .model = kUsb.model});
  EXPECT_EQ(missing.error().message, "camera HD Webcam C525 is not connected any more");
  EXPECT_THAT(missing.error().hint, HasSubstr("connect it again, or choose another as source: there are 0: /base"));
}

TEST(ChooseCamera, AnUnpluggedOneIsFoundInAnotherPort) {
  const CameraWish again{.camera = kUsb.id, .model = kUsb.model};
  EXPECT_EQ(chosen({kRibbon, kUsbElsewhere}, again), kUsbElsewhere.id);
  EXPECT_EQ(chosen({kUsbElsewhere, kUsb}, again), kUsb.id);
}

TEST(ChooseCamera, OfTwoAlikeNoneIsTakenForTheUnpluggedOne) {
  CameraName third = kUsb;
  third.id.replace(third.id.find("1.1"), 3, "1.2");
  EXPECT_THAT(chosen({kUsbElsewhere, third}, {.camera = kUsb.id, .model = kUsb.model}), HasSubstr("not connected"));
}

TEST(IsUsbCamera, ByTheEndOfItsId) {
  EXPECT_TRUE(is_usb_camera(kUsb.id));
  EXPECT_TRUE(is_usb_camera("/base/pcie@10000000-1:1.0-1209:0001"));  // a controller without a name of its own
  EXPECT_FALSE(is_usb_camera(kRibbon.id));
  EXPECT_FALSE(is_usb_camera("bars"));
}

}  // namespace
}  // namespace kinglet::camera
