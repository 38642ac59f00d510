// SPDX-License-Identifier: Apache-2.0
// Why: what the routes about models say alike: a job, why there is none, and that one has begun.
#pragma once

#include "daemon/http/message/message.h"
#include "daemon/http/routes/json.h"
#include "daemon/models/model_keeper.h"

namespace kinglet::daemon::http {

[[nodiscard]] Json job_json(const ModelJob& job);
[[nodiscard]] Json known_model_json(const KnownModel& model);
[[nodiscard]] Reply refusal_reply(const ModelKeeper::Refused& refused);
[[nodiscard]] Reply accepted_reply(const ModelJob& job);

}  // namespace kinglet::daemon::http
