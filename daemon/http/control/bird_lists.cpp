// SPDX-License-Identifier: Apache-2.0
// Why: GET and PUT /api/v1/region and /names, and GET /region/match: lists of birds as an owner has them, in our form,
// and what the model makes of their names.
#include "daemon/http/routes/bird_lists.h"

#include "daemon/http/control/settings.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/routes.h"
#include "daemon/models/model_board.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "visits/names/match.h"
#include "visits/names/own_names.h"
#include "visits/names/pasted.h"

namespace kinglet::daemon::http {
namespace {

using visits::ListMatch;
using visits::SpeciesList;
using visits::Taxa;

constexpr std::size_t kMostMissing = 500;  // of those that are told by name

Reply text_reply(std::string text) {
  return {
      .content_type = "text/plain; charset=utf-8", .body = std::move(text), .headers = {{"Cache-Control", "no-store"}}};
}

std::optional<Reply> refuse_type(const Call& call) {
  if (call.content_type.starts_with("text/")) return std::nullopt;
  return problem("unsupported-media-type", "a list of birds is text", "send Content-Type: text/plain or text/csv");
}

Reply no_list(const Error& error) { return problem("bad-list", describe(error), error.hint); }

// A list of the disk that cannot be read.
Reply unreadable(const Error& error) { return problem("internal-error", describe(error), error.hint); }

Reply refused(const BirdListDesk::Refusal& refusal) {
  return problem(refusal.set_in_file ? "set-in-file" : "storage-full", describe(refusal.error), refusal.error.hint);
}

Json bird_json(const visits::Taxon& taxon) {
  Json json{{"species_id", taxon.species_id}};
  if (!taxon.scientific_name.empty()) json["scientific_name"] = taxon.scientific_name;
  if (!taxon.common_name.empty()) json["common_name"] = taxon.common_name;
  return json;
}

Json months_json(visits::Months months) {
  Json list = Json::array();
  for (int month = 1; month <= 12; ++month) {
    if ((months >> (month - 1) & 1U) != 0) list.push_back(month);
  }
  return list;
}

Json match_json(const ListMatch& match, const Taxa& taxa, std::string_view source) {
  Json items = Json::array();
  for (const ListMatch::Found& found : match.found) {
    Json item = bird_json(taxa[found.taxon]);
    item["name"] = found.name;
    if (found.months != visits::kWholeYear) item["months"] = months_json(found.months);
    items.push_back(std::move(item));
  }
  Json missing = Json::array();
  for (const ListMatch::Missing& one : match.missing) {
    if (missing.size() == kMostMissing) break;
    Json near = Json::array();
    for (const std::uint32_t taxon : one.near) near.push_back(bird_json(taxa[taxon]));
    missing.push_back({{"name", one.name}, {"near", std::move(near)}});
  }
  return {{"source", source},
          {"found_count", match.found.size()},
          {"missing_count", match.missing.size()},
          {"items", std::move(items)},
          {"missing", std::move(missing)},
          {"has_more", match.missing.size() > kMostMissing}};
}

std::expected<std::shared_ptr<const ModelFacts>, Reply> model_of(const BirdListsView& view) {
  if (auto facts = view.models.facts()) return facts;
  return std::unexpected(problem("not-found", "no model is loaded: " + view.models.problem(),
                                 "a list is matched to the birds of a model: choose one first"));
}

}  // namespace

Reply get_region(const BirdListsView& view, const Call& /*call*/) {
  const auto current = view.desk.current(BirdList::kRegion);
  if (!current) return unreadable(current.error());
  return text_reply(current->text.empty() ? "# no list: every bird counts\n" : current->text);
}

Reply get_region_match(const BirdListsView& view, const Call& /*call*/) {
  const auto model = model_of(view);
  if (!model) return model.error();
  const auto current = view.desk.current(BirdList::kRegion);
  if (!current) return unreadable(current.error());
  const auto list = SpeciesList::parse(current->text, "the region's list");
  if (!list) return unreadable(list.error());
  const Taxa& taxa = *(*model)->taxa;
  return json_reply(match_json(visits::match(*list, taxa), taxa, current->source).dump(), "no-store");
}

// Nothing is kept that would leave the model without a bird to name.
Reply put_region(const BirdListsView& view, const Call& call) {
  if (auto refusal = refuse_type(call)) return *refusal;
  const auto model = model_of(view);
  if (!model) return model.error();
  const Taxa& taxa = *(*model)->taxa;
  const auto pasted = visits::read_pasted_list(call.body, "body");
  if (!pasted) return no_list(pasted.error());
  const auto list = SpeciesList::parse(pasted->text, "body");
  if (!list) return no_list(list.error());
  const bool takes_away = pasted->text.empty() && pasted->left_out == 0;
  const ListMatch match = visits::match(*list, taxa);
  if (match.found.empty() && !takes_away) {
    return problem("bad-list",
                   match.missing.empty()
                       ? std::string("there is no bird on this list")
                       : format_text("the model {} knows none of its {} names, such as \"{}\"", (*model)->name,
                                     match.missing.size(), printable(match.missing[0].name, 60)),
                   "names are scientific, English or labels of the model: GET /api/v1/model/labels");
  }
  const auto kept = view.desk.keep(BirdList::kRegion, pasted->text, who(call));
  if (!kept) return refused(kept.error());
  Json json = match_json(match, taxa, takes_away ? "none" : "kept");
  json["form"] = to_string(pasted->form);
  json["left_out"] = pasted->left_out;
  return json_reply(json.dump(-1, ' ', false, Json::error_handler_t::replace), "no-store");
}

Reply get_names(const BirdListsView& view, const Call& /*call*/) {
  const auto current = view.desk.current(BirdList::kNames);
  if (!current) return unreadable(current.error());
  return text_reply(current->text.empty() ? "species_id\tcommon_name\n" : current->text);
}

Reply put_names(const BirdListsView& view, const Call& call) {
  if (auto refusal = refuse_type(call)) return *refusal;
  const auto model = model_of(view);
  if (!model) return model.error();
  const auto own = visits::read_own_names(call.body, "body", *(*model)->taxa);
  if (!own) return no_list(own.error());
  const bool takes_away = own->text.empty();
  if (own->found == 0 && !takes_away) {
    return problem("bad-list",
                   format_text("neither the model {} nor the table of names knows one of these {} birds",
                               (*model)->name, own->missing.size()),
                   "one column says the bird: scientific, as a language of the page calls it, or a label of the model");
  }
  const auto kept = view.desk.keep(BirdList::kNames, own->text, who(call));
  if (!kept) return refused(kept.error());
  Json missing = Json::array();
  for (const std::string& bird : own->missing) {
    if (missing.size() < kMostMissing) missing.push_back({{"name", bird}});
  }
  const Json json{{"source", takes_away ? "none" : "kept"},
                  {"found_count", own->found},
                  {"missing_count", own->missing.size()},
                  {"missing", std::move(missing)},
                  {"has_more", own->missing.size() > kMostMissing}};
  return json_reply(json.dump(), "no-store");
}

}  // namespace kinglet::daemon::http
