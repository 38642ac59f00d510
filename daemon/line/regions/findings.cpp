// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/regions/findings.h"

#include <algorithm>

#include "engine/base/words.h"
#include "engine/recipe/labels.h"

namespace kinglet::daemon {
namespace {

// Share of the smaller one: the same, seen in two parts of the frame.
constexpr double kSame = 0.6;
// One look may err.
constexpr std::uint32_t kFewLooks = 2;

struct BeingRow {
  std::string_view word;
  Being being;
};
constexpr BeingRow kBeings[] = {
#define KINGLET_BEING(word, being) {word, Being::being},
#include "daemon/line/regions/beings.def"
#undef KINGLET_BEING
};

}  // namespace

std::string_view to_string(Being being) {
  using enum Being;
  static constexpr Word<Being> kWords[] = {
      {kNobody, "nobody"}, {kBird, "bird"}, {kAnimal, "animal"}, {kPerson, "person"}};
  return word_of(kWords, being);
}

Being being_of(std::string_view label) {
  const auto* const row = std::ranges::find(kBeings, engine::slug(label), &BeingRow::word);
  return row == std::end(kBeings) ? Being::kNobody : row->being;
}

double share_of_smaller(const Area& a, const Area& b) { return overlap(a, b) / std::min(a.size(), b.size()); }

void Findings::add(const Found& found) {
  for (Found& before : std::span(items_).first(look_begun_)) {
    if (before.opinion.being != found.opinion.being || share_of_smaller(before.box, found.box) < kSame) continue;
    if (found.opinion.being == Being::kPerson) {
      before.box = united(before.box, found.box);  // all of him is to be hidden
    } else if (found.box.size() > before.box.size()) {
      before.box = found.box;
    }
    if (found.opinion.score > before.opinion.score) before.opinion = found.opinion;
    return;
  }
  if (count_ < kMost) items_[count_++] = found;
}

void Opinions::add(const Opinion& opinion) {
  ++looks_;
  for (Kind& kind : kinds_) {
    if (kind.looks > 0 && (kind.best.being != opinion.being || kind.best.label != opinion.label)) continue;
    if (kind.looks == 0 || opinion.score > kind.best.score) kind.best = opinion;
    ++kind.looks;
    return;
  }
}

std::optional<Opinion> Opinions::mostly() const {
  const Kind& most = *std::ranges::max_element(kinds_, {}, &Kind::looks);
  if (most.looks < kFewLooks || 2 * most.looks <= looks_) return std::nullopt;
  return most.best;
}

}  // namespace kinglet::daemon
