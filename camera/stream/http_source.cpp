// SPDX-License-Identifier: Apache-2.0
#include "camera/stream/http_source.h"

#include <algorithm>

#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::camera {

Result<std::unique_ptr<ByteStream>> HttpSource::open_stream() {
  HttpRequest request = request_;
  if (!login_file_.empty()) request.login = KINGLET_TRY(read_login(login_file_));
  return KINGLET_TRY(HttpStream::open(request));
}

Result<std::unique_ptr<StreamParser>> HttpSource::open_parser(ByteStream& stream, SteadyTime deadline) {
  auto& http = static_cast<HttpStream&>(stream);
  if (!KINGLET_TRY(http.wait_for_head(deadline))) {
    return fail(ErrorCode::kUnavailable, format_text("{} did not answer within {}", subject(), first_frame_limit()));
  }
  const std::string whole = http.content_type();
  std::string type = whole.substr(0, whole.find_first_of("; \t"));
  std::ranges::transform(type, type.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (type.starts_with("text/") || type == "application/json") {
    return fail(ErrorCode::kUnavailable,
                format_text("{} answers with {}, not with pictures", subject(), printable(type)), {},
                "the address of its page is not that of its pictures: see the camera's manual");
  }
  return parser_of(type, whole);
}

Result<AddressSpec> parse_http_address(std::string_view scheme, std::string_view rest,
                                       std::span<const std::string_view> known) {
  constexpr std::string_view kProtocols[] = {"http://", "https://"};
  const std::string example = format_text("{}:http://HOST/PATH", scheme);
  return parse_address({.scheme = scheme, .protocols = kProtocols, .example = example}, rest, known);
}

}  // namespace kinglet::camera
