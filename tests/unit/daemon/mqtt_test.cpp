// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "daemon/mqtt/payloads.h"
#include "daemon/values/mqtt_address.h"
#include "engine/base/format.h"

namespace kinglet::daemon::mqtt {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

TEST(MqttAddress, SchemesHavePortsOfTheirOwn) {
  EXPECT_EQ(parse_address("mqtt://broker").value(), (Address{.host = "broker", .port = 1883}));
  EXPECT_EQ(parse_address("mqtts://broker/").value(), (Address{.encrypted = true, .host = "broker", .port = 8883}));
  EXPECT_EQ(parse_address("mqtt://10.0.0.2:11883").value(), (Address{.host = "10.0.0.2", .port = 11883}));
  EXPECT_EQ(parse_address("mqtts://[fd00::1]:8884").value(),
            (Address{.encrypted = true, .host = "fd00::1", .port = 8884}));
  EXPECT_EQ(parse_address("mqtt://[::1]").value().text(), "mqtt://[::1]:1883");
}

TEST(MqttAddress, WhatIsNoneIsRefusedWithTheForm) {
  for (const char* text : {"", "broker", "http://broker", "mqtt://", "mqtt://a:0", "mqtt://a:65536", "mqtt://a:x",
                           "mqtt://a b", "mqtt://a/b", "mqtt://[::1", "mqtt://[]:1", "mqtt://a?b"}) {
    const auto address = parse_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().code, ErrorCode::kConfig) << text;
    EXPECT_THAT(address.error().hint, HasSubstr("mqtt://HOST")) << text;
  }
}

TEST(MqttAddress, ALoginInItIsRefusedAndNotRepeated) {
  const auto address = parse_address("mqtt://me:hush@broker");
  ASSERT_FALSE(address);
  EXPECT_THAT(describe(address.error()), ::testing::Not(HasSubstr("hush")));
  EXPECT_THAT(address.error().hint, HasSubstr("mqtt.password_file"));
}

TEST(MqttAddress, NobodyThereIsSaidSoon) {
  const auto reached = reach({.host = "127.0.0.1", .port = 1}, {});
  ASSERT_FALSE(reached);
  EXPECT_EQ(describe(reached.error()), "mqtt://127.0.0.1:1: Connection refused");
}

Device whole_device() {
  return {.version = "1.2.3",
          .board = "Raspberry Pi 5",
          .page = "http://feeder.local:8420",
          .thermometer = true,
          .pictures = true,
          .commands = true};
}

TEST(MqttDiscovery, IsAsItsGoldenFileHasIt) {
  const std::string file = KINGLET_SOURCE_DIR "/tests/golden/mqtt/discovery.json";
  const std::string now = Json::parse(discovery_payload({.node = "feeder"}, whole_device())).dump(2) + "\n";
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment
  if (std::getenv("KINGLET_UPDATE_GOLDEN") != nullptr) std::ofstream(file) << now;
  std::ifstream in(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), now);
}

TEST(MqttDiscovery, LeavesOutWhatThisDeviceCannot) {
  const Json json = Json::parse(discovery_payload({.node = "feeder"}, {.version = "1"}));
  for (const char* key : {"temperature", "picture", "pause"}) EXPECT_FALSE(json["cmps"].contains(key)) << key;
  for (const char* key : {"hw", "cu"}) EXPECT_FALSE(json["dev"].contains(key)) << key;
}

TEST(MqttDiscovery, ACameraAfterTheFirstHasComponentsOfItsOwn) {
  const Topics topics{.node = "feeder", .cameras = {"tree"}};
  const Json alone = Json::parse(discovery_payload({.node = "feeder"}, whole_device()))["cmps"];
  const Json both = Json::parse(discovery_payload(topics, whole_device()))["cmps"];
  for (const auto& [key, entity] : alone.items()) EXPECT_EQ(both[key], entity) << key;
  const Json& visit = both["tree-visit"];
  EXPECT_EQ(visit["unique_id"], "kinglet_feeder-tree_visit");
  EXPECT_EQ(visit["name"], "Visit (tree)");
  EXPECT_EQ(visit["state_topic"], "kinglet/feeder/tree/event/visit");
  EXPECT_EQ(both["tree-picture"]["image_topic"], "kinglet/feeder/tree/picture/last");
  EXPECT_EQ(both["tree-camera_problem"]["state_topic"], "kinglet/feeder/tree/state/stats");
  for (const char* key : {"visits_today", "pause"}) {
    EXPECT_FALSE(both.contains(format_text("tree-{}", key))) << key << " is all cameras'";
  }
}

TEST(MqttTopics, WhatIsNoOtherCamerasIsTheFirsts) {
  const Topics topics{.node = "feeder", .cameras = {"tree", "pond"}};
  EXPECT_EQ(topics.of_camera(topics.camera_of("pond"), "state/visit"), "kinglet/feeder/pond/state/visit");
  for (const char* source : {"camera", "demo", ""}) {
    EXPECT_EQ(topics.of_camera(topics.camera_of(source), "state/visit"), "kinglet/feeder/state/visit") << source;
  }
}

TEST(MqttTopics, ACameraIsGoneWhereItsFiguresSaySoInOurName) {
  const Topics topics{.node = "kinglet", .prefix = "home", .cameras = {"tree"}};
  const Figures figures{.camera_state = "streaming"};
  const std::string ours = stats_payload(figures, topics.base());
  EXPECT_EQ(topics.gone_camera("home/kinglet/pond/state/stats", ours), "pond");
  EXPECT_EQ(topics.gone_camera("home/kinglet/tree/state/stats", ours), std::nullopt) << "it is there";
  // A device named pond whose prefix is home/kinglet, one of another name that says it of its camera, and nonsense.
  const std::string others = stats_payload(figures, Topics{.node = "pond", .prefix = "home/kinglet"}.base());
  for (const std::string& payload :
       {stats_payload(figures), others, std::string(), std::string("{"), std::string("[\"home/kinglet\"]"),
        std::string(R"({"node":["home/kinglet"]})"), std::string(R"("home/kinglet")"), std::string(1024, '[')}) {
    EXPECT_EQ(topics.gone_camera("home/kinglet/pond/state/stats", payload), std::nullopt) << payload;
  }
}

TEST(MqttTopics, TheSignOfACameraIsTheLastThatIsTakenBack) {
  const Topics topics{.node = "feeder", .cameras = {"+"}};
  EXPECT_EQ(topics.of_camera(1, std::ranges::end(kKeptOfCamera)[-1]), topics.of_any_camera());
}

TEST(MqttPayloads, FiguresThatAreNotKnownAreLeftOut) {
  EXPECT_EQ(stats_payload({.images_per_second = 11.618, .latency_p50_ms = 33.12345, .camera_state = "streaming"}),
            R"({"images_per_second":11.62,"latency_p50_ms":33.123,"camera_state":"streaming","paused":false})");
}

TEST(MqttPayloads, TodayCountsItsSpecies) {
  Today today{.date = "2026-05-04", .visits = 3, .species = {}};
  today.species.push_back({.species_id = "turdus-merula", .common_name = "Blackbird", .visits = 2});
  today.species.push_back({.species_id = "pica-pica", .common_name = {}, .visits = 1});
  EXPECT_EQ(today_payload(today), R"({"date":"2026-05-04","visits":3,"species_count":2,"species":[)"
                                  R"({"species_id":"turdus-merula","common_name":"Blackbird","visits":2},)"
                                  R"({"species_id":"pica-pica","visits":1}]})");
}

}  // namespace
}  // namespace kinglet::daemon::mqtt
