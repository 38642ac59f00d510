// SPDX-License-Identifier: Apache-2.0
#include "daemon/catalogue/catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

namespace kinglet::daemon {
namespace {

using Json = nlohmann::json;

Json entry() {
  return {{"name", "tiny-bird"},
          {"summary", "a test"},
          {"addresses", {"https://example.org/bird.onnx"}},
          {"sha256", std::string(64, 'a')},
          {"size_bytes", 1000},
          {"licence", "Apache-2.0"}};
}

std::string message_of(const Json& models) {
  const auto parsed = parse_catalogue(Json{{"models", models}}.dump(), "catalogue.json");
  return parsed ? "" : describe(parsed.error());
}

TEST(BuiltInCatalogue, IsValidAndEveryModelKnowsItsLabels) {
  const auto entries = parse_catalogue(built_in_catalogue(), "catalogue");
  ASSERT_TRUE(entries) << describe(entries.error());
  EXPECT_GE(entries->size(), 5U);
  for (const CatalogueEntry& model : *entries) {
    // Those of TensorFlow Lite have them inside.
    EXPECT_TRUE(model.addresses.front().ends_with(".tflite") || !built_in_labels(model.labels).empty()) << model.name;
    EXPECT_TRUE(std::ranges::all_of(model.addresses, [](const auto& a) { return a.starts_with("https://"); }));
    EXPECT_NE(model.recipe, engine::Recipe{}) << model.name << ": a public model needs its own recipe";
  }
}

TEST(BuiltInCatalogue, TheBirdModelsWereTriedAndLookAtWhatMoves) {
  const auto entries = parse_catalogue(built_in_catalogue(), "catalogue");
  std::vector<std::string> birds;
  for (const CatalogueEntry& model : *entries) {
    EXPECT_EQ(model.recipe.regions, engine::Regions::kMotion) << model.name;
    EXPECT_EQ(model.checked, model.birds) << model.name;
    if (!model.birds) continue;
    birds.push_back(model.name + " " + model.sha256.substr(0, 8));
    EXPECT_FALSE(model.terms.empty()) << model.name;
    EXPECT_EQ(model.labels, "inat_bird_965") << "the file of AIY Vision has scientific names alone, in this order";
  }
  // The first one is what an owner is offered first.
  EXPECT_EQ(birds, (std::vector<std::string>{"inat-birds 350fcd8c", "aiy-birds 95f59df4"}));
}

TEST(BuiltInCatalogue, LabelsAreOneALine) {
  EXPECT_EQ(std::ranges::count(built_in_labels("imagenet_1000"), '\n'), 1000);
  EXPECT_TRUE(built_in_labels("nothing").empty());
}

TEST(ParseCatalogue, TakesARightEntry) {
  const auto parsed = parse_catalogue(Json{{"models", Json::array({entry()})}}.dump(), "catalogue.json");
  ASSERT_TRUE(parsed) << describe(parsed.error());
  EXPECT_EQ(parsed->front().name, "tiny-bird");
  EXPECT_EQ(parsed->front().size_bytes, 1000U);
}

TEST(ParseCatalogue, NamesCannotLeaveTheFolder) {
  for (const char* name : {"", "..", "../x", "a/b", ".hidden", "-rf", "A b", "nul\n"}) {
    Json wrong = entry();
    wrong["name"] = name;
    EXPECT_NE(message_of(Json::array({wrong})).find("name must be"), std::string::npos) << name;
  }
}

TEST(ParseCatalogue, SizesAreWholeAndPlausible) {
  for (const Json& size : {Json(-1), Json(1.5), Json("1000"), Json(0), Json(std::uint64_t{1} << 50), Json(nullptr)}) {
    Json wrong = entry();
    wrong["size_bytes"] = size;
    EXPECT_NE(message_of(Json::array({wrong})).find("size_bytes"), std::string::npos) << size;
  }
}

TEST(ParseCatalogue, DamagedTextIsAnErrorNeverACrash) {
  const std::string whole = Json{{"models", Json::array({entry()})}}.dump();
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = whole.substr(0, random() % (whole.size() + 1));
    for (int i = 0; i < 3 && !damaged.empty(); ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto parsed = parse_catalogue(damaged, "catalogue.json");
    if (!parsed) {
      EXPECT_EQ(parsed.error().code, ErrorCode::kBadData);
      EXPECT_EQ(parsed.error().message.find('\n'), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace kinglet::daemon
