// SPDX-License-Identifier: Apache-2.0
#include "store/write_budget.h"

#include <array>

namespace kinglet::store {
namespace {

// Percent of the day's bytes that each use may reach; by index of Use.
constexpr std::array<std::uint64_t, 4> kShare{50, 80, 95, 100};

}  // namespace

void WriteBudget::resume(std::string_view day, std::uint64_t bytes) {
  day_ = day;
  written_ = bytes;
}

void WriteBudget::spend(std::string_view day, std::uint64_t bytes) {
  if (day != day_) {
    day_ = day;
    written_ = 0;
  }
  written_ += bytes;
}

bool WriteBudget::allows(Use use, std::string_view day, std::uint64_t bytes) const {
  const std::uint64_t reach = limit_ / 100 * kShare.at(static_cast<std::size_t>(use));
  return written_on(day) + bytes <= reach;
}

}  // namespace kinglet::store
