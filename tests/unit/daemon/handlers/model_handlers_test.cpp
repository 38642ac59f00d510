// SPDX-License-Identifier: Apache-2.0
// The routes of models, asked with a keeper that only takes down what is wished.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/http/routes/routes.h"
#include "tests/unit/daemon/handlers/asked.h"
#include "tests/unit/daemon/kept_models.h"

namespace kinglet::daemon::http {
namespace {

using ::testing::HasSubstr;

class ModelHandlers : public KeptModels {
 protected:
  void SetUp() override {
    put_model("garden");
    put_model("house");
  }
  ModelsView view() {
    return {.models = board_, .keeper = keeper(), .trial_rule = [] { return TrialRule{.frames = 50}; }};
  }
  using Query = std::vector<std::pair<std::string, std::string>>;
  static Call named(const std::string& name, Query query = {}) {
    return {.method = "POST", .query = std::move(query), .path_parameters = {{"name", name}, {"id", name}}};
  }
  // A file of `size` bytes that comes in two pieces and ends as `end` says.
  static Call upload(const std::string& name, std::uint64_t size, const Result<void>& end = {}) {
    Call call = named(name);
    call.body_length = size;
    call.read_body = [size, end](const TakePiece& take) -> Result<void> {
      for (const std::uint64_t part : {size / 2, size - size / 2}) {
        if (const Result<void> taken = take(std::string(part, 'x')); !taken) return taken;
      }
      return end;
    };
    return call;
  }
};

TEST_F(ModelHandlers, TheListSaysWhichOneAnswers) {
  publish("house");
  const Parsed items = Parsed::parse(get_models(view(), {}).body)["items"];
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0]["name"], "garden");
  EXPECT_EQ(items[0]["active"], false);
  EXPECT_EQ(items[0]["state"], "checking");
  EXPECT_EQ(items[1]["name"], "house");
  EXPECT_EQ(items[1]["active"], true);
}

TEST_F(ModelHandlers, AChangeIsAJobThatCanBeAskedFor) {
  const Reply reply = post_activate(view(), named("garden"));
  ASSERT_EQ(reply.status, 202) << reply.body;
  const std::string id = Parsed::parse(reply.body)["id"];
  EXPECT_EQ(header(reply, "Location"), "/api/v1/jobs/" + id);
  const Parsed job = Parsed::parse(get_job(view(), named(id)).body);
  EXPECT_EQ(job["model"], "garden");
  EXPECT_EQ(job["state"], "queued");
  EXPECT_FALSE(job.contains("rule"));
  EXPECT_EQ(get_job(view(), named("job_0")).problem.slug, "not-found");
}

TEST_F(ModelHandlers, OneChangeAtATimeAndOnlyToWhatIsThere) {
  const Reply unknown = post_activate(view(), named("gardn"));
  EXPECT_EQ(unknown.problem.slug, "not-found");
  EXPECT_THAT(unknown.problem.hint, HasSubstr("did you mean \"garden\"?"));
  ASSERT_EQ(post_activate(view(), named("garden")).status, 202);
  EXPECT_EQ(post_activate(view(), named("house")).problem.slug, "job-running");
}

TEST_F(ModelHandlers, ATrialIsByTheOwnersRuleButForWhatTheCallSays) {
  const Parsed job = Parsed::parse(
      post_activate(view(), named("garden", {{"trial", "yes"}, {"min_agreement", "0.5"}, {"within", "60"}})).body);
  EXPECT_EQ(job["rule"]["frames"], 50);
  EXPECT_EQ(job["rule"]["min_agreement_ratio"], 0.5);
  EXPECT_EQ(job["rule"]["within_seconds"], 60);
}

TEST_F(ModelHandlers, WhatIsNoRuleOfATrialIsRefused) {
  for (const Query& query :
       {Query{{"trial", "maybe"}}, Query{{"frames", "10"}}, Query{{"trial", "yes"}, {"max_time", "0"}},
        Query{{"trial", "yes"}, {"frames", "0"}}, Query{{"trial", "yes"}, {"min_agreement", "2"}}}) {
    EXPECT_EQ(post_activate(view(), named("garden", query)).problem.slug, "bad-parameter") << query.back().first;
  }
  EXPECT_FALSE(keeper().newest_job());
}

TEST_F(ModelHandlers, TheCatalogueSaysWhatIsHere) {
  const auto entry = [&] { return Parsed::parse(get_catalogue(view(), {}).body)["items"][0]; };
  EXPECT_EQ(entry()["name"], "garden-birds");
  EXPECT_EQ(entry()["here"], false);
  put_model("garden-birds");
  EXPECT_EQ(entry()["here"], true);
}

TEST_F(ModelHandlers, AModelOfTheCatalogueIsFetchedAndNoOther) {
  EXPECT_EQ(post_pull(view(), named("garden")).problem.slug, "not-found");
  EXPECT_EQ(post_pull(view(), named("garden-birds", {{"activate", "perhaps"}})).problem.slug, "bad-parameter");
  const Reply reply = post_pull(view(), named("garden-birds"));
  ASSERT_EQ(reply.status, 202) << reply.body;
  EXPECT_EQ(Parsed::parse(reply.body)["kind"], "pull");
  EXPECT_FALSE(keeper().newest_job()->then_activate);
}

TEST_F(ModelHandlers, AnUploadThatCameWholeIsAJob) {
  const Reply reply = http::put_model(view(), upload("mine", 1000));
  ASSERT_EQ(reply.status, 202) << reply.body;
  const Parsed job = Parsed::parse(reply.body);
  EXPECT_EQ(job["kind"], "upload");
  EXPECT_EQ(job["state"], "queued");
  EXPECT_EQ(job["received_bytes"], 1000);
}

TEST_F(ModelHandlers, AnUploadThatCannotBeIsRefusedBeforeItsFirstByte) {
  bool read = false;
  const auto refused = [&](const std::string& name) {
    Call call = upload(name, 1000);
    call.read_body = [&](const TakePiece&) -> Result<void> {
      read = true;
      return {};
    };
    return http::put_model(view(), call).problem.slug;
  };
  EXPECT_EQ(refused("garden"), "model-exists");
  EXPECT_EQ(refused("../garden"), "bad-parameter");
  Call endless = upload("mine", 1000);
  endless.body_length.reset();
  EXPECT_EQ(http::put_model(view(), endless).problem.slug, "length-required");
  EXPECT_FALSE(read);
}

TEST_F(ModelHandlers, AnUploadThatBreaksOffIsToldAndFails) {
  const Reply reply = http::put_model(view(), upload("mine", 1000, fail(ErrorCode::kBadData, "the body ended early")));
  EXPECT_EQ(reply.problem.slug, "bad-request");
  EXPECT_THAT(reply.problem.detail, HasSubstr("the body ended early"));
  EXPECT_EQ(keeper().newest_job()->state, ModelJob::State::kFailed);
}

TEST_F(ModelHandlers, TheModelThatAnswersSaysWhatItIs) {
  publish("house");
  const Parsed model = Parsed::parse(get_model(view(), {}).body);
  EXPECT_EQ(model["name"], "house");
  EXPECT_EQ(model["digest"], board_.facts()->digest);
  EXPECT_EQ(model["labels"]["count"], 9);
  EXPECT_GT(Parsed::parse(get_model_plan(view(), {}).body)["steps"].size(), 0U);
}

TEST_F(ModelHandlers, LabelsComeOnceAndThenOnlyWhenTheyAreOthers) {
  publish("house");
  const Reply reply = get_model_labels(view(), {});
  EXPECT_EQ(Parsed::parse(reply.body)["items"][8]["role"], "background");
  Call again;
  again.if_none_match = header(reply, "ETag");
  EXPECT_EQ(get_model_labels(view(), again).status, 304);
  EXPECT_EQ(get_model_labels(view(), {.query = {{"language", "tlh"}}}).problem.slug, "bad-parameter");
}

TEST_F(ModelHandlers, WithoutAModelThereIsNothingToSayOfIt) {
  const ModelBoard none("its file is gone");
  const ModelsView empty{.models = none, .keeper = keeper(), .trial_rule = {}};
  for (const auto handler : {&get_model, &get_model_labels, &get_model_plan}) {
    const Reply reply = handler(empty, {});
    EXPECT_EQ(reply.problem.slug, "not-found");
    EXPECT_THAT(reply.problem.detail, HasSubstr("its file is gone"));
  }
}

}  // namespace
}  // namespace kinglet::daemon::http
