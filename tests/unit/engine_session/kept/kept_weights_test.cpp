// SPDX-License-Identifier: Apache-2.0
// Packed weights kept in a file: the same bits with it, without it and while it is made, and damage of every kind is
// found out.
#include <gtest/gtest.h>

#include <random>

#include "engine/base/file.h"
#include "tests/support/corpus.h"
#include "tests/unit/engine_session/kept/kept_case.h"

namespace kinglet::engine {
namespace {

TEST_F(KeptWeights, GiveTheSameBits) {
  expect_same_bits(model_, {});
  expect_same_bits(model_, {.own_kernels = false});
  expect_same_bits(model_, {.threads = 2, .optimize = false});
  expect_same_bits(model_, {.forced_kernels = {"winograd2_f32__scalar"}});
  expect_same_bits(model_, {.forced_kernels = {"woven_f32__scalar"}});
  expect_same_bits(model_, {.forced_kernels = {"panels_f32__scalar"}});
  expect_same_bits(model_, {.disabled_lowerings = {"MatMul", "Add"}});
}

TEST_F(KeptWeights, AreThoseOfOneNumberOfThreads) {
  EXPECT_FALSE(answer_of(model_, keeping(model_, {.threads = 1})).kept.found);
  EXPECT_FALSE(answer_of(model_, keeping(model_, {.threads = 2})).kept.found);
  EXPECT_TRUE(answer_of(model_, keeping(model_, {.threads = 1})).kept.found);
}

TEST_F(KeptWeights, GiveTheSameBitsInFloat16) {
  if (!Session::half_arithmetic()) GTEST_SKIP() << "no float16 arithmetic here";
  expect_same_bits(model_, {.half = true});
  expect_same_bits(model_, {.half = true, .half_everywhere = true});
  expect_same_bits(model_, {.half = true, .forced_kernels = {"woven_f16__scalar"}});
}

TEST_F(KeptWeights, OfRealModelsGiveTheSameBits) {
  KINGLET_NEEDS_CORPUS();
  for (const auto& entry : fs::directory_iterator(testing::corpus() / "models")) {
    if (entry.path().extension() != ".onnx") continue;
    SCOPED_TRACE(entry.path().filename().string());
    expect_same_bits(entry.path(), {});
  }
}

TEST_F(KeptWeights, AreNotThoseOfOtherOptionsOrAnotherModel) {
  (void)kept_answer();
  EXPECT_FALSE(answer_of(model_, keeping(model_, {.own_kernels = false})).kept.found);
  EXPECT_FALSE(answer_of(model_, keeping(model_, {.memory_limit = std::int64_t{1} << 30})).kept.found);
  const Answer before = answer_of(model_, {});
  std::string other(kLayers);
  other.replace(other.find("#c"), 2, "#z");
  save(other, model_);
  const Answer after = kept_answer();
  EXPECT_FALSE(after.kept.found);
  EXPECT_FALSE(after.same_bits(before));
  EXPECT_TRUE(after.same_bits(answer_of(model_, {})));
}

// The digest was of what lay there before.
TEST_F(KeptWeights, AreNotKeptOfAModelThatChangesMeanwhile) {
  SessionOptions options = keeping(model_);
  std::string other(kLayers);
  other.replace(other.find("#c"), 2, "#z");
  save(other, model_);
  const Answer answer = answer_of(model_, options);
  EXPECT_NE(answer.kept.problem.find("changed"), std::string::npos) << answer.kept.problem;
  EXPECT_TRUE(files_of(folder_).empty());
}

// Of the same shapes: the packed weights fit, and what is not packed would be the other model's.
TEST_F(KeptWeights, AreNotUsedWithAModelThatTookTheirsPlaceMeanwhile) {
  (void)kept_answer();
  const SessionOptions options = keeping(model_);
  const fs::path file = only_file();
  std::string other(kLayers);
  other.replace(other.find("#b"), 2, "#z");
  save(other, model_);
  const Answer answer = answer_of(model_, options);
  EXPECT_FALSE(answer.kept.found);
  EXPECT_NE(answer.kept.problem.find("changed"), std::string::npos) << answer.kept.problem;
  EXPECT_TRUE(answer.same_bits(answer_of(model_, {})));
  EXPECT_EQ(only_file(), file);
}

TEST_F(KeptWeights, ThatAreDamagedAreMadeAgain) {
  const Answer good = kept_answer();
  const fs::path file = only_file();
  const std::string bytes = read_file(file, 1U << 30).value();
  std::mt19937 random(36);
  const auto place = [&](std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
  };
  for (int i = 0; i < 60; ++i) {
    std::string wrong = bytes;
    const std::size_t at = i % 3 == 0 ? place(256) : place(wrong.size());  // the head is small
    switch (i % 4) {
      case 0:
      case 1:
        wrong[at] = static_cast<char>(wrong[at] ^ (1 << place(8)));
        break;
      case 2:
        wrong.resize(at);
        break;
      default:
        wrong.replace(at, std::min<std::size_t>(4096, wrong.size() - at),
                      std::min<std::size_t>(4096, wrong.size() - at), '\0');
    }
    if (wrong == bytes) continue;
    SCOPED_TRACE(::testing::Message() << "change " << i << " at " << at);
    ASSERT_TRUE(write_file(file, wrong, Overwrite::kReplace));
    const Answer again = kept_answer();
    // Between the pieces nothing is read.
    EXPECT_TRUE(!again.kept.found || wrong.size() == bytes.size());
    EXPECT_EQ(again.kept.problem, "");
    ASSERT_TRUE(again.same_bits(good));
    ASSERT_TRUE(kept_answer().kept.found);
  }
}

TEST_F(KeptWeights, OfAnotherKeyUnderItsNameAreMadeAgain) {
  const Answer good = kept_answer();
  const fs::path file = only_file();
  const Answer other = answer_of(model_, keeping(model_, {.own_kernels = false}));
  for (const fs::path& found : files_of(folder_)) {
    if (found != file) fs::rename(found, file);
  }
  const Answer again = kept_answer();
  EXPECT_FALSE(again.kept.found);
  EXPECT_TRUE(again.same_bits(good));
}

TEST_F(KeptWeights, AreNoLinksAndNoFolders) {
  const Answer good = kept_answer();
  const fs::path file = only_file();
  fs::rename(file, scratch_.path() / "elsewhere");
  fs::create_symlink(scratch_.path() / "elsewhere", file);
  EXPECT_FALSE(kept_answer().kept.found);
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(file)));
  fs::remove(file);
  fs::create_directories(file / "in it");
  const Answer answer = kept_answer();
  EXPECT_NE(answer.kept.problem, "");
  EXPECT_TRUE(answer.same_bits(good));
  EXPECT_EQ(files_of(folder_).size(), 1U);  // nothing half done
}

}  // namespace
}  // namespace kinglet::engine
