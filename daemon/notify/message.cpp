// SPDX-License-Identifier: Apache-2.0
#include "daemon/notify/message.h"

#include <algorithm>

#include "engine/base/format.h"
#include "visits/names/shown_bird.h"

namespace kinglet::daemon::notify {
namespace {

constexpr std::size_t kMostLines = 20;

void add(std::string& text, std::string_view part) {
  if (part.empty()) return;
  if (!text.empty()) text += " · ";
  text += part;
}

std::string what_is_special(const visits::BookedVisit& booked, Language language) {
  if (booked.first_ever) return say(language, Phrase::kFirstEver);
  if (booked.visit.first_of_season) return say(language, Phrase::kFirstOfSeason);
  if (booked.visit.unusual) return say(language, Phrase::kUnusual);
  return booked.first_today ? say(language, Phrase::kFirstToday) : std::string();
}

Message message_of_visit(const visits::BookedVisit& booked, const Place& place) {
  const visits::Visit& visit = booked.visit;
  Message message{
      .title = name_of(visit, place), .text = {}, .link = {}, .picture_link = {}, .species = {}, .pictures = {}};
  if (visit.count > 1) {
    message.title =
        say(place.language, Phrase::kSeveral, {{"n", number(place.language, visit.count)}, {"name", message.title}});
  }
  message.species = visit.species_id();
  if (!place.page.empty()) {
    message.link = format_text("{}/#visits/{}", place.page, visit.id);
    message.picture_link = format_text("{}/api/v1/visits/{}/crop.jpg", place.page, visit.id);
  }
  return message;
}

std::string begun_and_sure(const visits::Visit& visit, const Place& place) {
  std::string text;
  if (visit.clock_synced) add(text, clock(place.language, place.zone.local_minute(visit.started_at)));
  add(text, percent(place.language, visit.model_result.score));
  return text;
}

}  // namespace

std::string Message::whole() const {
  std::string all = title;
  if (!text.empty()) all += "\n" + text;
  if (!link.empty()) all += "\n" + link;
  return all;
}

std::string name_of(const visits::Visit& visit, const Place& place) {
  const visits::NamedScore bird = visits::shown_bird(visit);
  if (place.name) {
    if (std::string name = place.name(bird.species_id, code_of(place.language)); !name.empty()) return name;
  }
  for (const std::string* name : {&bird.common_name, &bird.scientific_name, &bird.label}) {
    if (!name->empty()) return *name;
  }
  return bird.species_id;
}

std::string cut(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  text.resize(end);
  return text;
}

Message message_of_start(const visits::BookedVisit& booked, const Place& place) {
  Message message = message_of_visit(booked, place);
  add(message.text, what_is_special(booked, place.language));
  add(message.text, begun_and_sure(booked.visit, place));
  return message;
}

Message message_of_end(const visits::BookedVisit& booked, const Place& place) {
  Message message = message_of_visit(booked, place);
  add(message.text,
      say(place.language, Phrase::kWasHere, {{"time", span_of_time(place.language, booked.visit.duration)}}));
  add(message.text, begun_and_sure(booked.visit, place));
  return message;
}

Message message_of_trouble(Part part, bool over, std::string_view detail, const Place& place) {
  const bool camera = part == Part::kCamera;
  Message message{.title = {}, .text = {}, .link = {}, .picture_link = {}, .species = {}, .pictures = {}};
  if (over) {
    message.title = say(place.language, camera ? Phrase::kCameraBack : Phrase::kDiskBack);
  } else {
    message.title = say(place.language, camera ? Phrase::kCameraBad : Phrase::kDiskBad);
    message.text = detail;
  }
  if (!place.page.empty()) message.link = place.page + "/";
  message.urgent = !over;
  return message;
}

Message message_of_day(const Day& day, std::size_t pictures, const Place& place) {
  const Language language = place.language;
  Message message{.title = {}, .text = {}, .link = {}, .picture_link = {}, .species = {}, .pictures = {}};
  std::uint64_t visits = 0;
  for (const Day::Species& one : day.species) {
    visits += one.visits;
    if (!one.picture.empty() && message.pictures.size() < pictures) message.pictures.push_back(one.picture);
  }
  const std::size_t kinds = day.species.size();
  message.title = visits == 0 ? say(language, Phrase::kNoVisits)
                              : say(language, Phrase::kLastDay,
                                    {{"visits", say_count(language, Phrase::kOneVisit, Phrase::kVisits, visits)},
                                     {"species", say_count(language, Phrase::kOneSpecies, Phrase::kSpecies, kinds)}});
  for (std::size_t i = 0; i < std::min(kinds, kMostLines); ++i) {
    if (i > 0) message.text += "\n";
    const Day::Species& one = day.species[i];
    message.text += say(language, Phrase::kOfDay, {{"n", number(language, one.visits)}, {"name", one.name}});
  }
  if (kinds > kMostLines) {
    message.text += "\n" + say(language, Phrase::kMore, {{"n", number(language, kinds - kMostLines)}});
  }
  if (!place.page.empty()) message.link = place.page + "/";
  return message;
}

Message message_of_test(std::string picture, const Place& place) {
  Message message{.title = say(place.language, Phrase::kTestTitle),
                  .text = say(place.language, Phrase::kTestText),
                  .link = place.page.empty() ? std::string() : place.page + "/",
                  .picture_link = {},
                  .species = {},
                  .pictures = {}};
  if (!picture.empty()) message.pictures.push_back(std::move(picture));
  return message;
}

}  // namespace kinglet::daemon::notify
