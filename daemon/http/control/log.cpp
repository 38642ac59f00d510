// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/log: the newest lines of the log, an object a line.
#include "daemon/doctor/log_book.h"

#include "daemon/http/message/parameters.h"
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/routes.h"

namespace kinglet::daemon::http {

Reply get_log(const ControlView& view, const Call& call) {
  const auto since = time_parameter(call, "since");
  if (!since) return since.error();
  Reply reply{.content_type = "application/x-ndjson", .headers = {{"Cache-Control", "no-store"}}};
  for (const LogBook::Record& record : view.log_book.since(since->value_or(WallTime{}))) {
    reply.body += Json{{"seq", record.seq},
                       {"at", to_rfc3339(record.at)},
                       {"level", to_string(record.level)},
                       {"text", record.text}}
                      .dump(-1, ' ', false, Json::error_handler_t::replace) +
                  "\n";
  }
  return reply;
}

}  // namespace kinglet::daemon::http
