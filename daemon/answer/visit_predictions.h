// SPDX-License-Identifier: Apache-2.0
// Why: the predictions that a visit rests on, those that began it and the best one, outlive the memory of the newest
// ones: they are given to the history with it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/answer/latest.h"
#include "daemon/line/prediction.h"
#include "visits/visit.h"

namespace kinglet::daemon {

// Thread-bound to the answer thread. Allocates nothing between the begin and the end of a visit.
class VisitPredictions {
 public:
  // What makes the JSON of the API, later and on another thread; none: it cannot be told any more.
  using Describe = std::function<std::function<std::string()>(const Prediction& prediction)>;

  VisitPredictions(const LatestPredictions& newest, Describe describe)
      : newest_(newest), describe_(std::move(describe)) {}

  // Takes those that began it, but the last: that is published, and looked at, only then.
  void visit_began(const visits::Visit& visit);
  // The best one so far of one or more open visits.
  void look(const Prediction& prediction);
  // With the answers, as far as they are known.
  [[nodiscard]] visits::Visit complete(visits::Visit visit);

 private:
  struct Kept {
    Ulid visit;
    std::vector<Prediction> first;
    std::optional<Prediction> last_of_first;
    std::optional<Prediction> best;
  };

  const LatestPredictions& newest_;
  const Describe describe_;
  std::vector<Kept> kept_;  // of the open visits
};

}  // namespace kinglet::daemon
