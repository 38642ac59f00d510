// SPDX-License-Identifier: Apache-2.0
// The routes that take pictures and tensors, asked with somebody at the desk who answers in the model's place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <optional>
#include <thread>
#include <utility>

#include "camera/decode/decode.h"
#include "camera/preprocess/preprocess.h"
#include "daemon/answer/classify_desk.h"
#include "daemon/doctor/health.h"
#include "daemon/http/figures/inference_figures.h"
#include "daemon/http/routes/routes.h"
#include "tests/support/pictures.h"
#include "tests/unit/daemon/handlers/asked.h"

namespace kinglet::daemon::http {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kTit = 2;  // of the demonstration's labels

// Takes what comes to the desk and does `work` on it, as the answer thread would.
class Answering {
 public:
  Answering(ClassifyDesk& desk, std::function<void(PostedPicture&)> work)
      : thread_([&desk, work = std::move(work)](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            if (PostedPicture* picture = desk.take()) {
              work(*picture);
              desk.done(picture);
            } else {
              std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
          }
        }) {}

 private:
  std::jthread thread_;
};

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class PostedHandlers : public ::testing::Test {
 protected:
  PostedHandlers() { put_demonstration(models_); }

  // The picture as this model's own preprocessor makes it the input.
  std::vector<std::byte> input_of(const ModelFacts& model, const std::optional<CropRect>& crop) {
    engine::PictureInput input = model.picture_input;
    std::vector<std::byte> bytes(model.input_bytes);
    input.bytes = bytes;
    camera::Preprocessor preprocessor(model.recipe, input.width, input.height);
    EXPECT_TRUE(preprocessor.run_reduced(picture_.view(), {picture_.width, picture_.height}, crop, input));
    return bytes;
  }

  // Two clients post to desk_for_two_ at once, and nothing is answered until both stand there, or for so long.
  template <typename Ask>
  std::array<Reply, 2> ask_twice(std::chrono::milliseconds patience, bool& both_came,
                                 const std::function<void(PostedPicture&)>& work, const Ask& ask) {
    std::atomic<int> asked = 0;
    bool first = true;
    const Answering model(desk_for_two_, [&](PostedPicture& picture) {
      while (asked < 2) std::this_thread::yield();
      const SteadyTime deadline = SteadyClock::now() + patience;
      while (first && desk_for_two_.empty() && SteadyClock::now() < deadline) std::this_thread::yield();
      if (std::exchange(first, false)) both_came = !desk_for_two_.empty();
      work(picture);
    });
    const auto client = [&] {
      ++asked;
      return ask();
    };
    auto other = std::async(std::launch::async, client);
    Reply own = client();
    return {std::move(own), other.get()};
  }

  // Whether anybody else would get the only place at the desk between a model that is gone and the one that is asked
  // anew: tried where the last one who held the first model lets go of it, which is who is about to ask again.
  template <typename Ask>
  bool is_place_free_between(const std::function<void(PostedPicture&)>& work, const Ask& ask) {
    struct First {
      ModelFacts facts = *demonstration();
      std::function<void()> at_its_end;
      ~First() { at_its_end(); }
    };
    const auto publish = [this](std::shared_ptr<const ModelFacts> facts) {
      std::vector<std::string> warnings;
      models_.publish(std::move(facts), visits::Rule::make(demonstration()->taxa, {}, warnings));
    };
    std::optional<bool> free;
    auto first = std::make_shared<First>();
    first->at_its_end = [&] { free = desk_.reserve().has_value(); };
    publish({first, &first->facts});
    first.reset();
    int asked = 0;
    {
      const Answering model(desk_, [&](PostedPicture& picture) {
        if (asked++ > 0) return work(picture);
        for (int i = 0; i < 20; ++i)
          publish(std::make_shared<const ModelFacts>(*demonstration()));  // none remembers it
        picture.error = Error{ErrorCode::kBusy, "another model has taken its place", {}, {}};
      });
      const Reply reply = ask();
      EXPECT_EQ(reply.status, 200) << reply.problem.detail;
    }
    EXPECT_EQ(asked, 2);
    EXPECT_TRUE(free) << "somebody still holds the first model";
    return free.value_or(true);
  }

  const camera::Image picture_ = kinglet::testing::make_picture(64, 48);
  const std::string png_ = text_of(camera::encode_png(picture_.view()).value());
  ModelBoard models_;
  ClassifyDesk desk_{1, [] {}};
  const ClassifyView classify_{.models = models_, .desk = desk_};
  ClassifyDesk desk_for_two_{2, [] {}};
};

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
