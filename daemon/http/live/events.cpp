// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/events: server-sent events (WHATWG HTML, section 9.2), for pages and programs that wait.
#include "daemon/http/figures/slots.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/routes.h"
#include "daemon/tell/event_bus.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon::http {
namespace {

// The server looks between two turns whether the reader is still there.
constexpr std::chrono::milliseconds kTurn{250};
constexpr std::chrono::seconds kSignOfLife{15};

struct Listening {
  EventBus& bus;
  std::shared_ptr<EventBus::Reader> reader;
  std::shared_ptr<void> slot;
  SteadyTime last_sign = SteadyClock::now();
  bool begun = false;
};

Result<bool> listen(Listening& listening, std::string& piece) {
  if (!std::exchange(listening.begun, true)) piece = "retry: 3000\n\n";
  piece += KINGLET_TRY(listening.bus.take(*listening.reader, piece.empty() ? kTurn : std::chrono::milliseconds(0)));
  const SteadyTime now = SteadyClock::now();
  if (piece.empty() && now - listening.last_sign > kSignOfLife) piece = ":\n\n";
  if (!piece.empty()) listening.last_sign = now;
  return true;
}

}  // namespace

Reply get_events(const EventsView& view, const Call& call) {
  EventSet types = default_events();
  if (const auto names = call.query_value("types")) {
    std::string wrong;
    const std::optional<EventSet> wished = event_set(*names, wrong);
    if (!wished) {
      std::string known;
      for (const std::string_view name : event_names()) known += format_text("{}{}", known.empty() ? "" : ", ", name);
      return problem("bad-parameter", format_text("types: there is no event \"{}\"", printable(wrong, 100)),
                     "known: " + known);
    }
    types = *wished;
  }
  std::optional<std::string_view> last_id = call.query_value("last_event_id");
  if (!call.last_event_id.empty()) last_id = call.last_event_id;
  std::shared_ptr<void> slot = view.long_answers.take(SlotKind::kEvents, call.caller.limit_key);
  if (!slot) return problem("too-many-streams", "all places for readers of events are taken");
  EventBus& bus = view.bus;
  auto listening = std::make_shared<Listening>(bus, bus.subscribe(types, last_id), std::move(slot));
  return Reply{.content_type = "text/event-stream",
               .headers = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}},
               .more = [listening](std::string& piece) { return listen(*listening, piece); }};
}

}  // namespace kinglet::daemon::http
