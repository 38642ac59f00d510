// SPDX-License-Identifier: Apache-2.0
// Digests of files and texts are those of FIPS 180-4.
#include <gtest/gtest.h>

#include "engine/base/file.h"
#include "engine/session/model.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::engine {
namespace {

const std::string kOfAbc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const std::string kOfAMillion = "sha256:cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(Digest, IsThatOfTheStandardsExamples) {
  EXPECT_EQ(text_digest(""), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(text_digest("abc"), kOfAbc);
  EXPECT_EQ(text_digest(std::string(1'000'000, 'a')), kOfAMillion);
}

TEST(Digest, OfAFileIsThatOfItsBytes) {
  const testing::ScratchFolder folder;
  const auto file = folder.path() / "million";
  ASSERT_TRUE(write_file(file, std::string(1'000'000, 'a'), Overwrite::kReplace));
  EXPECT_EQ(file_digest(file), kOfAMillion) << "read in pieces";
}

}  // namespace
}  // namespace kinglet::engine
