// SPDX-License-Identifier: Apache-2.0
// Why: the arithmetic of each head, as its library writes it; where it stands there is said in recipe_presets.def.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/picture/boxes.h"

namespace kinglet::engine {
namespace {

std::string shown(const TensorInfo& info) {
  return format_text("output \"{}\" is {}{}", printable(info.name), to_string(info.type),
                     to_string(std::span<const Dim>(info.shape)));
}

std::unexpected<Error> not_of(const BoxPlan& plan, std::span<const TensorInfo> outputs, std::string expected) {
  std::string text;
  for (const TensorInfo& info : outputs) text += (text.empty() ? "" : ", ") + shown(info);
  return fail(ErrorCode::kBadData,
              format_text("{}; head \"{}\" expects {}", text, to_string(plan.recipe.head), expected), {},
              "the recipe's \"boxes\" say another head or other strides than the model has");
}

std::span<const float> floats_of(const Session& session, std::size_t output) {
  const std::span<const std::byte> bytes = session.output(output);
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

// --- Grids: a row of numbers a cell, stride after stride, row by row ---

// Cells of the input along a side.
int cells_along(float side, int stride) { return static_cast<int>(std::ceil(side / static_cast<float>(stride))); }

void make_cells(BoxPlan& plan) {
  for (const int stride : plan.recipe.strides) {
    for (int y = 0; y < cells_along(plan.height, stride); ++y) {
      for (int x = 0; x < cells_along(plan.width, stride); ++x) {
        plan.cells.push_back(
            {.x = static_cast<float>(x), .y = static_cast<float>(y), .stride = static_cast<float>(stride)});
      }
    }
  }
}

// One output [1, cells, beside + classes] of floats.
Result<void> fit_grid(std::span<const TensorInfo> outputs, BoxPlan& plan, std::size_t beside) {
  Dim cells = 0;
  for (const int stride : plan.recipe.strides)
    cells += Dim{cells_along(plan.width, stride)} * cells_along(plan.height, stride);
  const auto least = static_cast<Dim>(beside + 1);
  const bool fits = outputs.size() == 1 && outputs[0].type == DataType::kF32 && outputs[0].shape.size() == 3 &&
                    outputs[0].shape[0] == 1 && outputs[0].shape[1] == cells && outputs[0].shape[2] >= least;
  if (!fits) return not_of(plan, outputs, format_text("one output f32[1,{},{} or more]", cells, least));
  plan.classes = static_cast<std::size_t>(outputs[0].shape[2]) - beside;
  make_cells(plan);
  return {};
}

// A box for each class of the row; the best ones are chosen by their scores.
void add_classes(std::span<const float> scores, float factor, Box box, Candidates& out) {
  for (std::size_t label = 0; label < scores.size(); ++label) {
    box.score = factor * scores[label];
    box.label = label;
    out.add(box);
  }
}

Box around(float x, float y, float width, float height) {
  return {.left = x - width / 2, .top = y - height / 2, .right = x + width / 2, .bottom = y + height / 2};
}

// --- YOLOX ---

constexpr std::size_t kYoloxBeside = 5;  // x, y, width, height, somebody is there

Result<void> fit_yolox(std::span<const TensorInfo> outputs, BoxPlan& plan) {
  return fit_grid(outputs, plan, kYoloxBeside);
}

void read_yolox(const Session& session, const BoxPlan& plan, Candidates& out) {
  const float* row = floats_of(session, 0).data();
  for (const BoxCell& cell : plan.cells) {
    const Box box = around((row[0] + cell.x) * cell.stride, (row[1] + cell.y) * cell.stride,
                           std::exp(row[2]) * cell.stride, std::exp(row[3]) * cell.stride);
    add_classes({row + kYoloxBeside, plan.classes}, row[4], box, out);
    row += kYoloxBeside + plan.classes;
  }
}

// --- NanoDet ---

Result<void> fit_nanodet(std::span<const TensorInfo> outputs, BoxPlan& plan) {
  return fit_grid(outputs, plan, 4 * static_cast<std::size_t>(plan.recipe.bins));
}

// The expectation of a distribution over 0, 1, 2 ..., given as logits.
float expectation(std::span<const float> logits) {
  const float largest = std::ranges::max(logits);
  float sum = 0, weighted = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float power = std::exp(logits[i] - largest);
    sum += power;
    weighted += power * static_cast<float>(i);
  }
  return weighted / sum;
}

void read_nanodet(const Session& session, const BoxPlan& plan, Candidates& out) {
  const auto bins = static_cast<std::size_t>(plan.recipe.bins);
  const auto center = static_cast<float>(plan.recipe.center);
  const float* row = floats_of(session, 0).data();
  for (const BoxCell& cell : plan.cells) {
    const float* sides = row + plan.classes;
    const auto distance = [&](std::size_t side) { return expectation({sides + side * bins, bins}) * cell.stride; };
    const auto inside = [](float place, float size) { return std::clamp(place, 0.0F, size); };
    const std::span scores(row, plan.classes);
    if (std::ranges::max(scores) > static_cast<float>(plan.recipe.least_score)) {
      const float x = (cell.x + center) * cell.stride;
      const float y = (cell.y + center) * cell.stride;
      const Box box{.left = inside(x - distance(0), plan.width),
                    .top = inside(y - distance(1), plan.height),
                    .right = inside(x + distance(2), plan.width),
                    .bottom = inside(y + distance(3), plan.height)};
      add_classes(scores, 1, box, out);
    }
    row += plan.classes + 4 * bins;
  }
}

// --- NonMaxSuppression: boxes [1,N,4], scores [1,C,N], rows [M,3] of batch, class, box ---

Result<void> fit_nms(std::span<const TensorInfo> outputs, BoxPlan& plan) {
  std::optional<std::size_t> boxes, scores;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorInfo& info = outputs[i];
    const bool floats = info.type == DataType::kF32 && info.shape.size() == 3 && info.shape[0] == 1;
    if (info.type == DataType::kI64 && info.shape.size() == 2 && info.shape[1] == 3) plan.selected = i;
    if (floats && info.shape[2] == 4 && !boxes) {
      boxes = i;
    } else if (floats && !scores) {
      scores = i;
    }
  }
  // Four boxes have scores [1,C,4]: whose second axis is as long as the other's third is the boxes.
  const auto fit = [&] { return outputs[*boxes].shape[1] == outputs[*scores].shape[2]; };
  if (boxes && scores && !fit() && outputs[*scores].shape[2] == 4) std::swap(boxes, scores);
  if (!boxes || !scores || !plan.selected || !fit()) {
    return not_of(plan, outputs, "f32[1,N,4] (boxes), f32[1,C,N] (scores) and i64[M,3] (rows selected)");
  }
  plan.boxes = *boxes;
  plan.scores = *scores;
  plan.classes = static_cast<std::size_t>(outputs[*scores].shape[1]);
  return {};
}

Box box_of(const BoxPlan& plan, std::span<const float, 4> numbers) {
  const bool shares = plan.recipe.unit == BoxUnit::kShares;
  const float x = shares ? plan.width : 1;
  const float y = shares ? plan.height : 1;
  if (plan.recipe.order == BoxOrder::kCenter)
    return around(numbers[0] * x, numbers[1] * y, numbers[2] * x, numbers[3] * y);
  const std::size_t first = plan.recipe.order == BoxOrder::kXyxy ? 0 : 1;
  const auto [left, right] = std::minmax({numbers[first] * x, numbers[first + 2] * x});
  const auto [top, bottom] = std::minmax({numbers[1 - first] * y, numbers[3 - first] * y});
  return {.left = left, .top = top, .right = right, .bottom = bottom};
}

void read_nms(const Session& session, const BoxPlan& plan, Candidates& out) {
  const std::span<const float> boxes = floats_of(session, plan.boxes);
  const std::span<const float> scores = floats_of(session, plan.scores);
  const std::size_t count = boxes.size() / 4;
  const std::span<const std::byte> rows = session.output(*plan.selected);
  constexpr std::size_t kRow = 3 * sizeof(std::int64_t);
  for (std::size_t at = 0; at + kRow <= rows.size(); at += kRow) {
    std::int64_t row[3];
    std::memcpy(row, rows.data() + at, kRow);
    const auto label = static_cast<std::size_t>(row[1]);
    const auto box = static_cast<std::size_t>(row[2]);
    if (row[0] != 0 || row[1] < 0 || row[2] < 0 || label >= plan.classes || box >= count) return;  // no more rows
    Box found = box_of(plan, boxes.subspan(4 * box).first<4>());
    found.score = scores[label * count + box];
    found.label = label;
    out.add(found);
  }
}

}  // namespace

const BoxHeadReader kYoloxReader{.fit = fit_yolox, .read = read_yolox};
const BoxHeadReader kNanodetReader{.fit = fit_nanodet, .read = read_nanodet};
const BoxHeadReader kNmsReader{.fit = fit_nms, .read = read_nms};

}  // namespace kinglet::engine
