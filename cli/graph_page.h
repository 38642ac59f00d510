// SPDX-License-Identifier: Apache-2.0
// Why: a graph as one HTML file to look at: a layered drawing with search and details, no other file, no network.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/graph/graph.h"

namespace kinglet::cli {

struct PageFacts {
  std::string title;
  std::vector<std::pair<std::string, std::string>> lines;            // name, value: what stands beside the drawing
  std::unordered_map<std::string, std::string> runs;                 // node name -> "xnnpack, step 0"
  std::string runs_elsewhere = "not in the plan (folded or fused)";  // of nodes that `runs` does not name
};

// The same graph and facts give the same bytes. Time is linear in nodes and edges but for sorting within a layer.
[[nodiscard]] std::string graph_page(const engine::Graph& graph, const PageFacts& facts);

}  // namespace kinglet::cli
