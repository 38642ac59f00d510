// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/cameras/{source}/frames: pictures as the model sees them here, for calibration on another machine or
// by the tool.
#include <algorithm>

#include "daemon/capture/frame_samples.h"
#include "daemon/http/figures/slots.h"
#include "daemon/http/live/stats.h"
#include "daemon/http/message/parameters.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/routes.h"
#include "engine/base/format.h"

namespace kinglet::daemon::http {
namespace {

struct Sending {
  std::vector<std::shared_ptr<const FrameSample>> samples;
  std::size_t next = 0;
  std::shared_ptr<void> slot;
};

bool send_next(Sending& sending, std::string& piece) {
  if (sending.next == sending.samples.size()) {
    piece = "--kinglet--\r\n";
    return false;
  }
  const FrameSample& sample = *sending.samples[sending.next++];
  piece = format_text(
      "--kinglet\r\nContent-Type: image/jpeg\r\nContent-Length: {}\r\nX-Timestamp: {}\r\nX-Frame-Seq: {}\r\n\r\n",
      sample.jpeg.size(), to_rfc3339(sample.info.captured_wall), sample.info.sequence);
  piece += sample.jpeg;
  piece += "\r\n";
  return true;
}

}  // namespace

Reply get_frames(const CamerasView& view, const Call& call) {
  constexpr std::int64_t kMost = 1024;
  const auto index = camera_of(view, call);
  if (!index) return index.error();
  const auto last = integer_parameter(call, "last", 64, 1, kMost);
  if (!last) return last.error();
  auto sending = std::make_shared<Sending>();
  sending->samples = view.cameras[*index].samples.newest(static_cast<std::size_t>(*last));
  sending->slot = view.long_answers.take(SlotKind::kPictures, call.caller.limit_key);
  if (!sending->slot) return problem("too-many-streams", "other long answers are in work");
  return Reply{.content_type = "multipart/mixed; boundary=kinglet",
               .headers = {{"Cache-Control", "no-store"}, {"X-Frames", std::to_string(sending->samples.size())}},
               .more = [sending](std::string& piece) -> Result<bool> { return send_next(*sending, piece); }};
}

}  // namespace kinglet::daemon::http
