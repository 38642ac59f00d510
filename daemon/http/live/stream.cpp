// SPDX-License-Identifier: Apache-2.0
// Why: GET /stream.mjpg: the camera as pictures one after the other, each encoded once for all who watch the same size.
#include <algorithm>
#include <thread>

#include "daemon/capture/clips/clip_file.h"
#include "daemon/capture/snapshot.h"
#include "daemon/http/figures/slots.h"
#include "daemon/http/live/stats.h"
#include "daemon/http/message/parameters.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/routes.h"
#include "engine/base/format.h"

namespace kinglet::daemon::http {
namespace {

constexpr double kSlowest = 0.1;
constexpr double kFastest = 15;
constexpr double kUsual = 5;
// The server looks between two turns whether the watcher is still there.
constexpr std::chrono::milliseconds kLongestPause{250};

struct Watching {
  SnapshotBoard& board;
  std::size_t camera;
  const LatestPredictions* latest;  // of the marks; nullptr: none are wished
  int width;
  SteadyClock::duration interval;
  std::shared_ptr<void> slot;
  std::optional<std::uint64_t> last_seq;
  SteadyTime due = SteadyClock::now();
};

std::string part(const Snapshot& snapshot) {
  std::string text = format_text(
      "--kinglet\r\nContent-Type: image/jpeg\r\nContent-Length: {}\r\nX-Timestamp: {}\r\nX-Frame-Seq: {}\r\n\r\n",
      snapshot.jpeg.size(), to_rfc3339(snapshot.info.captured_wall), snapshot.info.sequence);
  text.append(reinterpret_cast<const char*>(snapshot.jpeg.data()), snapshot.jpeg.size());
  return text + "\r\n";
}

// The next picture when it is due. A watcher that was late gets fewer pictures, never older ones.
Result<bool> watch(Watching& watching, std::string& piece) {
  const SteadyTime now = SteadyClock::now();
  if (now < watching.due) {
    std::this_thread::sleep_until(std::min(watching.due, now + kLongestPause));
    return true;
  }
  // All watchers of one rate ask at the same moments, and so get the same picture.
  const auto past = now.time_since_epoch() % watching.interval;
  watching.due = now + (watching.interval - past);
  const auto marks = watching.latest != nullptr ? newest_marks(*watching.latest, watching.camera) : std::vector<Mark>();
  const auto snapshot = watching.board.get(watching.width, watching.interval / 2, marks);
  // Without a picture the watcher waits; /readyz says why.
  if (!snapshot || watching.last_seq == (*snapshot)->info.sequence) return true;
  watching.last_seq = (*snapshot)->info.sequence;
  piece = part(**snapshot);
  return true;
}

}  // namespace

Reply get_stream(const CamerasView& view, const Call& call) {
  const auto index = camera_of(view, call);
  if (!index) return index.error();
  SnapshotBoard& snapshots = view.cameras[*index].snapshots;
  const auto width = integer_parameter(call, "width", 640, {320, 640, 1280});
  if (!width) return width.error();
  const auto overlay = integer_parameter(call, "overlay", 0, {0, 1});
  if (!overlay) return overlay.error();
  const auto fps = number_parameter(call, "fps", kUsual);
  if (!fps) return fps.error();
  const Seconds interval(1 / std::clamp(*fps, kSlowest, kFastest));
  if (const auto first = snapshots.get(static_cast<int>(*width)); !first) {
    return problem("no-camera", first.error().message, "/readyz says why");
  }
  std::shared_ptr<void> slot = view.long_answers.take(SlotKind::kPictures, call.caller.limit_key);
  if (!slot) return problem("too-many-streams", "all places for watchers are taken");
  auto watching =
      std::make_shared<Watching>(snapshots, *index, *overlay == 1 ? &view.latest : nullptr, static_cast<int>(*width),
                                 std::chrono::duration_cast<SteadyClock::duration>(interval), std::move(slot));
  return Reply{.content_type = std::string(kClipType),
               .headers = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}},
               .more = [watching](std::string& piece) { return watch(*watching, piece); }};
}

}  // namespace kinglet::daemon::http
