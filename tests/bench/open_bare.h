// SPDX-License-Identifier: Apache-2.0
// Why: a model file as a bare subgraph with a picture in it, with no part of a session: its pool is whichever the
// program is linked with.
#pragma once

#include <memory>

#include "engine/base/error.h"
#include "tests/bench/bare_subgraph.h"

namespace kinglet::bench {

// Throws std::runtime_error with the error's line.
template <typename T>
T need(Result<T> result) {
  if (!result) throw std::runtime_error(describe(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// Of static shapes.
[[nodiscard]] std::unique_ptr<BareSubgraph> open_bare(engine::Graph graph, int threads);
[[nodiscard]] std::unique_ptr<BareSubgraph> open_bare(const std::filesystem::path& model, int threads);

}  // namespace kinglet::bench
