// SPDX-License-Identifier: Apache-2.0
// Why: what `kinglet models prove` and `kinglet models adopt` have in common: the daemon starts them to open a file
// that it would not open itself. They give up what they do not need first, and answer with one line of JSON.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/base/error.h"

namespace kinglet::cli {

struct ChildLimits {
  int owner = 0;              // ends with this process; 0: with nobody
  std::uint64_t memory = 0;   // bytes it may take; 0: unbounded
  std::uint64_t seconds = 0;  // of processor time; 0: unbounded
};
void add_child_limits(CLI::App& app, ChildLimits& limits);

// kUnavailable: they cannot be had, or who asked is gone.
[[nodiscard]] Result<void> give_up_rights(const ChildLimits& limits);
// Of a file that needs more than its memory.
[[nodiscard]] std::unexpected<Error> too_much_memory(const ChildLimits& limits, std::string_view file);
[[nodiscard]] nlohmann::ordered_json refusal(const Error& error);

}  // namespace kinglet::cli
