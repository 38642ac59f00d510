// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <fstream>
#include <functional>
#include <sstream>

#include "daemon/tokens/token_book.h"
#include "tests/support/own_disks.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;

const WallTime kMadeAt{std::chrono::hours(24 * 365 * 50)};

std::string bytes_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class TokenTest : public ::testing::Test {
 protected:
  std::string add(const std::string& name, Role role) {
    std::string text;
    EXPECT_TRUE(change_tokens(folder(), [&](TokenList& list) -> Result<void> {
      text = KINGLET_TRY(add_token(list, name, role, kMadeAt));
      return {};
    }));
    return text;
  }
  [[nodiscard]] const fs::path& folder() const { return scratch_.path(); }
  // A daemon that has been running for more than an hour before.
  void ran_long_ago() const {
    EXPECT_TRUE(change_tokens(folder(), [](TokenList& list) -> Result<void> {
      list.first_start = 1;
      return {};
    }));
  }

  testing::ScratchFolder scratch_;
};

TEST_F(TokenTest, ATokenIs256RandomBitsThatTheFileDoesNotHold) {
  const std::string text = add("kitchen", Role::kLive);
  EXPECT_EQ(text.size(), 4 + 43);
  EXPECT_TRUE(text.starts_with("kgl_"));
  EXPECT_EQ(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
            std::string::npos);
  EXPECT_NE(text, add("other", Role::kLive));
  EXPECT_EQ(bytes_of(token_file(folder())).find(text.substr(4)), std::string::npos);
  // SHA-256 of "abc": FIPS 180-2, appendix B.1.
  EXPECT_EQ(token_digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_F(TokenTest, OnlyTheOwnerOfTheFileMayReadIt) {
  add("kitchen", Role::kLive);
  for (const char* name : {"tokens.toml", "tokens.lock"}) {
    struct stat status{};
    ASSERT_EQ(stat((folder() / name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U) << name;
  }
}

TEST_F(TokenTest, WhatIsWrittenIsReadAgain) {
  const std::string text = add("Anna's phone \xc3\xa4", Role::kAdmin);
  const auto list = read_tokens(folder());
  ASSERT_TRUE(list);
  const Token* token = find_token(*list, text);
  ASSERT_NE(token, nullptr);
  EXPECT_EQ(token->name, "Anna's phone \xc3\xa4");
  EXPECT_EQ(token->role, Role::kAdmin);
  EXPECT_EQ(token->created_at, "2019-12-20T00:00:00.000Z");
  EXPECT_EQ(find_token(*list, text + "x"), nullptr);
  EXPECT_EQ(find_token(*list, ""), nullptr);
}

// One whose digest begins and ends as that of the true one does.
TEST_F(TokenTest, ADigestThatIsNearlyTheSameIsAnother) {
  TokenList list;
  const std::string text = add_token(list, "kitchen", Role::kAdmin, kMadeAt).value();
  const std::string digest = token_digest(text);
  std::string begins;
  std::string ends;
  for (int i = 0; begins.empty() || ends.empty(); ++i) {
    const std::string other = "kgl_" + std::to_string(i);
    const std::string found = token_digest(other);
    if (found.starts_with(digest.substr(0, 4))) begins = other;
    if (found.ends_with(digest.substr(60))) ends = other;
  }
  EXPECT_EQ(find_token(list, begins), nullptr);
  EXPECT_EQ(find_token(list, ends), nullptr);
  EXPECT_NE(find_token(list, text), nullptr);
}

TEST_F(TokenTest, ANameIsTakenOnceAndMayStandInALog) {
  add("kitchen", Role::kRead);
  TokenList list = read_tokens(folder()).value();
  EXPECT_EQ(add_token(list, "kitchen", Role::kRead, kMadeAt).error().code, ErrorCode::kUsage);
  for (const char* name :
       {"", " a", "a ", "a\nb", "a\"b", "a\\b", "\xff", "0123456789012345678901234567890123456789x"}) {
    EXPECT_FALSE(add_token(list, name, Role::kRead, kMadeAt)) << name;
  }
}

TEST_F(TokenTest, AFileThatIsNotOursIsRefusedAndLeftAlone) {
  for (const char* text :
       {"nonsense", "[[token]]\nname = 1", "[[token]]\nname = \"a\"\nrole = \"root\"\nsha256 = \"00\"", "token = [1]",
        "[[token]]\nname = \"a\"\nrole = \"open\"\nsha256 = \"ba78\""}) {
    std::ofstream(token_file(folder())) << text;
    EXPECT_EQ(read_tokens(folder()).error().code, ErrorCode::kBadData) << text;
    TokenBook book(folder(), {});
    EXPECT_FALSE(book.claimable()) << text;
    EXPECT_EQ(bytes_of(token_file(folder())), text);
  }
}

TEST_F(TokenTest, TheBookFollowsTheFile) {
  TokenBook book(folder(), {});
  const std::string text = add("kitchen", Role::kLive);
  ASSERT_TRUE(book.find(text));
  EXPECT_EQ(book.find(text)->name, "kitchen");
  EXPECT_EQ(book.find(text)->role, Role::kLive);
  EXPECT_FALSE(book.find("kgl_nobody"));
}

TEST_F(TokenTest, ARevokedTokenIsNobodys) {
  const std::string text = add("kitchen", Role::kLive);
  EXPECT_TRUE(change_tokens(folder(), [](TokenList& list) -> Result<void> {
    list.tokens.clear();
    return {};
  }));
  EXPECT_FALSE(TokenBook(folder(), {}).find(text));
}

TEST_F(TokenTest, TheFirstStartLetsAnOwnerBeClaimedOnce) {
  TokenBook book(folder(), {});
  EXPECT_TRUE(book.claimable());
  const Result<TokenBook::Made> made = book.claim("192.168.1.7");
  ASSERT_TRUE(made);
  EXPECT_EQ(book.find(made->text)->role, Role::kAdmin);
  EXPECT_EQ(book.owner()->claimed_from, "192.168.1.7");
  EXPECT_FALSE(book.claimable());
  EXPECT_EQ(book.claim("192.168.1.8").error().code, ErrorCode::kNotPermitted);
  TokenBook again(folder(), {});
  EXPECT_TRUE(again.find(made->text));
  EXPECT_FALSE(again.claimable());
}

TEST_F(TokenTest, ALaterStartLetsNobodyClaim) {
  ran_long_ago();
  TokenBook book(folder(), {});
  EXPECT_FALSE(book.claimable());
  EXPECT_EQ(book.claim("192.168.1.7").error().code, ErrorCode::kNotPermitted);
}

TEST_F(TokenTest, ARestartWithinTheFirstHourGoesOnWithIt) {
  {
    const TokenBook first(folder(), {});
  }
  EXPECT_TRUE(TokenBook(folder(), {}).claimable());
}

TEST_F(TokenTest, PairingOpensTheDoorOnceMore) {
  ran_long_ago();
  EXPECT_TRUE(change_tokens(folder(), [](TokenList& list) -> Result<void> {
    list.pairing = true;
    return {};
  }));
  EXPECT_TRUE(TokenBook(folder(), {}).claimable());
  EXPECT_FALSE(read_tokens(folder())->pairing);
  EXPECT_FALSE(TokenBook(folder(), {}).claimable()) << "the hour ends with the process that was told";
}

TEST_F(TokenTest, AClaimThatSomebodyElsesTokenBeatsIsRefused) {
  TokenBook book(folder(), {});
  add("first", Role::kAdmin);
  EXPECT_EQ(book.claim("192.168.1.7").error().code, ErrorCode::kNotPermitted);
}

TEST_F(TokenTest, AnEmptyFileIsNotAFirstStart) {
  for (const char* text : {"", "# cut off", "pairing = false\n"}) {
    std::ofstream(token_file(folder())) << text;
    TokenBook book(folder(), {});
    EXPECT_FALSE(book.claimable()) << text;
    EXPECT_EQ(book.claim("192.168.1.7").error().code, ErrorCode::kNotPermitted) << text;
    EXPECT_EQ(bytes_of(token_file(folder())), text);
  }
}

TEST_F(TokenTest, AReadersTokenOwnsNothing) {
  add("kitchen", Role::kRead);
  add("owner", Role::kLive);
  TokenBook book(folder(), {});
  EXPECT_TRUE(book.claimable()) << "the tool was faster than the first start";
  const Result<TokenBook::Made> made = book.claim("192.168.1.7");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->name, "owner-2");
  EXPECT_EQ(book.find(made->text)->role, Role::kAdmin);
}

TEST_F(TokenTest, ADeviceThatEverHadAnOwnerIsNotClaimed) {
  {
    TokenBook book(folder(), {});
    ASSERT_TRUE(book.claim("192.168.1.7"));
  }
  EXPECT_TRUE(change_tokens(folder(), [](TokenList& list) -> Result<void> {
    list.tokens.clear();
    list.pairing = true;
    return {};
  }));
  EXPECT_TRUE(read_tokens(folder())->owned);
  EXPECT_FALSE(TokenBook(folder(), {}).claimable());
}

TEST_F(TokenTest, AnAdminsTokenOfAnOlderFileIsAnOwners) {
  add("phone", Role::kAdmin);
  std::string text = bytes_of(token_file(folder()));
  text.erase(text.find("owned = true\n"), 13);
  std::ofstream(token_file(folder())) << text;
  EXPECT_TRUE(read_tokens(folder())->owned);
}

TEST_F(TokenTest, ThroughAProxyOnlyPairingOpensTheDoor) {
  TokenBook book(folder(), {});
  EXPECT_TRUE(book.claimable(TokenBook::Way::kItself));
  EXPECT_FALSE(book.claimable(TokenBook::Way::kProxy));
  EXPECT_EQ(book.claim("192.168.1.7", TokenBook::Way::kProxy).error().code, ErrorCode::kNotPermitted);
  EXPECT_TRUE(change_tokens(folder(), [](TokenList& list) -> Result<void> {
    list.pairing = true;
    return {};
  }));
  EXPECT_TRUE(book.claim("192.168.1.7", TokenBook::Way::kProxy));
}

TEST_F(TokenTest, AStartOnADiskThatCannotBeWrittenKnowsItsOwner) {
  using kinglet::testing::mount_small;
  const auto spoils = std::to_array<std::function<void(const fs::path&)>>(
      {[](const fs::path& place) { kinglet::testing::set_full(place, true); },
       [](const fs::path& place) { kinglet::testing::set_out_of_inodes(place, true); },
       [](const fs::path& place) { kinglet::testing::set_read_only(place, true); }});
  for (const bool is_new : {false, true}) {
    for (const auto& spoil : spoils) {
      const int code = kinglet::testing::with_mounts([&] {
        mount_small(folder(), "size=1m,nr_inodes=30");
        if (!is_new) ran_long_ago();
        const std::string owner = add("owner", Role::kAdmin);
        spoil(folder());
        TokenBook book(folder(), {});
        const auto holder = book.find(owner);
        ASSERT_TRUE(holder);
        EXPECT_EQ(holder->role, Role::kAdmin);
        EXPECT_FALSE(book.find("kgl_another"));
        EXPECT_FALSE(book.claimable());
      });
      if (code == kinglet::testing::kCannotBeTried) GTEST_SKIP() << "no file system may be mounted here";
      EXPECT_EQ(code, 0) << "see above";
    }
  }
}

TEST_F(TokenTest, AStartWritesNothingThatIsThere) {
  ran_long_ago();
  add("owner", Role::kAdmin);
  struct stat before{};
  ASSERT_EQ(stat(token_file(folder()).c_str(), &before), 0);
  TokenBook(folder(), {}).look();
  struct stat after{};
  ASSERT_EQ(stat(token_file(folder()).c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
}

TEST_F(TokenTest, PairingThatCannotBeWrittenDownOpensNothing) {
  const int code = kinglet::testing::with_mounts([&] {
    kinglet::testing::mount_small(folder(), "size=1m");
    EXPECT_TRUE(change_tokens(folder(), [](TokenList& list) -> Result<void> {
      list = {.first_start = 1, .pairing = true};
      return {};
    }));
    kinglet::testing::set_read_only(folder(), true);
    EXPECT_FALSE(TokenBook(folder(), {}).claimable());
    kinglet::testing::set_read_only(folder(), false);
    EXPECT_TRUE(TokenBook(folder(), {}).claimable());
  });
  if (code == kinglet::testing::kCannotBeTried) GTEST_SKIP() << "no file system may be mounted here";
  EXPECT_EQ(code, 0) << "see above";
}

TEST(TokenBook, WithoutAFolderTokensLiveAsLongAsTheProcess) {
  TokenBook book({}, {});
  const Result<TokenBook::Made> made = book.claim("127.0.0.1");
  ASSERT_TRUE(made);
  EXPECT_TRUE(book.find(made->text));
  EXPECT_FALSE(book.claimable());
}

TEST(TokenBook, AFolderThatIsNotThereLetsNobodyIn) {
  TokenBook book("/nowhere/kinglet", {});
  EXPECT_FALSE(book.claimable());
  EXPECT_FALSE(book.claim("127.0.0.1"));
}

}  // namespace
}  // namespace kinglet::daemon
