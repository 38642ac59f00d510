// SPDX-License-Identifier: Apache-2.0
// Why: what a visit is: one bird's stay at the feeder, as the tracker makes it, the store keeps it and the API shows
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/area.h"
#include "engine/base/clock.h"

namespace kinglet::visits {

// A class as people know it; species_id is the scientific name in lower case with hyphens, or the label's own slug.
struct NamedScore {
  std::string species_id;
  std::string label;
  std::string scientific_name;  // empty for a label without one
  std::string common_name;
  std::uint32_t index = 0;  // of the class
  float score = 0;          // 0 to 1

  bool operator==(const NamedScore&) const = default;
};

// What the model said of the whole stay. Never changed by a review.
struct ModelResult {
  std::string species_id;
  float score = 0;                    // mean over the frames that agree, 0 to 1
  std::uint32_t frames_seen = 0;      // predictions while the visit was open
  std::uint32_t frames_agreeing = 0;  // of these, accepted with this species
  std::vector<NamedScore> top;        // of the best frame, best first
  std::string model_name;
  std::string model_digest;  // "sha256:..."

  bool operator==(const ModelResult&) const = default;
};

// What a person said. Nothing automatic ever changes it.
enum class Verdict : std::uint8_t { kNone, kConfirmed, kCorrected, kNotABird, kUnknown };

struct Review {
  Verdict verdict = Verdict::kNone;
  std::string species_id;  // kCorrected only
  std::string name;        // as a person typed it; empty: nobody has to be told what species_id is called
  std::string note;
  std::optional<WallTime> reviewed_at;
  std::string reviewed_by;  // the token's name

  bool operator==(const Review&) const = default;
};

// The model's word on one frame, as it was given out.
struct KeptPrediction {
  std::string id;  // "prd_" and a ULID
  // JSON of the API, made by who keeps or asks for it, on any thread; none: not known.
  std::function<std::string()> answer;

  bool operator==(const KeptPrediction& other) const { return id == other.id; }
};

enum class VisitState : std::uint8_t { kOpen, kEnded };

struct Visit {
  std::string id;         // "vis_" and a ULID
  std::uint64_t seq = 0;  // rises with each visit of this device, never reused: the order of visits
  VisitState state = VisitState::kOpen;
  std::string source;  // name of the camera
  WallTime started_at{};
  SteadyClock::duration duration{};  // measured without the wall clock, which may be set meanwhile
  bool clock_synced = false;         // the wall clock was set when it began
  ModelResult model_result;
  Review review;
  bool first_of_season = false;  // as long as it lasts and when its end is told; the history does not keep it
  bool unusual = false;          // not on the list of the region and season, or first of the season: worth a look
  std::string best_prediction;   // "prd_" and a ULID
  CropRect best_crop;            // where in the frame the model looked
  std::optional<Area> best_box;  // where in its best picture it was, in shares of it; nothing: not known
  std::uint32_t count = 1;       // the most of this species that were seen at once
  // Of the frames that began it, oldest first, and of the best one. Read from the history by their ids, not with it.
  std::vector<KeptPrediction> predictions;

  bool operator==(const Visit&) const = default;

  // What to show: the reviewer's word if there is one, else the model's.
  [[nodiscard]] const std::string& species_id() const {
    return review.verdict == Verdict::kCorrected ? review.species_id : model_result.species_id;
  }
};

}  // namespace kinglet::visits
