// SPDX-License-Identifier: Apache-2.0
// Why: a broker that takes one client after the other on a port of this machine, keeps what it is told, and says what a
// test has it say: what a real one does not do at a wish.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/file.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon::mqtt {

// Speaks `version` and refuses others (4 is MQTT 3.1.1); every message with a number is acknowledged. Who connects is
// refused before listen(), and hears nothing before serve().
class SmallBroker {
 public:
  explicit SmallBroker(std::uint8_t version = 5) : version_(version), server_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(server_.get(), reinterpret_cast<sockaddr*>(&address), size);
    ::getsockname(server_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  void listen() { ::listen(server_.get(), 4); }
  void serve() {
    listen();
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }
  // Somebody has connected whom nobody has looked at.
  [[nodiscard]] bool is_knocked_at() const { return is_readable(server_.get(), 0); }
  // Lets in so many who connect, and says nothing to them.
  void let_in(int clients) {
    for (int i = 0; i < clients; ++i) let_in_.emplace_back(::accept(server_.get(), nullptr, nullptr));
  }
  // Hears all and answers nothing from now on.
  void fall_silent() { silent_ = true; }
  // Ends the connection of the client.
  void hang_up() {
    MutexLock lock(mutex_);
    ::shutdown(client_, SHUT_RDWR);
  }

  // What was published to a topic that ends so, in its order. "CONNECT" and "PINGREQ" are packets of that kind.
  [[nodiscard]] std::vector<std::string> of(const std::string& topic) const {
    MutexLock lock(mutex_);
    std::vector<std::string> found;
    for (const Message& message : messages_) {
      if (message.topic.ends_with(topic)) found.push_back(message.payload);
    }
    return found;
  }
  // Waits until so many of these have come. False: they did not within half a minute.
  [[nodiscard]] bool await(const std::string& topic, std::ptrdiff_t messages) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    const auto is_of_topic = [&](const Message& message) { return message.topic.ends_with(topic); };
    MutexLock lock(mutex_);
    while (std::ranges::count_if(messages_, is_of_topic) < messages) {
      if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) return false;
    }
    return true;
  }

 private:
  struct Message {
    std::string topic;
    std::string payload;
  };

  [[nodiscard]] static bool is_readable(int socket, int patience_ms) {
    pollfd waited{.fd = socket, .events = POLLIN, .revents = 0};
    return ::poll(&waited, 1, patience_ms) > 0;
  }

  [[nodiscard]] static bool read(int socket, char* into, std::size_t size, const std::stop_token& stop) {
    while (size > 0) {
      if (stop.stop_requested()) return false;
      if (!is_readable(socket, 50)) continue;
      const ssize_t got = ::read(socket, into, size);
      if (got <= 0) return false;
      into += got;
      size -= static_cast<std::size_t>(got);
    }
    return true;
  }

  // MQTT 5, section 2.1: the first byte, then the length in groups of seven bits.
  [[nodiscard]] static std::optional<std::string> packet(int socket, std::uint8_t& first, const std::stop_token& stop) {
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

  void send(int socket, const std::string& bytes) const {
    if (!silent_) static_cast<void>(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }

  void serve(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (!is_readable(server_.get(), 50)) continue;
      const FileDescriptor client(::accept(server_.get(), nullptr, nullptr));
      set_client(client.get());
      std::uint8_t first = 0;
      while (const auto body = packet(client.get(), first, stop)) {
        if (!answer(client.get(), first, *body)) break;
      }
      set_client(-1);
    }
  }

  void set_client(int client) {
    MutexLock lock(mutex_);
    client_ = client;
  }

  [[nodiscard]] bool answer(int client, std::uint8_t first, const std::string& body) {
    using namespace std::string_literals;
    const bool new_form = version_ == 5;
    const int kind = first >> 4U;
    if (kind == 1) {
      const bool wanted = body.size() > 6 && static_cast<std::uint8_t>(body[6]) == version_;
      send(client, !wanted ? "\x20\x02\x00\x01"s : new_form ? "\x20\x03\x00\x00\x00"s : "\x20\x02\x00\x00"s);
      if (!wanted) return false;
      note({.topic = "CONNECT", .payload = body});
    } else if (kind == 3) {
      take(client, first, body);
    } else if (kind == 8) {
      send(client, (new_form ? "\x90\x04"s : "\x90\x03"s) + body.substr(0, 2) + (new_form ? "\x00\x01"s : "\x01"s));
    } else if (kind == 12) {
      send(client, "\xD0\x00"s);
      note({.topic = "PINGREQ", .payload = {}});
    }
    return kind != 14;
  }

  void take(int client, std::uint8_t first, const std::string& body) {
    const auto length =
        static_cast<std::size_t>(static_cast<std::uint8_t>(body[0]) << 8U | static_cast<std::uint8_t>(body[1]));
    std::size_t at = 2 + length;
    if ((first & 6U) != 0) {
      send(client, "\x40\x02" + body.substr(at, 2));
      at += 2;
    }
    if (version_ == 5) at += 1 + static_cast<std::uint8_t>(body[at]);
    note({.topic = body.substr(2, length), .payload = body.substr(at)});
  }

  void note(Message message) {
    MutexLock lock(mutex_);
    messages_.push_back(std::move(message));
    changed_.notify_all();
  }

  const std::uint8_t version_;
  const FileDescriptor server_;
  std::uint16_t port_ = 0;
  std::vector<FileDescriptor> let_in_;
  std::atomic<bool> silent_ = false;
  mutable Mutex mutex_;
  mutable Condition changed_;
  int client_ KINGLET_GUARDED_BY(mutex_) = -1;
  std::vector<Message> messages_ KINGLET_GUARDED_BY(mutex_);
  std::jthread thread_;  // last: joined first
};

}  // namespace kinglet::daemon::mqtt
