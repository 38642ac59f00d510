// SPDX-License-Identifier: Apache-2.0
#include "daemon/notify/rule.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "visits/names/bird_names.h"
#include "visits/names/folded.h"

namespace kinglet::daemon::notify {
namespace {

template <typename Flags>
struct Named {
  std::string_view word;
  bool Flags::* flag;
};

constexpr std::array<Named<Events>, 4> kEvents{{{"visit.start", &Events::visit_start},
                                                {"visit.end", &Events::visit_end},
                                                {"camera", &Events::camera},
                                                {"disk", &Events::disk}}};
constexpr std::array<Named<Only>, 4> kOnly{{{"first_today", &Only::first_today},
                                            {"first_season", &Only::first_season},
                                            {"first_ever", &Only::first_ever},
                                            {"unusual", &Only::unusual}}};

template <typename Flags>
Result<Flags> parse(std::string_view key, std::span<const Named<Flags>> known, const std::vector<std::string>& words) {
  Flags flags;
  for (const std::string& word : words) {
    const auto found = std::ranges::find(known, word, &Named<Flags>::word);
    if (found != known.end()) {
      flags.*(found->flag) = true;
      continue;
    }
    std::string all;
    std::vector<std::string_view> names;
    for (const Named<Flags>& one : known) {
      all += format_text("{}{}", all.empty() ? "" : ", ", one.word);
      names.push_back(one.word);
    }
    const std::string_view nearest = nearest_name(word, names);
    return fail(ErrorCode::kConfig, format_text("{}: expected some of {}, not \"{}\"", key, all, printable(word, 40)),
                {}, nearest.empty() ? std::string() : format_text("did you mean \"{}\"?", nearest));
  }
  return flags;
}

// By its own names and those in the languages of the page; names of nobody are empty.
bool is_one_of(const std::vector<std::string>& species, const visits::Visit& visit) {
  const std::string& id = visit.species_id();
  const auto& top = visit.model_result.top;
  const auto named = std::ranges::find(top, id, &visits::NamedScore::species_id);
  const visits::BirdNames* translated = visits::find_bird_names(id);
  return std::ranges::any_of(species, [&](const std::string& one) {
    const std::string wished = visits::folded(one);
    if (wished.empty()) return false;
    const auto is_wished = [&](std::string_view name) { return visits::folded(name) == wished; };
    if (visits::is_called(id, wished)) return true;
    if (translated != nullptr && std::ranges::any_of(translated->names, is_wished)) return true;
    return named != top.end() && (visits::is_called(named->scientific_name, wished) || is_wished(named->common_name) ||
                                  is_wished(named->label));
  });
}

}  // namespace

Result<Events> parse_events(const std::vector<std::string>& words) { return parse<Events>("events", kEvents, words); }
Result<Only> parse_only(const std::vector<std::string>& words) { return parse<Only>("only", kOnly, words); }

bool wants(const Rule& rule, const visits::BookedVisit& booked) {
  if (!rule.species.empty() && !is_one_of(rule.species, booked.visit)) return false;
  const Only& only = rule.only;
  if (only == Only{}) return true;
  return (only.first_today && booked.first_today) || (only.first_season && booked.visit.first_of_season) ||
         (only.first_ever && booked.first_ever) || (only.unusual && booked.visit.unusual);
}

bool Allowance::take(SteadyTime now) {
  while (!taken_.empty() && now - taken_.front() >= std::chrono::hours(1)) taken_.pop_front();
  if (std::cmp_greater_equal(taken_.size(), at_most_)) {
    ++refused_;
    return false;
  }
  taken_.push_back(now);
  return true;
}

TroubleWatch::News TroubleWatch::look(bool bad, bool may_tell, SteadyTime now) {
  if (bad && !since_) since_ = now;
  if (!bad) since_.reset();
  if (!may_tell) return News::kNone;
  if (bad && !told_ && now - *since_ >= after_) {
    told_ = true;
    return News::kBegan;
  }
  if (!bad && told_) {
    told_ = false;
    return News::kOver;
  }
  return News::kNone;
}

std::optional<std::chrono::local_seconds> DigestClock::look(std::chrono::minutes at, std::chrono::local_seconds now) {
  constexpr std::chrono::minutes kSoon{90};  // the hour that clocks leap over in spring may be its own
  constexpr std::chrono::hours kMoreThanTwice{3};
  constexpr std::chrono::days kDay{1};
  const auto day = std::chrono::floor<std::chrono::days>(now - at);
  const bool due = passed_ && day == *passed_ + kDay && now - (day + at) < kSoon;
  // Set back by more than an hour that comes twice, in autumn: the clock had been ahead.
  if (!passed_ || day > *passed_ || now < looked_ - kMoreThanTwice) passed_ = day;
  looked_ = now;
  return due ? std::optional<std::chrono::local_seconds>(day + at) : std::nullopt;
}

}  // namespace kinglet::daemon::notify
