// SPDX-License-Identifier: Apache-2.0
#include "daemon/models/trial.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "engine/base/format.h"

namespace kinglet::daemon {
namespace {

std::string_view first_species(const Trial::Side& side) {
  const auto top = side.answer.top();
  return top.empty() ? std::string_view{} : std::string_view(side.taxa[top.front().taxon].species_id);
}

}  // namespace

double TrialReport::agreement() const {
  return frames == 0 ? 0 : static_cast<double>(agreeing) / static_cast<double>(frames);
}

double TrialReport::time_ratio() const { return before.count() > 0 ? after.count() / before.count() : 0; }

std::optional<std::string> reason_to_keep(const TrialReport& report, const TrialRule& rule) {
  if (report.frames < report.wanted) {
    return format_text("{} of {} frames came within {} s", report.frames, report.wanted, rule.within.count());
  }
  if (report.agreement() < rule.least_agreement) {
    return format_text("both see the same species in {:.1f} % of the frames, wanted are {:.1f} %",
                       100 * report.agreement(), 100 * rule.least_agreement);
  }
  if (report.time_ratio() > rule.most_time) {
    return format_text("it takes {:.2f} times the time of the model before, allowed are {:.2f}", report.time_ratio(),
                       rule.most_time);
  }
  return std::nullopt;
}

void Trial::add(const Side& before, const Side& after) {
  ++frames_;
  before_ += before.taken;
  after_ += after.taken;
  // Of numbers that are none nothing can be said; two models that both gave none agree in nothing.
  const std::string_view species = first_species(before);
  if (species.empty() || species != first_species(after)) return;
  ++agreeing_;
  const double difference = before.answer.top().front().score - after.answer.top().front().score;
  score_difference_ += std::abs(difference);
  if (before.answer.outcome == after.answer.outcome) ++same_answers_;
}

TrialReport Trial::report() const {
  const auto mean = [](double sum, std::size_t count) { return count == 0 ? 0 : sum / static_cast<double>(count); };
  return {.wanted = wanted_,
          .frames = frames_,
          .agreeing = agreeing_,
          .same_answers = same_answers_,
          .score_difference = mean(score_difference_, agreeing_),
          .before = Milliseconds(mean(to_ms(before_).count(), frames_)),
          .after = Milliseconds(mean(to_ms(after_).count(), frames_))};
}

}  // namespace kinglet::daemon
