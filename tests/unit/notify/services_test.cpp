// SPDX-License-Identifier: Apache-2.0
// What is in a request, where a stand-in of the service would not see it; the formats themselves are held by
// tests/e2e/integrations/notify_test.py.
#include "daemon/notify/services.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "daemon/notify/multipart.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::daemon::notify {
namespace {

using ::testing::HasSubstr;

Message hostile() {
  return {.title = "A \"tit\" {text} {secret}",
          .text = "two\nlines \\",
          .link = "http://feeder.local:8420/",
          .species = "parus-major",
          .pictures = {"\xFF\xD8jpeg"}};
}

outgoing::Request request_of(const Target& target, const std::string& secret) {
  const auto parcel = own(target, secret, hostile());
  return std::get<outgoing::Request>(parcel.value());
}

TEST(OwnTemplate, ValuesStayTextsOfTheJsonWhateverIsInThem) {
  const auto request = request_of({.service = Service::kOwn,
                                   .server = "https://a.example/hook",
                                   .headers = {"X-Key: {secret}", "X-Text: {text}"},
                                   .body = R"({"a": "{title}", "b": "{text}", "c": "{species} {nothing}"})"},
                                  "s3cret");
  const auto json = nlohmann::json::parse(request.body);
  EXPECT_EQ(json["a"], hostile().title) << "names within a value are not filled in";
  EXPECT_EQ(json["b"], hostile().text);
  EXPECT_EQ(json["c"], "parus-major {nothing}");
  EXPECT_THAT(request.headers, ::testing::Contains("X-Key: s3cret"));
  EXPECT_THAT(request.headers, ::testing::Contains("X-Text: two lines \\")) << "a header is one line";
  EXPECT_EQ(request.url, "https://a.example/hook");
}

TEST(OwnTemplate, APictureCanGoAsBase64) {
  const auto request =
      request_of({.service = Service::kOwn, .server = "https://a.example", .body = "{picture_base64}"}, "");
  // It begins with a brace and is no JSON: the value is the same in it.
  EXPECT_EQ(request.body, "/9hqcGVn");
}

TEST(DiscordsSecret, IsTheAddressOfTheWebhookOrItsEnd) {
  for (const char* secret : {"https://discord.com/api/webhooks/12/a-B_c", "12/a-B_c"}) {
    const auto parcel = discord({.service = Service::kDiscord}, secret, hostile());
    ASSERT_TRUE(parcel) << secret;
    EXPECT_EQ(std::get<outgoing::Request>(*parcel).url, "https://discord.com/api/webhooks/12/a-B_c?wait=true");
  }
  for (const char* secret : {"", "12", "12/", "/x", "12/a/b", "12/a?b", "https://evil.example/12/abc", "x/abc"}) {
    EXPECT_FALSE(discord({.service = Service::kDiscord}, secret, hostile())) << secret;
  }
}

// It puts the word "triggered" in place of an empty text.
TEST(Ntfy, SaysTheTitleOfAMessageWithoutText) {
  Message message{.title = "The camera works again"};
  const Target target{.service = Service::kNtfy, .to = "birds"};
  EXPECT_EQ(std::get<outgoing::Request>(ntfy(target, "", message).value()).body, message.title);
  message.pictures = {"\xFF\xD8jpeg"};
  EXPECT_THAT(std::get<outgoing::Request>(ntfy(target, "", message).value()).headers,
              ::testing::Contains("Message: " + message.title));
}

TEST(Mail, BearsTheTimeAtWhichItIsSent) {
  Message message = hostile();
  message.sent_at = WallTime(std::chrono::milliseconds(1'777'875'129'318));
  const auto parcel = mail({.service = Service::kMail, .to = "you@mail.example"}, "", message);
  EXPECT_THAT(std::get<outgoing::Mail>(parcel.value()).letter,
              HasSubstr("\r\nDate: Mon, 04 May 2026 06:12:09 +0000\r\n"));
}

TEST(TheSecret, IsReadFromAFileThatOthersMayNotRead) {
  const kinglet::testing::ScratchFolder scratch;
  const auto file = scratch.path() / "token";
  std::ofstream(file) << "tk_1\n";
  std::filesystem::permissions(file, std::filesystem::perms(0644));
  const Target target{.service = Service::kNtfy, .to = "birds", .secret = file};
  const auto refused = parcel(target, hostile());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotPermitted);
  std::filesystem::permissions(file, std::filesystem::perms(0600));
  const auto taken = parcel(target, hostile());
  ASSERT_TRUE(taken);
  EXPECT_THAT(std::get<outgoing::Request>(*taken).headers, ::testing::Contains("Authorization: Bearer tk_1"));
}

TEST(TheSecret, WithAControlCharacterIsNotSent) {
  const kinglet::testing::ScratchFolder scratch;
  const auto file = scratch.path() / "token";
  std::ofstream(file) << "tk\x01X-Evil: 1\n";
  std::filesystem::permissions(file, std::filesystem::perms(0600));
  EXPECT_FALSE(parcel({.service = Service::kNtfy, .to = "birds", .secret = file}, hostile()));
}

TEST(HeaderText, IsPlainWhereItCanBeAndElseWordsThatEndBetweenCharacters) {
  EXPECT_EQ(header_text("Great tit"), "Great tit");
  EXPECT_EQ(header_text("Kohlmeise, größte"), "=?UTF-8?B?S29obG1laXNlLCBncsO2w590ZQ==?=");
  std::string birds;
  for (int i = 0; i < 40; ++i) birds += "シジュウカラ";
  std::string words = header_text(birds);
  EXPECT_THAT(words, HasSubstr("?= =?UTF-8?B?"));
  EXPECT_EQ(words.find('\n'), std::string::npos);
}

TEST(Texts, AreCutBetweenTwoCharacters) {
  EXPECT_EQ(cut("größte", 3), "gr");
  EXPECT_EQ(cut("größte", 4), "grö");
  EXPECT_EQ(cut("tit", 3), "tit");
}

}  // namespace
}  // namespace kinglet::daemon::notify
