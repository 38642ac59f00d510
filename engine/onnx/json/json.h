// SPDX-License-Identifier: Apache-2.0
// Why: a model as JSON that a person can read, compare and change, and back without loss.
//
//   {"format": "kinglet-onnx-json-1", "weights": "hash", "model": {"ir_version": 8, "graph": {"node": [...], ...}}}
//
// Members are the fields of onnx.proto by their names. Numbers of a tensor (raw_data) are "values" where they are few,
// else "sha256" and "bytes", or "base64" when all weights are held. Element types and kinds of attributes are words
// ("FLOAT", "INTS"). Text that is not UTF-8 is {"base64": ...}; a float JSON cannot write is {"bits": "7fc00000"}.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/onnx/document.h"

namespace kinglet::engine {

// kHash: numbers of more than 64 elements are left out. kInline: all are held, beyond 4,096 elements as base64.
enum class JsonWeights : std::uint8_t { kHash, kInline };

[[nodiscard]] Result<std::string> to_json(const Document& document, JsonWeights weights);

// Is it this form of JSON, or at least JSON? By its first character.
[[nodiscard]] bool looks_like_json(std::string_view start);

// `weights_from` gives the numbers that the JSON names by hash; nullptr: there are none to be had. kBadData names the
// member ("model.graph.node[3].op_type") that is not as it must be, or the tensor whose numbers are not there.
[[nodiscard]] Result<Document> from_json(std::string_view json, const Document* weights_from = nullptr);

}  // namespace kinglet::engine
