// SPDX-License-Identifier: Apache-2.0
// Why: a Graph goes back to ONNX. The same graph gives the same bytes; weights are written from where they are, never
// copied into protobuf.
//
// The default-domain opset is the loaded one where the graph's operators allow it, at least 13 and at most 21 (ONNX
// Runtime 1.21 reads all of them); IR version 8 to 10 accordingly. Constants that nobody reads are left out. What the
// file had and a Graph does not (doc strings, value_info, inputs with default values) is not written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/graph/graph.h"

namespace kinglet::engine {

// Above 2 GiB, which one protobuf message cannot hold, weights lie beside the file in PATH.data. kCannotCreate, kIo:
// see write_file.
inline constexpr std::uint64_t kMaxMessage = (std::uint64_t{1} << 31) - 1;
[[nodiscard]] Result<void> save_model(const Graph& graph, const std::filesystem::path& path, Overwrite overwrite,
                                      std::uint64_t most_bytes = kMaxMessage);

// The whole file in memory, for tests and self-checks. kBadData: more than 2 GiB.
[[nodiscard]] Result<std::string> to_onnx_bytes(const Graph& graph);

// The opset of the default domain that save_model writes.
[[nodiscard]] std::int64_t opset_to_write(const Graph& graph);

// The first opset, from 13 on, that has this node's operator in the inner form.
[[nodiscard]] std::int64_t opset_of_node(const Graph& graph, NodeId id);

// The whole file at this very opset, which the graph's operators have the form of (older_forms.h).
[[nodiscard]] Result<std::string> to_onnx_bytes(const Graph& graph, std::int64_t opset);

}  // namespace kinglet::engine
