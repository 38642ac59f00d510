// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/visits/{id}/crop.jpg, snapshot.jpg, clip.mjpg and clip.avi: files by id, never by a name of the
// request.
#include <algorithm>
#include <thread>

#include "daemon/capture/clips/clip_avi.h"
#include "daemon/capture/clips/clip_file.h"
#include "daemon/http/figures/slots.h"
#include "daemon/http/history/history.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/routes.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "store/store.h"

namespace kinglet::daemon::http {
namespace {

// The pictures of an ended visit never change.
constexpr std::string_view kForEver = "private, max-age=31536000, immutable";
constexpr std::chrono::milliseconds kLongestPause{1'000};
constexpr std::string_view kDamagedClip = "the file of the clip is damaged";

// A better one may come: the best one has the whole frame beside it, a little after the end.
bool is_first_picture(const visits::BookedVisit& booked) {
  constexpr std::chrono::minutes kSoon{1};
  const visits::Visit& visit = booked.visit;
  if (visit.state == visits::VisitState::kOpen) return true;
  return !booked.has_frame && std::chrono::system_clock::now() < visit.started_at + visit.duration + kSoon;
}

struct FoundPicture {
  std::string bytes;
  bool is_first = false;
};

std::expected<FoundPicture, Reply> read_picture(const HistoryView& view, const Call& call, store::Picture kind) {
  const std::string_view id = call.path_parameter("id");
  const Result<std::optional<visits::BookedVisit>> found = view.visits.find(id);
  if (!found) return std::unexpected(store_problem(found.error()));
  if (!*found) return std::unexpected(no_such_visit());
  Result<std::string> bytes = view.store.picture(id, kind);
  if (bytes) return FoundPicture{.bytes = std::move(*bytes), .is_first = is_first_picture(**found)};
  const Error& error = bytes.error();
  if (error.code == ErrorCode::kUnavailable) return std::unexpected(problem("picture-expired", error.message));
  if (error.code == ErrorCode::kNotFound) return std::unexpected(problem("not-found", error.message));
  return std::unexpected(store_problem(error));
}

Reply picture_reply(const HistoryView& view, const Call& call, store::Picture kind, std::string_view name,
                    std::string_view content_type) {
  std::expected<FoundPicture, Reply> found = read_picture(view, call, kind);
  if (!found) return found.error();
  if (found->is_first) {
    return {.content_type = std::string(content_type),
            .body = std::move(found->bytes),
            .headers = {{"Cache-Control", "no-store"}}};
  }
  const std::string tag = format_text("\"{}-{}\"", printable(call.path_parameter("id")), name);
  Reply reply{.headers = {{"ETag", tag}, {"Cache-Control", std::string(kForEver)}}};
  if (call.if_none_match == tag) {
    reply.status = 304;
    return reply;
  }
  reply.content_type = content_type;
  reply.body = std::move(found->bytes);
  return reply;
}

// A clip on its way to one viewer, at the pace of its pictures.
struct Playing {
  std::string file;
  std::string_view rest = file;
  std::optional<std::chrono::milliseconds> last;
  SteadyTime due = SteadyClock::now();
  std::shared_ptr<void> slot;
};

bool play(Playing& playing, std::string& piece) {
  const std::optional<ClipPart> part = take_part(playing.rest);
  if (!part) return false;
  const auto pause = part->at - playing.last.value_or(part->at);
  playing.due += std::clamp(pause, std::chrono::milliseconds(0), kLongestPause);
  playing.last = part->at;
  std::this_thread::sleep_until(playing.due);
  piece += part->bytes;
  return !playing.rest.empty();
}

}  // namespace

Reply get_visit_clip_file(const HistoryView& view, const Call& call) {
  Reply reply = picture_reply(view, call, store::Picture::kClip, "clip", "video/x-msvideo");
  if (reply.status != 200) return reply;
  std::optional<std::string> avi = make_avi(reply.body);
  if (!avi) return problem("picture-expired", kDamagedClip);
  reply.body = std::move(*avi);
  // The id is that of a visit: only then there is a file.
  const std::string name = format_text("attachment; filename=\"{}.avi\"", call.path_parameter("id"));
  reply.headers.emplace_back("Content-Disposition", name);
  return reply;
}

Reply get_visit_clip(const HistoryView& view, const Call& call) {
  std::expected<FoundPicture, Reply> file = read_picture(view, call, store::Picture::kClip);
  if (!file) return file.error();
  auto playing = std::make_shared<Playing>();
  playing->file = std::move(file->bytes);
  playing->rest = playing->file;
  std::string_view first = playing->file;
  if (!take_part(first)) return problem("picture-expired", kDamagedClip);
  playing->slot = view.long_answers.take(SlotKind::kPictures, call.caller.limit_key);
  if (!playing->slot) return problem("too-many-streams", "other long answers are in work");
  return Reply{.content_type = std::string(kClipType),
               .headers = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}},
               .more = [playing](std::string& piece) -> Result<bool> { return play(*playing, piece); }};
}

Reply get_visit_crop(const HistoryView& view, const Call& call) {
  return picture_reply(view, call, store::Picture::kCrop, "crop", "image/jpeg");
}

Reply get_visit_snapshot(const HistoryView& view, const Call& call) {
  return picture_reply(view, call, store::Picture::kFrame, "frame", "image/jpeg");
}

}  // namespace kinglet::daemon::http
