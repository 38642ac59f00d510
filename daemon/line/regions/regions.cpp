// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/regions/regions.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "camera/preprocess/geometry.h"
#include "daemon/line/regions/tracks.h"
#include "engine/base/check.h"

namespace kinglet::daemon {
namespace {

constexpr int kLeastSide = 96;  // fewer pixels are no bird to any classifier
constexpr double kStep = 1.2;   // from one side to the next
// A beak and a tail move less than the rest, and classifiers are trained with some garden; the step to the next side
// adds some more.
constexpr double kRoom = 1.2;

struct ProviderRow {
  std::string_view name;
  Propose propose;
};
constexpr ProviderRow kProviders[] = {
#define KINGLET_REGIONS(id, name, function) {name, function},
#include "daemon/line/regions/regions.def"
#undef KINGLET_REGIONS
};

int in_steps(double length) {
  constexpr int kPart = camera::Preprocessor::kPartStep;
  return static_cast<int>(length) / kPart * kPart;
}

CropRect limits_of(const Scene& scene) {
  return camera::pixels_of(scene.limits.value_or(Area{}), scene.frame.width, scene.frame.height);
}

}  // namespace

std::string_view to_string(ProposedBy by) { return kProviders[std::to_underlying(by)].name; }

std::optional<ProposedBy> proposed_by(std::string_view name) {
  const auto* const row = std::ranges::find(kProviders, name, &ProviderRow::name);
  if (row == std::end(kProviders)) return std::nullopt;
  return static_cast<ProposedBy>(row - std::begin(kProviders));
}

std::string_view to_string(LeftOut reason) { return reason == LeftOut::kLimit ? "limit" : "budget"; }

SquareSizes::SquareSizes(int width, int height) {
  const int largest = std::max(in_steps(std::min(width, height)), std::min({width, height, kLeastSide}));
  int side = std::min(kLeastSide, largest);
  while (count_ + 1 < kMost && side < largest) {
    sides_[count_++] = side;
    side = in_steps(side * kStep + camera::Preprocessor::kPartStep - 1);
  }
  sides_[count_++] = largest;
}

CropRect SquareSizes::around(const CropRect& box, const CropRect& limits) const {
  const double wanted = kRoom * std::max(box.width, box.height);
  const auto fits = std::ranges::find_if(all(), [&](int side) { return side >= wanted; });
  const int side = fits == all().end() ? all().back() : *fits;
  const auto place = [side](int begin, int length, int first, int room) {
    return in_steps(std::clamp(begin + length / 2 - side / 2, first, first + room - side));
  };
  return {place(box.x, box.width, limits.x, limits.width), place(box.y, box.height, limits.y, limits.height), side,
          side};
}

void Proposals::add(const Region& region, double promise) {
  if (count_ == kMost) return leave_out(1);
  items_[count_++] = {.region = region, .promise = promise};
}

void Proposals::remove(std::size_t at) {
  std::ranges::copy(all().subspan(at + 1), items_.begin() + static_cast<std::ptrdiff_t>(at));
  --count_;
}

Regions Proposals::best(std::size_t most) {
  Regions regions;
  std::array<std::size_t, kMost> order{};
  const std::span places = std::span(order).first(count_);
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::sort(places, [&](std::size_t a, std::size_t b) {
    return items_[a].promise != items_[b].promise ? items_[a].promise > items_[b].promise : a < b;
  });
  regions.count = std::min(count_, most);
  for (std::size_t i = 0; i < regions.count; ++i) regions.items[i] = items_[order[i]].region;
  regions.left_out[std::to_underlying(LeftOut::kLimit)] =
      left_out_ + static_cast<std::uint32_t>(count_ - regions.count);
  return regions;
}

CropRect Scene::square_around(const Area& box) const {
  const CropRect inside = limits_of(*this);
  const SquareSizes sizes(inside.width, inside.height);
  return sizes.around(camera::pixels_of(box, frame.width, frame.height), inside);
}

void propose_whole(const Scene& scene, Proposals& proposals) {
  Region region{.box = scene.limits.value_or(Area{}), .part = std::nullopt, .by = ProposedBy::kWhole};
  if (scene.limits) region.part = scene.model.crop_within(limits_of(scene));
  proposals.add(region, 1);
}

void propose_motion(const Scene& scene, Proposals& proposals) {
  if (!scene.motion) return;
  std::array<Region, kMaxClusters> found;
  std::array<double, kMaxClusters> promises{};
  std::size_t count = 0;
  for (const MovingCluster& cluster : scene.motion->all()) {
    // Parts of one bird: the light between its head and its tail moves nothing.
    const std::span before = std::span(found).first(count);
    const auto same = std::ranges::find_if(before, [&](const Region& region) {
      return scene.square_around(united(region.box, cluster.where)).width <= region.part->width;
    });
    const auto at = static_cast<std::size_t>(same - before.begin());
    if (at == count) {
      found[count++] = {.box = cluster.where, .part = {}, .by = ProposedBy::kMotion};
    } else {
      found[at].box = united(found[at].box, cluster.where);
    }
    found[at].part = scene.square_around(found[at].box);
    promises[at] += cluster.cells;
  }
  for (std::size_t i = 0; i < count; ++i) proposals.add(found[i], promises[i]);
  proposals.leave_out(scene.motion->clusters_beyond);
}

void propose_fixed(const Scene& scene, Proposals& proposals) {
  for (const Area& area : scene.fixed) {
    const CropRect pixels = camera::pixels_of(area, scene.frame.width, scene.frame.height);
    double promise = 0;
    if (scene.motion) {
      for (const MovingCluster& cluster : scene.motion->all()) promise += overlap(area, cluster.where);
    }
    proposals.add({.box = area, .part = scene.model.crop_within(pixels), .by = ProposedBy::kFixed}, promise);
  }
}

RegionStage::RegionStage(RegionOptions options, std::optional<Area> limits)
    : options_(std::move(options)), limits_(limits) {
  KINGLET_CHECK(options_.most >= 1 && options_.most <= static_cast<int>(kMaxRegions));
}

ProposedBy RegionStage::provider_of(const LineModel& model) const {
  if (options_.propose) return *options_.propose;
  return model.facts()->recipe.regions == engine::Regions::kWhole ? ProposedBy::kWhole : ProposedBy::kMotion;
}

Proposals RegionStage::propose(const Scene& scene) const {
  Proposals proposals;
  kProviders[std::to_underlying(provider_of(scene.model))].propose(scene, proposals);
  return proposals;
}

Regions RegionStage::choose(const LineModel& model, const camera::FrameView& frame, const std::optional<Motion>& motion,
                            const Tracks& tracks, SteadyTime now) const {
  const Scene seen = scene(model, frame, motion);
  Proposals proposals = propose(seen);
  tracks.assign(seen, proposals, now);
  if (proposals.empty()) propose_whole(seen, proposals);
  return proposals.best(most());
}

Regions RegionStage::choose(const LineModel& model, const camera::FrameView& frame) const {
  const std::optional<Motion> unknown;
  const Scene seen = scene(model, frame, unknown);
  Proposals proposals = propose(seen);
  if (proposals.empty()) propose_whole(seen, proposals);
  return proposals.best(most());
}

}  // namespace kinglet::daemon
