// SPDX-License-Identifier: Apache-2.0
#include "daemon/visit_log.h"

#include <algorithm>
#include <ctime>

namespace kinglet::daemon {
namespace {

using visits::BookedVisit;
using visits::Visit;
using visits::VisitPage;
using visits::VisitQuery;

std::int64_t local_day(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm local{};
  if (localtime_r(&seconds, &local) == nullptr) return 0;
  return std::int64_t{local.tm_year} * 366 + local.tm_yday;
}

bool matches(const Visit& visit, const VisitQuery& query) {
  if (query.since && visit.started_at < *query.since) return false;
  if (query.until && visit.started_at >= *query.until) return false;
  if (!query.species.empty() && !std::ranges::contains(query.species, visit.species_id())) return false;
  if (static_cast<double>(visit.model_result.score) < query.min_score) return false;
  if (query.review && visit.review.verdict != *query.review) return false;
  return query.source.empty() || visit.source == query.source;
}

}  // namespace

void VisitLog::put(const Visit& visit) {
  const std::int64_t day = local_day(visit.started_at);
  MutexLock lock(mutex_);
  const auto place =
      std::ranges::lower_bound(entries_, visit.seq, {}, [](const Entry& entry) { return entry.visit.seq; });
  if (place != entries_.end() && place->visit.seq == visit.seq) {
    const auto first = first_seq_.find(place->visit.species_id());
    if (first != first_seq_.end() && first->second == visit.seq) first_seq_.erase(first);
    *place = {visit, day};
  } else {
    entries_.insert(place, {visit, day});
    if (entries_.size() > limit_) entries_.pop_front();
  }
  first_seq_.try_emplace(visit.species_id(), visit.seq);
}

VisitPage VisitLog::list(const VisitQuery& query) const {
  VisitPage page;
  MutexLock lock(mutex_);
  const auto take = [&](const Entry& entry) {
    if (query.after_seq &&
        (query.descending ? entry.visit.seq >= *query.after_seq : entry.visit.seq <= *query.after_seq)) {
      return true;
    }
    if (!matches(entry.visit, query)) return true;
    page.has_more = page.items.size() == query.limit;
    if (!page.has_more) page.items.push_back(booked(entry));
    return !page.has_more;
  };
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!take(query.descending ? entries_[entries_.size() - 1 - i] : entries_[i])) break;
  }
  return page;
}

std::optional<BookedVisit> VisitLog::find(std::string_view id) const {
  MutexLock lock(mutex_);
  const auto found =
      std::ranges::find(entries_, id, [](const Entry& entry) -> std::string_view { return entry.visit.id; });
  if (found == entries_.end()) return std::nullopt;
  return booked(*found);
}

visits::VisitBook VisitLog::book() const {
  return {.list = [this](const VisitQuery& query) -> Result<VisitPage> { return list(query); },
          .find = [this](std::string_view id) -> Result<std::optional<BookedVisit>> { return find(id); }};
}

BookedVisit VisitLog::booked(const Entry& entry) const {
  const Visit& visit = entry.visit;
  BookedVisit booked{.visit = visit};
  for (const Entry& other : entries_) {
    if (other.visit.seq > visit.seq) break;
    if (other.day == entry.day && other.visit.species_id() == visit.species_id()) ++booked.count_today;
  }
  booked.first_today = booked.count_today == 1;
  const auto first = first_seq_.find(visit.species_id());
  booked.first_ever = first != first_seq_.end() && first->second == visit.seq;
  return booked;
}

}  // namespace kinglet::daemon
