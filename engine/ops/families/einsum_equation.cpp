// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/families/einsum_equation.h"

#include <algorithm>
#include <optional>
#include <set>

#include "engine/base/format.h"

namespace kinglet::engine::ops {
namespace {

// One term before the ellipsis is given its dimensions.
struct Term {
  std::vector<int> letters;
  std::optional<std::size_t> ellipsis;  // stands before the letter of this index
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::expected<Term, std::string> parse_term(std::string_view text) {
  Term term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (is_letter(text[i])) {
      term.letters.push_back(text[i]);
    } else if (text.substr(i).starts_with("...") && !term.ellipsis) {
      term.ellipsis = term.letters.size();
      i += 2;
    } else {
      return std::unexpected(format_text("term {} of the equation is not made of letters and one \"...\"", text));
    }
  }
  return term;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t comma; (comma = text.find(',')) != std::string_view::npos; text.remove_prefix(comma + 1)) {
    parts.push_back(text.substr(0, comma));
  }
  parts.push_back(text);
  return parts;
}

// `hidden` dimensions for the ellipsis, counted from the right so that terms align as broadcasting does.
std::vector<int> labels_of(const Term& term, std::size_t hidden) {
  std::vector<int> labels = term.letters;
  if (!term.ellipsis) return labels;
  std::vector<int> inner;
  for (std::size_t i = hidden; i-- > 0;) inner.push_back(EinsumEquation::kEllipsis + static_cast<int>(i));
  labels.insert(labels.begin() + static_cast<std::ptrdiff_t>(*term.ellipsis), inner.begin(), inner.end());
  return labels;
}

// Without "->": the ellipsis, then the letters that stand once in all inputs, sorted.
Term implicit_output(const std::vector<Term>& inputs) {
  Term output;
  std::vector<int> all;
  for (const Term& term : inputs) {
    all.insert(all.end(), term.letters.begin(), term.letters.end());
    if (term.ellipsis) output.ellipsis = 0;
  }
  for (const int letter : std::set<int>(all.begin(), all.end())) {
    if (std::ranges::count(all, letter) == 1) output.letters.push_back(letter);
  }
  return output;
}

std::expected<std::vector<int>, std::string> output_labels(const Term& output, const EinsumEquation& equation,
                                                           std::size_t hidden) {
  std::vector<int> labels = labels_of(output, hidden);
  for (const int label : labels) {
    if (std::ranges::count(labels, label) > 1) return std::unexpected("the equation's output names a letter twice");
    const bool known = std::ranges::any_of(
        equation.inputs, [&](const std::vector<int>& input) { return std::ranges::find(input, label) != input.end(); });
    if (!known) return std::unexpected("the equation's output names a letter that no input has");
  }
  return labels;
}

}  // namespace

std::expected<EinsumEquation, std::string> parse_einsum(std::string_view equation, std::span<const std::size_t> ranks) {
  const std::size_t arrow = equation.find("->");
  const std::vector<std::string_view> parts = split(equation.substr(0, arrow));
  if (parts.size() != ranks.size()) {
    return std::unexpected(format_text("the equation has {} terms for {} inputs", parts.size(), ranks.size()));
  }
  std::vector<Term> terms;
  std::size_t most_hidden = 0;
  EinsumEquation result;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto term = parse_term(parts[i]);
    if (!term) return std::unexpected(std::move(term).error());
    const std::size_t letters = term->letters.size();
    if (letters > ranks[i] || (!term->ellipsis && letters != ranks[i])) {
      return std::unexpected(
          format_text("term {} of the equation names {} dimensions, input {} has {}", parts[i], letters, i, ranks[i]));
    }
    if (term->ellipsis) most_hidden = std::max(most_hidden, ranks[i] - letters);
    result.inputs.push_back(labels_of(*term, ranks[i] - letters));
    terms.push_back(*std::move(term));
  }
  std::expected<Term, std::string> output =
      arrow == std::string_view::npos ? implicit_output(terms) : parse_term(equation.substr(arrow + 2));
  if (!output) return std::unexpected(std::move(output).error());
  auto labels = output_labels(*output, result, most_hidden);
  if (!labels) return std::unexpected(std::move(labels).error());
  result.output = *std::move(labels);
  return result;
}

}  // namespace kinglet::engine::ops
