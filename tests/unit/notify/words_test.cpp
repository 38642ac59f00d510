// SPDX-License-Identifier: Apache-2.0
// What a service says of why, which is a stranger's text, and never a secret.
#include "daemon/outgoing/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kinglet::daemon::outgoing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Words, AreFoundWhereEachServiceWritesThem) {
  EXPECT_EQ(words_of(R"({"ok": false, "error_code": 401, "description": "Unauthorized"})", {}), "Unauthorized");
  EXPECT_EQ(words_of(R"({"code": 40101, "http": 401, "error": "unauthorized"})", {}), "unauthorized");
  EXPECT_EQ(words_of(R"({"user": "invalid", "errors": ["user identifier is invalid"], "status": 0})", {}),
            "user identifier is invalid");
  EXPECT_EQ(words_of(R"({"error": "Unauthorized", "errorDescription": "no valid token"})", {}), "no valid token");
  EXPECT_EQ(words_of(R"({"message": "Unknown Webhook", "code": 10015})", {}), "Unknown Webhook");
}

TEST(Words, AreNoneWhereNothingIsReadHere) {
  const std::string deep(2048, '[');
  for (const std::string& text : {std::string(), std::string("<html>"), std::string(R"(["error"])"), deep,
                                  std::string(R"({"error": {"a": 1}, "errors": [], "message": 5})"),
                                  std::string(R"({"error": "cut)"), std::string("{\"error\": \"\xFF\"}")}) {
    EXPECT_EQ(words_of(text, {}), "") << text.substr(0, 30);
  }
}

TEST(Words, AreALineOfAtMost200Bytes) {
  EXPECT_EQ(words_of(R"({"error": "a\nb\u001b[31mc"})", {}), "a?b?[31mc");
  EXPECT_LE(words_of(R"({"error": ")" + std::string(1000, 'x') + R"("})", {}).size(), 203U);
}

TEST(Words, HaveNoSecretHoweverOftenItIsRepeated) {
  EXPECT_EQ(words_of(R"({"error": "hook/abcd of abcd, hook\/abcd"})", {"abcd", "hook/abcd", "", "o"}),
            "*** of ***, ***");
  EXPECT_EQ(words_of(R"({"error": "****"})", {"****"}), "***");
}

TEST(Words, SecretsOfAnAddressAreItsPathAndLongParts) {
  EXPECT_THAT(secrets_of("https://n8n.lan/webhook/birds-7f3a91?key=0123456789"),
              ElementsAre("webhook/birds-7f3a91?key=0123456789", "birds-7f3a91", "0123456789"));
  EXPECT_THAT(secrets_of("https://gotify.example/message"), IsEmpty());
  EXPECT_THAT(secrets_of("https://n8n.lan"), IsEmpty());
  EXPECT_THAT(secrets_of("nonsense"), IsEmpty());
}

}  // namespace
}  // namespace kinglet::daemon::outgoing
