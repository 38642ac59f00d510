// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/doctor: what `kinglet doctor` prints.
#include "daemon/doctor/doctor.h"

#include "daemon/doctor/json.h"
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/routes.h"

namespace kinglet::daemon::http {

Reply get_doctor(const HealthView& view, const Call& /*call*/) {
  return json_reply(doctor_json(examine(view.doctor())).dump(), "no-store");
}

}  // namespace kinglet::daemon::http
