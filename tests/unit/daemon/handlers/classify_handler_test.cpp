// SPDX-License-Identifier: Apache-2.0
// A posted picture: it is prepared for the model that answers, and told what that says of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/daemon/handlers/posted.h"

namespace kinglet::daemon::http {
namespace {

using ::testing::HasSubstr;

class ClassifyHandler : public PostedHandlers {
 protected:
  static void say_tit(PostedPicture& picture) {
    picture.scores[kTit] = 0.9F;
    picture.scores[0] = 0.1F;
  }
  Call png(std::vector<std::pair<std::string, std::string>> query = {}) {
    return {.method = "POST", .query = std::move(query), .content_type = "image/png", .body = png_};
  }
  Reply ask(const Call& call) { return post_classify(classify_, call); }
};

TEST_F(ClassifyHandler, APictureIsAnsweredWithWhatTheModelSaysOfIt) {
  const Answering model(desk_, &say_tit);
  const Reply reply = ask(png({{"top_k", "1"}, {"crop", "1,2,30,40"}}));
  ASSERT_EQ(reply.status, 200) << reply.body;
  const Parsed json = Parsed::parse(reply.body);
  EXPECT_EQ(json["outcome"], "accepted");
  ASSERT_EQ(json["top"].size(), 1U);
  EXPECT_EQ(json["top"][0]["species_id"], "blue-capped-demotit");
  EXPECT_EQ(json["input"]["width_px"], 64);
  EXPECT_EQ(json["crop_px"], (Parsed{{"x", 1}, {"y", 2}, {"width", 30}, {"height", 40}}));
}

TEST_F(ClassifyHandler, ThePictureReachesTheModelAsItsInputOfTheCropThatWasWished) {
  std::vector<std::byte> input;
  std::shared_ptr<const ModelFacts> meant;
  {
    const Answering model(desk_, [&](PostedPicture& picture) {
      input.assign(picture.tensor.begin(), picture.tensor.end());
      meant = picture.model;
    });
    ask(png({{"crop", "8,4,32,16"}}));
  }
  EXPECT_EQ(input, input_of(*demonstration(), CropRect{.x = 8, .y = 4, .width = 32, .height = 16}));
  EXPECT_EQ(meant, demonstration());
}

// The board is told by the thread that answers, so that who was prepared for the one before is refused by it.
TEST_F(ClassifyHandler, APictureOfAModelThatIsGoneIsPreparedAnewForTheOneThatCame) {
  ModelFacts facts = *demonstration();
  facts.name = "garden-2";
  facts.recipe.mean = {90, 100, 110};
  const auto other = std::make_shared<const ModelFacts>(std::move(facts));
  std::vector<std::vector<std::byte>> inputs;
  Reply reply;
  {
    const Answering model(desk_, [&](PostedPicture& picture) {
      inputs.emplace_back(picture.tensor.begin(), picture.tensor.end());
      if (picture.model == other) return say_tit(picture);
      std::vector<std::string> warnings;
      models_.publish(other, visits::Rule::make(other->taxa, {}, warnings));
      picture.error = Error{ErrorCode::kBusy, "another model has taken its place", {}, {}};
    });
    reply = ask(png());
  }
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(Parsed::parse(reply.body)["model"]["name"], "garden-2");
  ASSERT_EQ(inputs.size(), 2U);
  EXPECT_EQ(inputs[0], input_of(*demonstration(), std::nullopt));
  EXPECT_EQ(inputs[1], input_of(*other, std::nullopt));
  EXPECT_NE(inputs[0], inputs[1]);
}

TEST_F(ClassifyHandler, WhoIsAskedAnewKeepsItsPlace) {
  EXPECT_FALSE(is_place_free_between(&say_tit, [&] { return ask(png()); }));
  EXPECT_TRUE(desk_.reserve()) << "and gives it back with the answer";
}

TEST_F(ClassifyHandler, TheNextPictureIsPreparedWhileOneIsAnswered) {
  bool both_came = false;
  const ClassifyView view{.models = models_, .desk = desk_for_two_};
  const auto replies =
      ask_twice(std::chrono::seconds(20), both_came, &say_tit, [&] { return post_classify(view, png()); });
  EXPECT_TRUE(both_came);
  for (const Reply& reply : replies) EXPECT_EQ(reply.status, 200) << reply.problem.detail;
}

TEST_F(ClassifyHandler, WhoStandsInLineAtTheEndIsSentAwayWithoutALookAtThePicture) {
  std::optional<ClassifyDesk::Turn> before(std::in_place, desk_);
  auto reply =
      std::async(std::launch::async, [&] { return ask({.content_type = "image/png", .body = png_.substr(0, 60)}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  desk_.close();
  before.reset();
  EXPECT_EQ(reply.get().problem.slug, "starting");
}

TEST_F(ClassifyHandler, WhereModelsComeAndGoAllTheTimeOneIsSentAway) {
  int asked = 0;
  {
    const Answering model(desk_, [&](PostedPicture& picture) {
      ++asked;
      std::vector<std::string> warnings;
      models_.publish(std::make_shared<const ModelFacts>(*demonstration()),
                      visits::Rule::make(demonstration()->taxa, {}, warnings));
      picture.error = Error{ErrorCode::kBusy, "another model has taken its place", {}, {}};
    });
    EXPECT_EQ(ask(png()).problem.slug, "busy");
  }
  EXPECT_EQ(asked, 3);
}

TEST_F(ClassifyHandler, WhatIsNoPictureNeverReachesTheModel) {
  EXPECT_EQ(ask({.content_type = "text/plain", .body = png_}).problem.slug, "unsupported-media-type");
  EXPECT_EQ(ask({.content_type = "image/png", .body = png_.substr(0, 60)}).problem.slug, "undecodable-image");
  EXPECT_EQ(ask({.content_type = "application/json", .body = "{}"}).problem.slug, "bad-json");
  EXPECT_EQ(ask(png({{"crop", "60,0,32,16"}})).problem.slug, "bad-parameter");
  EXPECT_EQ(ask(png({{"top_k", "0"}})).problem.slug, "bad-parameter");
  const ClassifyView small{.models = models_, .desk = desk_, .max_pixels = 1000};
  EXPECT_EQ(post_classify(small, png()).problem.slug, "too-many-pixels");
  EXPECT_TRUE(desk_.empty());
}

TEST_F(ClassifyHandler, AnotherModelThanTheOneThatWasNamedDoesNotAnswer) {
  const Reply other = ask(png({{"model", "garden-2"}}));
  EXPECT_EQ(other.problem.slug, "model-not-valid");
  EXPECT_THAT(other.problem.detail, HasSubstr("garden-2"));
  const ModelBoard none("its file is gone");
  const Reply reply = post_classify({.models = none, .desk = desk_}, png());
  EXPECT_EQ(reply.problem.slug, "model-not-valid");
  EXPECT_THAT(reply.problem.detail, HasSubstr("its file is gone"));
}

TEST_F(ClassifyHandler, WithoutAPlaceAtTheDeskOneIsSentAway) {
  {
    const auto taken = desk_.reserve();
    EXPECT_EQ(ask(png()).problem.slug, "busy");
  }
  desk_.close();
  EXPECT_EQ(ask(png()).problem.slug, "starting");
}

TEST_F(ClassifyHandler, WhatTheModelsThreadRefusesIsTold) {
  for (const auto& [code, slug] : {std::pair{ErrorCode::kBadData, "undecodable-image"},
                                   {ErrorCode::kBusy, "busy"},
                                   {ErrorCode::kUnavailable, "starting"},
                                   {ErrorCode::kInternal, "internal-error"}}) {
    const Answering model(desk_, [&](PostedPicture& picture) { picture.error = Error{code, "so it is", {}, {}}; });
    EXPECT_EQ(ask(png()).problem.slug, slug);
  }
}

}  // namespace
}  // namespace kinglet::daemon::http
