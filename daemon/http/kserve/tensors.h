// SPDX-License-Identifier: Apache-2.0
// Why: tensors as the Open Inference Protocol (KServe v2) has them: names of types, bytes in the order of the model's
// file, and numbers of JSON.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/session/session.h"

namespace kinglet::daemon::kserve {

using Json = nlohmann::ordered_json;

[[nodiscard]] std::string_view datatype(engine::DataType type);  // "FP32"
[[nodiscard]] std::size_t byte_count(const engine::TensorInfo& info);
[[nodiscard]] std::string shape_text(std::span<const engine::Dim> shape);  // "[1,3,224,224]"

// Numbers of JSON, flat or nested as the shape says, as bytes. kBadData: another count or nesting, a value that the
// type cannot hold; FP16, which JSON does not carry.
[[nodiscard]] Result<std::string> bytes_of_json(const nlohmann::json& data, const engine::TensorInfo& info);
// The other way, flat. FP16 as floats. What is not finite, which JSON cannot say, becomes null.
[[nodiscard]] Json json_of_bytes(std::span<const std::byte> bytes, engine::DataType type);

// From the file's order (NCHW) to the memory of an input, which may be held as NHWC and as levels. `from` has
// byte_count().
[[nodiscard]] std::vector<std::byte> to_memory(std::span<const std::byte> from, const engine::TensorInfo& info);
// The other way, of an output. `from` and `to` have byte_count().
void to_file_order(std::span<const std::byte> from, const engine::TensorInfo& info, std::span<std::byte> to);

// "score:index:label" of the k largest of a row, best first.
[[nodiscard]] std::vector<std::string> classes(std::span<const std::byte> bytes, engine::DataType type, std::size_t k,
                                               const std::vector<std::string>& labels);
// The same of the best few that a model picked itself: `places` are their classes; `values` may be empty (score 1).
[[nodiscard]] std::vector<std::string> best_classes(std::span<const std::byte> values, engine::DataType type,
                                                    std::span<const std::byte> places, engine::DataType places_type,
                                                    std::size_t k, const std::vector<std::string>& labels);

}  // namespace kinglet::daemon::kserve
