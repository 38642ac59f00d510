// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet verify MODEL --recipe`: would the usual mistakes of preprocessing show, and is the recipe one of them?
#pragma once

#include <string>
#include <vector>

#include "cli/model_options.h"
#include "cli/output.h"

namespace kinglet::cli {

// Runs the pictures (files; folders, labelled ones too) through the model as its recipe says and as each mistake would
// have it, and prints what changes. 0: nothing speaks against the recipe; 1: with another one the model is clearly more
// often right or, where no labels tell, clearly surer over all pictures. kBadData: no picture could be used.
[[nodiscard]] Result<int> verify_recipe(const ModelOptions& options, const std::vector<std::string>& arguments,
                                        Output& out);

}  // namespace kinglet::cli
