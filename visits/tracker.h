// SPDX-License-Identifier: Apache-2.0
// Why: what is said of the things that are followed through the frames of one camera becomes visits, several at once.
// Time comes in as values; nothing here sleeps, knows a thread or a disk. Between two events nothing is allocated.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/area.h"
#include "engine/base/clock.h"
#include "visits/decide.h"
#include "visits/ids.h"
#include "visits/open_visit.h"
#include "visits/visit.h"

namespace kinglet::visits {

// When each species was last here, so that the first of a season stands out. Filled from the history at the start.
// Nothing: it was here while the clock was not set.
using LastSeen = std::map<std::string, std::optional<WallTime>, std::less<>>;  // by species_id

struct TrackerOptions {
  SteadyClock::duration end_after = std::chrono::seconds(15);  // without an agreeing look
  SteadyClock::duration new_after = std::chrono::days(90);     // away so long: the first of a season
  std::string source = "camera";
  std::string model_name;
  std::string model_digest;
  std::function<std::uint64_t()> next_seq;  // a number for a new visit; empty: 1, 2 and so on
  std::function<bool()> knows_birds;        // is a bird that was not here before a new one? Empty: all are, so none is
  std::shared_ptr<LastSeen> last_seen = std::make_shared<LastSeen>();  // one for the cameras of one history
};

enum class VisitEvent : std::uint8_t { kStart, kUpdate, kEnd };
[[nodiscard]] std::string_view to_string(VisitEvent event);  // "visit.start"

// Called from within update(), tick() and finish(). kUpdate comes at most once a second for a visit.
using VisitSink = std::function<void(VisitEvent event, const Visit& visit)>;

// What became of a sighting.
struct Tracked {
  std::optional<Ulid> visit;  // agrees with this open visit
  bool best = false;          // the best look so far: its picture is worth keeping
};

// A visit begins with the first accepted answer to all looks at a track that the newest look agrees with; it began with
// the first of the track's newest looks that say the same. Looks that name it prolong it, and it ends with the last of
// them, told when nobody has named it for `end_after` and no track that did is followed any more. A species is one
// visit, however many tracks are named so: count says how many at once. Another name of the same track is a better name
// for its visit as soon as more looks say it, but another bird's, with a visit of its own, where the first was sure
// before or where the track is a place and no thing. A genus and its species agree, and the species is the better name.
// Thread-bound. Durations are steady time; the wall clock may jump without changing order, number or length of visits.
class VisitTracker {
 public:
  static constexpr std::size_t kMostOpen = 8;

  VisitTracker(TrackerOptions options, std::shared_ptr<const Taxa> taxa, IdMaker& ids, VisitSink sink);

  // Other times from the next frame on. Open visits go on under them.
  void retune(const TrackerOptions& tuning);
  // Another model answers from the next frame on: open visits end; numbers and what was here before go on.
  void change_model(std::shared_ptr<const Taxa> taxa, std::string name, std::string digest);

  // Another source's frames come from now on, whose visits bear its name: open ones end.
  void change_source(std::string name);
  [[nodiscard]] const std::string& source() const { return options_.source; }

  // A look at one track; those of one frame have one prediction.
  Tracked update(const Sighting& sighting);
  // Ends open visits whose time is over. The result does not depend on how often this is called.
  void tick(SteadyTime now);
  // Ends the open visits: no more frames will come.
  void finish();
  [[nodiscard]] bool visit_is_open() const;
  [[nodiscard]] bool is_open(const Ulid& visit) const;

 private:
  static constexpr std::size_t kLanes = 16;

  // A track's newest looks, and the open visit that it has named.
  struct Lane {
    Ulid track;
    std::array<Look, 16> looks;  // a ring
    std::size_t newest = 0;
    std::size_t count = 0;
    std::optional<Ulid> visit;
    SteadyTime agreed_at{};    // with that visit
    std::uint32_t agreed = 0;  // looks
    SteadyTime at = SteadyTime::min();
    Area box;

    [[nodiscard]] const Look& look(std::size_t age) const {
      return looks[(newest + looks.size() - age) % looks.size()];
    }
    void add(const Look& look);
  };

  [[nodiscard]] Lane& lane_of(const Sighting& sighting);
  [[nodiscard]] bool related(std::uint32_t a, std::uint32_t b) const;
  [[nodiscard]] bool speaks_for(const Look& look, std::uint32_t taxon) const;
  [[nodiscard]] OpenVisit* find(const std::optional<Ulid>& id);
  [[nodiscard]] OpenVisit* find_related(std::uint32_t taxon);
  Tracked name(Lane& lane, const Sighting& sighting);
  Tracked agree(Lane& lane, OpenVisit& visit, const Sighting& sighting);
  Tracked reconsider(Lane& lane, OpenVisit& visit, const Sighting& sighting);
  Tracked begin(Lane& lane, const Sighting& sighting);
  Tracked rename(Lane& lane, OpenVisit& visit, const Sighting& sighting);
  [[nodiscard]] std::uint32_t count_at_once(const Ulid& visit) const;
  [[nodiscard]] bool is_of_others(const Lane& lane) const;
  [[nodiscard]] std::size_t oldest_agreeing(const Lane& lane, std::uint32_t taxon) const;
  void count_ring(const Lane& lane, const Sighting& sighting, OpenVisit::Name& name) const;
  [[nodiscard]] std::uint32_t fresh_looks(const Lane& lane, std::uint32_t taxon) const;
  void set_clock(OpenVisit& visit, const Sighting& sighting) const;
  [[nodiscard]] bool is_first_of_season(const OpenVisit& visit) const;
  void end(std::optional<OpenVisit>& visit);
  void tell(VisitEvent event, OpenVisit& visit);

  TrackerOptions options_;
  std::shared_ptr<const Taxa> taxa_;
  IdMaker& ids_;
  VisitSink sink_;

  std::array<Lane, kLanes> lanes_;
  std::array<std::optional<OpenVisit>, kMostOpen> open_;
  std::uint64_t frame_ = 0;  // number of the newest
  Ulid newest_prediction_;
  SteadyTime last_at_ = SteadyTime::min();
  std::uint64_t newest_seq_ = 0;
};

}  // namespace kinglet::visits
