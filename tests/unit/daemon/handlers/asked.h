// SPDX-License-Identifier: Apache-2.0
// Why: what the tests of handlers do alike with an answer, and the demonstration model as the one that answers.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "daemon/http/message/message.h"
#include "daemon/line/line_model.h"
#include "daemon/models/model_board.h"
#include "engine/base/check.h"

namespace kinglet::daemon::http {

using Parsed = nlohmann::json;  // what is compared; the daemon writes ordered ones

// "none": it has no such header.
inline std::string header(const Reply& reply, std::string_view name) {
  for (const auto& [key, value] : reply.headers) {
    if (key == name) return value;
  }
  return "none";
}

// The next piece of a long answer that is not empty; nothing: there is none within a minute, or it ended.
inline std::string next_piece(const Reply& reply) {
  const SteadyTime deadline = SteadyClock::now() + std::chrono::minutes(1);
  std::string piece;
  while (piece.empty() && SteadyClock::now() < deadline) {
    const Result<bool> goes_on = reply.more(piece);
    if (!goes_on || !*goes_on) break;
  }
  return piece;
}

inline const std::shared_ptr<const ModelFacts>& demonstration() {
  static const LineModel model =
      LineModel::open({.model = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx"}).value();
  return model.facts();
}

// It answers from now on.
inline void put_demonstration(ModelBoard& board) {
  std::vector<std::string> warnings;
  board.publish(demonstration(), visits::Rule::make(demonstration()->taxa, {}, warnings));
}

}  // namespace kinglet::daemon::http
