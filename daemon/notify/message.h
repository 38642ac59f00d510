// SPDX-License-Identifier: Apache-2.0
// Why: what a message says, the same for every service, and how each is made of what happened.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/notify/phrases.h"
#include "engine/base/local_time.h"
#include "visits/book.h"

namespace kinglet::daemon::notify {

struct Message {
  std::string title;
  std::string text;                   // lines
  std::string link;                   // where people look further; may be empty
  std::string picture_link;           // of the first picture, for who can reach this device
  std::string species;                // species_id of a visit
  std::vector<std::string> pictures;  // JPEG
  bool urgent = false;
  WallTime sent_at{};  // when it is tried, by the clock of who does

  [[nodiscard]] std::string whole() const;  // title, text and link as one text
  // The text; the title of a message that has none, for services that take no empty one or put words of their own
  // there.
  [[nodiscard]] const std::string& words() const { return text.empty() ? title : text; }
};

// What a bird is called in a language; empty: not known.
using NameOf = std::function<std::string(std::string_view species_id, std::string_view language)>;

// What is the same for all messages.
struct Place {
  std::string page;  // "http://feeder.local:8420"; may be empty
  TimeZone zone;
  Language language = Language::kEnglish;
  NameOf name{};  // may be empty
};

[[nodiscard]] Message message_of_start(const visits::BookedVisit& booked, const Place& place);
[[nodiscard]] Message message_of_end(const visits::BookedVisit& booked, const Place& place);

enum class Part : std::uint8_t { kCamera, kDisk };
[[nodiscard]] Message message_of_trouble(Part part, bool over, std::string_view detail, const Place& place);

// Who was here in 24 hours.
struct Day {
  struct Species {
    std::string name;  // as people say it in the message's language
    std::uint64_t visits = 0;
    std::string picture;  // JPEG of its best visit; may be empty
  };
  std::vector<Species> species;  // the most frequent first
};
[[nodiscard]] Message message_of_day(const Day& day, std::size_t pictures, const Place& place);

// By hand. `picture` may be empty.
[[nodiscard]] Message message_of_test(std::string picture, const Place& place);

// The shown name of a visit's species, as the place has it, else as the model had.
[[nodiscard]] std::string name_of(const visits::Visit& visit, const Place& place);

// At most so many bytes, cut between two characters.
[[nodiscard]] std::string cut(std::string text, std::size_t most);

}  // namespace kinglet::daemon::notify
