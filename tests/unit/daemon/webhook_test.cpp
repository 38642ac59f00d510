// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <fstream>
#include <thread>
#include <vector>

#include "daemon/tokens/secret_file.h"
#include "daemon/webhook/sender.h"
#include "daemon/webhook/signature.h"
#include "engine/base/format.h"
#include "engine/base/mutex.h"
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

TEST(WebhookSender, WhileNobodyTakesThemTheNewestMessagesWait) {
  EventBus bus("a");
  std::string unknown;
  SenderOptions options{.url = "http://127.0.0.1:1/", .events = *event_set("visit", unknown)};
  options.delivery.first_pause = options.delivery.longest_pause = std::chrono::milliseconds(10);
  options.delivery.tries = 1'000'000;
  Sender sender(options, bus, {}, [](LogLevel, std::string_view) {});
  sender.start();
  const SteadyTime deadline = SteadyClock::now() + std::chrono::seconds(30);
  for (int i = 1; i <= 150; ++i) bus.publish(EventType::kVisitStart, {.visit = {.id = "vis_1"}});
  const auto done = [&] {
    return sender.status().waiting + sender.status().dropped == 150 && !sender.status().detail.empty();
  };
  while (!done() && SteadyClock::now() < deadline) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(sender.status().waiting, 100U);
  EXPECT_EQ(sender.status().dropped, 50U);
  EXPECT_GT(sender.status().failed_tries, 0U);
  EXPECT_EQ(sender.status().delivered, 0U);
  EXPECT_THAT(sender.status().detail, HasSubstr("127.0.0.1 port 1"));
}

TEST(WebhookSender, HowManyEventsWereLeftOutIsToldWhenMessagesAreTaken) {
  httplib::Server receiver;
  Mutex mutex;
  std::vector<std::string> bodies;
  receiver.Post("/", [&](const httplib::Request& request, httplib::Response& reply) {
    MutexLock lock(mutex);
    bodies.push_back(request.body);
    // Nothing is taken while 30 events come for 10 places.
    reply.status = bodies.size() < 4 ? 503 : 204;
  });
  const int port = receiver.bind_to_any_port("127.0.0.1");
  std::jthread serving([&] { receiver.listen_after_bind(); });
  receiver.wait_until_ready();
  EventBus bus("a");
  std::string unknown;
  SenderOptions options{.url = format_text("http://127.0.0.1:{}/", port), .events = *event_set("visit", unknown)};
  options.delivery.first_pause = options.delivery.longest_pause = std::chrono::milliseconds(100);
  options.delivery.most_waiting = 10;
  Sender sender(options, bus, {}, [](LogLevel, std::string_view) {});
  sender.start();
  for (int i = 1; i <= 30; ++i) bus.publish(EventType::kVisitStart, {.visit = {.id = "vis_1"}});
  bus.publish_gap(set_of({EventType::kVisitStart}), 1000);
  const auto told = [&] {
    std::uint64_t missed = 0;
    MutexLock lock(mutex);
    for (std::size_t i = 3; i < bodies.size(); ++i) {
      missed += bodies[i].find(R"("type":"gap")") == std::string::npos
                    ? 1
                    : std::stoull(bodies[i].substr(bodies[i].find(R"("missed":)") + 9));
    }
    return missed;
  };
  const SteadyTime deadline = SteadyClock::now() + std::chrono::minutes(1);
  while (told() < 1030 && SteadyClock::now() < deadline) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(told(), 1030U);
  sender.stop();
  receiver.stop();
}

}  // namespace
}  // namespace kinglet::daemon::webhook
