// SPDX-License-Identifier: Apache-2.0
// Why: the history in numbers: species, days, hours.
#include "daemon/http/history/history.h"

#include "daemon/http/message/parameters.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/routes.h"
#include "daemon/models/model_board.h"
#include "daemon/tell/visit_json.h"
#include "engine/base/format.h"
#include "engine/base/local_time.h"
#include "store/store.h"
#include "visits/names/bird_names.h"
#include "visits/taxa.h"

namespace kinglet::daemon::http {
namespace {

Json species_json(const HistoryView& view, const store::SpeciesSeen& seen) {
  Json json{{"species_id", seen.species_id}};
  add_names(json, view, seen.species_id);
  if (!json.contains("common_name") && !seen.typed.empty()) json["common_name"] = seen.typed;
  json["visits"] = seen.visits;
  if (seen.first_seen_at) json["first_seen_at"] = to_rfc3339(*seen.first_seen_at);
  if (seen.last_seen_at) json["last_seen_at"] = to_rfc3339(*seen.last_seen_at);
  if (!seen.best_visit.empty()) {
    json["best_visit"] = {{"id", seen.best_visit},
                          {"score", rounded(seen.best_score, 6)},
                          {"links", {{"self", "/api/v1/visits/" + seen.best_visit}}}};
  }
  return json;
}

void add_detail(Json& json, const HistoryView& view, store::SpeciesDetail detail) {
  json["hours"] = detail.hours;
  json["months"] = detail.months;
  Json& best = json["best_visits"] = Json::array();
  for (store::VisitView& visit : detail.best) best.push_back(visit_json(store::booked(std::move(visit))));
  Json& confusions = json["confusions"] = Json::array();
  for (const store::Confusion& one : detail.confusions) {
    Json other{{"species_id", one.species_id}};
    add_names(other, view, one.species_id);
    other["taken_for"] = one.taken_for;
    other["was_really"] = one.was_really;
    confusions.push_back(std::move(other));
  }
}

// By language, as far as they come with the program.
Json names_json(const visits::BirdNames& bird) {
  Json json = Json::object();
  for (std::size_t i = 0; i < visits::kNameLanguages.size(); ++i) {
    if (!bird.names.at(i).empty()) json[std::string(visits::kNameLanguages.at(i))] = bird.names.at(i);
  }
  return json;
}

std::expected<std::string, Reply> day_parameter(const Call& call, std::string_view name, std::string_view fallback) {
  const std::string_view text = call.query_value(name).value_or(fallback);
  if (is_day(text)) return std::string(text);
  return std::unexpected(problem("bad-parameter", format_text("{} is \"{}\"", name, text), "a day such as 2026-05-04"));
}

}  // namespace

Reply store_problem(const Error& error) {
  if (error.code == ErrorCode::kIo || error.code == ErrorCode::kNotPermitted) {
    return problem("storage-full", describe(error), error.hint);
  }
  return problem("starting", describe(error), error.hint);
}

std::optional<Reply> not_modified(const Call& call, const std::string& tag) {
  if (call.if_none_match != tag) return std::nullopt;
  return Reply{.status = 304, .headers = {{"ETag", tag}, {"Cache-Control", "no-cache"}}};
}

std::string list_tag(const HistoryView& view) {
  // Its model says how birds are called.
  return format_text("W/\"{}-{}-{}\"", view.store.boot_tag(), view.store.change_count(), view.models.current().number);
}

void add_names(Json& json, const HistoryView& view, std::string_view species_id) {
  const auto model = view.models.facts();
  const auto index = model ? model->taxa->find(species_id) : std::nullopt;
  if (index) {
    const visits::Taxon& taxon = (*model->taxa)[*index];
    if (!taxon.scientific_name.empty()) json["scientific_name"] = taxon.scientific_name;
    if (!taxon.common_name.empty()) json["common_name"] = taxon.common_name;
    return;
  }
  if (const visits::BirdNames* known = visits::find_bird_names(species_id)) {
    json["scientific_name"] = known->scientific_name;
    json["common_name"] = known->names.front();
  }
  const visits::OtherBird* other = model ? model->taxa->find_other(species_id) : nullptr;
  if (other != nullptr) json["common_name"] = other->name;
}

Reply get_species(const HistoryView& view, const Call& call) {
  const std::string tag = list_tag(view);
  if (std::optional<Reply> same = not_modified(call, tag)) return *same;
  const auto seen = view.store.species();
  if (!seen) return store_problem(seen.error());
  Json items = Json::array();
  for (const store::SpeciesSeen& one : *seen) items.push_back(species_json(view, one));
  Reply reply = json_reply(Json{{"items", std::move(items)}}.dump());
  reply.headers.emplace_back("ETag", tag);
  return reply;
}

Reply get_one_species(const HistoryView& view, const Call& call) {
  const auto seen = view.store.species();
  if (!seen) return store_problem(seen.error());
  for (const store::SpeciesSeen& one : *seen) {
    if (one.species_id != call.path_parameter("id")) continue;
    Result<store::SpeciesDetail> detail = view.store.species_detail(one.species_id);
    if (!detail) return store_problem(detail.error());
    Json json = species_json(view, one);
    add_detail(json, view, std::move(*detail));
    if (const visits::BirdNames* names = visits::find_bird_names(one.species_id)) json["names"] = names_json(*names);
    return json_reply(json.dump());
  }
  return problem("not-found", "this species has not been seen", "GET /api/v1/species lists those that were");
}

Reply get_days(const HistoryView& view, const Call& call) {
  const auto from = day_parameter(call, "from", "0001-01-01");
  if (!from) return from.error();
  const auto to = day_parameter(call, "to", "9999-12-31");
  if (!to) return to.error();
  const std::string tag = list_tag(view);
  if (std::optional<Reply> same = not_modified(call, tag)) return *same;
  const auto totals = view.store.days(*from, *to);
  if (!totals) return store_problem(totals.error());
  Json items = Json::array();
  for (const store::DayTotal& total : *totals) {
    Json item{{"date", total.day}, {"visits", total.visits}, {"species", total.species}};
    if (total.first_at) item["first_at"] = to_rfc3339(*total.first_at);
    if (total.last_at) item["last_at"] = to_rfc3339(*total.last_at);
    items.push_back(std::move(item));
  }
  Reply reply = json_reply(Json{{"zone", view.store.zone_name()}, {"items", std::move(items)}}.dump());
  reply.headers.emplace_back("ETag", tag);
  return reply;
}

Reply get_day(const HistoryView& view, const Call& call) {
  const std::string_view date = call.path_parameter("date");
  if (!is_day(date)) return problem("not-found", "there is no such day", "a day such as 2026-05-04");
  const std::string tag = list_tag(view);
  if (std::optional<Reply> same = not_modified(call, tag)) return *same;
  const auto species = view.store.day(date);
  if (!species) return store_problem(species.error());
  Json items = Json::array();
  for (const store::SpeciesHours& one : *species) {
    Json item{{"species_id", one.species_id}};
    add_names(item, view, one.species_id);
    item["hours"] = one.visits;
    items.push_back(std::move(item));
  }
  Reply reply =
      json_reply(Json{{"date", date}, {"zone", view.store.zone_name()}, {"species", std::move(items)}}.dump());
  reply.headers.emplace_back("ETag", tag);
  return reply;
}

}  // namespace kinglet::daemon::http
