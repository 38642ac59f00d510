// SPDX-License-Identifier: Apache-2.0
#include "visits/decide.h"

#include <algorithm>
#include <cmath>
#include <ranges>

#include "engine/base/check.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/base/words.h"
#include "visits/names/match.h"

namespace kinglet::visits {
namespace {

// How many of the best are counted before the rest.
constexpr std::size_t kBestFew = 5;

// More of a picture's scores than this for the background: nobody is there. Less is no rival of any bird; where
// something has been looked at for long even more is none: small birds are called background by half of the scores and
// more, and the best of the rest is right (docs/visits.md).
constexpr double kMostBackground = 0.5;

// How much less likely birds are that a region's list has not, or not in this month.
constexpr float kUnlistedWeight = 0.05F;
constexpr float kOutOfSeasonWeight = 0.3F;

// The taxa that a list of names stands for; what the model does not know is told.
std::vector<std::uint32_t> find_all(const Taxa& taxa, std::span<const std::string> names, std::string_view key,
                                    std::vector<std::string>& warnings) {
  std::vector<std::uint32_t> found;
  for (const std::string& name : names) {
    if (const std::optional<std::uint32_t> taxon = taxa.find(name)) {
      found.push_back(*taxon);
      continue;
    }
    const std::string_view near = taxa.nearest(name);
    warnings.push_back(format_text("{}: this model does not know \"{}\"{}", key, printable(name, 60),
                                   near.empty() ? std::string() : format_text("; did you mean {}?", near)));
  }
  return found;
}

bool within_any(const Taxa& taxa, std::uint32_t taxon, std::span<const std::uint32_t> ancestors) {
  return std::ranges::any_of(ancestors, [&](std::uint32_t ancestor) { return taxa.within(taxon, ancestor); });
}

constexpr Word<Outcome> kOutcomeWords[] = {
    {Outcome::kAccepted, "accepted"},      {Outcome::kBelowThreshold, "below_threshold"},
    {Outcome::kBackground, "background"},  {Outcome::kAmbiguous, "ambiguous"},
    {Outcome::kNotAllowed, "not_allowed"}, {Outcome::kBlocked, "blocked"},
    {Outcome::kNonFinite, "non_finite"},
};

}  // namespace

std::string_view to_string(Outcome outcome) { return word_of(kOutcomeWords, outcome); }

unsigned month_of(WallTime time) {
  const std::chrono::year_month_day date(std::chrono::floor<std::chrono::days>(time));
  return static_cast<unsigned>(date.month());
}

std::shared_ptr<const Rule> Rule::make(std::shared_ptr<const Taxa> taxa, const DecideOptions& options,
                                       std::vector<std::string>& warnings, engine::ScoreNature nature) {
  auto rule = std::make_shared<Rule>();
  rule->taxa_ = std::move(taxa);
  rule->entries_.resize(rule->taxa_->size());
  rule->min_margin_ = options.min_margin;
  rule->max_rest_ = options.max_rest;
  rule->nature_ = nature;
  rule->unlisted_ = options.unlisted;
  rule->add_scores(options, warnings);
  rule->add_lists(options, warnings);
  if (options.region) rule->add_region(*options.region, warnings);
  rule->has_region_ = options.region.has_value();
  rule->raise_to_parents();
  return rule;
}

// What is said of a whole counts for its parts unless something is said of them.
void Rule::add_scores(const DecideOptions& options, std::vector<std::string>& warnings) {
  std::vector<std::optional<double>> named(entries_.size());
  for (const auto& [name, score] : options.scores) {
    for (const std::uint32_t taxon : find_all(*taxa_, std::span(&name, 1), "decide.scores", warnings)) {
      named[taxon] = score;
    }
  }
  for (const std::uint32_t i : std::views::reverse(taxa_->deepest_first())) {
    const std::uint32_t parent = (*taxa_)[i].parent;
    if (!named[i] && parent != kNoTaxon) named[i] = named[parent];
    entries_[i].min_score = named[i].value_or(options.min_score);
    entries_[i].min_total = named[i].value_or(std::max(options.genus_score, options.min_score));
  }
}

void Rule::add_lists(const DecideOptions& options, std::vector<std::string>& warnings) {
  const auto allowed = find_all(*taxa_, options.allow, "decide.allow", warnings);
  const auto blocked = find_all(*taxa_, options.block, "decide.block", warnings);
  const auto always = find_all(*taxa_, options.always, "decide.always", warnings);
  const auto ignored = find_all(*taxa_, options.ignore, "decide.ignore", warnings);
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    entry.ignored = (*taxa_)[i].role != engine::LabelRole::kSpecies || within_any(*taxa_, i, ignored);
    entry.background = (*taxa_)[i].role == engine::LabelRole::kBackground;
    entry.blocked = within_any(*taxa_, i, blocked);
    entry.always = within_any(*taxa_, i, always);
    entry.allowed = options.allow.empty() || within_any(*taxa_, i, allowed);
  }
}

// A list of a region has birds that a model does not know; where it has no other, it is of another tongue or spelling.
void Rule::add_region(const SpeciesList& region, std::vector<std::string>& warnings) {
  std::vector<std::optional<Months>> listed(entries_.size());
  std::size_t known = 0;
  for (const auto& [id, bird] : region.entries()) {
    const std::optional<std::uint32_t> taxon = find_listed(*taxa_, bird.name);
    if (!taxon) continue;
    listed[*taxon] = bird.months;
    ++known;
  }
  if (known == 0 && !region.entries().empty()) {
    warnings.push_back(format_text("decide.region: this model knows none of its {} names, such as \"{}\"",
                                   region.entries().size(), printable(region.entries().begin()->second.name, 60)));
  }
  for (const std::uint32_t i : std::views::reverse(taxa_->deepest_first())) {
    const std::uint32_t parent = (*taxa_)[i].parent;
    entries_[i].months = listed[i].value_or(parent == kNoTaxon ? Months{0} : entries_[parent].months);
  }
}

// A whole may be named when one of its parts may, and may not when none may.
void Rule::raise_to_parents() {
  std::vector<std::uint32_t> blocked_parts(entries_.size(), 0);
  for (const std::uint32_t i : taxa_->deepest_first()) {
    const std::uint32_t parent = (*taxa_)[i].parent;
    if (parent == kNoTaxon) continue;
    entries_[parent].allowed = entries_[parent].allowed || entries_[i].allowed;
    entries_[parent].always = entries_[parent].always || entries_[i].always;
    entries_[parent].months = static_cast<Months>(entries_[parent].months | entries_[i].months);
    if (entries_[i].blocked && ++blocked_parts[parent] == (*taxa_)[parent].child_count) entries_[parent].blocked = true;
  }
}

Decider::Decider(std::shared_ptr<const Rule> rule)
    : rule_(std::move(rule)),
      own_(rule_->taxa().size()),
      total_(rule_->taxa().size()),
      weight_(rule_->taxa().leaf_count()) {}

Answer Decider::decide(std::span<const float> scores, std::optional<unsigned> month, std::size_t top_k, double looks) {
  const Taxa& taxa = rule_->taxa();
  KINGLET_CHECK(scores.size() == taxa.of_class().size() && !scores.empty());
  KINGLET_CHECK(top_k >= 1 && top_k <= kMaxTop);
  if (!std::ranges::all_of(scores, [](float score) { return std::isfinite(score); })) return {};
  sum_up(scores);
  const float background = this->background();
  const double certainty = certainty_of(looks);
  if (static_cast<double>(background) > kMostBackground * std::max(1.0, certainty)) return nobody(scores, top_k);
  certainty_ = certainty;
  weigh(month, background);
  sum_up_parents();
  // What judging needs, whatever the caller wants to see.
  std::array<engine::Score, kMaxTop> best;
  const std::span<const float> leaves = std::span<const float>(own_).first(taxa.leaf_count());
  const std::size_t count = engine::top_k(leaves, std::span(best).first(std::max(top_k, kBestFew)));

  Answer answer;
  const auto first = static_cast<std::uint32_t>(best[0].index);
  answer.outcome = judge_scores(std::span(best).first(count), scores);
  answer.taxon = first;
  if (answer.outcome == Outcome::kBelowThreshold || answer.outcome == Outcome::kAmbiguous) {
    if (const std::uint32_t parent = sure_parent(first); parent != kNoTaxon) {
      // A bird that nobody wants to hear of does not come in by its family's name.
      answer.outcome = rule_->entries_[first].blocked ? Outcome::kBlocked : Outcome::kAccepted;
      answer.taxon = parent;
    }
  }
  answer.score = sure(answer.taxon == first ? best[0].value : total_[answer.taxon]);
  if (answer.taxon != first) answer.entries[answer.count++] = {answer.taxon, best_class(first, scores), answer.score};
  for (std::size_t i = 0; i < count; ++i) put(answer, top_k, {best[i].index, sure(best[i].value)}, scores);
  if (answer.outcome == Outcome::kAccepted) answer.outcome = judge_lists(answer.taxon, month, answer.unusual);
  return answer;
}

// Shares of one add up; of independent scores nothing is known but that the whole is no less sure than a part.
float Decider::join(float whole, float part) const {
  return rule_->nature_.add_up_to_one ? whole + part : std::max(whole, part);
}

void Decider::sum_up(std::span<const float> scores) {
  const std::span<const std::uint32_t> of_class = rule_->taxa().of_class();
  std::ranges::fill(own_, 0.0F);
  for (std::size_t i = 0; i < scores.size(); ++i) own_[of_class[i]] = join(own_[of_class[i]], scores[i]);
}

void Decider::sum_up_parents() {
  const Taxa& taxa = rule_->taxa();
  std::ranges::copy(own_, total_.begin());
  for (const std::uint32_t i : taxa.deepest_first()) {
    if (taxa[i].parent != kNoTaxon) total_[taxa[i].parent] = join(total_[taxa[i].parent], total_[i]);
  }
}

// Of independent scores the background is one of many that say yes or no.
float Decider::background() const {
  if (!rule_->nature_.add_up_to_one) return 0;
  float share = 0;
  for (std::size_t i = 0; i < weight_.size(); ++i) {
    if (rule_->entries_[i].background) share += own_[i];
  }
  return share;
}

// Few looks take their share of a score; many make what speaks for it outweigh what speaks against it, so that nothing
// is ever surer than sure.
float Decider::sure(float score) const {
  const double part = std::clamp(static_cast<double>(score), 0.0, 1.0);
  if (certainty_ <= 1) return static_cast<float>(part * certainty_);
  const double outweighed = part * certainty_ * certainty_;
  return static_cast<float>(outweighed / (1 - part + outweighed));
}

void Decider::weigh(std::optional<unsigned> month, float background) {
  const bool adds_up = rule_->nature_.add_up_to_one;
  float before = 0;
  float after = 0;
  for (std::size_t i = 0; i < weight_.size(); ++i) {
    const Rule::Entry& entry = rule_->entries_[i];
    weight_[i] = 1;
    if (adds_up && entry.background) {
      weight_[i] = 0;
    } else if (adds_up && rule_->has_region_ && !entry.always && !entry.ignored) {
      const bool in_season = !month || (entry.months >> (*month - 1) & 1U) != 0;
      weight_[i] = entry.months == 0 ? kUnlistedWeight : in_season ? 1 : kOutOfSeasonWeight;
    }
    if (weight_[i] > 0) before += own_[i];
    own_[i] *= weight_[i];
    after += own_[i];
  }
  // As many shares as before, but for those of the background.
  const float again = adds_up && after > 0 ? before / after / (1 - background) : 1;
  for (float& score : std::span(own_).first(weight_.size())) score *= again;
}

Answer Decider::nobody(std::span<const float> scores, std::size_t top_k) const {
  std::array<engine::Score, kMaxTop> best;
  const std::span<const float> leaves = std::span<const float>(own_).first(weight_.size());
  const std::size_t count = engine::top_k(leaves, std::span(best).first(top_k));
  Answer answer;
  answer.outcome = Outcome::kBackground;
  answer.taxon = static_cast<std::uint32_t>(best[0].index);
  answer.score = std::min(best[0].value, 1.0F);
  for (std::size_t i = 0; i < count; ++i) put(answer, top_k, best[i], scores);
  return answer;
}

void Decider::put(Answer& answer, std::size_t top_k, const engine::Score& score, std::span<const float> scores) const {
  if (answer.count == top_k) return;
  const auto taxon = static_cast<std::uint32_t>(score.index);
  answer.entries[answer.count++] = {taxon, best_class(taxon, scores), std::min(score.value, 1.0F)};
}

Outcome Decider::judge_scores(std::span<const engine::Score> best, std::span<const float> scores) const {
  const Rule::Entry& entry = rule_->entries_[best[0].index];
  if (entry.ignored) return Outcome::kBackground;
  const float first = sure(best[0].value);
  if (static_cast<double>(first) < entry.min_score) return Outcome::kBelowThreshold;
  const float second = best.size() > 1 ? sure(best[1].value) : 0;
  if (static_cast<double>(first - second) < rule_->min_margin_) return Outcome::kAmbiguous;
  const double few = few_of_all(best.first(std::min(best.size(), kBestFew)), scores);
  const bool has_rest = rule_->nature_.add_up_to_one;
  if (has_rest && 1 - static_cast<double>(sure(static_cast<float>(few))) > rule_->max_rest_) {
    return Outcome::kBelowThreshold;
  }
  return Outcome::kAccepted;
}

// A temperature makes p of each score p^(1/temperature) / sum: its power is what the score was, but for a factor.
double Decider::few_of_all(std::span<const engine::Score> best, std::span<const float> scores) const {
  const double temperature = rule_->nature_.temperature;
  double few = 0;
  if (temperature == 1) {
    for (const engine::Score& score : best) few += static_cast<double>(score.value);
    return few;
  }
  const auto untempered = [&](std::uint32_t taxon, std::uint32_t index) {
    return static_cast<double>(weight_[taxon]) * std::pow(static_cast<double>(scores[index]), temperature);
  };
  double all = 0;
  const std::span<const std::uint32_t> of_class = rule_->taxa().of_class();
  for (std::uint32_t i = 0; i < scores.size(); ++i) all += untempered(of_class[i], i);
  for (const engine::Score& one : best) {
    const auto taxon = static_cast<std::uint32_t>(one.index);
    for (const std::uint32_t index : rule_->taxa()[taxon].classes) few += untempered(taxon, index);
  }
  return all > 0 ? few / all : 0;
}

// What stands above a bird that is not sure, when it has more parts than this one and their sum is sure: as sure as the
// bird itself would have to be.
std::uint32_t Decider::sure_parent(std::uint32_t taxon) const {
  const Taxa& taxa = rule_->taxa();
  for (std::uint32_t at = taxa[taxon].parent; at != kNoTaxon; at = taxa[at].parent) {
    const double wanted = std::max(rule_->entries_[at].min_total, rule_->entries_[taxon].min_score);
    if (taxa[at].child_count < 2 || static_cast<double>(sure(total_[at])) < wanted) continue;
    float outside = 0;
    for (std::uint32_t i = 0; i < taxa.leaf_count(); ++i) {
      if (own_[i] > outside && !taxa.within(i, at)) outside = own_[i];
    }
    if (static_cast<double>(sure(total_[at]) - sure(outside)) >= rule_->min_margin_) return at;
  }
  return kNoTaxon;
}

Outcome Decider::judge_lists(std::uint32_t taxon, std::optional<unsigned> month, bool& unusual) const {
  const Rule::Entry& entry = rule_->entries_[taxon];
  if (entry.blocked) return Outcome::kBlocked;
  if (entry.always) return Outcome::kAccepted;
  if (!entry.allowed) return Outcome::kNotAllowed;
  if (entry.months == 0 && rule_->unlisted_ == Unlisted::kRefuse) return Outcome::kNotAllowed;
  const bool in_season = !month || (entry.months >> (*month - 1) & 1U) != 0;
  unusual = entry.months == 0 || !in_season;
  return Outcome::kAccepted;
}

std::uint32_t Decider::best_class(std::uint32_t taxon, std::span<const float> scores) const {
  const std::vector<std::uint32_t>& classes = rule_->taxa()[taxon].classes;
  return *std::ranges::max_element(classes, {}, [&](std::uint32_t index) { return scores[index]; });
}

}  // namespace kinglet::visits
