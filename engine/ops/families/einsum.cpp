// SPDX-License-Identifier: Apache-2.0
// Einsum: sums of products over named dimensions ("bij,bjk->bik"), with diagonals, "..." and sizes of 1 that broadcast.
// Evaluated two operands at a time, each label summed as soon as nothing later needs it: a chain of matrices costs what
// the chain of MatMul costs, not the product of all dimensions.
#include <algorithm>
#include <map>
#include <set>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/ops/common.h"
#include "engine/ops/families/einsum_equation.h"
#include "engine/ops/rows.h"
#include "engine/ops/steps.h"

namespace kinglet::engine::ops {
namespace {

using LabelSizes = std::map<int, Dim>;

// Sizes agree, or one of them is 1.
Result<LabelSizes> label_sizes(const InferContext& context, const EinsumEquation& equation) {
  LabelSizes sizes;
  for (std::size_t i = 0; i < equation.inputs.size(); ++i) {
    const Shape& shape = *context.input_shape(i);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const auto [at, is_new] = sizes.try_emplace(equation.inputs[i][axis], shape[axis]);
      const std::optional<Shape> both = broadcast(std::span(&at->second, 1), std::span(&shape[axis], 1));
      if (!both) {
        return context.fail(format_text("dimension {} of input {} is {}, another of the same letter {}", axis, i,
                                        shape[axis], at->second));
      }
      if (!is_new) at->second = both->front();
    }
  }
  return sizes;
}

Result<void> infer_einsum(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, {DataType::kF32, DataType::kF16, DataType::kI64, DataType::kI32}));
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    KINGLET_TRY(need_type_of(context, i, 0));
    if (context.input_shape(i)) ranks.push_back(context.input_shape(i)->size());
  }
  if (ranks.size() != context.input_count()) {
    context.set_output(0, context.input_type(0), std::nullopt);
    return {};
  }
  const std::string_view text = context.attributes().get_string("equation", "");
  const auto equation = parse_einsum(text, ranks);
  if (!equation) return context.fail(printable(equation.error()));
  const LabelSizes sizes = KINGLET_TRY(label_sizes(context, *equation));
  Shape out;
  for (const int label : equation->output) out.push_back(sizes.at(label));
  context.set_output(0, context.input_type(0), out);
  return {};
}

// An operand or a partial product: numbers with a stride for each label they depend on.
template <typename Sum>
struct Factor {
  std::vector<Sum> numbers;
  std::map<int, std::pair<Dim, std::int64_t>> labels;  // size and stride; a label twice in a term adds its strides

  [[nodiscard]] Dim size(int label) const {
    const auto at = labels.find(label);
    return at == labels.end() ? 1 : at->second.first;
  }
  [[nodiscard]] std::int64_t stride(int label) const {
    const auto at = labels.find(label);
    return at == labels.end() || at->second.first == 1 ? 0 : at->second.second;
  }
};

// The number 1, which depends on no label.
template <typename Sum>
Factor<Sum> unit() {
  Factor<Sum> factor;
  factor.numbers.resize(1, Sum{1});
  return factor;
}

template <typename T, typename Sum>
Factor<Sum> factor_of(const Tensor& tensor, const std::vector<int>& labels) {
  const auto from = tensor.data<T>();
  Factor<Sum> factor{.numbers = {from.begin(), from.end()}, .labels = {}};
  const std::vector<std::int64_t> strides = row_major_strides(tensor.shape());
  for (std::size_t axis = 0; axis < labels.size(); ++axis) {
    auto& [size, stride] = factor.labels[labels[axis]];
    size = std::max(size, tensor.shape()[axis]);
    if (tensor.shape()[axis] != 1) stride += strides[axis];
  }
  return factor;
}

// The sum over all labels that are not in `kept` of a * b; the result is dense in the order of `kept`.
template <typename Sum>
Factor<Sum> multiply(const Factor<Sum>& a, const Factor<Sum>& b, const std::vector<int>& kept) {
  std::set<int> summed;
  for (const Factor<Sum>* factor : {&a, &b}) {
    for (const auto& [label, place] : factor->labels) {
      if (std::ranges::find(kept, label) == kept.end()) summed.insert(label);
    }
  }
  const auto layout = [&](const auto& labels, Shape& shape, std::array<std::vector<std::int64_t>, 2>& strides) {
    for (const int label : labels) {
      shape.push_back(a.size(label) == 1 ? b.size(label) : a.size(label));
      strides[0].push_back(a.stride(label));
      strides[1].push_back(b.stride(label));
    }
  };
  Shape outer, inner;
  std::array<std::vector<std::int64_t>, 2> outer_strides, inner_strides;
  layout(kept, outer, outer_strides);
  layout(summed, inner, inner_strides);
  // The last summed label is a plain loop.
  const Dim run = inner.empty() ? 1 : inner.back();
  const std::int64_t step_a = inner.empty() ? 0 : inner_strides[0].back();
  const std::int64_t step_b = inner.empty() ? 0 : inner_strides[1].back();
  if (!inner.empty()) {
    inner.pop_back();
    inner_strides[0].pop_back();
    inner_strides[1].pop_back();
  }
  Factor<Sum> out;
  out.numbers.reserve(static_cast<std::size_t>(element_count(outer).value_or(0)));
  walk<2>(outer, outer_strides, [&](const std::array<std::int64_t, 2>& start) {
    Sum sum{};
    walk<2>(inner, inner_strides, [&](const std::array<std::int64_t, 2>& at) {
      const Sum* left = a.numbers.data() + start[0] + at[0];
      const Sum* right = b.numbers.data() + start[1] + at[1];
      for (Dim i = 0; i < run; ++i) sum += left[i * step_a] * right[i * step_b];
    });
    out.numbers.push_back(sum);
  });
  const std::vector<std::int64_t> dense = row_major_strides(outer);
  for (std::size_t i = 0; i < kept.size(); ++i) out.labels[kept[i]] = {outer[i], dense[i]};
  return out;
}

// Labels of the factors that the output or an input from `next` on still needs.
template <typename Sum>
std::vector<int> needed_labels(const EinsumEquation& equation, std::size_t next, const Factor<Sum>& a,
                               const Factor<Sum>& b) {
  std::set<int> later(equation.output.begin(), equation.output.end());
  for (std::size_t i = next; i < equation.inputs.size(); ++i) {
    later.insert(equation.inputs[i].begin(), equation.inputs[i].end());
  }
  std::vector<int> kept;
  for (const int label : later) {
    if (a.labels.contains(label) || b.labels.contains(label)) kept.push_back(label);
  }
  return kept;
}

// A partial product may be larger than all inputs and the output, but not by any factor: a few letters in a small file
// must not take minutes or gigabytes.
std::int64_t most_partial_bytes(Inputs inputs, const Tensor& y) {
  constexpr std::int64_t kFactor = 64;
  constexpr std::int64_t kAlways = std::int64_t{1} << 20;
  auto bytes = static_cast<std::int64_t>(y.byte_count());
  for (const Tensor* input : inputs) bytes += static_cast<std::int64_t>(input->byte_count());
  return bytes * kFactor + kAlways;
}

template <typename Sum>
bool fits(const Factor<Sum>& a, const Factor<Sum>& b, const std::vector<int>& kept, std::int64_t most) {
  std::int64_t bytes = sizeof(Sum);
  for (const int label : kept) {
    bytes *= std::max<Dim>(1, std::max(a.size(label), b.size(label)));
    if (bytes > most) return false;
  }
  return true;
}

// The labels of input `index` that something else names too; the others are summed first.
std::vector<int> shared_labels(const EinsumEquation& equation, std::size_t index) {
  std::set<int> elsewhere(equation.output.begin(), equation.output.end());
  for (std::size_t other = 0; other < equation.inputs.size(); ++other) {
    if (other != index) elsewhere.insert(equation.inputs[other].begin(), equation.inputs[other].end());
  }
  const std::set<int> own(equation.inputs[index].begin(), equation.inputs[index].end());
  std::vector<int> shared;
  std::ranges::set_intersection(own, elsewhere, std::back_inserter(shared));
  return shared;
}

template <typename T>
Result<void> contract(const Node& node, const EinsumEquation& equation, Inputs inputs, Tensor& y) {
  using Sum = std::conditional_t<std::is_same_v<T, float>, double, std::uint64_t>;
  const Factor<Sum> one = unit<Sum>();
  Factor<Sum> product = unit<Sum>();
  const std::int64_t most = most_partial_bytes(inputs, y);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Factor<Sum> next = factor_of<T, Sum>(*inputs[i], equation.inputs[i]);
    const std::vector<int> shared = shared_labels(equation, i);
    if (shared.size() != equation.inputs[i].size()) next = multiply(next, one, shared);
    const std::vector<int> kept = needed_labels(equation, i + 1, product, next);
    if (!fits(product, next, kept, most)) {
      return fail(ErrorCode::kUnsupported, "a partial product of its inputs would be too large",
                  format_text("node \"{}\" (Einsum)", printable(node.name)), "write it as several nodes");
    }
    product = multiply(product, next, kept);
  }
  std::vector<std::int64_t> strides;
  strides.reserve(equation.output.size());
  for (const int label : equation.output) strides.push_back(product.stride(label));
  T* to = y.mutable_data<T>().data();
  walk<1>(y.shape(), {strides}, [&](const std::array<std::int64_t, 1>& at) {
    *to++ = static_cast<T>(product.numbers[static_cast<std::size_t>(at[0])]);
  });
  return {};
}

Result<void> evaluate_einsum(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  std::vector<std::size_t> ranks;
  for (const Tensor* input : inputs) ranks.push_back(input->shape().size());
  const auto equation = parse_einsum(node.attributes.get_string("equation", ""), ranks);
  KINGLET_CHECK(equation.has_value());  // infer parsed the same
  return visit_type(outputs[0].type(), [&]<typename T>() -> Result<void> {
    if constexpr (sizeof(T) >= 4) return contract<T>(node, *equation, inputs, outputs[0]);
    return {};
  });
}

// At most: as if all inputs were multiplied at once.
double einsum_steps(const Graph& graph, const Node& node) {
  std::vector<std::size_t> ranks;
  for (const ValueId input : node.inputs) {
    const std::optional<Shape>* shape = input == kNoValue ? nullptr : &graph.value(input).shape;
    if (shape == nullptr || !*shape) return 0;
    ranks.push_back((*shape)->size());
  }
  const auto equation = parse_einsum(node.attributes.get_string("equation", ""), ranks);
  if (!equation) return 0;
  std::map<int, double> sizes;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (std::size_t axis = 0; axis < ranks[i]; ++axis) {
      double& size = sizes[equation->inputs[i][axis]];
      size = std::max(size, input_dim(graph, node, i, static_cast<int>(axis)));
    }
  }
  double steps = 1;
  for (const auto& [label, size] : sizes) steps *= size;
  return steps;
}

}  // namespace

const OpParts kEinsum{.infer = infer_einsum, .evaluate = evaluate_einsum, .steps = einsum_steps};

}  // namespace kinglet::engine::ops
