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

// What is wrong with the file before any operator is looked at.
[[nodiscard]] std::span<const HostileRow> hostile_files();
// Well-formed files that ask for too much, or for what an operator cannot do.
[[nodiscard]] std::span<const HostileRow> hostile_networks();

}  // namespace kinglet::engine::testing
