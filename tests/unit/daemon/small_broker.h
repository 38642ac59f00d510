// SPDX-License-Identifier: Apache-2.0
// Why: a broker that takes one client after the other on a port of this machine, keeps what it is told, and says what a
// test has it say: what a real one does not do at a wish.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/file.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon::mqtt {

// Speaks `version` and refuses others (4 is MQTT 3.1.1); every message with a number is acknowledged.
class SmallBroker {
 public:
  explicit SmallBroker(std::uint8_t version = 5) : version_(version), server_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(server_.get(), reinterpret_cast<sockaddr*>(&address), size);
    ::listen(server_.get(), 4);
    ::getsockname(server_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }
  // What was published to a topic that ends so, in its order.
  [[nodiscard]] std::vector<std::string> of(const std::string& topic) const {
    MutexLock lock(mutex_);
    std::vector<std::string> found;
    for (const Message& message : messages_) {
      if (message.topic.ends_with(topic)) found.push_back(message.payload);
    }
    return found;
  }
  // The newest client's CONNECT without its head; empty: none came in our version.
  [[nodiscard]] std::string connect() const {
    MutexLock lock(mutex_);
    return connect_;
  }

 private:
  struct Message {
    std::string topic;
    std::string payload;
  };

  [[nodiscard]] bool read(int socket, char* into, std::size_t size, const std::stop_token& stop) const {
    while (size > 0) {
      if (stop.stop_requested()) return false;
      pollfd waited{.fd = socket, .events = POLLIN, .revents = 0};
      if (::poll(&waited, 1, 50) <= 0) continue;
      const ssize_t got = ::read(socket, into, size);
      if (got <= 0) return false;
      into += got;
      size -= static_cast<std::size_t>(got);
    }
    return true;
  }

  // MQTT 5, section 2.1: the first byte, then the length in groups of seven bits.
  [[nodiscard]] std::optional<std::string> packet(int socket, std::uint8_t& first, const std::stop_token& stop) const {
    char byte = 0;
    if (!read(socket, &byte, 1, stop)) return std::nullopt;
    first = static_cast<std::uint8_t>(byte);
    std::size_t length = 0;
    for (int shift = 0; shift < 28; shift += 7) {
      if (!read(socket, &byte, 1, stop)) return std::nullopt;
      length |= static_cast<std::size_t>(byte & 127) << static_cast<unsigned>(shift);
      if ((byte & 128) == 0) break;
    }
    std::string body(length, '\0');
    if (!read(socket, body.data(), length, stop)) return std::nullopt;
    return body;
  }

  static void send(int socket, const std::string& bytes) {
    static_cast<void>(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }

  void serve(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd waited{.fd = server_.get(), .events = POLLIN, .revents = 0};
      if (::poll(&waited, 1, 50) <= 0) continue;
      const FileDescriptor client(::accept(server_.get(), nullptr, nullptr));
      std::uint8_t first = 0;
      while (const auto body = packet(client.get(), first, stop)) {
        if (!answer(client.get(), first, *body)) break;
      }
    }
  }

  [[nodiscard]] bool answer(int client, std::uint8_t first, const std::string& body) {
    using namespace std::string_literals;
    const bool new_form = version_ == 5;
    const int kind = first >> 4U;
    if (kind == 1) {
      const bool wanted = body.size() > 6 && static_cast<std::uint8_t>(body[6]) == version_;
      send(client, !wanted ? "\x20\x02\x00\x01"s : new_form ? "\x20\x03\x00\x00\x00"s : "\x20\x02\x00\x00"s);
      if (!wanted) return false;
      MutexLock lock(mutex_);
      connect_ = body;
    } else if (kind == 3) {
      note(client, first, body);
    } else if (kind == 8) {
      send(client, (new_form ? "\x90\x04"s : "\x90\x03"s) + body.substr(0, 2) + (new_form ? "\x00\x01"s : "\x01"s));
    } else if (kind == 12) {
      send(client, "\xD0\x00"s);
    }
    return kind != 14;
  }

  void note(int client, std::uint8_t first, const std::string& body) {
    const auto length =
        static_cast<std::size_t>(static_cast<std::uint8_t>(body[0]) << 8U | static_cast<std::uint8_t>(body[1]));
    std::size_t at = 2 + length;
    if ((first & 6U) != 0) {
      send(client, "\x40\x02" + body.substr(at, 2));
      at += 2;
    }
    if (version_ == 5) at += 1 + static_cast<std::uint8_t>(body[at]);
    MutexLock lock(mutex_);
    messages_.push_back({.topic = body.substr(2, length), .payload = body.substr(at)});
  }

  const std::uint8_t version_;
  const FileDescriptor server_;
  std::uint16_t port_ = 0;
  mutable Mutex mutex_;
  std::vector<Message> messages_ KINGLET_GUARDED_BY(mutex_);
  std::string connect_ KINGLET_GUARDED_BY(mutex_);
  std::jthread thread_;  // last: joined first
};

}  // namespace kinglet::daemon::mqtt
