// SPDX-License-Identifier: Apache-2.0
// Why: what happens goes to everybody who listens (server-sent events, MQTT, webhooks), made into text once; who was
// away a moment gets what was missed, who is slow is told how many were left out, and nobody is waited for.
#pragma once

#include <bitset>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/tell/clock.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/mutex.h"
#include "visits/book.h"

namespace kinglet::daemon {

enum class EventType : std::uint8_t {
#define KINGLET_EVENT(id, name, kind) id,
#include "daemon/tell/events.def"
#undef KINGLET_EVENT
};
#define KINGLET_EVENT(id, name, kind) +1
inline constexpr std::size_t kEventTypes = 0
#include "daemon/tell/events.def"
    ;
#undef KINGLET_EVENT
using EventSet = std::bitset<kEventTypes>;

[[nodiscard]] std::string_view to_string(EventType type);  // "visit.start"
// "visit,prediction": a name, or the part before its dot. Nothing: there is no such type; `wrong` says which.
[[nodiscard]] std::optional<EventSet> event_set(std::string_view names, std::string& wrong);
[[nodiscard]] EventSet default_events();
[[nodiscard]] EventSet set_of(std::initializer_list<EventType> types);
[[nodiscard]] std::vector<std::string_view> event_names();

struct EventLimits {
  std::size_t kept = 1024;
  std::size_t waiting = 256;  // of one reader
  std::size_t waiting_bytes = 1U << 20;
};

// Thread-safe.
class EventBus {
 public:
  // `boot_tag`, without "-", is another one for each process. `listened_to`, which may be empty, is called after
  // somebody began to listen; `wall` by whoever publishes: when something happened.
  explicit EventBus(std::string boot_tag, EventLimits limits = {}, std::function<void()> listened_to = {},
                    std::function<WallTime()> wall = Clock().wall);

  // About a visit; of one that was deleted only the id is told. data: {"seq":...,"at":"...","visit":{...}}.
  void publish(EventType type, visits::BookedVisit visit);
  // About anything else, which only server-sent events and webhooks pass on. data:
  // {"seq":...,"at":"...","MEMBER":JSON}.
  void publish(EventType type, std::string_view member, std::string_view json);
  // Tells those who listen to one of these types that so many of them never became events: "gap".
  void publish_gap(EventSet of, std::uint64_t missed);
  // Does anybody listen to this type?
  [[nodiscard]] bool wanted(EventType type) const;

  class Reader;
  // Listens until the last copy is gone. `last_id` is the id of the last event that this reader has had: what it missed
  // comes first, or "resync" when that is not known any more.
  [[nodiscard]] std::shared_ptr<Reader> subscribe(EventSet types, std::optional<std::string_view> last_id);
  // What has come for this reader, as it goes over the wire; empty when nothing comes within `patience`. When too much
  // waits the oldest are left out, and "gap" says how many. kBusy: as many again were left out since it last asked: it
  // does not read, and is to be sent away.
  [[nodiscard]] Result<std::string> take(Reader& reader, std::chrono::milliseconds patience);
  // The same one by one, for who sends them on in another form; never kBusy.
  struct Told {
    EventType type;
    std::uint64_t seq = 0;
    WallTime at{};
    std::string member = {};                                // what is told beside seq and time: its name,
    std::string json = {};                                  // and its value
    std::shared_ptr<const visits::BookedVisit> visit = {};  // of an event about one; nullptr: of another
    std::uint64_t missed = 0;                               // of a gap
  };
  [[nodiscard]] std::optional<Told> take_one(Reader& reader, std::chrono::milliseconds patience);
  // Waits until every reader has taken what has come for it. False: one has not, at the deadline.
  [[nodiscard]] bool wait_until_taken(SteadyTime deadline);

 private:
  struct Event {
    std::string head;  // as it goes over the wire, up to the value that is told
    Told told;
    [[nodiscard]] std::size_t size() const;  // over the wire
  };
  using EventText = std::shared_ptr<const Event>;
  // What this reader missed since then.
  void bring_back(Reader& reader, std::string_view last_id) const KINGLET_REQUIRES(mutex_);
  // Until something is there for this reader, or the patience ends.
  void wait_for(Reader& reader, std::chrono::milliseconds patience) KINGLET_REQUIRES(mutex_);
  [[nodiscard]] bool something_waits() const KINGLET_REQUIRES(mutex_);
  [[nodiscard]] Event make(std::uint64_t seq, EventType type, std::string_view member, std::string_view json) const;
  [[nodiscard]] EventText make_gap(std::uint64_t seq, std::uint64_t missed) const;
  // To the readers of one of these types, and among those that are kept.
  void hand_out(const EventText& event, EventSet to) KINGLET_REQUIRES(mutex_);
  void publish(EventType type, std::string_view member, std::string_view json,
               std::shared_ptr<const visits::BookedVisit> visit);
  void leave_out_oldest(Reader& reader) const KINGLET_REQUIRES(mutex_);
  // The next one for this reader; nullptr: none.
  [[nodiscard]] EventText next(Reader& reader) const KINGLET_REQUIRES(mutex_);
  // The seq of an id of ours from which all that is kept can follow.
  [[nodiscard]] std::optional<std::uint64_t> known(std::string_view id) const KINGLET_REQUIRES(mutex_);

  const std::string boot_tag_;
  const EventLimits limits_;
  const std::function<void()> listened_to_;
  const std::function<WallTime()> wall_;
  mutable Mutex mutex_;
  Condition changed_;
  std::uint64_t seq_ KINGLET_GUARDED_BY(mutex_) = 0;
  std::uint64_t forgotten_ KINGLET_GUARDED_BY(mutex_) = 0;  // seq of the newest one that is no longer kept
  std::deque<EventText> kept_ KINGLET_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<Reader>> readers_ KINGLET_GUARDED_BY(mutex_);
};

// The data of an event of the bus with its type as the first member.
[[nodiscard]] std::string data_with_type(const EventBus::Told& told);

// All of it is the bus's, under its mutex.
class EventBus::Reader {
 private:
  friend class EventBus;
  EventSet types_;
  std::deque<EventText> missed_;  // while it was away; these are not counted
  std::deque<EventText> waiting_;
  std::size_t bytes_ = 0;            // of waiting_
  std::uint64_t left_out_ = 0;       // since it was last told
  std::uint64_t last_left_out_ = 0;  // seq
};

}  // namespace kinglet::daemon
