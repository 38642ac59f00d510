// SPDX-License-Identifier: Apache-2.0
// Why: the HTTP library limits each byte but no request: a client that drips one byte at a time holds a thread for
// ever. This stream gives a whole request an end, and a slow one an earlier end when others wait.
#pragma once

#include <httplib.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "daemon/http/server/head_watch.h"
#include "daemon/values/tls.h"
#include "engine/base/clock.h"

namespace kinglet::daemon::http {

struct TimeLimits {
  std::chrono::milliseconds first_byte{2'000};  // of a connection
  std::chrono::milliseconds kept_alive{1'000};  // idle between requests, as clients are told
  std::chrono::milliseconds on_its_way{250};    // longer: what a client sends in the last moment of that is not lost
  std::chrono::milliseconds between_bytes{5'000};
  std::chrono::milliseconds whole_request{15'000};
  std::chrono::milliseconds write{10'000};  // without progress
  std::size_t requests = 20;                // on one connection
  // What is slower than this gives way to others.
  std::chrono::milliseconds swift_head{500};
  std::chrono::milliseconds swift_start{1'000};  // of a body or an answer, of which the rate is judged after this
  double swift_bytes_per_second = 64 * 1024;
  std::chrono::milliseconds upload_start{10'000};  // so much waiting has an upload before its rate is judged
};

// Owns nothing: the connection closes the socket.
class DeadlineStream final : public httplib::Stream {
 public:
  // `tls`: what the bytes go through; nullptr: nothing. `gives_way`: asked while the other side is slow; true ends the
  // connection.
  DeadlineStream(socket_t socket, const TimeLimits& limits, const std::atomic<bool>& stopping,
                 TlsSession* tls = nullptr, std::function<bool()> gives_way = {});

  // A request begins: its time runs from here.
  void begin_request();
  // The body may take longer than a request, as long as it is swift.
  void begin_upload();
  [[nodiscard]] bool upload_was_slow() const { return upload_was_slow_; }
  // The answer takes as long as it takes.
  void begin_long_answer() { long_answer_ = true; }
  // Ended because it was slow and others waited.
  [[nodiscard]] bool gave_way() const { return reading_gave_way_ || writing_gave_way_; }
  [[nodiscard]] HeadWatch::TooMuch too_much() const { return head_.too_much(); }
  // Waits for a byte of the next request; `give_up` is asked every 50 ms. False: close the connection.
  template <typename GiveUp>
  [[nodiscard]] bool wait_for_request(SteadyTime deadline, GiveUp give_up) {
    if (buffered_ < filled_) return true;
    while (!stopping_) {
      const bool late = SteadyClock::now() >= deadline;
      if (readable_within(std::chrono::milliseconds(late ? 0 : 50))) return true;
      if (late || give_up()) return false;
    }
    return false;
  }

  [[nodiscard]] bool is_readable() const override;
  [[nodiscard]] bool is_writable() const override;
  ssize_t read(char* data, size_t size) override;
  // A first small piece (a head) is held back until the next one (its body) comes, or anything else is asked of the
  // stream: one packet instead of two.
  ssize_t write(const char* data, size_t size) override;
  // Sends what is held back. False: it cannot be sent.
  [[nodiscard]] bool flush() const;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  [[nodiscard]] socket_t socket() const override { return socket_; }

 private:
  [[nodiscard]] bool readable_within(std::chrono::milliseconds time) const;
  [[nodiscard]] ssize_t receive(char* data, std::size_t size);
  [[nodiscard]] bool writable_in_time() const;
  [[nodiscard]] ssize_t send_some(std::string_view bytes) const;
  [[nodiscard]] bool wait_until_readable(SteadyTime end) const;
  [[nodiscard]] bool is_slow_at_reading() const;
  [[nodiscard]] bool is_slow_upload(SteadyClock::duration waited) const;
  [[nodiscard]] bool is_slow_at_writing() const;

  const socket_t socket_;
  const TimeLimits& limits_;
  const std::atomic<bool>& stopping_;
  TlsSession* const tls_;
  const std::function<bool()> gives_way_;
  SteadyTime request_begin_{};
  SteadyTime request_end_{};
  HeadWatch head_;
  SteadyTime body_begin_{};
  std::size_t body_bytes_ = 0;
  bool upload_ = false;
  bool long_answer_ = false;
  mutable SteadyClock::duration waited_{};  // for bytes of an upload
  mutable bool upload_was_slow_ = false;
  mutable SteadyTime answer_begin_{};  // as held_
  mutable std::size_t answer_bytes_ = 0;
  mutable bool reading_gave_way_ = false;
  mutable bool writing_gave_way_ = false;
  // The library reads headers byte by byte.
  std::array<char, 4096> buffer_;
  std::size_t buffered_ = 0;
  std::size_t filled_ = 0;
  mutable std::string held_;  // the library asks is_writable() between pieces, which is const
};

}  // namespace kinglet::daemon::http
