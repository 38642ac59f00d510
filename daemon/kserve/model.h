// SPDX-License-Identifier: Apache-2.0
// Why: which model a path of the Open Inference Protocol means.
#pragma once

#include <optional>
#include <string>

#include "daemon/http/context.h"
#include "daemon/http/message.h"

namespace kinglet::daemon::kserve {

[[nodiscard]] std::string version_of(const ModelFacts& model);  // the first twelve digits of its digest

// The answer when the path's {name} and {version} are not those of the loaded model.
[[nodiscard]] std::optional<http::Reply> no_such_model(const http::Context& context, const http::Call& call);

}  // namespace kinglet::daemon::kserve
