// SPDX-License-Identifier: Apache-2.0
// Why: SD cards wear out by writing, so a day has a budget. What matters least stops first: clips, then pictures, then
// the visits of the day (they wait in memory); what a person does comes last.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kinglet::store {

enum class Use : std::uint8_t { kClip, kPicture, kVisits, kPerson };

// Thread-bound.
class WriteBudget {
 public:
  explicit WriteBudget(std::uint64_t bytes_a_day) : limit_(bytes_a_day) {}

  // A day that a program before this one has begun.
  void resume(std::string_view day, std::uint64_t bytes);
  void spend(std::string_view day, std::uint64_t bytes);
  // May `bytes` more be written for this?
  [[nodiscard]] bool allows(Use use, std::string_view day, std::uint64_t bytes) const {
    return bytes <= left(use, day);
  }
  // So many bytes a day may this reach, and so many are left of them.
  [[nodiscard]] std::uint64_t share(Use use) const;
  [[nodiscard]] std::uint64_t left(Use use, std::string_view day) const;
  [[nodiscard]] std::uint64_t written_on(std::string_view day) const { return day == day_ ? written_ : 0; }

 private:
  std::uint64_t limit_;
  std::string day_;
  std::uint64_t written_ = 0;
};

}  // namespace kinglet::store
