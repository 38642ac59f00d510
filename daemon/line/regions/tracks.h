// SPDX-License-Identifier: Apache-2.0
// Why: a bird is one bird from frame to frame, also while it sits still and nothing moves: what is followed, what all
// looks at it have said, and which of a frame's regions is whose.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "daemon/line/regions/regions.h"
#include "engine/base/area.h"
#include "engine/base/clock.h"
#include "visits/decide.h"
#include "visits/evidence.h"
#include "visits/ids.h"

namespace kinglet::daemon {

struct Track {
  explicit Track(std::size_t classes) : evidence(classes) {}

  visits::Ulid id;
  bool alive = false;
  Area box;
  ProposedBy by = ProposedBy::kWhole;
  SteadyTime begun{};
  SteadyTime looked_at{};
  SteadyTime moved_at{};  // a provider proposed it
  Area stays_at;          // its box when it was last seen to change its place
  SteadyTime stays_since{};
  SteadyTime somebody_at{};  // the newest look in which somebody was there
  bool somebody = false;     // say all looks together
  bool is_thing = false;     // it has not moved for longer than birds sit still: let it become background
  bool was_somebody = false;
  std::uint32_t looks = 0;
  visits::Evidence evidence;
  Opinions opinions;  // of a detector

  // For who asks why it was not named (daemon/answer/unnamed_tracks.h).
  bool named = false;  // a visit is of it
  WallTime begun_wall{};
  bool clock_synced = false;
  bool drawn = false;
  visits::Answer answer;  // to all looks
  struct Best {           // of the looks, as long as it is not named
    float score = -1;     // of the bird that the look itself sees; nobody: 0
    visits::Ulid prediction;
    CropRect crop;
    Area box;
  } best;
};

// Thread-bound, but for assign(). Allocates nothing once it is made.
class Tracks {
 public:
  static constexpr std::size_t kMost = 12;
  using Ended = std::function<void(const Track& track)>;

  // `classes`: scores of a look. `ended`, which may be empty, is told of each track that goes.
  Tracks(std::size_t classes, visits::IdMaker& ids, Ended ended);

  // Says of proposed regions whose they are and what they promise, and adds those of birds that sit still where nobody
  // proposed one. May run beside a look at the frame before: changes nothing.
  void assign(const Scene& scene, Proposals& proposals, SteadyTime now) const;
  // The track of a region that is looked at now; a new one where there is none, in place of the least one if need be.
  [[nodiscard]] Track& take(const Region& region, SteadyTime now, WallTime wall);
  // What all its looks, and the newest one alone, say.
  void note(Track& track, const visits::Answer& answer, const visits::Answer& look, SteadyTime now);
  // Tracks that nothing has been seen of for some time end.
  void tick(SteadyTime now);
  // All end: another scene, model or camera. `classes` of the looks to come.
  void clear(std::size_t classes);

  // Where birds are, as far as the newest looks say; not what has not moved for longer than birds sit still.
  [[nodiscard]] std::span<const Area> birds() const { return birds_; }
  // One that goes on; nullptr: there is none.
  [[nodiscard]] const Track* find(const visits::Ulid& id) const;

 private:
  [[nodiscard]] const Track* match(const Region& region) const;
  using Claimed = std::array<bool, kMost>;
  void split(Proposals& proposals) const;
  void claim(const Scene& scene, Proposals& proposals, Claimed& claimed, SteadyTime now) const;
  void add_sitting(const Scene& scene, Proposals& proposals, const Claimed& claimed, SteadyTime now) const;
  void end(Track& track);
  void list_birds();

  visits::IdMaker* ids_;
  Ended ended_;
  std::vector<Track> tracks_;  // kMost
  std::vector<Area> birds_;
};

}  // namespace kinglet::daemon
