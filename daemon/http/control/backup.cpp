// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/backup and GET, POST and DELETE /api/v1/restore: a box without the files of /etc, tokens and
// secrets, and back. What was restored waits beside the state for the next start, or is called off.
#include "daemon/backup/change.h"
#include "daemon/backup/desk.h"
#include "daemon/backup/outgoing.h"
#include "daemon/http/figures/slots.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/routes.h"
#include "engine/base/format.h"

namespace kinglet::daemon::http {
namespace {

// The thread that answers is expected back within a minute.
constexpr std::chrono::seconds kLongestCopy{40};
constexpr std::chrono::hours kLongestAnswer{6};

Reply refused(const Error& error) {
  switch (error.code) {
    case ErrorCode::kBadData:
    case ErrorCode::kUnsupported:
    case ErrorCode::kConfig:
    case ErrorCode::kNotFound:
      return problem("bad-backup", describe(error), error.hint);
    case ErrorCode::kUnavailable:
      return problem("starting", describe(error), error.hint);
    case ErrorCode::kBusy:
      return problem("busy", describe(error), error.hint);
    default:
      return problem("storage-full", describe(error), error.hint);
  }
}

Reply nothing_kept() {
  return problem("not-found", "nothing is kept on a disk here", "set store.path to a folder, and start again");
}

void tell(const BackupView& view, const Call& call, const std::string& what) {
  const std::string& name = call.caller.token_name;
  if (view.log) view.log(LogLevel::kInfo, format_text("{} by {}", what, name.empty() ? call.caller.address : name));
}

struct Sending {
  backup::Outgoing box;
  std::shared_ptr<void> slot;
  SteadyTime deadline = SteadyClock::now() + kLongestAnswer;
};

Result<bool> send_next(Sending& sending, std::string& piece) {
  if (SteadyClock::now() > sending.deadline) return fail(ErrorCode::kUnavailable, "the reader is too slow");
  return sending.box.next(piece);
}

Json to_json(const backup::Arrived& arrived) {
  Json left_out = Json::array();
  for (const auto& [key, why] : arrived.left_out) left_out.push_back(key);
  return {{"made_at", arrived.made_at},
          {"version", arrived.version},
          {"visits", arrived.visits},
          {"pictures", arrived.pictures},
          {"models", arrived.models},
          {"settings", arrived.settings},
          {"settings_left_out", std::move(left_out)},
          {"waits_for_restart", true}};
}

Result<backup::Arrived> take_in(const BackupView& view, const Call& call) {
  backup::Incoming incoming = KINGLET_TRY(backup::Incoming::begin(view.desk.places, backup::Carry::kShared));
  KINGLET_TRY(call.read_body([&](std::string_view bytes) { return incoming.take(bytes); }));
  backup::Arrived arrived = KINGLET_TRY(incoming.finish(view.desk.judge_settings, view.desk.called_off));
  KINGLET_TRY(incoming.commit());
  return arrived;
}

}  // namespace

Reply get_backup(const BackupView& view, const Call& call) {
  if (view.desk.places.state.empty()) return nothing_kept();
  std::shared_ptr<void> slot = view.long_answers.take(SlotKind::kPictures, call.caller.limit_key);
  if (!slot) return problem("too-many-streams", "other long answers are in work");
  const SteadyTime deadline = SteadyClock::now() + kLongestCopy;
  const auto stop = [&] { return view.desk.called_off() || SteadyClock::now() > deadline; };
  Result<backup::Outgoing> box =
      backup::Outgoing::begin(view.desk.places, backup::Carry::kShared, std::chrono::system_clock::now(), stop);
  if (!box) return refused(box.error());
  if (call.method != "HEAD") tell(view, call, "backup wished");
  auto sending = std::make_shared<Sending>(std::move(*box), std::move(slot));
  return Reply{.content_type = "application/x-tar",
               .headers = {{"Cache-Control", "no-store"},
                           {"Content-Disposition", "attachment; filename=\"kinglet-backup.tar\""}},
               .more = [sending](std::string& piece) { return send_next(*sending, piece); }};
}

Reply get_restore(const BackupView& view, const Call& /*call*/) {
  const std::optional<backup::Arrived> waiting = backup::waiting(view.desk.places.state);
  return waiting ? json_reply(to_json(*waiting).dump(), "no-store") : Reply{.status = 204};
}

Reply delete_restore(const BackupView& view, const Call& call) {
  const Result<bool> called_off = backup::call_off(view.desk.places.state);
  if (!called_off) return refused(called_off.error());
  if (!*called_off) return problem("not-found", "no backup waits for a restart");
  tell(view, call, "the backup that waited for a restart was called off");
  return Reply{.status = 204};
}

Reply post_restore(const BackupView& view, const Call& call) {
  if (view.desk.places.state.empty()) return nothing_kept();
  if (!call.read_body) return problem("bad-backup", "there is no body", "send the file of a backup");
  const Result<backup::Arrived> arrived = take_in(view, call);
  if (!arrived) return refused(arrived.error());
  for (const auto& [key, why] : arrived->left_out) {
    if (view.log) view.log(LogLevel::kWarning, format_text("a setting of the backup is left out: {}: {}", key, why));
  }
  tell(view, call, format_text("a backup of {} with {} visits waits for a restart", arrived->made_at, arrived->visits));
  Reply reply = json_reply(to_json(*arrived).dump(), "no-store");
  reply.status = 202;
  return reply;
}

}  // namespace kinglet::daemon::http
