// SPDX-License-Identifier: Apache-2.0
// Why: the HTTP library's request in our terms, and our Reply in the library's: what the one means in the other is said
// here only.
#pragma once

#include <httplib.h>

#include <optional>
#include <string>
#include <string_view>

#include "daemon/http/access/door.h"
#include "daemon/http/access/guard.h"
#include "daemon/http/message/message.h"
#include "engine/base/log.h"

namespace kinglet::daemon::http {

inline constexpr std::string_view kEncrypted = "tls";  // where the library has the local address

[[nodiscard]] std::optional<std::string> header_of(const httplib::Request& request, const char* name);
[[nodiscard]] bool has_body(const httplib::Request& request);

// Before the library reads it on: what it would do by itself and we do otherwise is taken out.
void prepare(httplib::Request& request);

[[nodiscard]] Credentials credentials_of(const httplib::Request& request);
[[nodiscard]] Evidences evidences_of(const httplib::Request& request);
// Without caller and body.
[[nodiscard]] Call call_of(const httplib::Request& request, std::string request_id);

[[nodiscard]] httplib::Headers headers_always();
// Compressed where `request`, which was prepared, takes that.
void write_reply(Reply reply, const Call& call, const httplib::Request& request, httplib::Response& response);
// A whole answer for a connection whose request nobody will read.
[[nodiscard]] std::string refusal_text(const Reply& reply);
// An answer of unknown length, until `more` has no more or the other side of `socket` is gone.
void write_pieces(MorePieces more, const std::string& type, const httplib::Request& request, int socket,
                  const LogSink& log, httplib::Response& response);

}  // namespace kinglet::daemon::http
