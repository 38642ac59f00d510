// SPDX-License-Identifier: Apache-2.0
// Why: a visit in words, the same in answers, events and messages.
#pragma once

#include "daemon/http/routes/json.h"
#include "visits/book.h"

namespace kinglet::daemon::http {

[[nodiscard]] Json visit_json(const visits::BookedVisit& booked);

}  // namespace kinglet::daemon::http
