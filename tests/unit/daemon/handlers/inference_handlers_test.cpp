// SPDX-License-Identifier: Apache-2.0
// KServe's protocol: tensors and pictures for the model, its outputs, and whether it is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "daemon/doctor/health.h"
#include "daemon/http/figures/inference_figures.h"
#include "tests/unit/daemon/handlers/posted.h"

namespace kinglet::daemon::http {
namespace {

class InferenceHandlers : public PostedHandlers {
 protected:
  InferenceHandlers() { vitals_.cameras[0].status.turn_by = now_ + std::chrono::hours(1); }
  Call named(const std::string& name, const std::string& body = {}) {
    return {.method = "POST", .path_parameters = {{"name", name}}, .content_type = "application/json", .body = body};
  }
  // Numbers for the model's input: those of channel c are c.
  static std::string tensor_json(const std::string& outputs = {}) {
    const engine::TensorInfo& input = demonstration()->inputs[0];
    const auto pixels = static_cast<std::size_t>(input.shape[2] * input.shape[3]);
    Parsed data = Parsed::array();
    for (int channel = 0; channel < 3; ++channel) {
      for (std::size_t i = 0; i < pixels; ++i) data.push_back(channel);
    }
    Parsed json{{"id", "mine"},
                {"inputs", {{{"name", input.name}, {"shape", input.shape}, {"datatype", "FP32"}, {"data", data}}}}};
    if (!outputs.empty()) json["outputs"] = Parsed::parse(outputs);
    return json.dump();
  }
  // The model's numbers: 0.8 for the tit, 0.2 for nobody.
  static void say_tit(PostedPicture& picture) {
    std::vector<float> scores(picture.tensors[0].size() / sizeof(float));
    scores[kTit] = 0.8F;
    scores.back() = 0.2F;
    std::memcpy(picture.tensors[0].data(), scores.data(), picture.tensors[0].size());
  }
  Reply infer(const std::string& body) { return post_infer(view_, named("kinglet-demo", body)); }

  const SteadyTime now_ = SteadyClock::now();
  Vitals vitals_{.now = now_, .answer_heartbeat = now_};
  kserve::Figures figures_;
  const InferenceView view_{.posted = classify_, .figures = figures_, .vitals = [this] { return vitals_; }};
};

TEST_F(InferenceHandlers, ATensorIsAnsweredWithTheModelsOutput) {
  const Answering model(desk_, &say_tit);
  const Reply reply = infer(tensor_json());
  ASSERT_EQ(reply.status, 200) << reply.body;
  const Parsed json = Parsed::parse(reply.body);
  EXPECT_EQ(json["id"], "mine");
  EXPECT_EQ(json["outputs"][0]["datatype"], "FP32");
  EXPECT_FLOAT_EQ(json["outputs"][0]["data"][kTit].get<float>(), 0.8F);
  EXPECT_EQ(figures_.view().answered, 1U);
}

// What classify says, in the statuses of this protocol.
TEST_F(InferenceHandlers, WhatTheModelsThreadRefusesIsToldAsByClassify) {
  struct Case {
    ErrorCode code;
    bool late;
    std::string_view slug;
    int status;
    int status_of_classify;
  };
  const Call picture{.method = "POST", .content_type = "image/png", .body = png_};
  for (const Case& row : {Case{ErrorCode::kBusy, false, "busy", 503, 503},
                          {ErrorCode::kUnavailable, true, "timeout", 503, 504},
                          {ErrorCode::kUnavailable, false, "starting", 503, 503},
                          {ErrorCode::kInternal, false, "internal-error", 500, 500}}) {
    const Answering model(desk_, [&](PostedPicture& posted) {
      posted.error = Error{row.code, "so it is", {}, {}};
      posted.late = row.late;
    });
    const Reply reply = infer(tensor_json());
    EXPECT_EQ(reply.problem.slug, row.slug);
    EXPECT_EQ(reply.status, row.status) << row.slug;
    EXPECT_EQ(reply.problem.detail, "so it is");
    EXPECT_EQ(std::ranges::count(reply.headers, "Retry-After", [](const auto& line) { return line.first; }),
              row.status == 503 ? 1 : 0)
        << row.slug;
    const Reply other = post_classify(classify_, picture);
    EXPECT_EQ(other.problem.slug, row.slug);
    EXPECT_EQ(other.status, row.status_of_classify) << row.slug;
  }
}

TEST_F(InferenceHandlers, WhoIsAskedAnewKeepsItsPlace) {
  EXPECT_FALSE(is_place_free_between(&say_tit, [&] { return infer(tensor_json()); }));
  EXPECT_TRUE(desk_.reserve()) << "and gives it back with the answer";
}

TEST_F(InferenceHandlers, TheNextTensorStandsAtTheDeskWhileOneIsAnswered) {
  bool both_came = false;
  const ClassifyView posted{.models = models_, .desk = desk_for_two_};
  const InferenceView view{.posted = posted, .figures = figures_, .vitals = [this] { return vitals_; }};
  const auto ask = [&] { return post_infer(view, named("kinglet-demo", tensor_json())); };
  for (const Reply& reply : ask_twice(std::chrono::seconds(20), both_came, &say_tit, ask)) {
    EXPECT_EQ(reply.status, 200) << reply.problem.detail;
  }
  EXPECT_TRUE(both_came);
}

TEST_F(InferenceHandlers, BesideLargeOutputsNothingStandsAtTheDesk) {
  ModelFacts facts = *demonstration();
  facts.outputs[0].shape = {1, 3 << 20};
  ModelBoard board;
  std::vector<std::string> warnings;
  board.publish(std::make_shared<const ModelFacts>(facts), visits::Rule::make(facts.taxa, {}, warnings));
  const ClassifyView posted{.models = board, .desk = desk_for_two_};
  const InferenceView view{.posted = posted, .figures = figures_, .vitals = [this] { return vitals_; }};
  bool both_came = true;
  const auto refuse = [](PostedPicture& picture) { picture.error = Error{ErrorCode::kInternal, "so it is", {}, {}}; };
  const auto ask = [&] { return post_infer(view, named("kinglet-demo", tensor_json())); };
  for (const Reply& reply : ask_twice(std::chrono::milliseconds(200), both_came, refuse, ask)) {
    EXPECT_EQ(reply.problem.slug, "internal-error");
  }
  EXPECT_FALSE(both_came);
}

TEST_F(InferenceHandlers, ATensorReachesTheModelAsItIsHeldInMemory) {
  ASSERT_EQ(demonstration()->inputs[0].layout, engine::TensorLayout::kNhwc);
  std::array<float, 4> first{};
  {
    const Answering model(
        desk_, [&](PostedPicture& picture) { std::memcpy(first.data(), picture.tensor.data(), sizeof(first)); });
    ASSERT_EQ(infer(tensor_json()).status, 200);
  }
  EXPECT_THAT(first, ::testing::ElementsAre(0, 1, 2, 0));
}

TEST_F(InferenceHandlers, APictureReachesTheModelAsItsInputAndAnewWhereAnotherModelCame) {
  const std::string picture =
      R"({"inputs": [{"name": "image", "shape": [1], "datatype": "BYTES", "parameters": {"binary_data_size": )" +
      std::to_string(png_.size() + 4) + "}}]}";
  Call call = named("kinglet-demo", picture);
  call.content_type = "application/octet-stream";
  call.json_length = std::to_string(picture.size());
  for (std::size_t i = 0; i < 4; ++i) call.body += static_cast<char>((png_.size() >> (8 * i)) & 0xFF);
  call.body += png_;
  ModelFacts facts = *demonstration();
  facts.recipe.mean = {90, 100, 110};
  const auto other = std::make_shared<const ModelFacts>(std::move(facts));
  std::vector<std::vector<std::byte>> inputs;
  {
    const Answering model(desk_, [&](PostedPicture& posted) {
      inputs.emplace_back(posted.tensor.begin(), posted.tensor.end());
      if (posted.model == other) return say_tit(posted);
      std::vector<std::string> warnings;
      models_.publish(other, visits::Rule::make(other->taxa, {}, warnings));
      posted.error = Error{ErrorCode::kBusy, "another model has taken its place", {}, {}};
    });
    const Reply reply = post_infer(view_, call);
    EXPECT_EQ(reply.status, 200) << reply.body << reply.problem.detail;
  }
  ASSERT_EQ(inputs.size(), 2U);
  EXPECT_EQ(inputs[0], input_of(*demonstration(), std::nullopt));
  EXPECT_EQ(inputs[1], input_of(*other, std::nullopt));
}

TEST_F(InferenceHandlers, ClassesComeWithTheirLabelsBestFirst) {
  const Answering model(desk_, &say_tit);
  const std::string output = demonstration()->outputs[0].name;
  const Reply reply =
      infer(tensor_json(Parsed::array({{{"name", output}, {"parameters", {{"classification", 2}}}}}).dump()));
  ASSERT_EQ(reply.status, 200) << reply.body;
  const Parsed data = Parsed::parse(reply.body)["outputs"][0]["data"];
  ASSERT_EQ(data.size(), 2U);
  EXPECT_THAT(data[0].get<std::string>(), ::testing::EndsWith(":2:Blue-capped demotit"));
  EXPECT_THAT(data[1].get<std::string>(), ::testing::EndsWith(":8:background"));
}

TEST_F(InferenceHandlers, WhatIsNoRequestIsRefusedAndCounted) {
  EXPECT_EQ(infer("{}").problem.slug, "bad-request");
  EXPECT_EQ(infer(R"({"inputs": [{"name": "nobody", "shape": [1], "datatype": "FP32", "data": [1]}]})").problem.slug,
            "bad-request");
  EXPECT_EQ(figures_.view().failed, 2U);
  EXPECT_EQ(figures_.view().answered, 0U);
}

TEST_F(InferenceHandlers, OnlyTheLoadedModelIsThere) {
  EXPECT_EQ(get_inference_model(view_, named("kinglet-demo")).status, 200);
  EXPECT_EQ(get_inference_model(view_, named("garden-2")).problem.slug, "not-found");
  EXPECT_EQ(post_infer(view_, named("garden-2", "{}")).problem.slug, "not-found");
  Call version = named("kinglet-demo");
  version.path_parameters.emplace_back("version", "000000000000");
  EXPECT_EQ(get_inference_version(view_, version).problem.slug, "not-found");
}

TEST_F(InferenceHandlers, ItIsReadyWithAModelAndAThreadThatRunsIt) {
  EXPECT_EQ(get_inference_ready(view_, {}).status, 200);
  EXPECT_EQ(get_inference_model_ready(view_, named("kinglet-demo")).status, 200);
  vitals_.answer_heartbeat = now_ - std::chrono::hours(1);
  EXPECT_EQ(get_inference_ready(view_, {}).status, 503);
  EXPECT_EQ(get_inference_live(view_, {}).status, 503);
  vitals_.answer_heartbeat = now_;
  const ModelBoard none("its file is gone");
  const InferenceView without{
      .posted = {.models = none, .desk = desk_}, .figures = figures_, .vitals = [this] { return vitals_; }};
  EXPECT_EQ(get_inference_ready(without, {}).status, 503);
  EXPECT_EQ(get_inference_live(without, {}).status, 200);
  EXPECT_EQ(post_infer(without, named("kinglet-demo", "{}")).problem.slug, "starting");
}

}  // namespace
}  // namespace kinglet::daemon::http
