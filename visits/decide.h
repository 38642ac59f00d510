// SPDX-License-Identifier: Apache-2.0
// Why: the scores of all looks at one thing become an answer, or an abstention that says why. Knows nothing of frames;
// allocates nothing per answer.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/clock.h"
#include "engine/recipe/scores.h"
#include "visits/evidence.h"
#include "visits/tables.h"
#include "visits/taxa.h"

namespace kinglet::visits {

// kAccepted, or why there is no answer.
enum class Outcome : std::uint8_t {
  kAccepted,
  kBelowThreshold,
  kBackground,  // nobody there, or a class that is ignored
  kAmbiguous,
  kNotAllowed,  // not on decide.allow or not on the region's list
  kBlocked,
  kNonFinite,
};
inline constexpr std::size_t kOutcomeCount = 7;
[[nodiscard]] std::string_view to_string(Outcome outcome);  // "below_threshold"

struct Scored {
  std::uint32_t taxon = 0;  // Taxa[taxon]
  std::uint32_t index = 0;  // the class with the largest part of the score
  float score = 0;          // 0 to 1

  bool operator==(const Scored&) const = default;
};

inline constexpr std::size_t kMaxTop = 10;
struct Answer {
  Outcome outcome = Outcome::kNonFinite;
  bool unusual = false;            // accepted, but not usual in this region or season
  std::uint32_t taxon = kNoTaxon;  // what was decided about; kNoTaxon for kNonFinite
  float score = 0;                 // of that taxon
  std::array<Scored, kMaxTop> entries{};
  std::size_t count = 0;

  // Best first, what was decided about in front; empty for kNonFinite.
  [[nodiscard]] std::span<const Scored> top() const { return {entries.data(), count}; }
  bool operator==(const Answer&) const = default;
};

enum class Unlisted : std::uint8_t { kRefuse, kFlag };  // a bird that is not on the region's list

// Names of birds are species_id, scientific or common names or labels; a genus stands for all its species.
struct DecideOptions {
  // What a picture that somebody chose has to reach; many looks at one bird make surer than that, a glance less sure.
  double min_score = 0.50;   // a best score below is kBelowThreshold
  double min_margin = 0.15;  // best minus second below is kAmbiguous
  // More than this share of the scores outside the best five is kBelowThreshold: nothing that the model knows looks so.
  double max_rest = 0.24;
  double genus_score = 0.80;  // of a genus (any parent) whose parts are not sure; above 1 never
  std::vector<std::pair<std::string, double>> scores;  // min_score of single birds
  std::vector<std::string> allow;                      // empty: all
  std::vector<std::string> block;
  std::vector<std::string> always;  // whatever `allow` and the region's list say
  std::vector<std::string> ignore;  // classes that count as background
  std::optional<SpeciesList> region;
  Unlisted unlisted = Unlisted::kRefuse;
};

// DecideOptions made ready for one model. Immutable; shared by threads.
class Rule {
 public:
  // Names that the model does not know are no error: a sentence each in `warnings`. max_rest is about scores of
  // temperature 1. Independent scores have no rest, and a whole is as sure as its surest part.
  [[nodiscard]] static std::shared_ptr<const Rule> make(std::shared_ptr<const Taxa> taxa, const DecideOptions& options,
                                                        std::vector<std::string>& warnings,
                                                        engine::ScoreNature nature = {});

  [[nodiscard]] const Taxa& taxa() const { return *taxa_; }
  // What this one's score has to reach.
  [[nodiscard]] double min_score(std::uint32_t taxon) const { return entries_[taxon].min_score; }

 private:
  friend class Decider;
  struct Entry {
    double min_score = 0;  // of its own classes
    double min_total = 0;  // with all below it
    bool ignored = false;
    bool blocked = false;
    bool allowed = true;
    bool always = false;
    bool background = false;
    Months months = kWholeYear;  // none: not on the region's list
  };
  void add_scores(const DecideOptions& options, std::vector<std::string>& warnings);
  void add_lists(const DecideOptions& options, std::vector<std::string>& warnings);
  void add_region(const SpeciesList& region, std::vector<std::string>& warnings);
  void raise_to_parents();

  std::shared_ptr<const Taxa> taxa_;
  std::vector<Entry> entries_;  // one a taxon
  double min_margin_ = 0;
  double max_rest_ = 1;
  engine::ScoreNature nature_;
  bool has_region_ = false;
  Unlisted unlisted_ = Unlisted::kRefuse;
};

// The month of a time (UTC), 1 to 12.
[[nodiscard]] unsigned month_of(WallTime time);

// A rule with the memory to apply it. Thread-bound; as many as wished share one rule.
class Decider {
 public:
  explicit Decider(std::shared_ptr<const Rule> rule);

  [[nodiscard]] const Rule& rule() const { return *rule_; }

  // `scores`: 0 to 1, one a class; the mean of so many `looks`. `month`: nothing when the clock is not set: then every
  // season counts. How much of the scores is background says whether anybody is there, and is then set aside; a bird
  // that is not of the region or season counts less; few looks make unsure. The scores of the answer are what is left,
  // and what the thresholds are compared with. The answer's outcome is the first that applies: kNonFinite (any score is
  // not a number), kBackground (most of it, or the best is ignored), then kBelowThreshold or kAmbiguous unless the
  // best, or what stands above it, is sure; kBlocked, kNotAllowed, kAccepted.
  [[nodiscard]] Answer decide(std::span<const float> scores, std::optional<unsigned> month, std::size_t top_k,
                              double looks = kPictureLooks);

 private:
  [[nodiscard]] float join(float whole, float part) const;
  void sum_up(std::span<const float> scores);
  [[nodiscard]] float background() const;
  void weigh(std::optional<unsigned> month, float background);
  [[nodiscard]] float sure(float score) const;
  void sum_up_parents();
  [[nodiscard]] Answer nobody(std::span<const float> scores, std::size_t top_k) const;
  [[nodiscard]] Outcome judge_scores(std::span<const engine::Score> best, std::span<const float> scores) const;
  [[nodiscard]] double few_of_all(std::span<const engine::Score> best, std::span<const float> scores) const;
  [[nodiscard]] std::uint32_t sure_parent(std::uint32_t taxon) const;
  [[nodiscard]] Outcome judge_lists(std::uint32_t taxon, std::optional<unsigned> month, bool& unusual) const;
  [[nodiscard]] std::uint32_t best_class(std::uint32_t taxon, std::span<const float> scores) const;
  void put(Answer& answer, std::size_t top_k, const engine::Score& score, std::span<const float> scores) const;

  std::shared_ptr<const Rule> rule_;
  std::vector<float> own_;     // of a taxon's own classes
  std::vector<float> total_;   // with all below it
  std::vector<float> weight_;  // what region and season make of it; 0: set aside
  double certainty_ = 1;       // of the newest answer
};

}  // namespace kinglet::visits
