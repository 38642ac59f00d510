// SPDX-License-Identifier: Apache-2.0
#include "store/write_budget.h"

#include <algorithm>
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

std::uint64_t WriteBudget::share(Use use) const { return limit_ / 100 * kShare.at(static_cast<std::size_t>(use)); }

std::uint64_t WriteBudget::left(Use use, std::string_view day) const {
  return share(use) - std::min(share(use), written_on(day));
}

}  // namespace kinglet::store
