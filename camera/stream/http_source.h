// SPDX-License-Identifier: Apache-2.0
// Why: what the two kinds of network cameras have in common: an address, a login, and an answer over HTTP(S) as a
// stream of bytes, without a thread of its own: the reader drives the transfer.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "camera/stream/address.h"
#include "camera/stream/byte_stream.h"
#include "camera/stream/curl_library.h"
#include "camera/stream/stream_source.h"

namespace kinglet::camera {

// One of several requests ends within this.
inline constexpr std::chrono::seconds kLongestRequest{10};

struct HttpRequest {
  std::string address;       // http:// or https://
  Login login;               // Basic or Digest, as the server asks
  std::string certificates;  // a file of authorities for https; empty: the system's
  // Asks again so long after each request, for ever; nothing: once. Then a request has to end within kLongestRequest.
  std::optional<SteadyClock::duration> period;
};

class HttpStream final : public ByteStream {
 public:
  // kUnavailable: no libcurl. Does not wait for the server.
  [[nodiscard]] static Result<std::unique_ptr<HttpStream>> open(const HttpRequest& request);
  ~HttpStream() override;

  // As ByteStream. kUnavailable also for every status but 200, and at the end of the only answer.
  [[nodiscard]] Result<std::size_t> read(std::span<std::byte> out, SteadyTime deadline) override;
  void close() override;

  // Waits for the head of the answer. False: the deadline, or closed.
  [[nodiscard]] Result<bool> wait_for_head(SteadyTime deadline);
  // After that.
  [[nodiscard]] std::string content_type() const;

 private:
  explicit HttpStream(const CurlLibrary& curl) : curl_(curl) {}
  void set_options(const HttpRequest& request);
  static std::size_t receive(char* bytes, std::size_t one, std::size_t count, void* context);
  // Nothing to read: waits for more, at most until the deadline.
  [[nodiscard]] Result<void> drive(SteadyTime deadline);
  [[nodiscard]] Result<void> begin_request();
  void note_end();
  [[nodiscard]] Error failed(CURLcode code) const;

  const CurlLibrary& curl_;
  CURL* easy_ = nullptr;
  CURLM* multi_ = nullptr;
  std::string shown_;
  std::optional<SteadyClock::duration> period_;
  SteadyTime begun_at_{};
  std::array<char, CURL_ERROR_SIZE> error_text_{};
  std::vector<std::byte> buffer_;  // came, but not read yet, from read_ on
  std::size_t read_ = 0;
  bool paused_ = false;
  bool head_ = false;
  bool running_ = false;  // a request
  std::optional<Error> failure_;
  std::atomic<bool> closed_ = false;
};

class HttpSource : public StreamSource {
 public:
  HttpSource(HttpRequest request, const SourceOptions& options, SteadyClock::duration pause)
      : StreamSource(options.log, pause), request_(std::move(request)), login_file_(options.login_file) {}

  [[nodiscard]] std::string description() const override { return "camera " + shown_address(request_.address); }

 protected:
  [[nodiscard]] Result<std::unique_ptr<ByteStream>> open_stream() override;
  [[nodiscard]] Result<std::unique_ptr<StreamParser>> open_parser(ByteStream& stream, SteadyTime deadline) override;
  [[nodiscard]] std::string subject() const override { return description(); }

  // By the answer's Content-Type in lower case, without its parameters; `whole` has them.
  [[nodiscard]] virtual Result<std::unique_ptr<StreamParser>> parser_of(const std::string& type,
                                                                        const std::string& whole) = 0;
  [[nodiscard]] const HttpRequest& request() const { return request_; }

 private:
  const HttpRequest request_;
  const std::string login_file_;
};

// The address of "SCHEME:http://HOST/PATH#key=value".
[[nodiscard]] Result<AddressSpec> parse_http_address(std::string_view scheme, std::string_view rest,
                                                     std::span<const std::string_view> known);

}  // namespace kinglet::camera
