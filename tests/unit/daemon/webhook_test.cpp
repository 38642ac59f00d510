// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "daemon/tokens/secret_file.h"
#include "daemon/webhook/sender.h"
#include "daemon/webhook/signature.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::daemon::webhook {
namespace {

using ::testing::HasSubstr;

// The example of the Standard Webhooks libraries.
TEST(WebhookSignature, IsThatOfTheSpecification) {
  const std::string key = key_of_secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").value();
  EXPECT_EQ(signature(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", R"({"test": 2432232314})"),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST(WebhookSignature, ASecretIsBase64OnlyWithItsPrefix) {
  EXPECT_EQ(key_of_secret("whsec_YWI=").value(), "ab");
  EXPECT_EQ(key_of_secret("whsec_YQ==").value(), "a");
  EXPECT_EQ(key_of_secret("YQ==").value(), "YQ==");
  for (const char* text : {"whsec_", "whsec_YQ", "whsec_%%%%"}) {
    const auto key = key_of_secret(text);
    ASSERT_FALSE(key) << text;
    EXPECT_THAT(key.error().hint, HasSubstr("openssl rand"));
  }
}

TEST(WebhookUrl, IsShownWithoutWhatMayBeSecret) {
  EXPECT_EQ(shown_url("https://hooks.example/T0/secret?token=x"), "https://hooks.example/***");
  EXPECT_EQ(shown_url("https://me:hush@hooks.example:8443/"), "https://hooks.example:8443/***");
  EXPECT_EQ(shown_url("http://192.168.1.2:5678"), "http://192.168.1.2:5678");
  EXPECT_EQ(shown_url("secret"), "***");
}

TEST(SecretFile, IsForItsOwnerOnly) {
  const kinglet::testing::ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "secret";
  std::ofstream(file) << "hush\nmore\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  EXPECT_EQ(read_secret(file).value(), "hush");
  std::filesystem::permissions(file, std::filesystem::perms::others_read, std::filesystem::perm_options::add);
  EXPECT_EQ(read_secret(file).error().code, ErrorCode::kNotPermitted);
  EXPECT_EQ(read_secret(folder.path() / "none").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace kinglet::daemon::webhook
