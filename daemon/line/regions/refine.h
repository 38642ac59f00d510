// SPDX-License-Identifier: Apache-2.0
// Why: what moves is not what is there: a bird moves as two clusters, two birds as one, a bird with the twig below it.
// Regions by what a detector has found in them.
#pragma once

#include <cstdint>

#include "daemon/line/regions/findings.h"
#include "daemon/line/regions/regions.h"

namespace kinglet::daemon {

struct Refined {
  std::uint32_t merged = 0;     // regions that are a part of another one's bird
  std::uint32_t split = 0;      // further birds of a region
  std::uint32_t tightened = 0;  // regions whose box is the bird's now

  bool operator==(const Refined&) const = default;
};

// Of regions that the detector has looked into, which are those with an opinion: it becomes that of what was found
// there. Around what moves and is a bird, a region becomes the bird's box; one that lies in a bird that a more
// promising region has got goes; a further bird comes behind all others, as far as there is room for `most`. A track
// that looks call somebody keeps its region: it is not merged away, nor moved to a box elsewhere. Pure; allocates
// nothing.
Refined refine(const Scene& scene, const Findings& found, const Tracks& tracks, std::size_t most, Regions& regions);

// What a detector looks into for a region: twice as much as the model, so that a bird whose head alone moves is whole,
// and its neighbour there.
[[nodiscard]] CropRect detector_part(const Scene& scene, const Region& region);

}  // namespace kinglet::daemon
