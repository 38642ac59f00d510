// SPDX-License-Identifier: Apache-2.0
// Why: a small bird is nothing in a whole frame and everything in its own square: which parts of a frame the model
// looks at, the most promising first, and how many of them. Not in here: what the model says of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "camera/frame/frame.h"
#include "camera/preprocess/preprocess.h"
#include "daemon/line/gate/motion.h"
#include "daemon/line/line_model.h"
#include "daemon/line/regions/findings.h"
#include "engine/base/area.h"
#include "visits/ids.h"

namespace kinglet::daemon {

class Tracks;

enum class ProposedBy : std::uint8_t {
#define KINGLET_REGIONS(id, name, function) id,
#include "daemon/line/regions/regions.def"
#undef KINGLET_REGIONS
};
[[nodiscard]] std::string_view to_string(ProposedBy by);
[[nodiscard]] std::optional<ProposedBy> proposed_by(std::string_view name);

enum class LeftOut : std::uint8_t { kLimit, kBudget };  // beyond RegionOptions::most, or beyond the time there is
inline constexpr std::size_t kLeftOutCount = 2;
using LeftOutCounts = std::array<std::uint32_t, kLeftOutCount>;
[[nodiscard]] std::string_view to_string(LeftOut reason);

inline constexpr std::size_t kMaxRegions = 8;

struct Region {
  Area box;                      // what moves or was asked for, in shares of the picture
  std::optional<CropRect> part;  // what is looked at, in pixels of the full frame; nothing: the whole, by the
                                 // recipe's resize rule
  ProposedBy by = ProposedBy::kWhole;
  std::optional<visits::Ulid> track;  // whose; nothing: not known before
  bool sits = false;                  // nothing moves there: its track asks for it
  std::optional<Opinion> opinion;     // of a detector; nothing: it was not asked
};

// At least one, the most promising first.
struct Regions {
  std::array<Region, kMaxRegions> items{};
  std::size_t count = 0;
  LeftOutCounts left_out{};

  [[nodiscard]] std::span<const Region> all() const { return std::span(items).first(count); }
};

struct RegionOptions {
  int most = 4;                       // a frame, 1 to kMaxRegions
  double budget = 0.8;                // share of the time between frames (regions/look_budget.h); 0: no bound
  std::optional<ProposedBy> propose;  // nothing: what the model's recipe says
  std::vector<Area> fixed;            // of kFixed
};

// The sides that squares around something have: few, so that tables made for each of them are kept.
class SquareSizes {
 public:
  static constexpr std::size_t kMost = 24;
  // For squares inside `width` x `height` pixels.
  SquareSizes(int width, int height);
  [[nodiscard]] std::span<const int> all() const { return std::span(sides_).first(count_); }
  // The smallest with room on each side of `box`, else the largest; inside `limits`, which hold the box, but for less
  // than a step of Preprocessor::run_part.
  [[nodiscard]] CropRect around(const CropRect& box, const CropRect& limits) const;

 private:
  std::array<int, kMost> sides_{};
  std::size_t count_ = 0;
};

// What a provider sees of a frame.
struct Scene {
  const LineModel& model;
  const camera::FrameView& frame;  // the full one
  std::optional<Area> limits;      // gate.region: nothing outside of it is looked at
  const std::optional<Motion>& motion;
  std::span<const Area> fixed;

  // Around this box, in this frame, inside the limits.
  [[nodiscard]] CropRect square_around(const Area& box) const;
};

struct Proposal {
  Region region;
  double promise = 0;
};

// What providers say. Allocates nothing.
class Proposals {
 public:
  static constexpr std::size_t kMost = 32;

  // Without room it is left out.
  void add(const Region& region, double promise);
  void remove(std::size_t at);
  void leave_out(std::size_t count) { left_out_ += static_cast<std::uint32_t>(count); }
  [[nodiscard]] std::span<Proposal> all() { return std::span(items_).first(count_); }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  // The most promising, at most so many; of the same promise the first stays first.
  [[nodiscard]] Regions best(std::size_t most);

 private:
  std::array<Proposal, kMost> items_{};
  std::size_t count_ = 0;
  std::uint32_t left_out_ = 0;
};

using Propose = void (*)(const Scene& scene, Proposals& proposals);
void propose_whole(const Scene& scene, Proposals& proposals);   // what the recipe makes of the frame, or of its limits
void propose_motion(const Scene& scene, Proposals& proposals);  // a square around each cluster; none: nothing
void propose_fixed(const Scene& scene, Proposals& proposals);   // those of the owner, where something moves first

// Immutable, allocates nothing per frame.
class RegionStage {
 public:
  // `limits`: gate.region.
  RegionStage(RegionOptions options, std::optional<Area> limits);

  // Who proposes for this model.
  [[nodiscard]] ProposedBy provider_of(const LineModel& model) const;
  // Of a frame in which this moves, seen at `now`, and of the tracks so far; where nobody has anything, the whole.
  [[nodiscard]] Regions choose(const LineModel& model, const camera::FrameView& frame,
                               const std::optional<Motion>& motion, const Tracks& tracks, SteadyTime now) const;
  // The same, of a frame alone.
  [[nodiscard]] Regions choose(const LineModel& model, const camera::FrameView& frame) const;
  [[nodiscard]] double budget() const { return options_.budget; }
  [[nodiscard]] std::size_t most() const { return static_cast<std::size_t>(options_.most); }
  // What providers see of a frame in which this moves.
  [[nodiscard]] Scene scene(const LineModel& model, const camera::FrameView& frame,
                            const std::optional<Motion>& motion) const {
    return {.model = model, .frame = frame, .limits = limits_, .motion = motion, .fixed = options_.fixed};
  }

 private:
  [[nodiscard]] Proposals propose(const Scene& scene) const;

  RegionOptions options_;
  std::optional<Area> limits_;
};

}  // namespace kinglet::daemon
