// SPDX-License-Identifier: Apache-2.0
#include "engine/passes/contraction.h"

#include <algorithm>
#include <string>

namespace kinglet::engine {
namespace {

struct Equation {
  std::string first, second, result;
};

bool is_plain_term(const std::string& term) {
  std::string sorted = term;
  std::ranges::sort(sorted);
  return std::ranges::all_of(term, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }) &&
         std::ranges::adjacent_find(sorted) == sorted.end();
}

std::optional<Equation> parse(std::string_view text) {
  std::string equation;
  std::ranges::copy_if(text, std::back_inserter(equation), [](char c) { return c != ' '; });
  const std::size_t comma = equation.find(',');
  const std::size_t arrow = equation.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || arrow < comma) return std::nullopt;
  Equation parts{.first = equation.substr(0, comma),
                 .second = equation.substr(comma + 1, arrow - comma - 1),
                 .result = equation.substr(arrow + 2)};
  if (!is_plain_term(parts.first) || !is_plain_term(parts.second) || !is_plain_term(parts.result)) return std::nullopt;
  return parts;
}

// Letters of `term`, in its order, that both others hold or do not hold.
std::string letters(const std::string& term, const std::string& with, const std::string& without) {
  std::string out;
  for (const char c : term) {
    if (with.contains(c) && !without.contains(c)) out += c;
  }
  return out;
}

std::vector<std::int64_t> permutation(const std::string& from, const std::string& to) {
  std::vector<std::int64_t> perm;
  for (const char c : to) perm.push_back(static_cast<std::int64_t>(from.find(c)));
  return perm;
}

bool same_dims(const std::string& first, const Shape& a, const std::string& second, const Shape& b) {
  if (a.size() != first.size() || b.size() != second.size()) return false;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const std::size_t at = second.find(first[i]);
    if (at != std::string::npos && (a[i] == kUnknownDim || a[i] != b[at])) return false;
  }
  return true;
}

}  // namespace

bool Contraction::is_plain() const {
  return std::ranges::is_sorted(first) && std::ranges::is_sorted(second) && std::ranges::is_sorted(product);
}

std::optional<Contraction> match_contraction(const Graph& graph, const Node& einsum) {
  const std::optional<Equation> equation = parse(einsum.attributes.get_string("equation", ""));
  if (!equation || einsum.inputs.size() != 2) return std::nullopt;
  const auto& [first, second, result] = *equation;
  const Value& a = graph.value(einsum.inputs[0]);
  const Value& b = graph.value(einsum.inputs[1]);
  if (!is_float(a.type) || !a.shape || !b.shape || !same_dims(first, *a.shape, second, *b.shape)) return std::nullopt;
  std::string batch;
  for (const char c : result) {
    if (first.contains(c) && second.contains(c)) batch += c;
  }
  const std::string inner = letters(first, second, result);
  const std::string rows = letters(first, result, second);
  const std::string columns = letters(second, result, first);
  const std::size_t product_rank = batch.size() + 2;
  if (inner.size() != 1 || rows.size() != 1 || columns.size() != 1 || first.size() != product_rank ||
      second.size() != product_rank || result.size() != product_rank) {
    return std::nullopt;
  }
  return Contraction{.first = permutation(first, batch + rows + inner),
                     .second = permutation(second, batch + inner + columns),
                     .product = permutation(batch + rows + columns, result)};
}

}  // namespace kinglet::engine
