// SPDX-License-Identifier: Apache-2.0
// Why: visits that a person has judged are pictures whose content is known: what the camera really sees, and what is
// really on it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "cli/labelled_pictures.h"
#include "visits/taxa.h"

namespace kinglet::cli {

struct ReviewedVisits {
  std::vector<Labelled> pictures;   // the part of the frame that the model saw, with what the person said
  std::size_t without_picture = 0;  // none was kept
  std::size_t without_label = 0;    // "unknown", or "not a bird" for a model that has no word for that
};

// Of the history in this folder, oldest first. `taxa`: of the model that is to be judged; a visit that is no bird has
// the label of its one background class. kNotFound: there is no history.
[[nodiscard]] Result<ReviewedVisits> read_reviewed_visits(const std::filesystem::path& folder,
                                                          const visits::Taxa& taxa);

}  // namespace kinglet::cli
