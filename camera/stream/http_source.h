// SPDX-License-Identifier: Apache-2.0
// Why: what the two kinds of network cameras have in common: an address, a login, and what their answers are.
#pragma once

#include "camera/stream/http_stream.h"
#include "camera/stream/stream_source.h"

namespace kinglet::camera {

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

// "http://HOST/PATH?QUERY#key=value": the address, and behind '#' (which is never sent) what kinglet is told.
// kUsage: not such an address, a password in it, an unknown key.
struct HttpSpec {
  std::string address;
  std::vector<std::pair<std::string, std::string>> options;
};
[[nodiscard]] Result<HttpSpec> parse_http_spec(std::string_view scheme, std::string_view rest,
                                               std::span<const std::string_view> known);

}  // namespace kinglet::camera
