// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <thread>

#include "engine/base/check.h"
#include "tests/fuzz/daemon_parts.h"
#include "tests/fuzz/targets.h"

namespace kinglet::fuzz {
namespace {

constexpr std::size_t kMostSent = 64 * 1024;
constexpr std::array<const char*, 4> kPeers{"unix", "127.0.0.1", "192.168.7.7", "203.0.113.9"};

std::string answer_to(std::string_view request, const char* peer) {
  std::array<int, 2> ends{};
  KINGLET_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const FileDescriptor ours(ends[0]);
  FileDescriptor theirs(ends[1]);
  KINGLET_CHECK(send(ours.get(), request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size()));
  shutdown(ours.get(), SHUT_WR);
  std::string answer;
  // Answers may be longer than what a socket holds.
  std::jthread reader([&] {
    std::array<char, 65536> piece{};
    ssize_t count = 0;
    while ((count = recv(ours.get(), piece.data(), piece.size(), 0)) > 0) {
      answer.append(piece.data(), static_cast<std::size_t>(count));
    }
  });
  DaemonParts::instance().serve(std::move(theirs), peer);
  reader.join();
  return answer;
}

// A head is lines of printable bytes: nothing of a request has broken out of it.
void check_head(std::string_view answer) {
  if (answer.empty()) return;  // nothing that could be answered
  KINGLET_CHECK(answer.starts_with("HTTP/1.1 ") || answer.starts_with("HTTP/1.0 "));
  KINGLET_CHECK(!answer.substr(9).starts_with("500"));
  const std::size_t end = answer.find("\r\n\r\n");
  KINGLET_CHECK(end != std::string_view::npos);
  std::string_view head = answer.substr(0, end);
  KINGLET_CHECK(std::ranges::all_of(head, [](char c) { return c == '\r' || c == '\n' || (c >= ' ' && c != 0x7F); }));
  head.remove_prefix(head.find("\r\n") == std::string_view::npos ? head.size() : head.find("\r\n") + 2);
  while (!head.empty()) {
    const std::size_t line_end = std::min(head.find("\r\n"), head.size());
    KINGLET_CHECK(head.substr(0, line_end).find(": ") != std::string_view::npos);
    head.remove_prefix(std::min(line_end + 2, head.size()));
  }
}

}  // namespace

// The first byte says from where it comes.
void request(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kMostSent));
  check_head(answer_to(text.substr(1), kPeers[static_cast<unsigned char>(text[0]) % kPeers.size()]));
}

}  // namespace kinglet::fuzz
