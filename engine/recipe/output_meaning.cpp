// SPDX-License-Identifier: Apache-2.0
#include "engine/recipe/output_meaning.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::engine {
namespace {

using Kind = OutputForm::Kind;
using Forms = std::span<const OutputForm>;

constexpr std::string_view kNoClassifier =
    "kinglet needs an image classifier; look at the model with `kinglet inspect`";

std::string shown(const OutputForm& form) {
  return format_text("output \"{}\" is {} {}", printable(form.name, 60), to_string(form.type),
                     form.shape ? to_string(*form.shape) : std::string("of unknown shape"));
}

// What the operators say of these numbers, read as read_outputs does; nothing: bounded, but not by 1.
std::optional<Meaning> meaning_in_graph(const OutputForm& form, std::size_t length) {
  constexpr double kRounding = 0.01;  // of sums written as constants
  const double unit = form.plain_integers ? 255 : 1;
  if (!form.most) return form.plain_integers ? Meaning::kProbabilities : Meaning::kLogits;
  const bool whole_row =
      form.kind == Kind::kBest || form.of_sum == 0 || static_cast<std::size_t>(form.of_sum) == length;
  if (form.sum && whole_row && std::abs(*form.sum / unit - 1) <= kRounding) return Meaning::kProbabilities;
  if (*form.most / unit <= 1 + 1e-6) return Meaning::kIndependent;
  return std::nullopt;
}

struct Candidate {
  OutputMeaning meaning;
  std::optional<Meaning> in_graph;
  bool whole = true;  // has a number for every class
};

bool is_index_type(DataType type) {
  return type == DataType::kI64 || type == DataType::kI32 || type == DataType::kF32 || type == DataType::kU8 ||
         type == DataType::kI8;
}

// Another output has a number or a box for each of these places: they are not classes.
bool counts_rows_of_boxes(Forms forms, std::size_t length) {
  return length > 1 && std::ranges::any_of(forms, [&](const OutputForm& other) {
           if (other.length() || !other.shape || other.shape->size() < 2) return false;
           return std::ranges::count(*other.shape, static_cast<Dim>(length)) > 0 && other.shape->back() >= 4 &&
                  other.shape->back() <= 6;
         });
}

std::string why_no_row(const OutputForm& form) {
  if (!form.shape || !is_static(*form.shape)) return shown(form) + ", without a fixed number of classes";
  const auto sides = std::ranges::count_if(*form.shape, [](Dim dim) { return dim != 1; });
  return shown(form) + (sides > 2 ? ": a map (of places or features), not one score a class"
                                  : ": rows of numbers, as boxes of a detector or a map, not one score a class");
}

// The candidate that stands on output `i`, or why there is none.
Result<Candidate> candidate_at(Forms forms, std::size_t i) {
  const OutputForm& form = forms[i];
  const auto refuse = [](std::string why) {
    return fail(ErrorCode::kBadData, std::move(why), {}, std::string(kNoClassifier));
  };
  const auto length = form.length();
  if (!length) return refuse(why_no_row(form));
  if (counts_rows_of_boxes(forms, *length)) {
    return refuse(shown(form) + ": one number for each box of a detector, not one score a class");
  }
  if (form.kind == Kind::kNumbers) {
    if (!is_score_type(form.type)) {
      return refuse(format_text("output \"{}\" is of type {}, expected f32, u8 or i8", printable(form.name, 60),
                                to_string(form.type)));
    }
    const auto found = meaning_in_graph(form, *length);
    return Candidate{.meaning = {.output = i,
                                 .indices = {},
                                 .name = form.name,
                                 .meaning = found.value_or(Meaning::kLogits),
                                 .classes = *length,
                                 .decided_by = "last operator " + form.last_operator},
                     .in_graph = found};
  }
  if (form.smallest) return refuse(shown(form) + format_text(": {} of the smallest numbers", form.last_operator));
  if (form.row_length < 1) return refuse(shown(form) + ": of an unknown number of classes");
  // The numbers and their indices are two outputs of one row.
  std::optional<std::size_t> numbers, indices;
  for (std::size_t other = 0; other < forms.size(); ++other) {
    const OutputForm& beside = forms[other];
    if (beside.row != form.row || beside.length() != length) continue;
    if (beside.kind == Kind::kIndices && is_index_type(beside.type) && !indices) indices = other;
    if (beside.kind != Kind::kIndices && is_score_type(beside.type) && !numbers) numbers = other;
  }
  if (!indices) return refuse(shown(form) + ": the best numbers without the classes that they are of");
  const std::size_t place = numbers.value_or(*indices);
  const auto found = numbers ? meaning_in_graph(forms[*numbers], *length) : Meaning::kProbabilities;
  return Candidate{.meaning = {.output = place,
                               .indices = indices,
                               .name = forms[place].name,
                               .meaning = Meaning::kTopK,
                               .best = found.value_or(Meaning::kLogits),
                               .has_scores = numbers.has_value(),
                               .classes = static_cast<std::size_t>(form.row_length),
                               .decided_by = "last operator " + forms[*indices].last_operator},
                   .in_graph = found,
                   .whole = false};
}

// A ReduceMax beside the ArgMax of the same row is its number, not a class by itself.
bool belongs_to_indices(Forms forms, std::size_t i) {
  if (forms[i].row == kNoValue || forms[i].kind == Kind::kIndices) return false;
  return std::ranges::any_of(forms, [&](const OutputForm& other) {
    return other.kind == Kind::kIndices && other.row == forms[i].row && other.length() == forms[i].length();
  });
}

std::vector<Candidate> candidates_in(Forms forms, std::vector<Error>& refused) {
  std::vector<Candidate> found;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (belongs_to_indices(forms, i)) continue;
    auto one = candidate_at(forms, i);
    if (one) {
      const bool twice =
          one->meaning.indices &&
          std::ranges::contains(found, one->meaning.output, [](const Candidate& c) { return c.meaning.output; });
      if (!twice) found.push_back(std::move(*one));
    } else {
      refused.push_back(std::move(one).error());
    }
  }
  return found;
}

// Those that `is_right` holds for, unless that is none or all; then `why` has decided.
void narrow(std::vector<Candidate>& found, std::string_view why, const auto& is_right) {
  if (found.size() < 2) return;
  const auto count = static_cast<std::size_t>(std::ranges::count_if(found, is_right));
  if (count == 0 || count == found.size()) return;
  std::erase_if(found, [&](const Candidate& one) { return !is_right(one); });
  if (count == 1) found.front().meaning.decided_by += format_text("; {}", why);
}

bool has_word(std::string_view name, std::span<const std::string_view> words) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::any_of(words, [&](std::string_view word) { return lower.contains(word); });
}

// Of several that could be the scores, by what they are: a number for every class, the last that is computed, the name.
void choose(Forms forms, const OutputWish& wish, std::vector<Candidate>& found) {
  constexpr std::array<std::string_view, 2> kBeside{"aux", "feature"};
  constexpr std::array<std::string_view, 5> kScores{"prob", "logit", "score", "class", "softmax"};
  if (wish.labels) {
    narrow(found, format_text("it fits the {} labels", *wish.labels),
           [&](const Candidate& one) { return one.meaning.classes == *wish.labels; });
  }
  if (const auto stated = meaning_of(wish.stated)) {
    narrow(found, "it is what the recipe says", [&](const Candidate& one) {
      return *stated == Meaning::kTopK ? !one.whole : one.whole && one.in_graph == *stated;
    });
  }
  narrow(found, "it has all classes", [](const Candidate& one) { return one.whole; });
  narrow(found, "it is computed last", [&](const Candidate& one) {
    return std::ranges::none_of(forms[one.meaning.output].behind, [&](std::size_t later) {
      return std::ranges::contains(found, later, [](const Candidate& other) { return other.meaning.output; });
    });
  });
  narrow(found, "by its name", [&](const Candidate& one) { return !has_word(one.meaning.name, kBeside); });
  narrow(found, "by its name", [&](const Candidate& one) { return has_word(one.meaning.name, kScores); });
}

std::unexpected<Error> several(Forms forms, const std::vector<Candidate>& found) {
  std::string list;
  for (const Candidate& one : found) {
    const OutputForm& form = forms[one.meaning.output];
    list += format_text("{}\"{}\" {} {}", list.empty() ? "" : ", ", printable(form.name, 60), to_string(form.type),
                        to_string(*form.shape));
  }
  return fail(ErrorCode::kBadData, format_text("{} outputs could be the scores: {}", found.size(), list), {},
              "name one: model.output of the daemon, --scores of the tool; or give the labels");
}

Result<std::vector<Candidate>> named(Forms forms, std::string_view name) {
  const auto form = std::ranges::find(forms, name, &OutputForm::name);
  if (form == forms.end()) {
    std::string list;
    for (const OutputForm& one : forms)
      list += format_text("{}\"{}\"", list.empty() ? "" : ", ", printable(one.name, 60));
    return fail(ErrorCode::kBadData, format_text("the model has no output \"{}\"", printable(name, 60)), {},
                "it has " + list);
  }
  const auto index = static_cast<std::size_t>(form - forms.begin());
  std::size_t at = index;
  if (belongs_to_indices(forms, index)) {
    const auto is_its = [&](const OutputForm& other) { return other.kind == Kind::kIndices && other.row == form->row; };
    at = static_cast<std::size_t>(std::ranges::find_if(forms, is_its) - forms.begin());
  }
  Candidate one = KINGLET_TRY(candidate_at(forms, at));
  if (forms.size() > 1) one.meaning.decided_by += "; it was named";
  return std::vector{std::move(one)};
}

// What the recipe says counts; where the graph says something else, that is shown.
Result<OutputMeaning> stated(Forms forms, Candidate one, std::string_view word) {
  OutputMeaning& meaning = one.meaning;
  const OutputForm& form = forms[meaning.output];
  const auto by_recipe = meaning_of(word);
  if (by_recipe == Meaning::kTopK && one.whole) {
    return fail(ErrorCode::kBadData,
                format_text("the recipe says top_k, but {}: not the best of a TopK or ArgMax", shown(form)), "recipe",
                "leave \"output\" out");
  }
  if (!by_recipe || by_recipe == Meaning::kTopK || !meaning.has_scores) {
    if (one.in_graph) return std::move(meaning);
    return fail(ErrorCode::kBadData,
                format_text("{}: scores of 0 to {:g} by its last operators, expected 0 to 1", shown(form),
                            form.most.value_or(0)),
                {}, "say in the recipe what they are (docs/recipes.md), or export the model without the factor");
  }
  const bool differs = one.in_graph != by_recipe;
  meaning.decided_by = differs ? format_text("recipe, not {}", meaning.decided_by) : "recipe, " + meaning.decided_by;
  (one.whole ? meaning.meaning : meaning.best) = *by_recipe;
  return std::move(meaning);
}

}  // namespace

ScoreNature OutputMeaning::nature(double temperature) const {
  const Meaning numbers = meaning == Meaning::kTopK ? best : meaning;
  // The best few say nothing of the others that a temperature could be taken back from.
  return {.temperature = meaning == Meaning::kTopK ? 1 : temperature,
          .add_up_to_one = numbers != Meaning::kIndependent && classes > 1};
}

Result<OutputMeaning> decide_output(std::span<const OutputForm> forms, const OutputWish& wish) {
  std::vector<Error> refused;
  std::vector<Candidate> found =
      wish.name.empty() ? candidates_in(forms, refused) : KINGLET_TRY(named(forms, wish.name));
  if (found.empty() && refused.empty()) return fail(ErrorCode::kBadData, "the model has no output");
  if (found.empty()) {
    for (std::size_t i = 1; i < std::min<std::size_t>(refused.size(), 4); ++i) {
      refused.front().message += "; " + refused[i].message;
    }
    return std::unexpected(std::move(refused.front()));
  }
  choose(forms, wish, found);
  if (found.size() > 1) return several(forms, found);
  return stated(forms, std::move(found.front()), wish.stated);
}

std::optional<std::size_t> class_count(const Graph& graph, const RowRules& rules, const OutputWish& wish) {
  const std::vector<OutputForm> forms = output_forms(graph, rules);
  const Result<OutputMeaning> found = decide_output(forms, wish);
  if (!found) return std::nullopt;
  return found->classes;
}

}  // namespace kinglet::engine
