// SPDX-License-Identifier: Apache-2.0
// A download from a server that falls silent.
#include "daemon/catalogue/download.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <string>
#include <thread>

#include "engine/base/check.h"
#include "engine/base/clock.h"
#include "engine/base/file.h"

namespace kinglet::daemon {
namespace {

using ::testing::HasSubstr;

// Takes one connection, sends ten bytes of a thousand, and says nothing more.
class SilentServer {
 public:
  SilentServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    socklen_t length = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    KINGLET_CHECK(::bind(listener_.get(), any, length) == 0 && ::listen(listener_.get(), 1) == 0);
    KINGLET_CHECK(::getsockname(listener_.get(), any, &length) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this] {
      connection_ = FileDescriptor(::accept(listener_.get(), nullptr, nullptr));
      constexpr std::string_view kFirstBytes = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n0123456789";
      KINGLET_CHECK(::send(connection_.get(), kFirstBytes.data(), kFirstBytes.size(), MSG_NOSIGNAL) > 0);
    });
  }
  [[nodiscard]] std::string address() const { return "http://127.0.0.1:" + std::to_string(port_) + "/bird.onnx"; }

 private:
  FileDescriptor listener_;
  FileDescriptor connection_;
  int port_ = 0;
  std::jthread thread_;
};

TEST(Download, EndsWhenTheServerFallsSilentAndHandsOverWhatCame) {
  const SilentServer server;
  std::size_t came = 0;
  const auto sink = [&](std::uint64_t, std::span<const std::byte> bytes) -> Result<void> {
    came += bytes.size();
    return {};
  };
  const Result<void> got =
      download({.address = server.address(), .limit_bytes = 1000, .patience = std::chrono::seconds(1)}, sink,
               [] { return true; });
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(got.error().message, HasSubstr("too slow"));
  EXPECT_EQ(came, 10U);
}

TEST(Download, IsCalledOffAtOnce) {
  const SilentServer server;
  const SteadyTime begin = SteadyClock::now();
  bool came = false;
  const auto sink = [&](std::uint64_t, std::span<const std::byte>) -> Result<void> {
    came = true;
    return {};
  };
  const Result<void> got = download({.address = server.address(), .limit_bytes = 1000}, sink, [&] { return !came; });
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message, HasSubstr("called off"));
  EXPECT_LT(SteadyClock::now() - begin, std::chrono::seconds(20));  // patience: 30 s
}

}  // namespace
}  // namespace kinglet::daemon
