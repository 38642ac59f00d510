// SPDX-License-Identifier: Apache-2.0
// Why: one transfer of libcurl from its beginning to its end, which can be called off. Inside daemon/outgoing/ only.
#pragma once

#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "camera/stream/curl_library.h"
#include "daemon/outgoing/answer.h"
#include "engine/base/error.h"

namespace kinglet::daemon::outgoing {

struct Transfer {
  explicit Transfer(const camera::CurlLibrary& library);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer();

  // Texts are copied by libcurl, but a body.
  template <typename Value>
  void set(CURLoption option, Value value) {
    curl.setopt(easy, option, value);
  }
  void set(CURLoption option, const std::string& value) { curl.setopt(easy, option, value.c_str()); }
  // What counts for all: deadlines, authorities, no redirects, little is kept of what is answered.
  void set_common(std::chrono::milliseconds timeout, const std::filesystem::path& certificates);
  // Nothing: it was called off. kUnavailable: libcurl gave up.
  [[nodiscard]] Result<std::optional<CURLcode>> run(const std::function<bool()>& go_on);
  [[nodiscard]] long status() const;
  [[nodiscard]] std::string why(CURLcode code) const;  // in a line

  const camera::CurlLibrary& curl;
  CURL* easy;
  CURLM* multi;
  bool added = false;
  curl_slist* list = nullptr;  // headers, or who gets a mail
  std::size_t received = 0;
  std::string answer;  // its first 2 KiB
  std::array<char, CURL_ERROR_SIZE> error{};
};

}  // namespace kinglet::daemon::outgoing
