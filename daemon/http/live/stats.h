// SPDX-License-Identifier: Apache-2.0
// Why: the figures and the camera's state in one form, asked for and told as events.
#pragma once

#include <cstddef>
#include <expected>
#include <vector>

#include "daemon/answer/latest.h"
#include "daemon/capture/snapshot.h"
#include "daemon/doctor/health.h"
#include "daemon/http/message/message.h"
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/views.h"

namespace kinglet::daemon::http {

[[nodiscard]] Json stats_json(const FiguresView& view);
// Around each part that the model has looked at within the last seconds.
[[nodiscard]] std::vector<Mark> newest_marks(const LatestPredictions& latest, std::size_t camera);
// `index`: of the view, in `vitals`.
[[nodiscard]] Json camera_json(const CameraView& view, const Vitals& vitals, std::size_t index);
// The camera that the path names, or else the query, or else the first. An error is the answer.
[[nodiscard]] std::expected<std::size_t, Reply> camera_of(const CamerasView& view, const Call& call);

}  // namespace kinglet::daemon::http
