// SPDX-License-Identifier: Apache-2.0
// Why: which model a path of the Open Inference Protocol means.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "daemon/http/message/message.h"
#include "daemon/http/routes/views.h"
#include "daemon/line/model_facts.h"

namespace kinglet::daemon::kserve {

[[nodiscard]] std::string version_of(const ModelFacts& model);  // the first twelve digits of its digest

// The loaded model, when the path's {name} and {version} are its own; else the answer that says which there is.
[[nodiscard]] std::expected<std::shared_ptr<const ModelFacts>, http::Reply> model_of(const http::InferenceView& view,
                                                                                     const http::Call& call);

}  // namespace kinglet::daemon::kserve
