// SPDX-License-Identifier: Apache-2.0
// NonMaxSuppression: of boxes that lie over each other the one with the best score, class by class. How many rows it
// gives depends on the numbers: inference knows it where they are constant; else as many as evaluate finds, and in a
// session room for the most there may be (Op::most_rows).
#include <algorithm>
#include <cmath>

#include "engine/base/format.h"
#include "engine/ops/common.h"
#include "engine/ops/rows.h"
#include "engine/ops/steps.h"

namespace kinglet::engine::ops {
namespace {

constexpr std::size_t kBoxes = 0, kScores = 1, kMostBoxes = 2, kIou = 3, kLeastScore = 4;
constexpr Dim kColumns = 3;  // batch, class, box

// A number of an optional input.
template <typename T>
T number_of(const Tensor* tensor, T absent) {
  return tensor == nullptr ? absent : tensor->data<T>().front();
}

// Absent or below 0: no box at all, as ONNX says.
std::int64_t most_of_a_class(const Tensor* wish, Dim boxes) {
  return std::clamp<std::int64_t>(number_of<std::int64_t>(wish, 0), 0, boxes);
}

struct Extent {
  float low = 0, high = 0;
};

struct Box {
  Extent y, x;
  [[nodiscard]] float area() const { return (y.high - y.low) * (x.high - x.low); }
};

// Corners may come in any order; or the middle and sizes, x first.
Box box_of(const float* numbers, bool by_center) {
  const auto between = [](float a, float b) { return Extent{.low = std::min(a, b), .high = std::max(a, b)}; };
  const auto around = [](float middle, float size) {
    return Extent{.low = middle - size / 2, .high = middle + size / 2};
  };
  if (by_center) return {.y = around(numbers[1], numbers[3]), .x = around(numbers[0], numbers[2])};
  return {.y = between(numbers[0], numbers[2]), .x = between(numbers[1], numbers[3])};
}

float length_of_both(const Extent& a, const Extent& b) { return std::min(a.high, b.high) - std::max(a.low, b.low); }

// The share of what both cover is larger than `most`. Boxes without an area cover nothing.
bool is_over(const Box& a, const Box& b, float most) {
  const float height = length_of_both(a.y, b.y);
  const float width = length_of_both(a.x, b.x);
  if (!(height > 0 && width > 0)) return false;
  const float both = height * width;
  const float either = a.area() + b.area() - both;
  return a.area() > 0 && b.area() > 0 && either > 0 && both / either > most;
}

// One run over checked tensors.
class Selection {
 public:
  Selection(const Node& node, Inputs inputs)
      : boxes_(*inputs[kBoxes]),
        scores_(*inputs[kScores]),
        by_center_(node.attributes.get_int("center_point_box", 0) == 1) {
    const auto given = [&](std::size_t i) { return i < inputs.size() ? inputs[i] : nullptr; };
    most_ = most_of_a_class(given(kMostBoxes), boxes());
    iou_ = number_of<float>(given(kIou), 0);
    if (given(kLeastScore) != nullptr) least_ = number_of<float>(given(kLeastScore), 0);
  }

  [[nodiscard]] bool is_share() const { return iou_ >= 0 && iou_ <= 1; }

  // How often two boxes are compared at most.
  [[nodiscard]] double comparisons() {
    double sum = 0;
    for (Dim of = 0; of < batches() * classes(); ++of) {
      sort_candidates(of);
      sum += static_cast<double>(order_.size()) * static_cast<double>(std::min<Dim>(most_, std::ssize(order_)));
    }
    return sum;
  }

  // Calls take(batch, class, box): by batch, then class, the best first.
  template <typename Take>
  void run(const Take& take) {
    for (Dim of = 0; of < batches() * classes(); ++of) {
      sort_candidates(of);
      kept_.clear();
      const float* boxes_of_batch = boxes_.data<float>().data() + of / classes() * boxes() * 4;
      for (const Dim candidate : order_) {
        if (std::ssize(kept_) >= most_) break;
        const Box box = box_of(boxes_of_batch + candidate * 4, by_center_);
        if (std::ranges::any_of(kept_, [&](const Box& kept) { return is_over(box, kept, iou_); })) continue;
        kept_.push_back(box);
        take(of / classes(), of % classes(), candidate);
      }
    }
  }

 private:
  [[nodiscard]] Dim batches() const { return scores_.shape()[0]; }
  [[nodiscard]] Dim classes() const { return scores_.shape()[1]; }
  [[nodiscard]] Dim boxes() const { return scores_.shape()[2]; }

  // Boxes above the least score, the best first, equal ones by their place; what is no number is no score.
  void sort_candidates(Dim of) {
    const float* scores = scores_.data<float>().data() + of * boxes();
    order_.clear();
    for (Dim box = 0; box < boxes() && most_ > 0; ++box) {
      if (!std::isnan(scores[box]) && (!least_ || scores[box] > *least_)) order_.push_back(box);
    }
    std::ranges::stable_sort(order_, std::ranges::greater{}, [&](Dim box) { return scores[box]; });
  }

  const Tensor& boxes_;
  const Tensor& scores_;
  bool by_center_;
  Dim most_ = 0;
  float iou_ = 0;
  std::optional<float> least_;
  std::vector<Dim> order_;
  std::vector<Box> kept_;
};

Result<void> check_numbers(const InferContext& context) {
  KINGLET_TRY(checked_int(context, "center_point_box", 0, 0, 1));
  for (const std::size_t input : {kMostBoxes, kIou, kLeastScore}) {
    if (!context.has_input(input)) continue;
    KINGLET_TRY(need_type(context, input, {input == kMostBoxes ? DataType::kI64 : DataType::kF32}));
    const std::optional<Shape>& shape = context.input_shape(input);
    if (shape && is_static(*shape) && element_count(*shape) != 1) {
      return context.fail(format_text("input {} is not one number", input));
    }
  }
  const Tensor* iou = context.input_constant(kIou);
  if (iou != nullptr && !(iou->data<float>()[0] >= 0 && iou->data<float>()[0] <= 1)) {
    return context.fail(format_text("iou_threshold is {}, expected 0 to 1", iou->data<float>()[0]));
  }
  return {};
}

// boxes [N,B,4], scores [N,C,B].
Result<void> check_shapes(const InferContext& context) {
  KINGLET_TRY(need_type(context, kBoxes, {DataType::kF32}));
  KINGLET_TRY(need_type(context, kScores, {DataType::kF32}));
  KINGLET_TRY(need_rank(context, kBoxes, 3, 3));
  KINGLET_TRY(need_rank(context, kScores, 3, 3));
  const auto& boxes = context.input_shape(kBoxes);
  const auto& scores = context.input_shape(kScores);
  const auto agree = [](Dim a, Dim b) { return a == kUnknownDim || b == kUnknownDim || a == b; };
  const bool fits = (!boxes || agree((*boxes)[2], 4)) &&
                    (!boxes || !scores || (agree((*boxes)[0], (*scores)[0]) && agree((*boxes)[1], (*scores)[2])));
  if (fits) return {};
  return context.fail(format_text("boxes are {} and scores {}, expected [N,B,4] and [N,C,B]",
                                  boxes ? to_string(*boxes) : "unknown", scores ? to_string(*scores) : "unknown"));
}

// Where all numbers are known the rows are counted, as far as that is no work to speak of: shapes are inferred often,
// of each of a file's nodes.
std::optional<Dim> counted_rows(const InferContext& context) {
  constexpr double kMostComparisons = 1 << 16;
  std::vector<const Tensor*> inputs;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    inputs.push_back(context.input_constant(i));
    if (context.has_input(i) && inputs.back() == nullptr) return std::nullopt;
  }
  if (static_cast<double>(inputs[kScores]->data<float>().size()) > kMostComparisons) return std::nullopt;
  Selection selection(context.node(), inputs);
  if (selection.comparisons() > kMostComparisons) return std::nullopt;
  Dim rows = 0;
  selection.run([&](Dim, Dim, Dim) { ++rows; });
  return rows;
}

Result<void> infer_non_max_suppression(InferContext& context) {
  KINGLET_TRY(check_shapes(context));
  KINGLET_TRY(check_numbers(context));
  context.set_output(0, DataType::kI64, Shape{counted_rows(context).value_or(kUnknownDim), kColumns});
  return {};
}

Result<void> evaluate_non_max_suppression(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  Selection selection(node, inputs);
  if (!selection.is_share()) return fail(ErrorCode::kBadData, "iou_threshold is not between 0 and 1", node.name);
  const std::span<std::int64_t> rows = outputs[0].mutable_data<std::int64_t>();
  auto to = rows.begin();
  selection.run([&](Dim batch, Dim of_class, Dim box) {
    KINGLET_CHECK(rows.end() - to >= kColumns);
    for (const Dim number : {batch, of_class, box}) *to++ = number;
  });
  std::fill(to, rows.end(), kNoRow);
  return {};
}

std::optional<Dim> most_rows(const Graph& graph, const Node& node) {
  const std::optional<Shape>& scores = graph.value(node.inputs[kScores]).shape;
  if (!scores || !is_static(*scores)) return std::nullopt;
  const bool limited = node.inputs.size() > kMostBoxes && node.inputs[kMostBoxes] != kNoValue;
  const Tensor* limit = limited ? graph.constant(node.inputs[kMostBoxes]) : nullptr;
  const Dim boxes = limited && limit == nullptr ? (*scores)[2] : most_of_a_class(limit, (*scores)[2]);
  const auto rows = element_count(std::array{(*scores)[0], (*scores)[1], boxes});
  return rows && *rows <= kMaxDim ? rows : std::nullopt;
}

// Each candidate with each box that was kept.
double non_max_suppression_steps(const Graph& graph, const Node& node) {
  constexpr double kComparison = 8;
  const double lists = input_dim(graph, node, kScores, 0) * input_dim(graph, node, kScores, 1);
  const double rows = static_cast<double>(most_rows(graph, node).value_or(0));
  return kComparison * (input_numbers(graph, node, kScores) * rows / lists);
}

}  // namespace

const OpParts kNonMaxSuppression{.infer = infer_non_max_suppression,
                                 .evaluate = evaluate_non_max_suppression,
                                 .steps = non_max_suppression_steps,
                                 .traits = {.fits_half = false},
                                 .most_rows = most_rows};

}  // namespace kinglet::engine::ops
