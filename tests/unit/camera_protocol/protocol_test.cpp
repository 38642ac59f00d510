// SPDX-License-Identifier: Apache-2.0
// Why: the socket's other side is not trusted: what it may say, and what is refused with the field named.
#include "camera/libcamera/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <random>
#include <type_traits>

namespace kinglet::camera::protocol {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kNv12 = static_cast<std::uint32_t>(PixelFormat::kNv12);

Hello nv12_hello() { return {.format = kNv12, .width = 64, .height = 48, .buffer_count = 4}; }

Buffer nv12_buffer() {
  return {.plane_count = 2, .planes = {BufferPlane{0, 64, 0, 3072}, BufferPlane{0, 64, 3072, 1536}, BufferPlane{}}};
}

std::string refusal(const Hello& hello) {
  const auto result = check(hello);
  return result ? "accepted" : result.error().message;
}

std::string refusal(const Buffer& buffer, std::uint64_t size = 4608) {
  const auto result = check(buffer, nv12_hello(), std::span(&size, 1));
  return result ? "accepted" : result.error().message;
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(Protocol, MessageArrivesWithItsDescriptors) {
  const auto pair = make_socket_pair();
  ASSERT_TRUE(pair);
  const FileDescriptor memory(::memfd_create("test", MFD_CLOEXEC));
  const int descriptor = memory.get();
  Buffer buffer = nv12_buffer();
  buffer.index = 3;
  ASSERT_TRUE(send(pair->program.get(), buffer, std::span(&descriptor, 1)));
  const auto received = receive(pair->daemon.get());
  ASSERT_TRUE(received && *received);
  EXPECT_EQ((*received)->descriptor_count, 1U);
  const auto* arrived = std::get_if<Buffer>(&(*received)->message);
  ASSERT_NE(arrived, nullptr);
  EXPECT_EQ(arrived->index, 3U);
  EXPECT_EQ(arrived->planes[1].offset, 3072U);
}

TEST(Protocol, NothingWaitingIsNotAnError) {
  const auto pair = make_socket_pair();
  ASSERT_TRUE(pair);
  const auto received = receive(pair->daemon.get());
  ASSERT_TRUE(received);
  EXPECT_FALSE(*received);
}

TEST(Protocol, ClosedPeerIsUnavailable) {
  auto pair = make_socket_pair();
  ASSERT_TRUE(pair);
  pair->program.reset();
  EXPECT_EQ(receive(pair->daemon.get()).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(send(pair->daemon.get(), Want{}).error().code, ErrorCode::kUnavailable);
}

TEST(Protocol, DescriptorsOfRefusedMessagesAreClosed) {
  const auto pair = make_socket_pair();
  ASSERT_TRUE(pair);
  const FileDescriptor memory(::memfd_create("test", MFD_CLOEXEC));
  const std::array<int, 3> descriptors{memory.get(), memory.get(), memory.get()};
  const std::size_t before = open_descriptors();
  ASSERT_TRUE(send(pair->program.get(), Want{}, descriptors));
  EXPECT_FALSE(receive(pair->daemon.get()));
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Protocol, RandomBytesNeverPass) {
  const auto pair = make_socket_pair();
  ASSERT_TRUE(pair);
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::array<unsigned char, 1200> bytes{};
    for (auto& byte : bytes) byte = static_cast<unsigned char>(random());
    const std::size_t length = 1 + random() % bytes.size();
    ASSERT_EQ(::send(pair->program.get(), bytes.data(), length, 0), static_cast<ssize_t>(length));
    const auto received = receive(pair->daemon.get());
    ASSERT_FALSE(received) << "length " << length;
    EXPECT_EQ(received.error().code, ErrorCode::kBadData);
  }
}

TEST(Protocol, TextIsCutAndMadePrintable) {
  EXPECT_EQ(to_string(to_text("imx708\n")), "imx708?");
  EXPECT_LT(to_string(to_text(std::string(1000, 'x'))).size(), sizeof(Text));
}

// The same but for one member.
template <typename Message, typename Member>
Message with(Message message, Member Message::* member, std::type_identity_t<Member> value) {
  message.*member = value;
  return message;
}

TEST(CheckHello, AcceptsACamera) { EXPECT_EQ(refusal(nv12_hello()), "accepted"); }

TEST(CheckHello, RefusesUnknownFormat) {
  EXPECT_THAT(refusal(with(nv12_hello(), &Hello::format, 77)), HasSubstr("unknown pixel format 77"));
}

TEST(CheckHello, RefusesOddSizeOfSubsampledFormats) {
  EXPECT_THAT(refusal(with(nv12_hello(), &Hello::width, 63)), HasSubstr("size 63x48"));
}

TEST(CheckHello, RefusesHugeSize) {
  EXPECT_THAT(refusal(with(nv12_hello(), &Hello::height, std::numeric_limits<std::uint32_t>::max() - 1)),
              HasSubstr("size 64x4294967294"));
}

TEST(CheckHello, RefusesASmallStreamThatIsNone) {
  Hello hello = nv12_hello();
  hello.small_width = 32;
  hello.small_height = 24;
  EXPECT_EQ(refusal(hello), "accepted");
  hello.small_height = 0;
  EXPECT_THAT(refusal(hello), HasSubstr("small size 32x0"));
  hello.small_height = 25;
  EXPECT_THAT(refusal(hello), HasSubstr("small size 32x25"));
  hello.small_height = 50;
  EXPECT_THAT(refusal(hello), HasSubstr("small size 32x50"));
}

TEST(CheckHello, RefusesBufferCountsOutOfRange) {
  Hello hello = nv12_hello();
  for (const std::uint32_t count : {0U, 33U}) {
    hello.buffer_count = count;
    EXPECT_THAT(refusal(hello), HasSubstr("buffers, expected 1 to 32"));
  }
}

TEST(CheckBuffer, AcceptsPlanesThatFit) { EXPECT_EQ(refusal(nv12_buffer()), "accepted"); }

TEST(CheckBuffer, RefusesIndexBeyondTheCount) {
  EXPECT_THAT(refusal(with(nv12_buffer(), &Buffer::index, 4)), HasSubstr("buffer 4 of 4"));
}

TEST(CheckBuffer, OfTheSmallStreamComesAfterTheOthersAndIsSmaller) {
  Hello hello = nv12_hello();
  hello.small_width = 32;
  hello.small_height = 24;
  Buffer buffer{.index = 4,
                .plane_count = 2,
                .planes = {BufferPlane{0, 32, 0, 768}, BufferPlane{0, 32, 768, 384}, BufferPlane{}}};
  const std::uint64_t size = 1152;
  EXPECT_TRUE(check(buffer, hello, std::span(&size, 1)));
  buffer.index = 3;
  EXPECT_FALSE(check(buffer, hello, std::span(&size, 1)));
  buffer.index = 8;
  EXPECT_THAT(check(buffer, hello, std::span(&size, 1)).error().message, HasSubstr("buffer 8 of 8"));
}

TEST(CheckBuffer, RefusesPlaneCountOfAnotherFormat) {
  EXPECT_THAT(refusal(with(nv12_buffer(), &Buffer::plane_count, 3)), HasSubstr("3 planes, expected 2"));
}

TEST(CheckBuffer, RefusesPlaneOutsideItsMemory) { EXPECT_THAT(refusal(nv12_buffer(), 4607), HasSubstr("outside")); }

TEST(CheckBuffer, RefusesOffsetThatWrapsAround) {
  Buffer buffer = nv12_buffer();
  buffer.planes[1].offset = std::numeric_limits<std::uint64_t>::max() - 100;
  EXPECT_THAT(refusal(buffer), HasSubstr("outside"));
}

TEST(CheckBuffer, RefusesStrideBelowTheRow) {
  Buffer buffer = nv12_buffer();
  buffer.planes[0].stride = 63;
  EXPECT_THAT(refusal(buffer), HasSubstr("stride 63 for rows of 64"));
}

TEST(CheckBuffer, RefusesPlaneShorterThanItsRows) {
  Buffer buffer = nv12_buffer();
  buffer.planes[0].stride = 80;
  EXPECT_THAT(refusal(buffer), HasSubstr("its rows need"));
}

TEST(CheckBuffer, RefusesDescriptorThatDidNotCome) {
  Buffer buffer = nv12_buffer();
  buffer.planes[1].descriptor = 1;
  EXPECT_THAT(refusal(buffer), HasSubstr("descriptor 1 of 1"));
}

}  // namespace
}  // namespace kinglet::camera::protocol
