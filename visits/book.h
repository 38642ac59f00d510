// SPDX-License-Identifier: Apache-2.0
// Why: how the visits that happened are asked for, whoever keeps them: the memory of this process or the store.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "visits/visit.h"

namespace kinglet::visits {

// All conditions hold together. Order is by seq, never by time.
struct VisitQuery {
  std::size_t limit = 50;
  bool descending = true;                  // newest first
  std::optional<std::uint64_t> after_seq;  // go on behind this one, in the order asked for
  std::optional<WallTime> since;           // started_at, half-open [since, until)
  std::optional<WallTime> until;
  std::vector<std::string> species;  // any of these species_id, as shown (the reviewer's word first); empty: all
  double min_score = 0;
  std::optional<Verdict> review;
  std::string source;                // empty: all
  std::vector<std::string> but_for;  // none of these sources
  bool ended = false;                // only those that have
};

// A visit among the others of its local day.
struct BookedVisit {
  Visit visit;
  std::uint32_t count_today = 0;  // visits of this species on its day, up to and with this one
  bool first_today = false;
  bool first_ever = false;
  std::uint64_t change = 0;  // another number: something of this visit has changed
  bool has_crop = false;     // pictures that can be had
  bool has_frame = false;
  bool has_clip = false;
};

struct VisitPage {
  std::vector<BookedVisit> items;
  bool has_more = false;
};

// Both may be called from any thread.
struct VisitBook {
  std::function<Result<VisitPage>(const VisitQuery& query)> list;
  std::function<Result<std::optional<BookedVisit>>(std::string_view id)> find;
};

}  // namespace kinglet::visits
