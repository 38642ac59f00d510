// SPDX-License-Identifier: Apache-2.0
// Why: bytes of a model changed at random are nearly always refused by the first parser. This changes what a model
// says (operators, attributes, dimensions, wires, numbers) and leaves it a well-formed message.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace kinglet::fuzz {

// One to four changes, seeded. `donor`: another model whose nodes and weights may be spliced in; empty: none.
// Returns the changed model; empty when `model` is no parseable model with a graph, or nothing could be changed.
[[nodiscard]] std::string mutate_model(std::span<const std::byte> model, std::span<const std::byte> donor,
                                       std::uint32_t seed);

}  // namespace kinglet::fuzz
