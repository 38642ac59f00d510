// SPDX-License-Identifier: Apache-2.0
// Why: what a model file may hold. Each field of a file takes about a hundred times its bytes once it is parsed, and
// some algorithms look at every input or attribute of every node, so counts are bounded before anything is made.
// The largest classifiers have about 12,000 nodes.
#pragma once

#include <cstdint>

namespace kinglet::engine::onnx_format {

inline constexpr std::uint64_t kMaxFields = std::uint64_t{1} << 20;  // names, nodes, attributes, weights
inline constexpr std::uint64_t kMaxSkeleton = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kMaxBorderEntry = 1 << 16;  // bytes that describe one input or output
inline constexpr int kMaxNodes = 1 << 16;
inline constexpr int kMaxInputs = 256;  // weights that are listed as inputs apart
inline constexpr int kMaxOutputs = 1024;
inline constexpr int kMaxNodeInputs = 4096;
inline constexpr int kMaxNodeOutputs = 1024;
inline constexpr int kMaxAttributes = 64;  // of one node

}  // namespace kinglet::engine::onnx_format
