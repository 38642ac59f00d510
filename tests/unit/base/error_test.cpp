// SPDX-License-Identifier: Apache-2.0
#include "engine/base/error.h"

#include <gtest/gtest.h>

#include <memory>

namespace kinglet {
namespace {

Result<std::unique_ptr<int>> make(bool good) {
  if (!good) return fail(ErrorCode::kBadData, "no number", "file:3", "write one");
  return std::make_unique<int>(7);
}

Result<int> doubled(bool good) {
  const std::unique_ptr<int> number = KINGLET_TRY(make(good));
  return 2 * *number;
}

TEST(KingletTry, GivesTheMovedValue) { EXPECT_EQ(doubled(true).value(), 14); }

TEST(KingletTry, ReturnsTheErrorUnchanged) {
  const Result<int> result = doubled(false);
  ASSERT_FALSE(result);
  EXPECT_EQ(describe(result.error()), "file:3: no number");
  EXPECT_EQ(result.error().hint, "write one");
}

TEST(WithContext, PutsTheContextInFront) {
  EXPECT_EQ(describe(with_context(make(false).error(), "loading x.onnx")), "loading x.onnx: file:3: no number");
}

TEST(ErrorCode, HasTheExitCodesOfTheContract) {
  EXPECT_EQ(exit_code(ErrorCode::kUsage), 64);
  EXPECT_EQ(exit_code(ErrorCode::kBadData), 65);
  EXPECT_EQ(exit_code(ErrorCode::kConfig), 78);
}

}  // namespace
}  // namespace kinglet
