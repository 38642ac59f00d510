// SPDX-License-Identifier: Apache-2.0
#include "camera/stream/http_source.h"

#include <algorithm>

#include "camera/source/spec.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::camera {

Result<std::unique_ptr<ByteStream>> HttpSource::open_stream() {
  HttpRequest request = request_;
  if (!login_file_.empty()) KINGLET_TRY(read_login(login_file_, request));
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

Result<HttpSpec> parse_http_spec(std::string_view scheme, std::string_view rest,
                                 std::span<const std::string_view> known) {
  const std::size_t mark = rest.find('#');
  HttpSpec http{.address = std::string(rest.substr(0, mark)), .options = {}};
  const std::string_view address = http.address;
  const bool plain = address.starts_with("http://");
  const std::size_t host = plain ? 7 : 8;
  if ((!plain && !address.starts_with("https://")) || address.size() == host ||
      std::ranges::any_of(address, [](char c) { return c <= ' ' || c == 0x7F; })) {
    return fail(ErrorCode::kUsage, format_text("{}: needs an address, not \"{}\"", scheme, shown_address(address)), {},
                format_text("write {}:http://HOST/PATH", scheme));
  }
  if (address.substr(host, address.find('/', host) - host).contains('@')) {
    return fail(ErrorCode::kUsage, "a password does not belong into an address", shown_address(address),
                "source.login_file names a file with user:password");
  }
  if (mark == std::string_view::npos) return http;
  const std::string options = "?" + std::string(rest.substr(mark + 1));
  const Spec spec = KINGLET_TRY(parse_spec(options, known));
  for (const SpecOption& option : spec.options) http.options.emplace_back(option.key, option.value);
  return http;
}

}  // namespace kinglet::camera
