// SPDX-License-Identifier: Apache-2.0
// Why: the outputs of a detector as boxes, by what its recipe says of them: one reader a head (engine/recipe/
// box_heads.def), one place where boxes over each other are thinned out.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/recipe/box_recipe.h"
#include "engine/session/session.h"

namespace kinglet::engine {

// In pixels of the model's input; it may reach beyond it.
struct Box {
  float left = 0, top = 0, right = 0, bottom = 0;  // left <= right, top <= bottom
  float score = 0;
  std::size_t label = 0;

  bool operator==(const Box&) const = default;
};

// The share that both have of what either covers; 0 where one has no area.
[[nodiscard]] float overlap_of(const Box& a, const Box& b);

// Boxes as a head reads them. Keeps the best where there are many.
class Candidates {
 public:
  static constexpr std::size_t kMost = 4096;
  // Boxes of a score above `least`.
  explicit Candidates(double least);

  void clear() { boxes_.clear(); }
  // Left out: scores that are too small or no number, corners that are not finite.
  void add(const Box& box);
  // Of each class, the best first, those that have no more than `most` in common with a better one; at most kMostKept,
  // the best of all first.
  static constexpr std::size_t kMostKept = 300;
  [[nodiscard]] std::span<const Box> thin_out(double most);

 private:
  void keep_best(std::size_t count);

  float least_;
  std::vector<Box> boxes_;
};

// The place in the input that a row of numbers belongs to: its cell's column and row, and the cells' side in pixels.
struct BoxCell {
  float x = 0, y = 0, stride = 1;
};

// What a head knows of a model.
struct BoxPlan {
  BoxRecipe recipe;
  float width = 0, height = 0;  // of the input, in pixels
  std::size_t classes = 0;
  std::vector<BoxCell> cells;         // one a row
  std::size_t boxes = 0, scores = 0;  // kNms: the outputs that have them, and the rows selected
  std::optional<std::size_t> selected;
};

// A row of box_heads.def.
struct BoxHeadReader {
  // Fills `plan` from the outputs' shapes. kBadData: they are not of this head, with what was expected.
  Result<void> (*fit)(std::span<const TensorInfo> outputs, BoxPlan& plan) = nullptr;
  void (*read)(const Session& session, const BoxPlan& plan, Candidates& out) = nullptr;
};
#define KINGLET_BOX_HEAD(id, name, reader) extern const BoxHeadReader reader;
#include "engine/recipe/box_heads.def"
#undef KINGLET_BOX_HEAD

// Thread-bound, as its session.
class BoxReader {
 public:
  // kBadData where the model's outputs are not what the recipe says.
  [[nodiscard]] static Result<BoxReader> make(const Session& session, const BoxRecipe& recipe, int width, int height);

  [[nodiscard]] std::size_t classes() const { return plan_.classes; }
  // Of the newest run of the session it was made for; valid until the next. Allocates nothing.
  [[nodiscard]] std::span<const Box> read(const Session& session);

 private:
  explicit BoxReader(BoxPlan plan) : plan_(std::move(plan)), candidates_(plan_.recipe.least_score) {}

  BoxPlan plan_;
  Candidates candidates_;
};

}  // namespace kinglet::engine
