// SPDX-License-Identifier: Apache-2.0
#include "daemon/event_bus.h"

#include <algorithm>
#include <array>
#include <utility>

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
#include "daemon/events.def"
#undef KINGLET_EVENT
}};

constexpr std::size_t kMostBytesAtOnce = 64U << 10;

const Row& row_of(EventType type) { return kRows.at(static_cast<std::size_t>(type)); }

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

std::optional<EventSet> event_set(std::string_view names, std::string& wrong) {
  EventSet set;
  set[static_cast<std::size_t>(EventType::kResync)] = true;
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

EventBus::EventBus(std::string boot_tag, EventLimits limits) : boot_tag_(std::move(boot_tag)), limits_(limits) {}

EventBus::EventText EventBus::make(EventType type, std::string_view member, std::string_view json) {
  const std::uint64_t seq = seq_;
  std::string text = format_text("id: {}-{}\nevent: {}\ndata: ", boot_tag_, seq, to_string(type));
  const std::size_t data_at = text.size();
  text += format_text("{{\"seq\":{},\"at\":\"{}\",\"{}\":{}}}\n\n", seq, to_rfc3339(std::chrono::system_clock::now()),
                      member, json);
  return std::make_shared<const Event>(Event{.seq = seq, .type = type, .text = std::move(text), .data_at = data_at});
}

void EventBus::publish(EventType type, std::string_view member, std::string_view json) {
  {
    MutexLock lock(mutex_);
    ++seq_;
    const EventText event = make(type, member, json);
    if (row_of(type).kind == Kind::kKept) {
      kept_.push_back(event);
      if (kept_.size() > limits_.kept) {
        forgotten_ = kept_.front()->seq;
        kept_.pop_front();
      }
    }
    std::erase_if(readers_, [](const std::weak_ptr<Reader>& reader) { return reader.expired(); });
    for (const std::weak_ptr<Reader>& weak : readers_) {
      const std::shared_ptr<Reader> reader = weak.lock();
      if (!reader || reader->left_behind_ || !reader->types_[static_cast<std::size_t>(type)]) continue;
      reader->waiting_.push_back(event);
      reader->bytes_ += event->text.size();
      if (reader->waiting_.size() <= limits_.waiting && reader->bytes_ <= limits_.waiting_bytes) continue;
      reader->left_behind_ = true;
      reader->waiting_.clear();
    }
  }
  changed_.notify_all();
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
  MutexLock lock(mutex_);
  if (last_id) {
    if (const std::optional<std::uint64_t> seq = known(*last_id)) {
      for (const EventText& event : kept_) {
        if (event->seq > *seq && types[static_cast<std::size_t>(event->type)]) reader->missed_.push_back(event);
      }
    } else {
      reader->missed_.push_back(make(EventType::kResync, "reason", "\"what was missed is not known any more\""));
    }
  }
  readers_.push_back(reader);
  return reader;
}

Result<void> EventBus::wait_for(Reader& reader, std::chrono::milliseconds patience) {
  const SteadyTime deadline = SteadyClock::now() + patience;
  while (reader.missed_.empty() && reader.waiting_.empty() && !reader.left_behind_) {
    if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) break;
  }
  if (reader.left_behind_) {
    return fail(ErrorCode::kBusy, format_text("a reader of events did not read {} of them", limits_.waiting));
  }
  return {};
}

Result<std::optional<EventBus::Told>> EventBus::take_one(Reader& reader, std::chrono::milliseconds patience) {
  MutexLock lock(mutex_);
  KINGLET_TRY(wait_for(reader, patience));
  const bool missed = !reader.missed_.empty();
  std::deque<EventText>& from = missed ? reader.missed_ : reader.waiting_;
  if (from.empty()) return std::nullopt;
  const EventText event = std::move(from.front());
  from.pop_front();
  if (!missed) reader.bytes_ -= event->text.size();
  return Told{.type = event->type, .data = event->text.substr(event->data_at, event->text.size() - event->data_at - 2)};
}

Result<std::string> EventBus::take(Reader& reader, std::chrono::milliseconds patience) {
  MutexLock lock(mutex_);
  KINGLET_TRY(wait_for(reader, patience));
  std::string text;
  while (!reader.missed_.empty() && text.size() < kMostBytesAtOnce) {
    text += reader.missed_.front()->text;
    reader.missed_.pop_front();
  }
  while (reader.missed_.empty() && !reader.waiting_.empty() && text.size() < kMostBytesAtOnce) {
    text += reader.waiting_.front()->text;
    reader.bytes_ -= reader.waiting_.front()->text.size();
    reader.waiting_.pop_front();
  }
  return text;
}

}  // namespace kinglet::daemon
