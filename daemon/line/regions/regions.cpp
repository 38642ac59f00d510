// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/regions/regions.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "camera/preprocess/geometry.h"
#include "engine/base/check.h"

namespace kinglet::daemon {
namespace {

constexpr int kLeastSide = 96;  // fewer pixels are no bird to any classifier
constexpr double kStep = 1.2;   // from one side to the next
// A beak and a tail move less than the rest, and classifiers are trained with some garden; the step to the next side
// adds some more.
constexpr double kRoom = 1.2;

struct Row {
  std::string_view name;
  Propose propose;
};
constexpr Row kRows[] = {
#define KINGLET_REGIONS(id, name, function) {name, function},
#include "daemon/line/regions/regions.def"
#undef KINGLET_REGIONS
};

int in_steps(double length) {
  constexpr int kPart = camera::Preprocessor::kPartStep;
  return static_cast<int>(length) / kPart * kPart;
}

camera::CropRect limits_of(const Scene& scene) {
  return camera::pixels_of(scene.limits.value_or(Area{}), scene.frame.width, scene.frame.height);
}

Area united(const Area& a, const Area& b) {
  const double left = std::min(a.left, b.left);
  const double top = std::min(a.top, b.top);
  return {.left = left,
          .top = top,
          .width = std::max(a.left + a.width, b.left + b.width) - left,
          .height = std::max(a.top + a.height, b.top + b.height) - top};
}

double overlap(const Area& a, const Area& b) {
  const double width = std::min(a.left + a.width, b.left + b.width) - std::max(a.left, b.left);
  const double height = std::min(a.top + a.height, b.top + b.height) - std::max(a.top, b.top);
  return std::max(0.0, width) * std::max(0.0, height);
}

}  // namespace

std::string_view to_string(ProposedBy by) { return kRows[std::to_underlying(by)].name; }

std::optional<ProposedBy> proposed_by(std::string_view name) {
  const auto* const row = std::ranges::find(kRows, name, &Row::name);
  if (row == std::end(kRows)) return std::nullopt;
  return static_cast<ProposedBy>(row - std::begin(kRows));
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

camera::CropRect SquareSizes::around(const camera::CropRect& box, const camera::CropRect& limits) const {
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
  auto& items = regions_.items;
  std::size_t at = regions_.count;
  while (at > 0 && promises_[at - 1] < promise) --at;
  if (regions_.count == most_) leave_out(1);
  if (at == most_) return;
  regions_.count = std::min(regions_.count + 1, most_);
  for (std::size_t i = regions_.count - 1; i > at; --i) {
    items[i] = items[i - 1];
    promises_[i] = promises_[i - 1];
  }
  items[at] = region;
  promises_[at] = promise;
}

void propose_whole(const Scene& scene, Proposals& proposals) {
  Region region{.box = scene.limits.value_or(Area{}), .part = std::nullopt, .by = ProposedBy::kWhole};
  if (scene.limits) region.part = scene.model.crop_within(limits_of(scene));
  proposals.add(region, 1);
}

void propose_motion(const Scene& scene, Proposals& proposals) {
  if (!scene.motion) return;
  const camera::CropRect limits = limits_of(scene);
  const SquareSizes sizes(limits.width, limits.height);
  const auto square_of = [&](const Area& box) {
    return sizes.around(camera::pixels_of(box, scene.frame.width, scene.frame.height), limits);
  };
  std::array<Region, kMaxClusters> found;
  std::array<double, kMaxClusters> promises{};
  std::size_t count = 0;
  for (const MovingCluster& cluster : scene.motion->all()) {
    // Parts of one bird: the light between its head and its tail moves nothing.
    const std::span before = std::span(found).first(count);
    const auto same = std::ranges::find_if(before, [&](const Region& region) {
      return square_of(united(region.box, cluster.where)).width <= region.part->width;
    });
    const auto at = static_cast<std::size_t>(same - before.begin());
    if (at == count) {
      found[count++] = {.box = cluster.where, .part = {}, .by = ProposedBy::kMotion};
    } else {
      found[at].box = united(found[at].box, cluster.where);
    }
    found[at].part = square_of(found[at].box);
    promises[at] += cluster.cells;
  }
  for (std::size_t i = 0; i < count; ++i) proposals.add(found[i], promises[i]);
  proposals.leave_out(scene.motion->clusters_beyond);
}

void propose_fixed(const Scene& scene, Proposals& proposals) {
  for (const Area& area : scene.fixed) {
    const camera::CropRect pixels = camera::pixels_of(area, scene.frame.width, scene.frame.height);
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

Regions RegionStage::choose(const LineModel& model, const camera::FrameView& frame,
                            const std::optional<Motion>& motion) const {
  const Scene scene{.model = model, .frame = frame, .limits = limits_, .motion = motion, .fixed = options_.fixed};
  Proposals proposals(static_cast<std::size_t>(options_.most));
  kRows[std::to_underlying(provider_of(model))].propose(scene, proposals);
  if (proposals.regions().count == 0) propose_whole(scene, proposals);
  return proposals.regions();
}

}  // namespace kinglet::daemon
