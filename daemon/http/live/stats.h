// SPDX-License-Identifier: Apache-2.0
// Why: the figures and the camera's state in one form, asked for and told as events.
#pragma once

#include "daemon/answer/latest.h"
#include "daemon/capture/snapshot.h"
#include "daemon/doctor/health.h"
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/views.h"

namespace kinglet::daemon::http {

[[nodiscard]] Json stats_json(const FiguresView& view);
// Around each part that the model has looked at within the last seconds.
[[nodiscard]] std::vector<Mark> newest_marks(const Latest<Prediction>& latest);
[[nodiscard]] Json camera_json(const CameraView& view, const Vitals& vitals);

}  // namespace kinglet::daemon::http
