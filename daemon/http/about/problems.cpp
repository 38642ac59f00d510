// SPDX-License-Identifier: Apache-2.0
// Why: GET /problems/{slug}: each error's `type` leads to a page that explains it.

#include "daemon/http/message/problem.h"
#include "daemon/http/routes/routes.h"
#include "engine/base/format.h"

namespace kinglet::daemon::http {

Reply get_problem(const NoView& /*view*/, const Call& call) {
  const ProblemKind* kind = find_problem(call.path_parameter("slug"));
  if (kind == nullptr) {
    std::string known;
    for (const ProblemKind& row : problem_table()) known += format_text("{}{}", known.empty() ? "" : ", ", row.slug);
    return problem("not-found", "there is no problem of this name", "known: " + known);
  }
  return {.content_type = "text/plain; charset=utf-8",
          .body = format_text("{}\n\n{}\n{}\n\nStatus {}\n", kind->slug, kind->title, kind->explanation, kind->status),
          .headers = {{"Cache-Control", "max-age=3600"}}};
}

}  // namespace kinglet::daemon::http
