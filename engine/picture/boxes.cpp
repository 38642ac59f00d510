// SPDX-License-Identifier: Apache-2.0
#include "engine/picture/boxes.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace kinglet::engine {
namespace {

constexpr std::array kReaders{
#define KINGLET_BOX_HEAD(id, name, reader) &reader,
#include "engine/recipe/box_heads.def"
#undef KINGLET_BOX_HEAD
};

const BoxHeadReader& reader_of(const BoxPlan& plan) { return *kReaders[static_cast<std::size_t>(plan.recipe.head)]; }

bool is_better(const Box& a, const Box& b) { return a.score > b.score; }

float area(const Box& box) { return (box.right - box.left) * (box.bottom - box.top); }

}  // namespace

float overlap_of(const Box& a, const Box& b) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (!(width > 0 && height > 0)) return 0;
  const float both = width * height;
  return both / (area(a) + area(b) - both);
}

Candidates::Candidates(double least) : least_(static_cast<float>(least)) { boxes_.reserve(2 * kMost); }

void Candidates::add(const Box& box) {
  if (!(box.score > least_)) return;
  const std::array numbers{box.left, box.top, box.right, box.bottom, box.score};
  if (!std::ranges::all_of(numbers, [](float number) { return std::isfinite(number); })) return;
  if (!(box.left <= box.right && box.top <= box.bottom)) return;
  if (boxes_.size() == 2 * kMost) keep_best(kMost);
  boxes_.push_back(box);
}

void Candidates::keep_best(std::size_t count) {
  if (boxes_.size() <= count) return;
  std::ranges::nth_element(boxes_, boxes_.begin() + static_cast<std::ptrdiff_t>(count), is_better);
  boxes_.resize(count);
}

std::span<const Box> Candidates::thin_out(double most) {
  keep_best(kMost);
  std::ranges::sort(boxes_, is_better);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < boxes_.size() && kept < kMostKept; ++i) {
    const Box box = boxes_[i];
    const bool is_over = std::ranges::any_of(std::span(boxes_).first(kept), [&](const Box& better) {
      return better.label == box.label && overlap_of(better, box) > static_cast<float>(most);
    });
    if (!is_over) boxes_[kept++] = box;
  }
  boxes_.resize(kept);
  return boxes_;
}

Result<BoxReader> BoxReader::make(const Session& session, const BoxRecipe& recipe, int width, int height) {
  BoxPlan plan{.recipe = recipe,
               .width = static_cast<float>(width),
               .height = static_cast<float>(height),
               .cells = {},
               .selected = {}};
  KINGLET_TRY(reader_of(plan).fit(session.outputs(), plan));
  return BoxReader(std::move(plan));
}

std::span<const Box> BoxReader::read(const Session& session) {
  candidates_.clear();
  reader_of(plan_).read(session, plan_, candidates_);
  return candidates_.thin_out(plan_.recipe.most_overlap);
}

}  // namespace kinglet::engine
