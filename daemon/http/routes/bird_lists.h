// SPDX-License-Identifier: Apache-2.0
// Why: the lists of birds that an owner sends, the region's and the names', as the API shows and takes them.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "engine/base/error.h"

namespace kinglet::daemon::http {

enum class BirdList : std::uint8_t { kRegion, kNames };

// Who keeps them. Thread-safe; one change at a time.
class BirdListDesk {
 public:
  virtual ~BirdListDesk() = default;

  struct Current {
    std::string text;    // in the form of a file of its own; empty: no list
    std::string source;  // "none", "kept", or where the configuration names one: "FILE:LINE", "--set" and so on
  };
  // kIo, kNotFound, kBadData: there is one that cannot be read.
  [[nodiscard]] virtual Result<Current> current(BirdList list) const = 0;

  struct Refusal {
    bool set_in_file = false;  // what the configuration names counts more; else the disk does not take it
    Error error;
  };
  // An empty text takes the list away. It counts at once. `by`: for the log.
  [[nodiscard]] virtual std::expected<void, Refusal> keep(BirdList list, const std::string& text,
                                                          std::string_view by) = 0;
};

}  // namespace kinglet::daemon::http
