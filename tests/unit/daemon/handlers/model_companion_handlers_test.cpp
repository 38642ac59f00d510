// SPDX-License-Identifier: Apache-2.0
// What a model of one's own gets beside it over HTTP, and how it goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/http/routes/routes.h"
#include "engine/recipe/labels.h"
#include "engine/recipe/recipe.h"
#include "tests/unit/daemon/handlers/asked.h"
#include "tests/unit/daemon/kept_models.h"

namespace kinglet::daemon::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kNine = "Robin\nBlackbird\nWren\nGreat Tit\nDunnock\nMagpie\nJay\nRook\nbackground\n";

class ModelCompanionHandlers : public KeptModels {
 protected:
  void SetUp() override {
    put_model("garden");
    put_model("house");
  }
  ModelsView view() { return {.models = board_, .keeper = keeper(), .trial_rule = {}}; }
  Reply labels(const std::string& name, const std::string& body, const std::string& type = "text/plain") {
    return put_model_labels(view(), call(name, body, type));
  }
  Reply recipe(const std::string& name, const std::string& body, const std::string& type = "application/json") {
    return put_model_recipe(view(), call(name, body, type));
  }
  Reply remove(const std::string& name) { return delete_model(view(), call(name, "", "")); }
  [[nodiscard]] std::string text(const std::string& file) const {
    return read_file(folder_ / file, 1U << 20).value_or("none");
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) found.push_back(entry.path().filename());
    std::ranges::sort(found);
    return found;
  }

 private:
  static Call call(const std::string& name, const std::string& body, const std::string& type) {
    return {.path_parameters = {{"name", name}}, .content_type = type, .body = body};
  }
};

TEST_F(ModelCompanionHandlers, LabelsLieBesideTheModelAndItIsJudgedAnew) {
  keeper().start();
  judged();
  const Reply reply =
      labels("garden", "\xEF\xBB\xBFRobin \r\nBlackbird\r\nWren\nTit\nDunnock\nMagpie\nJay\nRook\nnone\n\n");
  ASSERT_EQ(reply.status, 200) << reply.problem.detail;
  EXPECT_EQ(text("garden.labels.txt"), "Robin\nBlackbird\nWren\nTit\nDunnock\nMagpie\nJay\nRook\nnone\n");
  const Parsed model = Parsed::parse(reply.body);
  EXPECT_EQ(model["name"], "garden");
  EXPECT_EQ(model["state"], "checking");
  EXPECT_EQ(model["in_folder"], true);
}

TEST_F(ModelCompanionHandlers, LabelsThatAreNoneAreRefusedWithTheirLine) {
  const std::string before = text("garden.labels.txt");
  for (const auto& [body, detail] :
       std::vector<std::pair<std::string, std::string>>{{"Robin\n\nWren\n", "body:2"},
                                                        {"Robin\n\xFF\n", "UTF-8"},
                                                        {" \n", "empty"},
                                                        {std::string((1U << 20) + 1, 'x'), "limit"}}) {
    const Reply reply = labels("garden", body);
    EXPECT_EQ(reply.problem.slug, "bad-labels");
    EXPECT_THAT(reply.problem.detail, HasSubstr(detail));
  }
  EXPECT_EQ(labels("garden", kNine, "application/json").problem.slug, "unsupported-media-type");
  EXPECT_EQ(text("garden.labels.txt"), before);
}

TEST_F(ModelCompanionHandlers, ThereAreAsManyLabelsAsTheModelHasClasses) {
  keeper().start();
  judged();
  const auto refused = [&] {
    const Reply reply = labels("garden", "Robin\nBlackbird\nWren\nGreat Tit\nDunnock\nMagpie\nJay\nRook\n");
    EXPECT_EQ(reply.problem.slug, "bad-labels");
    EXPECT_THAT(reply.problem.detail, HasSubstr("8 labels, the model's output has 9 classes"));
    EXPECT_THAT(reply.problem.hint, HasSubstr("one line is missing"));
  };
  refused();
  ASSERT_EQ(labels("garden", kNine).status, 200);
  refused();  // other labels do not make it another model
  EXPECT_EQ(text("garden.labels.txt"), kNine);
}

TEST_F(ModelCompanionHandlers, OfTheModelThatAnswersTheClassesAreKnown) {
  publish("house");
  EXPECT_EQ(labels("house", "Robin\n").problem.slug, "bad-labels");
  EXPECT_EQ(labels("house", kNine).status, 200);
}

TEST_F(ModelCompanionHandlers, AnEmptyTextTakesThemAway) {
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(labels("garden", "").status, 200);
    EXPECT_EQ(recipe("garden", " \n", "text/plain").status, 200);
    EXPECT_THAT(names(), ElementsAre("garden.onnx", "house.labels.txt", "house.onnx", "house.recipe.json"));
  }
}

TEST_F(ModelCompanionHandlers, ARecipeIsAPresetByNameOrAsItsFileWouldBe) {
  ASSERT_EQ(recipe("garden", "torchvision\n", "text/plain").status, 200);
  const auto kept = [&] { return engine::parse_recipe(text("garden.recipe.json"), "kept").value(); };
  EXPECT_EQ(engine::preset_like(kept()), "torchvision");
  ASSERT_EQ(recipe("garden", R"({"preset": "torchvision", "crop_ratio": 0.95})").status, 200);
  EXPECT_EQ(kept().crop_ratio, 0.95);
  EXPECT_EQ(kept().mean[0], 123.675);
}

TEST_F(ModelCompanionHandlers, WhatIsNoRecipeIsRefusedWithWhatIsWrong) {
  const std::string before = text("garden.recipe.json");
  const Reply misspelt = recipe("garden", "torchvison", "text/plain");
  EXPECT_EQ(misspelt.problem.slug, "bad-recipe");
  EXPECT_THAT(misspelt.problem.hint, HasSubstr("torchvision"));
  for (const auto& [body, detail] :
       std::vector<std::pair<std::string, std::string>>{{"{\n\"mean\": ", "body:2"},
                                                        {R"({"std": 0})", "std"},
                                                        {R"({"meen": 0})", "meen"},
                                                        {"[]", "object"},
                                                        {std::string(70'000, ' '), "limit"},
                                                        {R"({"mean": [[[[[[[[[[]]]]]]]]]]})", "deep"}}) {
    const Reply reply = recipe("garden", body);
    EXPECT_EQ(reply.problem.slug, "bad-recipe") << body.substr(0, 20);
    EXPECT_THAT(reply.problem.detail, HasSubstr(detail));
  }
  const Reply detector = recipe("garden", "yolox", "text/plain");
  EXPECT_EQ(detector.problem.slug, "bad-recipe");
  EXPECT_THAT(detector.problem.detail, HasSubstr("a detector's"));
  EXPECT_EQ(recipe("garden", "torchvision", "image/png").problem.slug, "unsupported-media-type");
  EXPECT_EQ(text("garden.recipe.json"), before);
}

TEST_F(ModelCompanionHandlers, WhatTheConfigurationSaysIsChangedThere) {
  options_.configured = LineModelOptions{.model = demo(".onnx")};
  EXPECT_EQ(labels("kinglet-demo", kNine).problem.slug, "set-in-file");
  EXPECT_EQ(recipe("kinglet-demo", "{}").problem.slug, "set-in-file");
}

TEST_F(ModelCompanionHandlers, AModelOfTheConfigurationInTheFolderLacksOnlyWhatIsNotSaidThere) {
  options_.configured = LineModelOptions{.model = folder_ / "garden.onnx", .labels = demo(".labels.txt")};
  const Reply refused = labels("garden", kNine);
  EXPECT_EQ(refused.problem.slug, "set-in-file");
  EXPECT_THAT(refused.problem.detail, HasSubstr("model.labels"));
  EXPECT_EQ(recipe("garden", "{}").status, 200);
}

TEST_F(ModelCompanionHandlers, WhatIsNotThereOrInWorkIsLeftAlone) {
  const Reply unknown = labels("gardn", kNine);
  EXPECT_EQ(unknown.problem.slug, "not-found");
  EXPECT_THAT(unknown.problem.hint, HasSubstr("garden"));
  EXPECT_EQ(remove("../models/garden").problem.slug, "not-found");
  ASSERT_TRUE(keeper().activate("house", {}));
  EXPECT_EQ(labels("garden", kNine).problem.slug, "job-running");
  EXPECT_EQ(recipe("garden", "{}").problem.slug, "job-running");
  EXPECT_EQ(remove("garden").problem.slug, "job-running");
}

TEST_F(ModelCompanionHandlers, AFolderThatDoesNotTakeItIsTold) {
  std::filesystem::remove(folder_ / "garden.labels.txt");
  std::filesystem::create_directories(folder_ / "garden.labels.txt" / "full");
  const Reply closed = labels("garden", kNine);
  EXPECT_EQ(closed.problem.slug, "not-writable");
  EXPECT_THAT(closed.problem.detail, HasSubstr("cannot rename"));
  EXPECT_THAT(closed.problem.hint, HasSubstr("folder of models"));
  const Reply reply = labels("garden", "");
  EXPECT_EQ(reply.problem.slug, "storage-full");
  EXPECT_THAT(reply.problem.detail, HasSubstr("cannot remove"));
}

TEST_F(ModelCompanionHandlers, AModelGoesWithWhatBelongsToIt) {
  EXPECT_EQ(remove("garden").status, 204);
  EXPECT_THAT(names(), ElementsAre("house.labels.txt", "house.onnx", "house.recipe.json"));
  EXPECT_EQ(remove("garden").problem.slug, "not-found");
}

TEST_F(ModelCompanionHandlers, AModelThatTheConfigurationReachesByALinkStays) {
  std::filesystem::create_symlink(folder_ / "garden.onnx", scratch_.path() / "chosen.onnx");
  options_.configured = LineModelOptions{.model = scratch_.path() / "chosen.onnx"};
  EXPECT_EQ(remove("garden").problem.slug, "model-in-use");
  EXPECT_EQ(names().size(), 6U);
  EXPECT_EQ(remove("house").status, 204);
}

TEST_F(ModelCompanionHandlers, AModelThatAnswersOrThatAStartTakesStays) {
  put_model("third");
  options_.configured_path = "third";
  options_.configured = LineModelOptions{.model = folder_ / "third.onnx"};
  publish("house");
  ASSERT_TRUE(write_choice(state_, ModelChoice{.file = "garden.onnx", .configured = "third"}));
  for (const char* name : {"garden", "house", "third"}) EXPECT_EQ(remove(name).problem.slug, "model-in-use") << name;
  EXPECT_EQ(names().size(), 9U);
  // The configuration has changed since: what was activated counts no more.
  ASSERT_TRUE(write_choice(state_, ModelChoice{.file = "garden.onnx", .configured = "another"}));
  EXPECT_EQ(remove("garden").status, 204);
}

}  // namespace
}  // namespace kinglet::daemon::http
