// SPDX-License-Identifier: Apache-2.0
// Why: a request and its answer as handlers see them, without the HTTP library.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/http/message/caller.h"
#include "engine/base/error.h"

namespace kinglet::daemon::http {

// The body of a call as it comes: hands each piece to `take`, whose error it gives back. kBadData: it is too long,
// ended early or came too slowly.
using TakePiece = std::function<Result<void>(std::string_view bytes)>;
using ReadBody = std::function<Result<void>(const TakePiece& take)>;

// All of it comes from the network and is hostile.
struct Call {
  std::string method;
  std::string path;                                        // of path_of()
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
  std::vector<std::pair<std::string, std::string>> path_parameters;
  std::string content_type;  // without parameters, lower case
  std::string accept;
  std::string if_none_match;
  std::string if_match;
  std::string last_event_id;
  std::optional<std::string> json_length;  // Inference-Header-Content-Length, of the routes of /v2
  std::string body;
  std::optional<std::uint64_t> body_length;  // as it is announced
  ReadBody read_body;      // instead of `body`, of those routes; while the handler runs. Empty: there is none
  std::string host;        // one of our own names; of those that are not, nothing is answered
  std::string request_id;  // ours
  Caller caller;           // ours

  [[nodiscard]] std::optional<std::string_view> query_value(std::string_view name) const;
  [[nodiscard]] std::string_view path_parameter(std::string_view name) const;  // of the route's pattern
};

// The next piece of a long answer. False: it was the last one. An error ends the connection in the middle.
using MorePieces = std::function<Result<bool>(std::string& piece)>;

// An error answer (RFC 9457) as a value; complete_problem() makes it words, once.
struct Problem {
  struct Fault {
    std::string key, detail, hint, where;  // but `detail` each may be empty
  };
  std::string slug;  // a row of problems.def; empty: the answer is none
  std::string detail, hint;
  std::vector<Fault> faults;  // of what it complains of, where that has parts
};

struct Reply {
  int status = 200;
  std::string content_type;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  Problem problem;  // instead of a body, when it is one
  MorePieces more;  // instead of a body; runs after the handler, on the same thread
};

[[nodiscard]] Reply json_reply(std::string body, std::string_view cache_control = "no-cache");

}  // namespace kinglet::daemon::http
