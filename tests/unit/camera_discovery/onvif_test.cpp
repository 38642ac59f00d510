// SPDX-License-Identifier: Apache-2.0
// The conversation with a device is in tests/e2e/daemon/cameras_test.py.
#include "camera/discovery/onvif.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

std::string onvif_profile(const std::string& attribute, const std::string& resolution) {
  return format_text(
      "<Profiles {}><VideoEncoderConfiguration><Resolution>{}</Resolution></VideoEncoderConfiguration></Profiles>",
      attribute, resolution);
}

std::string onvif_profile(const std::string& token, int width, int height) {
  return onvif_profile(format_text("token=\"{}\"", token),
                       format_text("<Width>{}</Width><Height>{}</Height>", width, height));
}

// What a camera answers, and where it was asked for which profile.
struct OnvifScript {
  std::string profiles = onvif_profile("Sub", 640, 360);
  std::string service = "http://192.168.1.64/onvif/device_service";
  std::string media = "http://192.168.1.64/onvif/media";
  std::vector<std::string> asked_at{};
  std::string asked_for{};

  std::string answer(const std::string& url, const std::string& message) {
    asked_at.push_back(url);
    if (message.contains("GetCapabilities")) return format_text("<Media><XAddr>{}</XAddr></Media>", media);
    if (message.contains("GetProfiles")) return format_text("<GetProfilesResponse>{}</GetProfilesResponse>", profiles);
    if (!message.contains("GetStreamUri")) return "<Nothing/>";
    const std::size_t begin = message.find("ProfileToken>") + 13;
    asked_for = message.substr(begin, message.find('<', begin) - begin);
    return "<MediaUri><Uri>rtsp://192.168.1.64/sub</Uri></MediaUri>";
  }
  OnvifStream stream() {
    const auto said =
        ask_for_stream({.address = "192.168.1.64", .services = {service}}, {.user = "me", .password = "x"},
                       [&](const auto& url, const auto& message) -> Result<OnvifAnswer> {
                         return OnvifAnswer{.status = 200, .body = answer(url, message)};
                       });
    EXPECT_TRUE(said) << describe(said.error());
    return said.value_or(OnvifStream{});
  }
};

// The example of ONVIF's Application Programmer's Guide, 6.1.1.3.
TEST(Onvif, SignsAPasswordAsTheTokenProfileSays) {
  const std::string nonce("\x2C\xAA\x88\xE8\x6F\xC0\x8A\x42\x82\x42\xB3\x74\xCE\xA6\x45\x96", 16);
  EXPECT_EQ(password_digest(nonce, "2010-09-16T07:50:45Z", "userpassword"), "tuOSpGlFlIXsozq4HFNeeGeFLEI=");
}

TEST(Onvif, ACameraWithoutAServiceIsNotAsked) {
  const auto asked = ask_for_stream(
      {.address = "192.168.1.64"}, {},
      [](const auto&, const auto&) -> Result<OnvifAnswer> { return fail(ErrorCode::kInternal, "asked"); });
  EXPECT_EQ(asked.error().code, ErrorCode::kNotFound);
}

TEST(Onvif, TheFewestPixelsThatAreWideEnoughElseTheMostElseWhatSaysNoSize) {
  const std::string silent = onvif_profile(R"(token="Silent")", "");
  const std::string half = onvif_profile(R"(token="Half")", "<Width>640</Width>");
  const std::string main = onvif_profile("Main", 2560, 1440);
  const std::string least = onvif_profile("Least", kLeastWidth, 240);
  const std::string small = onvif_profile("Small", kLeastWidth - 1, 240);
  const std::string tiny = onvif_profile("Tiny", 160, 90);
  for (const auto& [profiles, best] :
       std::vector<std::pair<std::string, std::string>>{{silent + half + main + tiny + least + small, "Least"},
                                                        {silent + half + main + small, "Main"},
                                                        {silent + half + tiny + small, "Small"},
                                                        {silent + tiny, "Tiny"},
                                                        {silent + half, "Silent"}}) {
    OnvifScript camera{.profiles = profiles};
    camera.stream();
    EXPECT_EQ(camera.asked_for, best) << profiles;
  }
}

TEST(Onvif, TheSizeOfAProfileThatIsPassedOverIsNobodys) {
  const std::string size = "<Width>320</Width><Height>180</Height>";
  for (const std::string& attribute : {std::string(R"(fixed="true")"), std::string(R"(token="")"), std::string(),
                                       format_text("token=\"{}\"", std::string(129, 'x'))}) {
    OnvifScript camera{.profiles = onvif_profile("Main", 2560, 1440) + onvif_profile("Sub", 640, 360) +
                                   onvif_profile(attribute, size)};
    const OnvifStream stream = camera.stream();
    EXPECT_EQ(camera.asked_for, "Sub") << attribute;
    EXPECT_EQ(std::pair(stream.width, stream.height), std::pair(640, 360)) << attribute;
  }
}

TEST(Onvif, AProfileAfterTheThirtySecondHasNoSay) {
  OnvifScript camera{.profiles = onvif_profile("Sub", 640, 360)};
  for (int i = 2; i <= 32; ++i) camera.profiles += onvif_profile(format_text("Main{}", i), 2560, 1440);
  camera.profiles += onvif_profile("Late", 320, 180);
  EXPECT_EQ(camera.stream().width, 640);
  EXPECT_EQ(camera.asked_for, "Sub");
}

TEST(Onvif, WhereTheServiceIsEncryptedTheLoginGoesNowhereElse) {
  OnvifScript camera{.service = "https://192.168.1.64/onvif/device_service"};
  camera.stream();
  EXPECT_EQ(camera.asked_at, std::vector<std::string>(4, camera.service));
  camera = {.service = camera.service, .media = "https://192.168.1.64/onvif/media"};
  camera.stream();
  EXPECT_EQ(camera.asked_at, (std::vector{camera.service, camera.service, camera.media, camera.media}));
}

}  // namespace
}  // namespace kinglet::camera
