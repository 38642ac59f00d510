// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/deadline_stream.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace kinglet::daemon::http {
namespace {

// Long waits are cut into pieces, so that a stop is noticed.
constexpr std::chrono::milliseconds kPiece{100};

bool poll_for(int socket, short events, std::chrono::milliseconds time) {
  pollfd item{.fd = socket, .events = events, .revents = 0};
  return poll(&item, 1, static_cast<int>(std::max<std::int64_t>(0, time.count()))) > 0;
}

void to_text(const sockaddr_storage& address, std::string& ip, int& port) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    port = ntohs(v4.sin_port);
  } else if (address.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof v6);
    inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    port = ntohs(v6.sin6_port);
  }
  ip = text.data();
}

template <typename GetName>
void address_of(int socket, GetName get_name, std::string& ip, int& port) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  // The socket API's own cast.
  if (get_name(socket, reinterpret_cast<sockaddr*>(&address), &length) == 0) to_text(address, ip, port);
}

bool is_slow(SteadyTime begin, std::size_t bytes, const TimeLimits& limits) {
  const Seconds taken = SteadyClock::now() - begin;
  return taken > limits.swift_start && static_cast<double>(bytes) < taken.count() * limits.swift_bytes_per_second;
}

}  // namespace

DeadlineStream::DeadlineStream(socket_t socket, const TimeLimits& limits, const std::atomic<bool>& stopping,
                               TlsSession* tls, std::function<bool()> gives_way)
    : socket_(socket), limits_(limits), stopping_(stopping), tls_(tls), gives_way_(std::move(gives_way)), buffer_{} {}

void DeadlineStream::begin_request() {
  request_begin_ = SteadyClock::now();
  request_end_ = request_begin_ + limits_.whole_request;
  head_.begin();
  body_begin_ = answer_begin_ = {};
  body_bytes_ = answer_bytes_ = 0;
  upload_ = upload_was_slow_ = long_answer_ = false;
  waited_ = {};
}

void DeadlineStream::begin_upload() {
  upload_ = true;
  request_end_ = SteadyTime::max();
}

// Only the time counts in which nothing came: a slow disk of ours is nobody's fault.
bool DeadlineStream::is_slow_upload(SteadyClock::duration waited) const {
  const Seconds taken = waited_ + waited;
  return upload_ && taken > limits_.upload_start &&
         static_cast<double>(body_bytes_) < taken.count() * limits_.swift_bytes_per_second;
}

bool DeadlineStream::is_slow_at_reading() const {
  if (!head_.over()) return SteadyClock::now() - request_begin_ > limits_.swift_head;
  return body_begin_ != SteadyTime{} && is_slow(body_begin_, body_bytes_, limits_);
}

bool DeadlineStream::is_slow_at_writing() const {
  return !long_answer_ && answer_begin_ != SteadyTime{} && is_slow(answer_begin_, answer_bytes_, limits_);
}

bool DeadlineStream::readable_within(std::chrono::milliseconds time) const {
  return (tls_ != nullptr && tls_->pending()) || poll_for(socket_, POLLIN, time);
}

// After is_readable(). Bytes of TLS that are no data of anybody are waited over.
ssize_t DeadlineStream::receive(char* data, std::size_t size) {
  if (tls_ == nullptr) {
    ssize_t count = 0;
    do {
      count = recv(socket_, data, size, 0);
    } while (count < 0 && errno == EINTR);
    return count;
  }
  for (;;) {
    const TlsSession::Moved moved = tls_->receive(data, size);
    if (moved.need == TlsSession::Need::kNothing) return static_cast<ssize_t>(moved.count);
    if (moved.need == TlsSession::Need::kEnd) return 0;
    if (moved.need == TlsSession::Need::kRead ? !is_readable() : !is_writable()) return -1;
  }
}

bool DeadlineStream::is_readable() const {
  if (buffered_ < filled_) return true;
  if (!flush()) return false;  // the other side may wait for it before it goes on
  const SteadyTime start = SteadyClock::now();
  if (start >= request_end_) return false;
  const bool readable = wait_until_readable(std::min(start + limits_.between_bytes, request_end_));
  if (upload_) waited_ += SteadyClock::now() - start;
  return readable;
}

bool DeadlineStream::wait_until_readable(SteadyTime end) const {
  const SteadyTime start = SteadyClock::now();
  const auto gives_way = [&] {
    reading_gave_way_ = reading_gave_way_ || (gives_way_ && is_slow_at_reading() && gives_way_());
    return reading_gave_way_;
  };
  const auto is_late = [&] {
    upload_was_slow_ = upload_was_slow_ || is_slow_upload(SteadyClock::now() - start);
    return upload_was_slow_;
  };
  if (gives_way() || is_late()) return false;
  while (!stopping_) {
    // The last look is after the deadline: a thread that got no processor until then must not blame the client.
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - SteadyClock::now());
    if (readable_within(std::min(left, kPiece))) return true;
    if (left.count() <= 0 || gives_way() || is_late()) return false;
  }
  return false;
}

bool DeadlineStream::is_writable() const { return flush() && writable_in_time(); }

bool DeadlineStream::writable_in_time() const {
  const SteadyTime end = SteadyClock::now() + limits_.write;
  // What is being said at a stop still goes out as far as nobody has to be waited for.
  do {
    writing_gave_way_ = writing_gave_way_ || (gives_way_ && is_slow_at_writing() && gives_way_());
    if (writing_gave_way_) return false;
    if (poll_for(socket_, POLLOUT, stopping_ ? std::chrono::milliseconds(0) : kPiece)) return true;
  } while (SteadyClock::now() < end && !stopping_);
  return false;
}

ssize_t DeadlineStream::read(char* data, size_t size) {
  // Nothing of a head that is too long is of use to anybody.
  if (head_.too_much() != HeadWatch::TooMuch::kNothing) return -1;
  const bool in_body = head_.over();
  if (in_body && body_begin_ == SteadyTime{}) {
    body_begin_ = SteadyClock::now();
    answer_begin_ = {};  // that was 100 Continue
    answer_bytes_ = 0;
  }
  std::size_t count = 0;
  if (buffered_ == filled_ && size >= buffer_.size()) {
    if (!is_readable()) return -1;
    const ssize_t received = receive(data, size);
    if (received <= 0) return received;
    count = static_cast<std::size_t>(received);
  } else {
    if (buffered_ == filled_) {
      if (!is_readable()) return -1;
      const ssize_t received = receive(buffer_.data(), buffer_.size());
      if (received <= 0) return received;
      buffered_ = 0;
      filled_ = static_cast<std::size_t>(received);
    }
    count = std::min(size, filled_ - buffered_);
    std::memcpy(data, buffer_.data() + buffered_, count);
    buffered_ += count;
  }
  if (in_body) body_bytes_ += count;
  head_.look({data, count});
  return static_cast<ssize_t>(count);
}

ssize_t DeadlineStream::write(const char* data, size_t size) {
  constexpr std::size_t kSmall = 16384;
  const bool first = held_.empty();
  if (size <= kSmall) held_.append(data, size);
  if (size <= kSmall && first) return static_cast<ssize_t>(size);
  if (!flush()) return -1;
  return size <= kSmall ? static_cast<ssize_t>(size) : send_some({data, size});
}

bool DeadlineStream::flush() const {
  const std::string held = std::exchange(held_, {});
  for (std::string_view left = held; !left.empty();) {
    const ssize_t count = send_some(left);
    if (count <= 0) return false;
    left.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

ssize_t DeadlineStream::send_some(std::string_view bytes) const {
  if (answer_begin_ == SteadyTime{}) answer_begin_ = SteadyClock::now();
  // MSG_DONTWAIT: a client that stops reading in the middle of a large answer must not block a thread in the kernel.
  for (;;) {
    if (!writable_in_time()) return -1;
    if (tls_ != nullptr) {
      const TlsSession::Moved moved = tls_->send(bytes.data(), bytes.size());
      if (moved.need == TlsSession::Need::kNothing) {
        answer_bytes_ += moved.count;
        return static_cast<ssize_t>(moved.count);
      }
      if (moved.need == TlsSession::Need::kEnd || (moved.need == TlsSession::Need::kRead && !is_readable())) return -1;
      continue;
    }
    const ssize_t count = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) answer_bytes_ += static_cast<std::size_t>(count);
    if (count >= 0 || (errno != EINTR && errno != EAGAIN)) return count;
  }
}

void DeadlineStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  address_of(socket_, getpeername, ip, port);
}

void DeadlineStream::get_local_ip_and_port(std::string& ip, int& port) const {
  address_of(socket_, getsockname, ip, port);
}

}  // namespace kinglet::daemon::http
