// SPDX-License-Identifier: Apache-2.0
#include "daemon/tell/event_bus.h"

#include <algorithm>
#include <array>
#include <utility>

#include "daemon/tell/visit_json.h"
#include "engine/base/clock.h"
#include "engine/base/format.h"
#include "engine/base/numbers.h"

namespace kinglet::daemon {
namespace {

enum class Kind : std::uint8_t { kKept, kPassing };

struct Row {
  std::string_view name;
  Kind kind;
};

constexpr std::array<Row, kEventTypes> kRows{{
#define KINGLET_EVENT(id, name, kind) Row{name, Kind::kind},
#include "daemon/tell/events.def"
#undef KINGLET_EVENT
}};

constexpr std::string_view kEnd = "}\n\n";  // of an event over the wire
constexpr std::size_t kMostBytesAtOnce = 64U << 10;

const Row& row_of(EventType type) { return kRows.at(static_cast<std::size_t>(type)); }

// What every event's data begins with; the value of `member` follows.
std::string first_members(std::uint64_t seq, WallTime at, std::string_view member) {
  return format_text("\"seq\":{},\"at\":\"{}\",\"{}\":", seq, to_rfc3339(at), member);
}

bool stands_for(std::string_view word, std::string_view name) {
  return word == name || word == name.substr(0, name.find('.'));
}

}  // namespace

std::string_view to_string(EventType type) { return row_of(type).name; }

std::vector<std::string_view> event_names() {
  std::vector<std::string_view> names;
  names.reserve(kRows.size());
  for (const Row& row : kRows) names.push_back(row.name);
  return names;
}

EventSet default_events() {
  EventSet set;
  for (std::size_t i = 0; i < kRows.size(); ++i) set[i] = kRows[i].kind == Kind::kKept;
  return set;
}

EventSet set_of(std::initializer_list<EventType> types) {
  EventSet set;
  for (const EventType type : types) set[static_cast<std::size_t>(type)] = true;
  return set;
}

std::optional<EventSet> event_set(std::string_view names, std::string& wrong) {
  EventSet set = set_of({EventType::kResync, EventType::kGap});
  for (bool more = true; more;) {
    const std::size_t comma = names.find(',');
    const std::string_view word = names.substr(0, comma);
    more = comma != std::string_view::npos;
    names.remove_prefix(more ? comma + 1 : names.size());
    bool known = false;
    for (std::size_t i = 0; i < kRows.size(); ++i) {
      if (!stands_for(word, kRows[i].name)) continue;
      set[i] = true;
      known = true;
    }
    if (!known) {
      wrong = word;
      return std::nullopt;
    }
  }
  return set;
}

EventBus::EventBus(std::string boot_tag, EventLimits limits, std::function<void()> listened_to,
                   std::function<WallTime()> wall)
    : boot_tag_(std::move(boot_tag)), limits_(limits), listened_to_(std::move(listened_to)), wall_(std::move(wall)) {}

std::size_t EventBus::Event::size() const { return head.size() + told.json.size() + kEnd.size(); }

EventBus::Event EventBus::make(std::uint64_t seq, EventType type, std::string_view member,
                               std::string_view json) const {
  const WallTime at = wall_();
  return {.head = format_text("id: {}-{}\nevent: {}\ndata: {{{}", boot_tag_, seq, to_string(type),
                              first_members(seq, at, member)),
          .told = {.type = type, .seq = seq, .at = at, .member = std::string(member), .json = std::string(json)}};
}

EventBus::EventText EventBus::make_gap(std::uint64_t seq, std::uint64_t missed) const {
  Event gap = make(seq, EventType::kGap, "missed", std::to_string(missed));
  gap.told.missed = missed;
  return std::make_shared<const Event>(std::move(gap));
}

void EventBus::publish(EventType type, visits::BookedVisit visit) {
  const auto booked = std::make_shared<const visits::BookedVisit>(std::move(visit));
  const bool is_gone = type == EventType::kVisitDeleted;
  publish(type, "visit", (is_gone ? nlohmann::ordered_json{{"id", booked->visit.id}} : visit_json(*booked)).dump(),
          booked);
}

void EventBus::publish(EventType type, std::string_view member, std::string_view json) {
  publish(type, member, json, nullptr);
}

void EventBus::publish(EventType type, std::string_view member, std::string_view json,
                       std::shared_ptr<const visits::BookedVisit> visit) {
  {
    MutexLock lock(mutex_);
    Event event = make(++seq_, type, member, json);
    event.told.visit = std::move(visit);
    hand_out(std::make_shared<const Event>(std::move(event)), set_of({type}));
  }
  changed_.notify_all();
}

void EventBus::publish_gap(EventSet of, std::uint64_t missed) {
  {
    MutexLock lock(mutex_);
    hand_out(make_gap(++seq_, missed), of);
  }
  changed_.notify_all();
}

void EventBus::hand_out(const EventText& event, EventSet to) {
  if (row_of(event->told.type).kind == Kind::kKept) {
    kept_.push_back(event);
    if (kept_.size() > limits_.kept) {
      forgotten_ = kept_.front()->told.seq;
      kept_.pop_front();
    }
  }
  std::erase_if(readers_, [](const std::weak_ptr<Reader>& reader) { return reader.expired(); });
  for (const std::weak_ptr<Reader>& weak : readers_) {
    const std::shared_ptr<Reader> reader = weak.lock();
    if (!reader || (reader->types_ & to).none()) continue;
    reader->waiting_.push_back(event);
    reader->bytes_ += event->size();
    while (reader->waiting_.size() > limits_.waiting || reader->bytes_ > limits_.waiting_bytes) {
      leave_out_oldest(*reader);
    }
  }
}

void EventBus::leave_out_oldest(Reader& reader) const {
  const EventText& oldest = reader.waiting_.front();
  reader.left_out_ += std::max<std::uint64_t>(oldest->told.missed, 1);
  reader.last_left_out_ = oldest->told.seq;
  reader.bytes_ -= oldest->size();
  reader.waiting_.pop_front();
}

bool EventBus::wanted(EventType type) const {
  MutexLock lock(mutex_);
  return std::ranges::any_of(readers_, [&](const std::weak_ptr<Reader>& weak) {
    const std::shared_ptr<Reader> reader = weak.lock();
    return reader && reader->types_[static_cast<std::size_t>(type)];
  });
}

std::optional<std::uint64_t> EventBus::known(std::string_view id) const {
  const std::size_t dash = id.find('-');
  if (dash == std::string_view::npos || id.substr(0, dash) != boot_tag_) return std::nullopt;
  const auto seq = parse_number<std::uint64_t>(id.substr(dash + 1));
  if (!seq || *seq > seq_ || *seq < forgotten_) return std::nullopt;
  return seq;
}

std::shared_ptr<EventBus::Reader> EventBus::subscribe(EventSet types, std::optional<std::string_view> last_id) {
  auto reader = std::make_shared<Reader>();
  reader->types_ = types;
  {
    MutexLock lock(mutex_);
    if (last_id) bring_back(*reader, *last_id);
    readers_.push_back(reader);
  }
  if (listened_to_) listened_to_();
  return reader;
}

void EventBus::bring_back(Reader& reader, std::string_view last_id) const {
  const std::optional<std::uint64_t> seq = known(last_id);
  if (!seq) {
    reader.missed_.push_back(std::make_shared<const Event>(
        make(seq_, EventType::kResync, "reason", "\"what was missed is not known any more\"")));
    return;
  }
  for (const EventText& event : kept_) {
    if (event->told.seq > *seq && reader.types_[static_cast<std::size_t>(event->told.type)])
      reader.missed_.push_back(event);
  }
}

void EventBus::wait_for(Reader& reader, std::chrono::milliseconds patience) {
  const SteadyTime deadline = SteadyClock::now() + patience;
  while (reader.missed_.empty() && reader.waiting_.empty() && reader.left_out_ == 0) {
    if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) break;
  }
}

// A gap bears the seq of the last one left out: who comes back with it as the last id misses nothing more.
EventBus::EventText EventBus::next(Reader& reader) const {
  EventText event;
  if (!reader.missed_.empty()) {
    event = std::move(reader.missed_.front());
    reader.missed_.pop_front();
  } else if (reader.left_out_ > 0) {
    event = make_gap(reader.last_left_out_, std::exchange(reader.left_out_, 0));
  } else if (!reader.waiting_.empty()) {
    event = std::move(reader.waiting_.front());
    reader.waiting_.pop_front();
    reader.bytes_ -= event->size();
  }
  return event;
}

std::optional<EventBus::Told> EventBus::take_one(Reader& reader, std::chrono::milliseconds patience) {
  MutexLock lock(mutex_);
  wait_for(reader, patience);
  const EventText event = next(reader);
  if (!event) return std::nullopt;
  return event->told;
}

std::string data_with_type(const EventBus::Told& told) {
  return format_text("{{\"type\":\"{}\",{}{}}}", to_string(told.type), first_members(told.seq, told.at, told.member),
                     told.json);
}

bool EventBus::something_waits() const {
  return std::ranges::any_of(readers_, [](const std::weak_ptr<Reader>& weak) {
    const std::shared_ptr<Reader> reader = weak.lock();
    return reader && !(reader->missed_.empty() && reader->waiting_.empty() && reader->left_out_ == 0);
  });
}

bool EventBus::wait_until_taken(SteadyTime deadline) {
  constexpr std::chrono::milliseconds kTurn{5};
  MutexLock lock(mutex_);
  while (something_waits()) {
    const SteadyTime now = SteadyClock::now();
    if (now >= deadline) return false;
    changed_.wait_until(mutex_, now + kTurn);
  }
  return true;
}

Result<std::string> EventBus::take(Reader& reader, std::chrono::milliseconds patience) {
  MutexLock lock(mutex_);
  wait_for(reader, patience);
  if (reader.left_out_ > limits_.waiting) {
    return fail(ErrorCode::kBusy, format_text("a reader of events did not read {} of them", reader.left_out_));
  }
  std::string text;
  while (text.size() < kMostBytesAtOnce) {
    const EventText event = next(reader);
    if (!event) break;
    text += event->head;
    text += event->told.json;
    text += kEnd;
  }
  return text;
}

}  // namespace kinglet::daemon
