// SPDX-License-Identifier: Apache-2.0
#include "engine/session/compare_graphs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/graph/float16.h"
#include "engine/ops/op.h"
#include "engine/passes/runner.h"
#include "engine/plan/needs.h"
#include "engine/session/session.h"

namespace kinglet::engine {
namespace {

constexpr double kTolerance = 1e-4;
// Rounding to float16 moves a number by up to half of 2^-10 of it. Rewrites round at other places: what that costs
// either graph is measured against the same graph in float. They also fold constants, which are rounded in their turn,
// and weigh much where large products cancel out: that is measured with the first graph's constants moved by a unit of
// their last place, drawn at random. Both are single draws of what may happen, hence the factor for luck.
constexpr double kHalfUnit = 0x1p-11;
constexpr double kRoundings = 4;
constexpr int kDraws = 2;
// Models with more multiply-adds are run by XNNPACK; the reference evaluation would take minutes.
constexpr std::int64_t kEvaluatedMacs = 30'000'000;

Result<void> check_borders(const Graph& first, const Graph& second) {
  const auto differ = [&](std::string_view what) {
    return fail(ErrorCode::kBadData, format_text("the two graphs have other {}", what));
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

struct InputSet {
  int index = 0;
  std::string name;
  std::vector<Tensor> tensors;
};

// Runs of both graphs on one set of inputs, judged number by number.
class Judge {
 public:
  explicit Judge(Comparison& result) : result_(result) {}

  // What `graph` gives, and what the other one gives in its place.
  // `in_float`: what the graphs give when they do not round to float16 between; nothing when they never do.
  struct InFloat {
    std::vector<Tensor> a, b;
    std::vector<std::vector<Tensor>> moved;  // of `a` with other roundings of its constants
  };
  void compare(const Graph& graph, const InputSet& set, const std::vector<Tensor>& a, const std::vector<Tensor>& b,
               const InFloat& in_float) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::string where =
          format_text("output \"{}\" on {}", printable(graph.value(graph.outputs()[i]).name), set.name);
      rounding_ = kRoundings * (rounding(a[i], in_float.a, i) + rounding(b[i], in_float.b, i));
      for (const std::vector<Tensor>& moved : in_float.moved) {
        rounding_ = std::max(rounding_, kRoundings * largest_error(moved[i], in_float.a[i]));
      }
      compare_output(where, set.index, a[i], b[i]);
    }
    ++result_.inputs;
  }

 private:
  void compare_output(const std::string& where, int kind, const Tensor& a, const Tensor& b) {
    if (a.type() != b.type() || a.shape() != b.shape()) {
      differs(kind, format_text("{} has the shape {} in place of {}", where, engine::to_string(b.shape()),
                                engine::to_string(a.shape())));
      return;
    }
    if (a.type() != DataType::kF32 && a.type() != DataType::kF16) {
      if (!a.bit_equal(b)) differs(kind, format_text("{} has other whole numbers", where));
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
    const double limit = kTolerance * std::max(1.0, largest) + rounding_;
    result_.largest_output = std::max(result_.largest_output, largest);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if ((std::isnan(a[i]) && std::isnan(b[i])) || a[i] == b[i]) continue;
      const double error = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
      if (!(error <= limit)) {
        differs(kind, format_text("{} differs at element {}: {} in place of {}, allowed are {:.2g}", where, i, b[i],
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

  static double largest_error(const Tensor& a, const Tensor& b) {
    double most = 0;
    const bool is_float = a.type() == DataType::kF32 || a.type() == DataType::kF16;
    if (!is_float || a.shape() != b.shape()) return most;
    const std::vector<float> found = a.to_floats();
    const std::vector<float> exact = b.to_floats();
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double error = std::abs(static_cast<double>(found[i]) - static_cast<double>(exact[i]));
      if (std::isfinite(error)) most = std::max(most, error);
    }
    return most;
  }

  // How far the output is at most from what it is in float, and half a unit of its largest number.
  static double rounding(const Tensor& half, const std::vector<Tensor>& in_float, std::size_t output) {
    const bool is_float = half.type() == DataType::kF32 || half.type() == DataType::kF16;
    if (in_float.empty() || !is_float || half.shape() != in_float[output].shape()) return 0;
    double largest = 1;
    for (const float number : half.to_floats()) {
      if (std::isfinite(number)) largest = std::max(largest, std::abs(static_cast<double>(number)));
    }
    return largest_error(half, in_float[output]) + kHalfUnit * largest;
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
        differs(kind, format_text("{} has another best class", where));
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
  double rounding_ = 0;  // what rounding to float16 may do to the output at hand
};

using Answers = std::vector<std::vector<Tensor>>;  // by set of inputs, then by output

Result<Answers> run_by_evaluate(const Graph& bound, std::span<const InputSet> sets) {
  Answers answers;
  for (const InputSet& set : sets) answers.push_back(KINGLET_TRY(evaluate_graph(bound, set.tensors)));
  return answers;
}

// Without the passes: what they do is what is in question.
Result<Answers> run_by_session(const Graph& bound, std::span<const InputSet> sets) {
  const int threads = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 4);
  Session session = KINGLET_TRY(Session::create(bound, {.threads = threads, .optimize = false}));
  Answers answers;
  for (const InputSet& set : sets) {
    for (std::size_t i = 0; i < set.tensors.size(); ++i) KINGLET_TRY(session.set_input(i, set.tensors[i]));
    KINGLET_TRY(session.run());
    std::vector<Tensor>& given = answers.emplace_back();
    for (std::size_t i = 0; i < session.outputs().size(); ++i) given.push_back(session.get_output(i));
  }
  return answers;
}

// What the graph answers where float16 is not rounded to between its nodes; nothing for each set when it has none.
Result<Answers> run_in_float(const Graph& bound, std::span<const InputSet> sets) {
  Graph wide = bound;
  const PassReport report = KINGLET_TRY(run_passes(wide, {.for_session = true, .only = {"widen_halves"}}));
  if (report.rewrite_count() == 0) return Answers(sets.size());
  return run_by_evaluate(wide, sets);
}

// Each number of float16 among the constants goes to a neighbour, or stays: one draw of how they might be rounded.
Graph with_moved_halves(const Graph& graph, std::uint32_t draw) {
  Graph moved = graph;
  std::minstd_rand random(draw + 1);
  for (const ValueId id : graph.values()) {
    const Tensor* constant = graph.constant(id);
    if (constant == nullptr || constant->type() != DataType::kF16) continue;
    Tensor tensor = *constant;
    for (Half& half : tensor.mutable_data<Half>()) {
      const int bits = static_cast<int>(std::to_underlying(half)) + static_cast<int>(random() % 3) - 1;
      const Half neighbour{static_cast<std::uint16_t>(bits)};
      const bool is_near = to_float(half) != 0 && std::isfinite(to_float(half)) && std::isfinite(to_float(neighbour));
      if (is_near) half = neighbour;
    }
    moved.set_constant(id, std::move(tensor));
  }
  return moved;
}

bool is_large(const Graph& bound) {
  std::int64_t macs = 0;
  for (const NodeId id : bound.nodes()) macs += multiply_adds(bound, id);
  return macs > kEvaluatedMacs;
}

// Both graphs on sets of inputs of one batch size, one graph after the other.
Result<void> compare_bound(const Graph& first, const Graph& second, std::span<const InputSet> sets,
                           Comparison& result) {
  if (is_large(first)) {
    const Result<Answers> expected = run_by_session(first, sets);
    const Result<Answers> actual = expected ? run_by_session(second, sets) : expected;
    Comparison quick = result;
    Judge judge(quick);
    for (std::size_t i = 0; actual && i < sets.size(); ++i) {
      judge.compare(first, sets[i], (*expected)[i], (*actual)[i], {});
    }
    if (actual && quick.same) {
      result = std::move(quick);
      result.backend = "xnnpack";
      return {};
    }
  }
  // A difference counts when the reference evaluation shows it: kernels may treat NaN and infinity otherwise.
  result.backend = "evaluate";
  const Answers expected = KINGLET_TRY(run_by_evaluate(first, sets));
  const Answers actual = KINGLET_TRY(run_by_evaluate(second, sets));
  const Answers first_in_float = KINGLET_TRY(run_in_float(first, sets));
  const Answers second_in_float = KINGLET_TRY(run_in_float(second, sets));
  std::vector<Answers> moved;
  const bool has_halves = !sets.empty() && !first_in_float.front().empty();
  for (int draw = 0; has_halves && draw < kDraws; ++draw) {
    // A constant that may not be moved at all makes no draw.
    if (auto answers = run_in_float(with_moved_halves(first, draw), sets)) moved.push_back(std::move(*answers));
  }
  Judge judge(result);
  for (std::size_t i = 0; i < sets.size(); ++i) {
    Judge::InFloat in_float{.a = first_in_float[i], .b = second_in_float[i], .moved = {}};
    for (const Answers& answers : moved) in_float.moved.push_back(answers[i]);
    judge.compare(first, sets[i], expected[i], actual[i], in_float);
  }
  return {};
}

// The sets of inputs of this batch size that are asked for.
std::vector<InputSet> input_sets(const Graph& bound, Dim batch, const CompareOptions& options) {
  std::vector<InputSet> sets;
  const auto add = [&](int index, std::string name, std::vector<Tensor> tensors) {
    if (options.only_input >= 0 && options.only_input != index) return;
    sets.push_back({.index = index, .name = std::move(name), .tensors = std::move(tensors)});
  };
  const auto add_made = [&](MadeInput kind) {
    add(static_cast<int>(kind), std::string(to_string(kind)), make_inputs(bound, kind));
  };
  if (batch == 2) {
    add_made(MadeInput::kTwoInBatch);
    return sets;
  }
  for (const MadeInput kind : {MadeInput::kNormal, MadeInput::kLargeNegative, MadeInput::kZeros}) add_made(kind);
  for (std::size_t i = 0; i < options.pictures.size(); ++i) {
    add(static_cast<int>(MadeInput::kTwoInBatch) + 1 + static_cast<int>(i), options.pictures[i].name,
        options.pictures[i].tensors);
  }
  return sets;
}

}  // namespace

Result<Comparison> compare_graphs(const Graph& first, const Graph& second, const CompareOptions& options) {
  KINGLET_TRY(check_borders(first, second));
  const Dim side = KINGLET_TRY(find_side(first));
  Comparison result{.backend = "evaluate"};
  for (const Dim batch : {Dim{1}, Dim{2}}) {
    if (batch == 2 && !has_free_batch(first)) continue;
    const Graph a = KINGLET_TRY(bind_inputs(first, batch, side));
    const std::vector<InputSet> sets = input_sets(a, batch, options);
    if (sets.empty()) continue;
    const Graph b = KINGLET_TRY(bind_inputs(second, batch, side));
    for (const Graph* graph : {&a, &b}) KINGLET_TRY(check_needs(*graph, memory_limit_of(*graph)));
    KINGLET_TRY(compare_bound(a, b, sets, result));
  }
  return result;
}

}  // namespace kinglet::engine
