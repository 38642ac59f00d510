// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/regions/refine.h"

#include <algorithm>

#include "camera/preprocess/geometry.h"
#include "daemon/line/regions/tracks.h"

namespace kinglet::daemon {
namespace {

// Shares of the smaller one: a box is about a region; two boxes are of one bird.
constexpr double kAbout = 0.3;
constexpr double kOneBird = 0.3;
// Of the region: it lies in the box. And of either: what else is there explains it.
constexpr double kInside = 0.7;
constexpr double kExplains = 0.5;
constexpr double kAround = 2;  // times the length of the model's square

bool is_about(const Found& found, const Region& region) { return share_of_smaller(found.box, region.box) >= kAbout; }

bool is_within_limits(const Area& box, const Scene& scene) {
  if (!scene.limits) return true;
  const double x = box.left + box.width / 2;
  const double y = box.top + box.height / 2;
  const Area& limits = *scene.limits;
  return x >= limits.left && x < limits.left + limits.width && y >= limits.top && y < limits.top + limits.height;
}

class Refining {
 public:
  Refining(const Scene& scene, const Findings& found, const Tracks& tracks, std::size_t most, Regions& regions)
      : scene_(scene), found_(found.all()), tracks_(tracks), most_(most), out_(regions) {}

  Refined run() {
    const Regions before = out_;
    out_.count = 0;
    for (const Region& region : before.all()) take(region);
    for (const Region& region : std::span(further_).first(further_count_)) {
      if (out_.count < most_) {
        out_.items[out_.count++] = region;
        ++refined_.split;
      } else {
        ++out_.left_out[std::to_underlying(LeftOut::kLimit)];
      }
    }
    return refined_;
  }

 private:
  void keep(const Region& region) { out_.items[out_.count++] = region; }

  // Of a bird that is about it, else what explains it best, else nobody.
  [[nodiscard]] Opinion opinion_of(const Region& region) const {
    Opinion best;
    for (const Found& found : found_) {
      const bool is_bird = found.opinion.being == Being::kBird;
      if (is_bird ? !is_about(found, region) : share_of_smaller(found.box, region.box) < kExplains) continue;
      const bool is_first_bird = is_bird && best.being != Being::kBird;
      const bool is_like = is_bird || best.being != Being::kBird;
      if (is_first_bird || (is_like && found.opinion.score > best.score)) best = found.opinion;
    }
    return best;
  }

  void take(const Region& region) {
    if (!region.opinion) return keep(region);
    Region seen = region;
    seen.opinion = opinion_of(region);
    if (seen.opinion->being != Being::kBird || region.by != ProposedBy::kMotion) return keep(seen);
    const Track* track = region.track ? tracks_.find(*region.track) : nullptr;
    const Track* somebody = track != nullptr && track->somebody ? track : nullptr;
    std::array<std::size_t, Findings::kMost> birds{};
    const std::size_t count = birds_of(region, birds);
    if (count == 0) {
      if (somebody == nullptr && is_part_of_another(region)) {
        ++refined_.merged;
        return;
      }
      return keep(seen);
    }
    const std::span<const std::size_t> apart(birds.data(), count);
    const std::size_t own = track == nullptr ? apart.front() : nearest(apart, track->box);
    if (somebody != nullptr && share_of_smaller(found_[own].box, somebody->box) < kOneBird) return keep(seen);
    for (const std::size_t at : apart) give(at);
    Region tight = at_bird(seen, found_[own]);
    if (tight.box != region.box) ++refined_.tightened;
    keep(tight);
    tight.track.reset();
    tight.sits = false;
    for (const std::size_t at : apart) {
      if (at != own && further_count_ < further_.size()) further_[further_count_++] = at_bird(tight, found_[at]);
    }
  }

  // Birds about this region that no region has got yet, the surest first, each well apart from those before it.
  std::size_t birds_of(const Region& region, std::array<std::size_t, Findings::kMost>& birds) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const Found& found = found_[i];
      if (found.opinion.being != Being::kBird || given_[i]) continue;
      if (is_about(found, region) && is_within_limits(found.box, scene_)) birds[count++] = i;
    }
    std::ranges::sort(std::span(birds).first(count), std::greater(),
                      [&](std::size_t at) { return found_[at].opinion.score; });
    std::size_t apart = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_known = std::ranges::any_of(std::span(birds).first(apart), [&](std::size_t other) {
        return share_of_smaller(found_[other].box, found_[birds[i]].box) >= kOneBird;
      });
      if (!is_known) birds[apart++] = birds[i];
    }
    return apart;
  }

  [[nodiscard]] std::size_t nearest(std::span<const std::size_t> birds, const Area& box) const {
    return *std::ranges::max_element(birds, {}, [&](std::size_t at) { return overlap(found_[at].box, box); });
  }

  // What is the same bird for another region is given away with it.
  void give(std::size_t at) {
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (share_of_smaller(found_[i].box, found_[at].box) >= kOneBird) given_[i] = true;
    }
  }

  [[nodiscard]] bool is_part_of_another(const Region& region) const {
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (!given_[i] || found_[i].opinion.being != Being::kBird) continue;
      if (overlap(found_[i].box, region.box) >= kInside * region.box.size()) return true;
    }
    return false;
  }

  [[nodiscard]] Region at_bird(Region region, const Found& bird) const {
    region.box = bird.box;
    region.part = scene_.square_around(bird.box);
    region.opinion = bird.opinion;
    return region;
  }

  const Scene& scene_;
  const std::span<const Found> found_;
  const Tracks& tracks_;
  const std::size_t most_;
  Regions& out_;
  std::array<bool, Findings::kMost> given_{};
  std::array<Region, kMaxRegions> further_{};
  std::size_t further_count_ = 0;
  Refined refined_;
};

}  // namespace

Refined refine(const Scene& scene, const Findings& found, const Tracks& tracks, std::size_t most, Regions& regions) {
  return Refining(scene, found, tracks, most, regions).run();
}

CropRect detector_part(const Scene& scene, const Region& region) {
  const int width = scene.frame.width;
  const int height = scene.frame.height;
  CropRect box = camera::pixels_of(region.box, width, height);
  const int side = static_cast<int>(kAround * std::max(box.width, box.height));
  box = {.x = box.x + box.width / 2 - side / 2, .y = box.y + box.height / 2 - side / 2, .width = side, .height = side};
  return SquareSizes(width, height).around(box, {0, 0, width, height});
}

}  // namespace kinglet::daemon
