// SPDX-License-Identifier: Apache-2.0
// Why: what a detector has found in a frame, in words that its regions and tracks understand: a bird, another animal, a
// person, nobody. Not in here: the detector itself.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/base/area.h"

namespace kinglet::daemon {

enum class Being : std::uint8_t { kNobody, kBird, kAnimal, kPerson };
inline constexpr std::size_t kBeingCount = 4;
[[nodiscard]] std::string_view to_string(Being being);  // "nobody", "bird", "animal", "person"
// What a class is whose name is this; kNobody: nothing that lives, or unknown.
[[nodiscard]] Being being_of(std::string_view label);

// Of a part of a frame.
struct Opinion {
  Being being = Being::kNobody;
  float score = 0;          // of the box, 0 to 1; nobody: 0
  std::uint32_t label = 0;  // the detector's class; nobody: none

  bool operator==(const Opinion&) const = default;
};

struct Found {
  Area box;  // in shares of the picture
  Opinion opinion;
};

// What several looks at parts of one frame have found. Allocates nothing.
class Findings {
 public:
  static constexpr std::size_t kMost = 64;

  void clear() { count_ = look_begun_ = 0; }
  // What comes now is of another part.
  void begin_look() { look_begun_ = count_; }
  // What a look before has found as well stays once, as the larger of the two: parts cut through what is at their
  // border. Without room it is left out.
  void add(const Found& found);
  [[nodiscard]] std::span<const Found> all() const { return std::span(items_).first(count_); }

 private:
  std::array<Found, kMost> items_{};
  std::size_t count_ = 0;
  std::size_t look_begun_ = 0;
};

// What a detector has said of a track in all looks, for the reason why it has no name.
class Opinions {
 public:
  void add(const Opinion& opinion);
  // What it says mostly; nothing: it was hardly asked, or is of two minds.
  [[nodiscard]] std::optional<Opinion> mostly() const;

 private:
  static constexpr std::size_t kKinds = 4;
  struct Kind {
    Opinion best;
    std::uint32_t looks = 0;
  };
  std::array<Kind, kKinds> kinds_{};  // those with looks are in front
  std::uint32_t looks_ = 0;
};

// Of the smaller one, how much both have.
[[nodiscard]] double share_of_smaller(const Area& a, const Area& b);

}  // namespace kinglet::daemon
