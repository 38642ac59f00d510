// SPDX-License-Identifier: Apache-2.0
// Why: commands that say what is in each picture go through them alike.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/output.h"
#include "engine/base/error.h"

namespace kinglet::cli {

// IMAGE..., what expand_pictures takes.
void add_pictures_argument(CLI::App& app, std::vector<std::string>& pictures);

// `look` says what is in the picture of that name, as JSON where out.json() and else on `out`. A picture that it cannot
// look at is told and does not stop the others. All of it is printed where JSON is wished, with what is said of the
// `model`. Gives the exit code.
[[nodiscard]] int look_at_each(const std::vector<std::string>& pictures, nlohmann::ordered_json model, Output& out,
                               const std::function<Result<nlohmann::ordered_json>(const std::string& name)>& look);

}  // namespace kinglet::cli
