// SPDX-License-Identifier: Apache-2.0
// Why: a visit while it lasts: what speaks for each of its names, and how it is told.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/base/area.h"
#include "engine/base/clock.h"
#include "visits/decide.h"
#include "visits/ids.h"
#include "visits/visit.h"

namespace kinglet::visits {

// One look at a thing that is followed from frame to frame (a track).
struct Sighting {
  SteadyTime at{};  // of the exposure; one before its predecessor counts as at the same time
  WallTime wall{};
  bool clock_synced = false;
  Ulid track;
  // What is followed moves as one thing. Not so a place, such as the whole picture: who is there changes.
  bool one_thing = false;
  const Answer& answer;  // to all looks of the track
  const Answer& look;    // to this one by itself
  Ulid prediction;
  CropRect crop;
  Area box;
};

// What a look said by itself.
struct Look {
  std::uint32_t taxon = kNoTaxon;  // kNoTaxon: nobody there
  float score = 0;
  SteadyTime at{};
  WallTime wall{};
  bool clock_synced = false;
  std::uint64_t frame = 0;
  Ulid prediction;
};

struct OpenVisit {
  // What speaks for one name.
  struct Name {
    std::uint32_t taxon = kNoTaxon;
    std::uint32_t frames = 0;
    std::uint64_t newest_frame = 0;
    double score_sum = 0;  // of the answers to all looks
    bool unusual = false;
    float best_score = -1;
    Ulid best_prediction;
    CropRect best_crop;
    Area best_box;
    Answer best_answer;

    // Is it the best look at this bird so far? Several looks of one frame are one frame.
    bool add(const Sighting& sighting, std::uint64_t frame);
    void set_best(const Sighting& sighting);
  };

  Ulid id;
  std::uint64_t seq = 0;
  SteadyTime started_at{};
  SteadyTime last_at{};
  SteadyTime kept_at{};  // a track that named it was still followed
  WallTime started_wall{};
  bool clock_synced = false;
  bool first_of_season = false;
  std::uint32_t count = 1;
  std::vector<Ulid> begun_by;     // oldest first
  std::array<Name, 4> names;      // [0]: what the visit is called
  std::uint64_t first_frame = 0;  // the first that agreed
  std::uint64_t last_frame = 0;   // the newest
  SteadyTime told_at{};
  bool changed = false;

  [[nodiscard]] std::uint32_t taxon() const { return names[0].taxon; }
  // The weakest of the other names gives way to a new one.
  [[nodiscard]] Name& name_of(std::uint32_t taxon);
};

[[nodiscard]] NamedScore named(const Scored& scored, const Taxa& taxa);

// As the API has it, but for camera and model.
[[nodiscard]] Visit describe(const OpenVisit& open, VisitState state, const Taxa& taxa);

}  // namespace kinglet::visits
