// SPDX-License-Identifier: Apache-2.0
// Why: the HTTP library reads on in a head that is too long and has one answer for all heads it does not take. What is
// too much is seen here, on the way of the bytes to the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kinglet::daemon::http {

// Of one request after the other. Thread-bound.
class HeadWatch {
 public:
  static constexpr std::size_t kLongestLine = 8192;  // the request line, and each header, with their ends
  static constexpr std::size_t kMostHeaders = 100;
  enum class TooMuch : std::uint8_t { kNothing, kRequestLine, kHeaders };

  void begin() { *this = {}; }
  // The next bytes of the request; those of its body are let pass.
  void look(std::string_view bytes) {
    for (const char byte : bytes) {
      if (over_ || too_much_ != TooMuch::kNothing) return;
      ++length_;
      if (byte == '\n') {
        // A request line is there even when it is empty: what it is worth is the library's to say.
        over_ = lines_ > 0 && length_ <= (after_return_ ? 2U : 1U);
        if (!over_ && ++lines_ > kMostHeaders + 1) too_much_ = TooMuch::kHeaders;
        length_ = 0;
      } else if (length_ >= kLongestLine) {
        too_much_ = lines_ == 0 ? TooMuch::kRequestLine : TooMuch::kHeaders;
      }
      after_return_ = byte == '\r';
    }
  }
  [[nodiscard]] bool over() const { return over_; }
  [[nodiscard]] TooMuch too_much() const { return too_much_; }

 private:
  std::size_t length_ = 0;  // of the line so far
  std::size_t lines_ = 0;   // before it
  bool after_return_ = false;
  bool over_ = false;
  TooMuch too_much_ = TooMuch::kNothing;
};

}  // namespace kinglet::daemon::http
