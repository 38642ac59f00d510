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
  std::string address = "rtsp://192.168.1.64/sub";
  std::vector<std::string> asked_at{};
  std::string asked_for{};

  std::string answer(const std::string& url, const std::string& message) {
    asked_at.push_back(url);
    if (message.contains("GetCapabilities")) return format_text("<Media><XAddr>{}</XAddr></Media>", media);
    if (message.contains("GetProfiles")) return format_text("<GetProfilesResponse>{}</GetProfilesResponse>", profiles);
    if (!message.contains("GetStreamUri")) return "<Nothing/>";
    const std::size_t begin = message.find("ProfileToken>") + 13;
    asked_for = message.substr(begin, message.find('<', begin) - begin);
    return format_text("<MediaUri><Uri>{}</Uri></MediaUri>", address);
  }
  OnvifStream stream(StreamWish wish = StreamWish::kSmaller) {
    const auto said =
        ask_for_stream({.address = "192.168.1.64", .services = {service}}, {.user = "me", .password = "x"}, wish,
                       [&](const auto& url, const auto& message, auto) -> Result<OnvifAnswer> {
                         return OnvifAnswer{.status = 200, .body = answer(url, message), .from = {}};
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
      {.address = "192.168.1.64"}, {}, StreamWish::kSmaller,
      [](const auto&, const auto&, auto) -> Result<OnvifAnswer> { return fail(ErrorCode::kInternal, "asked"); });
  EXPECT_EQ(asked.error().code, ErrorCode::kNotFound);
}

TEST(Onvif, TheFewestPixelsThatAreWideEnoughElseTheMostElseWhatSaysNoSize) {
  const std::string silent = onvif_profile(R"(token="Silent")", "");
  const std::string half = onvif_profile(R"(token="Half")", "<Width>640</Width>");
  const std::string main = onvif_profile("Main", 2560, 1440);
  const std::string least = onvif_profile("Least", kLeastWidth, kLeastHeight);
  const std::string small = onvif_profile("Small", kLeastWidth - 1, kLeastHeight);
  const std::string flat = onvif_profile("Flat", kLeastWidth, kLeastHeight - 1);
  const std::string tiny = onvif_profile("Tiny", 160, 90);
  for (const auto& [profiles, best] :
       std::vector<std::pair<std::string, std::string>>{{silent + half + main + tiny + least + small + flat, "Least"},
                                                        {silent + half + main + small + flat, "Main"},
                                                        {silent + half + tiny + small, "Small"},
                                                        {silent + tiny, "Tiny"},
                                                        {silent + half, "Silent"}}) {
    OnvifScript camera{.profiles = profiles};
    camera.stream();
    EXPECT_EQ(camera.asked_for, best) << profiles;
  }
}

TEST(Onvif, TheMostPixelsWhereTheLargestIsWished) {
  OnvifScript camera{.profiles = onvif_profile(R"(token="Silent")", "") + onvif_profile("Sub", 640, 360) +
                                 onvif_profile("Main", 2560, 1440) + onvif_profile("Third", 1280, 720)};
  camera.stream(StreamWish::kLargest);
  EXPECT_EQ(camera.asked_for, "Main");
}

TEST(Onvif, TellsWhichOneItIs) {
  const auto encoded = [](const std::string& token, const std::string& encoding, int width) {
    return format_text(
        "<Profiles token=\"{}\"><AudioEncoderConfiguration><Encoding>AAC</Encoding></AudioEncoderConfiguration>"
        "<VideoEncoderConfiguration><Encoding>{}</Encoding><Resolution><Width>{}</Width><Height>480</Height>"
        "</Resolution></VideoEncoderConfiguration></Profiles>",
        token, encoding, width);
  };
  OnvifScript camera{.profiles = encoded("Main", "JPEG", 1920) +
                                 encoded("Sub", "H264&#10;" + std::string(50, 'x'), 640) + encoded("", "MPEG4", 320)};
  const OnvifStream stream = camera.stream();
  EXPECT_EQ(std::pair(stream.width, stream.height), std::pair(640, 480));
  EXPECT_EQ(stream.profiles, 2U);
  EXPECT_TRUE(stream.encoding.starts_with("H264?xx")) << stream.encoding;
  EXPECT_LE(stream.encoding.size(), 20U);
}

TEST(Onvif, ARefusedLoginIsToldHoweverTheCameraSaysIt) {
  const auto fault = [](const std::string& code) {
    return "<Envelope><Body><Fault><Code><Value>Sender</Value><Subcode><Value>" + code +
           "</Value></Subcode></Code></Fault></Body></Envelope>";
  };
  for (const auto& [status, body] : std::vector<std::pair<long, std::string>>{{401, ""},
                                                                              {400, fault("ter:NotAuthorized")},
                                                                              {200, fault("ter:NotAuthorized")},
                                                                              {500, fault("w:FailedAuthentication")}}) {
    int asked = 0;
    const auto refused = ask_for_stream({.address = "192.168.1.64", .services = {"http://192.168.1.64/onvif"}},
                                        {.user = "me", .password = "x"}, StreamWish::kSmaller,
                                        [&](const auto&, const std::string& message, auto) -> Result<OnvifAnswer> {
                                          asked += message.contains("Password") ? 1 : 0;
                                          return OnvifAnswer{.status = status, .body = body, .from = {}};
                                        });
    EXPECT_EQ(refused.error().code, ErrorCode::kNotPermitted) << status << body;
    EXPECT_EQ(asked, 1);
  }
}

TEST(Onvif, AnAddressWithAPortThatIsNoneOrWithALoginIsRefused) {
  OnvifScript camera;
  const auto refused = [&](const std::string& address) {
    camera.address = address;
    return ask_for_stream({.address = "192.168.1.64", .services = {camera.service}}, {}, StreamWish::kSmaller,
                          [&](const auto& url, const auto& message, auto) -> Result<OnvifAnswer> {
                            return OnvifAnswer{.status = 200, .body = camera.answer(url, message), .from = {}};
                          });
  };
  for (const char* address :
       {"rtsp://192.168.1.64:/sub", "rtsp://192.168.1.64:0/sub", "rtsp://192.168.1.64:70000/sub",
        "rtsp://192.168.1.64:554:80/sub", "rtsp://192.168.1.64:a@192.168.9.9/sub", "rtsp://192.168.1.6/sub",
        "rtsp://192.168.1.64#:99@192.168.9.9/sub", "rtsps://192.168.1.64/sub", "http://192.168.1.64/sub", "/sub"}) {
    EXPECT_EQ(refused(address).error().code, ErrorCode::kBadData) << address;
  }
  EXPECT_TRUE(
      describe(refused("rtsp://me:hush@192.168.9.9:554/x?pwd=hush").error()).ends_with(": rtsp://***@192.168.9.9:554"));
  EXPECT_EQ(refused("rtsp://192.168.1.64:8554/sub?a=b@c").value().address, "rtsp://192.168.1.64:8554/sub?a=b@c");
}

// Who is asked by name is not looked for on the net: this says who answers there.
Result<FoundCamera> camera_at(const std::string& answering, OnvifAnswer answer, std::vector<std::string>* asked = {}) {
  return find_camera("garden.local", {},
                     [&](const auto& url, const auto& message, auto patience) -> Result<OnvifAnswer> {
                       EXPECT_TRUE(message.contains("GetSystemDateAndTime"));
                       EXPECT_FALSE(message.contains("Password"));
                       EXPECT_LT(patience, std::chrono::seconds(2));  // five ports
                       if (asked != nullptr) asked->push_back(url);
                       if (url != answering) return fail(ErrorCode::kUnavailable, "nobody there");
                       return answer;
                     });
}

TEST(Onvif, OneWithANameIsLookedForWhereMakersHaveTheService) {
  const std::string soap = "<s:Envelope><s:Body><Fault>no</Fault></s:Body></s:Envelope>";
  const auto found = camera_at("http://garden.local:2020/onvif/device_service", {400, soap, "192.168.1.64"});
  ASSERT_TRUE(found) << describe(found.error());
  EXPECT_EQ(found->address, "192.168.1.64");  // which its stream has to have
  EXPECT_EQ(found->services, std::vector<std::string>{"http://192.168.1.64:2020/onvif/device_service"});
}

TEST(Onvif, WhoAnswersOtherwiseIsNoCamera) {
  for (const std::string body : {"<html><body>hello</body></html>", "<Envelope>x</Envelope>", "", "<a>", "\xFF"}) {
    std::vector<std::string> asked;
    const auto found = camera_at("http://garden.local:80/onvif/device_service", {200, body, "192.168.1.64"}, &asked);
    ASSERT_FALSE(found) << body;
    EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
    EXPECT_GT(asked.size(), 3U);
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

TEST(Onvif, AServiceOfAnotherHostIsNotAskedAndHearsNoLogin) {
  for (const char* media : {"http://192.168.9.9/onvif/media", "http://192.168.1.64@192.168.9.9/onvif/media",
                            "http://192.168.1.641/onvif/media", "file:///onvif/media", ""}) {
    OnvifScript camera{.media = media};
    camera.stream();
    EXPECT_EQ(camera.asked_at, std::vector<std::string>(4, camera.service)) << media;
  }
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
