// SPDX-License-Identifier: Apache-2.0
#include "engine/compare_graphs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <format>
#include <limits>
#include <optional>
#include <random>

#include "engine/base/text.h"
#include "engine/graph/float16.h"
#include "engine/ops/op.h"

namespace kinglet::engine {
namespace {

constexpr MadeInput kKinds[] = {MadeInput::kNormal, MadeInput::kLargeNegative, MadeInput::kZeros,
                                MadeInput::kTwoInBatch};
constexpr std::uint64_t kSeed = 20'240'229;
// Sides tried for free dimensions other than the batch, the usual ones of image models first.
constexpr Dim kSides[] = {224, 256, 299, 128, 64, 32, 16, 8, 4, 2, 1};
constexpr double kTolerance = 1e-4;

bool is_free(const Graph& graph, bool batch) {
  return std::ranges::any_of(graph.inputs(), [&](const GraphInput& input) {
    const std::optional<Shape>& shape = graph.value(input.value).shape;
    if (!shape) return !batch;
    for (std::size_t i = 0; i < shape->size(); ++i) {
      if ((*shape)[i] == kUnknownDim && (i == 0) == batch) return true;
    }
    return false;
  });
}

Result<Graph> bind(const Graph& graph, Dim batch, Dim side) {
  Graph bound = graph;
  for (std::size_t i = 0; i < bound.inputs().size(); ++i) {
    const Value& value = bound.value(bound.inputs()[i].value);
    if (!value.shape) {
      return fail(ErrorCode::kBadData, std::format("input \"{}\" has no known rank", printable(value.name)), {},
                  "set its shape first: `kinglet edit input --shape`");
    }
    Shape shape = *value.shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] == kUnknownDim) shape[axis] = axis == 0 ? batch : side;
    }
    bound.set_input_shape(i, std::move(shape));
  }
  KINGLET_TRY(infer_shapes(bound));
  return bound;
}

// A side with which the graph's shapes work out.
Result<Dim> find_side(const Graph& graph) {
  if (!is_free(graph, false)) return kSides[0];
  std::optional<Error> first;
  for (const Dim side : kSides) {
    const auto bound = bind(graph, 1, side);
    if (bound) return side;
    if (!first) first = bound.error();
  }
  return std::unexpected(*first);
}

float made_number(MadeInput kind, float normal) {
  switch (kind) {
    case MadeInput::kZeros:
      return 0;
    case MadeInput::kLargeNegative:
      return -20.0F - 10.0F * std::abs(normal);
    default:
      return normal;
  }
}

Tensor make_tensor(const Value& value, MadeInput kind, std::mt19937_64& random) {
  Tensor tensor(value.type, *value.shape);
  std::normal_distribution<float> normal;
  const auto small = [&] { return kind == MadeInput::kZeros ? 0 : static_cast<int>(random() % 3); };
  switch (value.type) {
    case DataType::kF32:
      for (float& x : tensor.mutable_data<float>()) x = made_number(kind, normal(random));
      break;
    case DataType::kF16:
      for (Half& x : tensor.mutable_data<Half>()) x = to_half(made_number(kind, normal(random)));
      break;
    case DataType::kU8:
      for (std::uint8_t& x : tensor.mutable_data<std::uint8_t>()) {
        x = kind == MadeInput::kZeros ? 0 : static_cast<std::uint8_t>(random());
      }
      break;
    case DataType::kI8:
      for (std::int8_t& x : tensor.mutable_data<std::int8_t>()) {
        const auto byte = static_cast<std::int8_t>(random());
        x = kind == MadeInput::kZeros           ? std::int8_t{0}
            : kind == MadeInput::kLargeNegative ? std::min(byte, std::int8_t{-1})
                                                : byte;
      }
      break;
    case DataType::kI64:
      for (std::int64_t& x : tensor.mutable_data<std::int64_t>()) x = small();
      break;
    case DataType::kI32:
      for (std::int32_t& x : tensor.mutable_data<std::int32_t>()) x = small();
      break;
    case DataType::kBool:
      for (bool& x : tensor.mutable_data<bool>()) x = small() == 1;
      break;
  }
  return tensor;
}

std::vector<Tensor> make_inputs(const Graph& bound, MadeInput kind) {
  std::mt19937_64 random(kSeed + static_cast<std::uint64_t>(kind));
  std::vector<Tensor> tensors;
  for (const GraphInput& input : bound.inputs()) tensors.push_back(make_tensor(bound.value(input.value), kind, random));
  return tensors;
}

Result<void> check_borders(const Graph& first, const Graph& second) {
  const auto differ = [&](std::string_view what) {
    return fail(ErrorCode::kBadData, std::format("the two graphs have other {}", what));
  };
  const auto same = [&](ValueId a, ValueId b) {
    return first.value(a).name == second.value(b).name && first.value(a).type == second.value(b).type;
  };
  if (!std::ranges::equal(first.inputs(), second.inputs(), same, &GraphInput::value, &GraphInput::value)) {
    return differ("inputs");
  }
  if (!std::ranges::equal(first.outputs(), second.outputs(), same)) return differ("outputs");
  return {};
}

// Runs of both graphs on one set of inputs, judged number by number.
class Judge {
 public:
  explicit Judge(Comparison& result) : result_(result) {}

  void compare(const Graph& graph, MadeInput kind, const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::string where =
          std::format("output \"{}\" on {}", printable(graph.value(graph.outputs()[i]).name), to_string(kind));
      compare_output(where, static_cast<int>(kind), a[i], b[i]);
    }
  }

 private:
  void compare_output(const std::string& where, int kind, const Tensor& a, const Tensor& b) {
    if (a.type() != b.type() || a.shape() != b.shape()) {
      differs(kind, std::format("{} has the shape {} in place of {}", where, engine::to_string(b.shape()),
                                engine::to_string(a.shape())));
      return;
    }
    if (a.type() != DataType::kF32 && a.type() != DataType::kF16) {
      if (!a.bit_equal(b)) differs(kind, std::format("{} has other whole numbers", where));
      return;
    }
    compare_floats(where, kind, a.shape(), a.to_floats(), b.to_floats());
  }

  void compare_floats(const std::string& where, int kind, const Shape& shape, const std::vector<float>& a,
                      const std::vector<float>& b) {
    double largest = 0;
    for (const float x : a) {
      if (std::isfinite(x)) largest = std::max(largest, std::abs(static_cast<double>(x)));
    }
    const double limit = kTolerance * std::max(1.0, largest);
    result_.largest_output = std::max(result_.largest_output, largest);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if ((std::isnan(a[i]) && std::isnan(b[i])) || a[i] == b[i]) continue;
      const double error = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
      if (!(error <= limit)) {
        differs(kind, std::format("{} differs at element {}: {} in place of {}, allowed are {:.2g}", where, i, b[i],
                                  a[i], limit));
        result_.max_error = std::max(result_.max_error, error);
        return;
      }
      if (error > result_.max_error) {
        result_.max_error = error;
        result_.limit = limit;
      }
    }
    result_.limit = std::max(result_.limit, limit);
    compare_top1(kind, where, shape, limit, a, b);
  }

  void compare_top1(int kind, const std::string& where, const Shape& shape, double limit, const std::vector<float>& a,
                    const std::vector<float>& b) {
    const std::size_t classes = shape.size() == 2 && shape[1] > 1 ? static_cast<std::size_t>(shape[1]) : 0;
    for (std::size_t row = 0; classes > 0 && row < a.size(); row += classes) {
      const std::span<const float> first(a.data() + row, classes);
      const std::span<const float> second(b.data() + row, classes);
      const auto best = std::ranges::max_element(first);
      double next = -std::numeric_limits<double>::infinity();
      for (auto at = first.begin(); at != first.end(); ++at) {
        if (at != best) next = std::max(next, static_cast<double>(*at));
      }
      if (!(static_cast<double>(*best) - next > 2 * limit)) continue;
      ++result_.top1_compared;
      if (std::ranges::max_element(second) - second.begin() == best - first.begin()) {
        ++result_.top1_same;
      } else {
        differs(kind, std::format("{} has another best class", where));
      }
    }
  }

  void differs(int kind, std::string what) {
    if (result_.same) {
      result_.difference = std::move(what);
      result_.difference_input = kind;
    }
    result_.same = false;
  }

  Comparison& result_;
};

}  // namespace

std::string_view to_string(MadeInput kind) {
  switch (kind) {
    case MadeInput::kNormal:
      return "normal random input";
    case MadeInput::kLargeNegative:
      return "large negative input";
    case MadeInput::kZeros:
      return "zeros";
    case MadeInput::kTwoInBatch:
      return "a batch of two";
  }
  return "?";
}

Result<Comparison> compare_graphs(const Graph& first, const Graph& second, int only_input) {
  KINGLET_TRY(check_borders(first, second));
  const Dim side = KINGLET_TRY(find_side(first));
  Comparison result{.backend = "evaluate"};
  Judge judge(result);
  for (const MadeInput kind : kKinds) {
    if (only_input >= 0 && only_input != static_cast<int>(kind)) continue;
    const bool two = kind == MadeInput::kTwoInBatch;
    if (two && !is_free(first, true)) continue;
    const Graph a = KINGLET_TRY(bind(first, two ? 2 : 1, side));
    const Graph b = KINGLET_TRY(bind(second, two ? 2 : 1, side));
    const std::vector<Tensor> inputs = make_inputs(a, kind);
    const std::vector<Tensor> expected = KINGLET_TRY(evaluate_graph(a, inputs));
    const std::vector<Tensor> actual = KINGLET_TRY(evaluate_graph(b, inputs));
    judge.compare(a, kind, expected, actual);
    ++result.inputs;
  }
  return result;
}

}  // namespace kinglet::engine
