// SPDX-License-Identifier: Apache-2.0
// Why: consecutive agreeing answers of one camera become visits. Time comes in as values; nothing here sleeps, knows a
// thread or a disk. Between two events nothing is allocated.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/clock.h"
#include "visits/decide.h"
#include "visits/ids.h"
#include "visits/visit.h"

namespace kinglet::visits {

// When each species was last here, so that the first of a season stands out. Filled from the history at the start.
// Nothing: it was here while the clock was not set.
using LastSeen = std::map<std::string, std::optional<WallTime>, std::less<>>;  // by species_id

struct TrackerOptions {
  int consensus_frames = 3;      // agreeing frames that begin a visit,
  double consensus_ratio = 0.6;  // and their least share of the frames that count meanwhile
  SteadyClock::duration min_gap = std::chrono::milliseconds(250);  // between frames that count
  SteadyClock::duration end_after = std::chrono::seconds(15);      // without an agreeing frame
  SteadyClock::duration new_after = std::chrono::days(90);         // away so long: the first of a season
  std::string source = "camera";
  std::string model_name;
  std::string model_digest;
  std::uint64_t first_seq = 1;
  LastSeen last_seen;
};

enum class VisitEvent : std::uint8_t { kStart, kUpdate, kEnd };
[[nodiscard]] std::string_view to_string(VisitEvent event);  // "visit.start"

// Called from within update(), tick() and finish(). kUpdate comes at most once a second.
using VisitSink = std::function<void(VisitEvent event, const Visit& visit)>;

// One answered frame.
struct Sighting {
  SteadyTime at{};  // of the exposure; one before its predecessor counts as at the same time
  WallTime wall{};
  bool clock_synced = false;
  const Answer& answer;
  Ulid prediction;
  Crop crop;
};

// What became of it.
struct Tracked {
  std::optional<Ulid> visit;  // agrees with this open visit
  bool best = false;          // the best look so far: its picture is worth keeping
};

// A visit begins when `consensus_frames` of the newest consensus_frames / consensus_ratio frames that count name one
// bird: accepted answers vote, all others are abstentions. The visit began with the first of these frames. Frames that
// name it prolong it, and it ends with the last of them. Another bird that finds consensus takes its place when the
// first has not been named meanwhile; when both are named in turns it is one bird, called what more frames call it.
// A genus and its species agree; the species is named as soon as it has consensus itself.
// Thread-bound. Durations are steady time; the wall clock may jump without changing order, number or length of visits.
class VisitTracker {
 public:
  VisitTracker(TrackerOptions options, std::shared_ptr<const Taxa> taxa, IdMaker& ids, VisitSink sink);

  // Other rules from the next frame on: what `tuning` says of consensus and times. An open visit goes on under them;
  // the votes for a next one are counted anew.
  void retune(const TrackerOptions& tuning);
  // Another model answers from the next frame on: an open visit ends; numbers and what was here before go on.
  void change_model(std::shared_ptr<const Taxa> taxa, std::string name, std::string digest);

  // Another source's frames come from now on, whose visits bear its name: an open one ends.
  void change_source(std::string name);
  [[nodiscard]] const std::string& source() const { return options_.source; }

  Tracked update(const Sighting& sighting);
  // Ends the open visit when its time is over. The result does not depend on how often this is called.
  void tick(SteadyTime now);
  // Ends the open visit: no more frames will come.
  void finish();
  [[nodiscard]] bool visit_is_open() const { return open_.has_value(); }

 private:
  // A frame that counts, with those after it that do not count and say the same.
  struct Vote {
    std::uint32_t taxon = kNoTaxon;
    SteadyTime at{};
    WallTime wall{};
    bool clock_synced = false;
    std::uint64_t ordinal = 0;
    std::uint32_t frames = 0;
    double score_sum = 0;
    Ulid prediction;
  };
  // What speaks for one name of the open visit.
  struct Evidence {
    std::uint32_t taxon = kNoTaxon;
    std::uint32_t votes = 0;
    std::uint32_t frames = 0;
    double score_sum = 0;
    bool unusual = false;
    float best_score = -1;
    Ulid best_prediction;
    Crop best_crop;
    Answer best_answer;
  };
  struct Open {
    Ulid id;
    std::uint64_t seq = 0;
    SteadyTime started_at{};
    SteadyTime last_at{};
    WallTime started_wall{};
    bool clock_synced = false;
    bool first_of_season = false;
    std::vector<Ulid> begun_by;        // oldest first
    std::array<Evidence, 4> evidence;  // [0]: what the visit is called
    std::uint32_t frames_seen = 0;     // up to the last agreeing frame
    std::uint32_t frames_since = 0;    // after it
    SteadyTime told_at{};
    bool changed = false;
  };
  struct Consensus {
    std::uint32_t taxon = kNoTaxon;
    std::uint32_t votes = 0;
    std::size_t first = 0;  // place of the first agreeing vote
  };

  bool add_vote(const Sighting& sighting, SteadyTime at, std::uint32_t taxon);
  [[nodiscard]] std::optional<Consensus> find_consensus(std::uint32_t taxon, SteadyTime now) const;
  [[nodiscard]] Vote& vote(std::size_t age) { return votes_[(newest_ + votes_.size() - age) % votes_.size()]; }
  [[nodiscard]] const Vote& vote(std::size_t age) const {
    return votes_[(newest_ + votes_.size() - age) % votes_.size()];
  }
  void begin(const Consensus& consensus, const Sighting& sighting);
  Tracked follow(const Sighting& sighting, SteadyTime at, std::uint32_t taxon, bool counts);
  [[nodiscard]] std::optional<Tracked> reconsider(std::uint32_t taxon, const Sighting& sighting, SteadyTime at);
  void rename(Evidence& better, const Sighting& sighting);
  static void set_best(Evidence& evidence, const Sighting& sighting);
  static bool add(Evidence& evidence, const Sighting& sighting, bool counts);
  [[nodiscard]] Evidence& evidence_of(std::uint32_t taxon);
  [[nodiscard]] bool is_first_of_season(std::uint32_t taxon) const;
  void end();
  void tell(VisitEvent event);
  [[nodiscard]] NamedScore named(const Scored& scored) const;
  [[nodiscard]] Visit describe(VisitState state) const;

  TrackerOptions options_;
  std::shared_ptr<const Taxa> taxa_;
  IdMaker& ids_;
  VisitSink sink_;

  std::vector<Vote> votes_;  // a ring
  std::size_t newest_ = 0;
  std::size_t vote_count_ = 0;
  std::uint64_t ordinal_ = 0;
  SteadyTime last_at_ = SteadyTime::min();
  std::uint64_t next_seq_;
  std::optional<Open> open_;
};

}  // namespace kinglet::visits
