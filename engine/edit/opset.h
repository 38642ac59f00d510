// SPDX-License-Identifier: Apache-2.0
// Why: a model file at another opset, and what is said about a model in its file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/onnx/document.h"

namespace kinglet::engine {

// Both as the engine loads them, so that a caller can run them side by side.
struct OpsetChange {
  bool changed = false;  // false: the file had that opset, nothing was touched
  std::int64_t from = 0;
  Graph before, after;
};

// Goes through the engine's inner form, so operators of any opset get the form of `opset`. Names, weights, metadata and
// declared inputs and outputs stay; doc strings of nodes and declared inner types do not. Errors: those of the loader,
// and of take_forms_of_opset.
[[nodiscard]] Result<OpsetChange> change_opset(Document& document, std::int64_t opset);

// Adds or replaces an entry of the model's metadata.
void set_property(Document& document, std::string_view key, std::string value);
// The entry's text; empty where there is none.
[[nodiscard]] std::string property(const Document& document, std::string_view key);

}  // namespace kinglet::engine
