// SPDX-License-Identifier: Apache-2.0
// Why: the table of hostile models, apart from how they are run.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <string_view>

namespace kinglet::engine::testing {

struct HostileRow {
  std::string_view what;
  std::string (*make)();
  std::string_view line;  // as described; "runs" when nothing is wrong but the size of its numbers

  friend std::ostream& operator<<(std::ostream& out, const HostileRow& row) { return out << row.what; }
};

[[nodiscard]] std::span<const HostileRow> hostile_rows();

}  // namespace kinglet::engine::testing
