// SPDX-License-Identifier: Apache-2.0
// Why: the newest visits in memory, so that they can be asked for where nothing is stored.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "engine/base/mutex.h"
#include "visits/book.h"

namespace kinglet::daemon {

// Thread-safe.
class VisitLog {
 public:
  explicit VisitLog(std::size_t limit = 1024) : limit_(limit) {}

  // A new visit, or what is newly known of one. Visits come in the order of their seq.
  void put(const visits::Visit& visit);

  [[nodiscard]] visits::VisitPage list(const visits::VisitQuery& query) const;
  [[nodiscard]] std::optional<visits::BookedVisit> find(std::string_view id) const;
  // The same as an interface; the log outlives it.
  [[nodiscard]] visits::VisitBook book() const;

 private:
  struct Entry {
    visits::Visit visit;
    std::int64_t day = 0;  // local, counted from some day
  };
  [[nodiscard]] visits::BookedVisit booked(const Entry& entry) const KINGLET_REQUIRES(mutex_);

  const std::size_t limit_;
  mutable Mutex mutex_;
  std::deque<Entry> entries_ KINGLET_GUARDED_BY(mutex_);                                    // by seq
  std::map<std::string, std::uint64_t, std::less<>> first_seq_ KINGLET_GUARDED_BY(mutex_);  // of each species
};

}  // namespace kinglet::daemon
