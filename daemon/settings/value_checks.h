// SPDX-License-Identifier: Apache-2.0
// Why: what a value must be beyond its kind and range: a row a key. Inside daemon/settings/ only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "engine/base/error.h"

namespace kinglet::daemon {

enum class Reads : std::uint8_t { kNothing, kFiles };

struct Misfit {
  std::string_view key;
  Error error;             // what was expected instead, without the key
  std::size_t camera = 0;  // whose it is, where each has it
};

// `most`: with kNothing no file is opened that a value names.
[[nodiscard]] std::vector<Misfit> misfits_of(const config::Config& config, Reads most);

}  // namespace kinglet::daemon
