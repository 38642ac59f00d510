// SPDX-License-Identifier: Apache-2.0
#include "daemon/models/model_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "engine/session/model.h"
#include "tests/unit/daemon/kept_models.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using Refusal = ModelKeeper::Refusal;

class KeeperTest : public KeptModels {
 protected:
  [[nodiscard]] std::optional<ModelChoice> choice() const { return read_choice(state_).value_or(std::nullopt); }
  void write(ModelUpload& upload, std::string_view bytes) { ASSERT_TRUE(upload.write(bytes)); }
  // What lies in the folder of models, hidden things too.
  [[nodiscard]] std::vector<std::string> names_below() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      if (!entry.is_directory()) names.push_back(entry.path().filename().string());
    }
    return names;
  }
};

// The thread that runs models, as far as the keeper knows it: tries each model that is to be tried with this outcome,
// and takes each other.
class AnswerThread {
 public:
  AnswerThread(ModelDesk& desk, const TrialReport& report)
      : thread_([this, &desk, report](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            std::optional<ModelDesk::Offer> offer = desk.take();
            if (!offer) {
              std::this_thread::sleep_for(std::chrono::milliseconds(1));
            } else if (offer->trial) {
              desk.done({.classifier = std::move(offer->classifier), .report = report, .error = {}});
            } else {
              ++taken_;
              desk.done({.classifier = {}, .report = {}, .error = {}, .taken = true});
            }
          }
        }) {}
  [[nodiscard]] int taken() const { return taken_; }

 private:
  std::atomic<int> taken_ = 0;
  std::jthread thread_;
};

// A process that ends, or hangs, before the model was taken: its next start must not begin with it.
TEST_F(KeeperTest, WhatWasNotTakenIsNotKeptForTheNextStart) {
  put_model("before");
  put_model("wished");
  const ModelChoice before{.file = "before.onnx", .configured = ""};
  ASSERT_TRUE(write_choice(state_, before));
  keeper().start();
  ASSERT_TRUE(keeper().activate("wished", {}));
  const SteadyTime deadline = SteadyClock::now() + std::chrono::minutes(2);
  while (choice() == before && SteadyClock::now() < deadline) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_EQ(choice()->file, "wished.onnx");
  keeper().stop();
  EXPECT_EQ(choice(), before);
  EXPECT_EQ(keeper().newest_job()->state, ModelJob::State::kFailed);
}

TEST_F(KeeperTest, ModelsAreListedByNameWithWhatIsKnownOfEach) {
  put_model("sound");
  put_model("broken");
  publish("sound");
  EXPECT_EQ(keeper().list().at(0).state, KnownModel::State::kChecking);
  keeper().start();
  const std::vector<KnownModel> models = judged();
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(models[0].file.name, "broken");
  EXPECT_EQ(models[0].state, KnownModel::State::kInvalid);
  EXPECT_FALSE(models[0].active);
  EXPECT_EQ(models[1].file.name, "sound");
  EXPECT_EQ(models[1].state, KnownModel::State::kValid);
  EXPECT_TRUE(models[1].active);
  EXPECT_EQ(models[1].proof.classes, 9U);
  EXPECT_EQ(models[1].proof.digest, board_.facts()->digest);
}

TEST_F(KeeperTest, AModelOfAFolderWithASlashAtItsEndLiesInIt) {
  put_model("sound");
  options_.folder = folder_.string() + "/";
  EXPECT_TRUE(keeper().list().at(0).in_folder);
}

TEST_F(KeeperTest, WhyAModelIsBrokenIsToldWithoutItsPlaceOnTheDisk) {
  put_model("broken");
  keeper().start();
  const KnownModel model = judged().at(0);
  EXPECT_THAT(model.problem, HasSubstr("an operator"));
  EXPECT_THAT(model.problem, Not(HasSubstr(folder_.string())));
  EXPECT_EQ(model.hint, "another export");
}

TEST_F(KeeperTest, AModelThatWasReplacedIsJudgedAnew) {
  put_model("sound");
  keeper().start();
  ASSERT_EQ(judged().at(0).state, KnownModel::State::kValid);
  ASSERT_TRUE(write_file(folder_ / "sound.labels.txt", "other\n", Overwrite::kReplace));
  EXPECT_EQ(keeper().list().at(0).state, KnownModel::State::kChecking);
}

TEST_F(KeeperTest, AModelThatIsNotThereIsRefusedWithTheNameThatMayBeMeant) {
  put_model("garden");
  const auto refused = keeper().activate("gardem", {}).error();
  EXPECT_EQ(refused.why, Refusal::kUnknown);
  EXPECT_THAT(refused.hint, HasSubstr("\"garden\""));
}

TEST_F(KeeperTest, AModelThatIsKnownToBeBrokenIsRefusedAtOnce) {
  put_model("broken");
  keeper().start();
  judged();
  const auto refused = keeper().activate("broken", {}).error();
  EXPECT_EQ(refused.why, Refusal::kInvalid);
  EXPECT_THAT(refused.detail, HasSubstr("an operator"));
}

TEST_F(KeeperTest, AModelThatProvesToBeBrokenFailsAndChangesNothing) {
  put_model("broken");
  const auto job = keeper().activate("broken", {});
  ASSERT_TRUE(job);
  AnswerThread answering(desk_, {});
  keeper().start();
  const ModelJob failed = ended(job->id);
  EXPECT_EQ(failed.state, ModelJob::State::kFailed);
  EXPECT_EQ(failed.error->code, ErrorCode::kUnsupported);
  EXPECT_EQ(answering.taken(), 0);
  EXPECT_FALSE(choice());
}

TEST_F(KeeperTest, APullFetchesNothingOverAFileThatThereWasNoTimeToJudge) {
  put_model("hurried-birds");
  options_.catalogue.push_back(options_.catalogue.front());
  options_.catalogue.back().name = "hurried-birds";
  const auto job = keeper().pull("hurried-birds", false);
  ASSERT_TRUE(job);
  keeper().start();
  const ModelJob failed = ended(job->id);
  EXPECT_EQ(failed.state, ModelJob::State::kFailed);
  EXPECT_EQ(failed.error->code, ErrorCode::kUnavailable);
  EXPECT_EQ(failed.error->message, "no time for it") << "and not that of a download";
}

TEST_F(KeeperTest, OneModelAtATimeIsWorkedOn) {
  put_model("garden");
  ASSERT_TRUE(keeper().activate("garden", {}));
  EXPECT_EQ(keeper().activate("garden", {}).error().why, Refusal::kBusy);
  EXPECT_EQ(keeper().pull("garden-birds", false).error().why, Refusal::kBusy);
  EXPECT_EQ(keeper().begin_upload("mine", 10, false).error().why, Refusal::kBusy);
}

TEST_F(KeeperTest, AModelThatIsTakenIsThatOfTheNextStart) {
  put_model("garden");
  AnswerThread answering(desk_, {});
  keeper().start();
  const ModelJob job = ended(keeper().activate("garden", {}).value().id);
  EXPECT_TRUE(job.activated);
  EXPECT_TRUE(job.kept);
  EXPECT_EQ(answering.taken(), 1);
  EXPECT_EQ(chosen_model(options_).value()->model, folder_ / "garden.onnx");
}

TEST_F(KeeperTest, AModelThatDoesNotProveItselfInItsTrialIsNotTaken) {
  put_model("garden");
  publish("garden");
  AnswerThread answering(desk_, {.wanted = 10, .frames = 10, .agreeing = 3});
  keeper().start();
  const ModelJob job = ended(keeper().activate("garden", TrialRule{.frames = 10}).value().id);
  EXPECT_EQ(job.state, ModelJob::State::kSucceeded);
  EXPECT_FALSE(job.activated);
  EXPECT_NE(job.reason, "");
  EXPECT_EQ(job.report->agreeing, 3U);
  EXPECT_EQ(answering.taken(), 0);
  EXPECT_FALSE(choice());
}

TEST_F(KeeperTest, AModelThatProvesItselfInItsTrialIsTaken) {
  put_model("garden");
  publish("garden");
  AnswerThread answering(desk_, {.wanted = 10,
                                 .frames = 10,
                                 .agreeing = 10,
                                 .same_answers = 10,
                                 .before = Milliseconds(20),
                                 .after = Milliseconds(10)});
  keeper().start();
  const ModelJob job = ended(keeper().activate("garden", TrialRule{.frames = 10}).value().id);
  EXPECT_TRUE(job.activated) << job.reason;
  EXPECT_EQ(answering.taken(), 1);
  EXPECT_EQ(choice()->file, "garden.onnx");
}

TEST_F(KeeperTest, WhatTheCatalogueHasNotIsNotFetched) {
  const auto refused = keeper().pull("garden-bird", true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().why, Refusal::kUnknown);
  EXPECT_THAT(refused.error().hint, HasSubstr("\"garden-birds\""));
}

TEST_F(KeeperTest, AnotherFileOfThatNameIsNotCalledTheCataloguesAndStays) {
  put_model("garden-birds");
  keeper().start();
  const ModelJob job = ended(keeper().pull("garden-birds", false).value().id);
  ASSERT_EQ(job.state, ModelJob::State::kFailed);
  EXPECT_THAT(job.error->message, HasSubstr("another file is here by the name \"garden-birds\""));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "garden-birds.onnx"));
}

TEST_F(KeeperTest, AModelOfTheCatalogueThatIsHereIsNotFetchedAgain) {
  put_model("garden-birds");
  options_.catalogue[0].sha256 = engine::file_digest(demo(".onnx")).value().substr(std::string("sha256:").size());
  keeper().start();
  const ModelJob job = ended(keeper().pull("garden-birds", false).value().id);
  EXPECT_EQ(job.state, ModelJob::State::kSucceeded);
  EXPECT_EQ(job.received, 0U);
  EXPECT_FALSE(job.activated);
}

TEST_F(KeeperTest, AnUploadWithABadNameOrOfWhatIsThereIsRefused) {
  put_model("garden");
  for (const auto& [name, why] : {std::pair{"garden", Refusal::kExists},
                                  {"../garden", Refusal::kBadName},
                                  {"", Refusal::kBadName},
                                  {".hidden", Refusal::kBadName}}) {
    const auto refused = keeper().begin_upload(name, 10, false);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().why, why) << name;
  }
  EXPECT_FALSE(keeper().newest_job());
}

TEST_F(KeeperTest, WithoutAFolderNothingIsTakenIn) {
  options_.folder.clear();
  EXPECT_EQ(keeper().begin_upload("mine", 10, false).error().why, Refusal::kNoRoom);
  EXPECT_EQ(keeper().pull("garden-birds", false).error().why, Refusal::kNoRoom);
}

TEST_F(KeeperTest, AFolderThatCannotBeMadeIsNotAFullDisk) {
  options_.folder = "/proc/self/models";
  for (const auto& why :
       {keeper().begin_upload("mine", 10, false).error().why, keeper().pull("garden-birds", false).error().why}) {
    EXPECT_EQ(why, Refusal::kNotWritable);
  }
}

TEST_F(KeeperTest, AnUploadThatBreaksOffFailsAndLeavesNothing) {
  {
    auto upload = keeper().begin_upload("mine", 10, false);
    ASSERT_TRUE(upload);
    write(*upload, "half");
    EXPECT_EQ(keeper().newest_job()->received, 4U);
  }
  EXPECT_EQ(keeper().newest_job()->state, ModelJob::State::kFailed);
  EXPECT_TRUE(names_below().empty());
  EXPECT_TRUE(keeper().begin_upload("mine", 10, false)) << "the next one may come";
}

TEST_F(KeeperTest, AnUploadThatComesWholeIsAModelOfTheFolder) {
  keeper().start();
  auto upload = keeper().begin_upload("mine", 10, false);
  ASSERT_TRUE(upload);
  write(*upload, read_file(demo(".onnx"), 64U << 20).value());
  const ModelJob job = ended(upload->finish().value().id);
  EXPECT_EQ(job.state, ModelJob::State::kSucceeded);
  EXPECT_EQ(names_below(), std::vector<std::string>{"mine.onnx"});
  EXPECT_EQ(judged().at(0).file.name, "mine");
}

TEST_F(KeeperTest, AnUploadThatIsNoModelFailsAndLeavesNothing) {
  keeper().start();
  auto upload = keeper().begin_upload("broken-one", 10, true);
  ASSERT_TRUE(upload);
  write(*upload, "a novel");
  const ModelJob job = ended(upload->finish().value().id);
  EXPECT_EQ(job.state, ModelJob::State::kFailed);
  EXPECT_EQ(job.error->message, "an operator");
  EXPECT_TRUE(names_below().empty());
}

}  // namespace
}  // namespace kinglet::daemon
