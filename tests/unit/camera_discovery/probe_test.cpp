// SPDX-License-Identifier: Apache-2.0
#include "camera/discovery/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kId = "1b4e28ba-2fa1-41d2-883f-0016d3cca427";

std::string match(std::string_view scopes, std::string_view services = "",
                  std::string_view types = "dn:NetworkVideoTransmitter") {
  return format_text("<d:ProbeMatch><d:Types>{}</d:Types><d:Scopes>{}</d:Scopes><d:XAddrs>{}</d:XAddrs></d:ProbeMatch>",
                     types, scopes, services);
}
std::string answer(const std::string& matches, std::string_view id = kId) {
  return format_text(
      "<e:Envelope><e:Header><w:RelatesTo>urn:uuid:{}</w:RelatesTo></e:Header><e:Body><d:ProbeMatches>{}"
      "</d:ProbeMatches></e:Body></e:Envelope>",
      id, matches);
}
std::vector<FoundCamera> cameras(const std::string& message) { return read_answer(message, kId, "10.0.0.9").value(); }

TEST(Probe, IsReadAsNoAnswer) { EXPECT_THAT(cameras(probe_message(kId)), IsEmpty()); }

TEST(Probe, TakesNameHardwareAndServicesOfTheSender) {
  const auto found = cameras(
      answer(match("onvif://www.onvif.org/hardware/IPC%2D7 onvif://www.onvif.org/name/Tapo%20C220%",
                   "http://10.0.0.9:2020/onvif https://10.0.0.9/x http://10.0.0.90/x ftp://10.0.0.9/ http://")));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].address, "10.0.0.9");
  EXPECT_EQ(found[0].name, "Tapo C220%");
  EXPECT_EQ(found[0].hardware, "IPC-7");
  EXPECT_THAT(found[0].services, ElementsAre("http://10.0.0.9:2020/onvif", "https://10.0.0.9/x"));
  EXPECT_EQ(found[0].stream(), "rtsp://10.0.0.9/stream2");
}

// Whoever sees the question can send an answer in a camera's name.
TEST(Probe, LeavesOutAServiceWhoseHostOnlySeemsToBeTheSenders) {
  const auto found =
      cameras(answer(match("",
                           "http://10.0.0.9:80@192.168.9.9/onvif http://10.0.0.9:@192.168.9.9/ http://10.0.0.9:80:1/ "
                           "http://10.0.0.9#@192.168.9.9/ http://10.0.0.9\\@192.168.9.9/ http://10.0.0.9:8000/onvif")));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].services, ElementsAre("http://10.0.0.9:8000/onvif"));
}

TEST(Probe, KnowsAMakerByAWordAndNotByAPartOfOne) {
  EXPECT_EQ((FoundCamera{.address = "10.0.0.9", .name = "My AXIS P1", .hardware = {}, .services = {}}.stream()),
            "rtsp://10.0.0.9/axis-media/media.amp?resolution=640x360");
  EXPECT_EQ((FoundCamera{.address = "10.0.0.9", .name = "Praxis", .hardware = "x", .services = {}}.stream()), "");
}

TEST(Probe, KnowsWhereAMakerHasTheLargeOneAndTheSmallerOneBesideIt) {
  const FoundCamera camera{.address = "10.0.0.9", .name = "HIKVISION DS-2CD", .hardware = {}, .services = {}};
  EXPECT_EQ(camera.stream(StreamWish::kLargest), "rtsp://10.0.0.9/Streaming/Channels/101");
  EXPECT_EQ(smaller_path("/Streaming/Channels/101"), "/Streaming/Channels/102");
  EXPECT_EQ(smaller_path("/h265Preview_01_main"), "/h264Preview_01_sub");
  EXPECT_EQ(smaller_path("/Preview_01_main"), "/Preview_01_sub");
  EXPECT_EQ(smaller_path("/Streaming/Channels/102"), "");
  EXPECT_EQ(smaller_path("/"), "");
  EXPECT_EQ(smaller_path(""), "");
}

TEST(Probe, ARecorderHasSeveralAndNotMoreThanEight) {
  std::string matches;
  for (int i = 0; i < 20; ++i) matches += match(format_text("onvif://www.onvif.org/name/{}", i));
  const auto found = cameras(answer(matches));
  ASSERT_THAT(found, SizeIs(8));
  EXPECT_EQ(found[7].name, "7");
}

TEST(Probe, LeavesOutWhatIsNoCameraAndWhatAnswersAnotherQuestion) {
  EXPECT_THAT(cameras(answer(match("onvif://www.onvif.org/name/x", "", "dn:Printer"))), IsEmpty());
  EXPECT_THAT(cameras(answer(match("onvif://www.onvif.org/name/x"), "11111111-2fa1-41d2-883f-0016d3cca427")),
              IsEmpty());
  EXPECT_EQ(read_answer("<a>", kId, "10.0.0.9").error().code, ErrorCode::kBadData);
}

}  // namespace
}  // namespace kinglet::camera
