// SPDX-License-Identifier: Apache-2.0
// Why: PATCH and DELETE of /api/v1/visits/{id}: a person's word, kept apart from the model's. A patch is a JSON merge
// patch (RFC 7396) of what the person saw, which If-Match proves.
#include <algorithm>
#include <array>
#include <ranges>

#include "daemon/http/history/history.h"
#include "daemon/http/message/body.h"
#include "daemon/http/message/etag.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/routes.h"
#include "daemon/models/model_board.h"
#include "daemon/tell/event_bus.h"
#include "daemon/tell/visit_json.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/recipe/labels.h"
#include "store/store.h"
#include "visits/json.h"
#include "visits/lines.h"
#include "visits/names/bird_names.h"
#include "visits/names/folded.h"
#include "visits/names/match.h"
#include "visits/taxa.h"

namespace kinglet::daemon::http {
namespace {

using visits::BookedVisit;
using visits::Review;
using visits::Verdict;

constexpr std::size_t kMostReviewed = 65'536;
constexpr std::size_t kMostName = 200;
constexpr std::size_t kMostTyped = 100;
constexpr std::size_t kMostNote = 2000;
constexpr int kNearestNames = 3;
constexpr std::string_view kKnownMembers =
    "known: review.verdict (none, confirmed, corrected, not_a_bird, unknown), review.species_id, "
    "review.scientific_name or review.name, review.note";

struct Wish {
  Review review;
  bool may_be_unknown = false;  // species_id is one that need not be known
};

std::unexpected<Reply> bad_json(std::string_view detail, std::string_view hint = kKnownMembers) {
  return std::unexpected(problem("bad-json", detail, hint));
}

Reply stale() {
  return problem("stale-etag", "the visit is not as you saw it", "GET it again and send the new ETag in If-Match");
}

// By any of its names: of the model, of the owner, or of the program's table.
std::optional<std::string> listed_species(const HistoryView& view, std::string_view name) {
  if (const auto model = view.models.facts()) {
    if (const auto index = visits::find_of_model(*model->taxa, name)) return (*model->taxa)[*index].species_id;
    if (const visits::OtherBird* other = model->taxa->find_other(name)) return other->species_id;
  }
  const visits::BirdNames* known = visits::find_bird_called(name);
  return known != nullptr ? std::optional(known->species_id) : std::nullopt;
}

// What the history has seen under an earlier model, or as a person typed it.
Result<std::optional<store::SpeciesSeen>> seen_species(const HistoryView& view, std::string_view name) {
  const std::array<std::string, 2> ids{engine::slug(name), visits::folded(name)};
  for (store::SpeciesSeen& seen : KINGLET_TRY(view.store.species())) {
    if (std::ranges::contains(ids, seen.species_id)) return std::move(seen);
  }
  return std::nullopt;
}

std::string nearest_species(const HistoryView& view, const std::string& name) {
  const auto model = view.models.facts();
  if (!model) return {};
  struct Name {
    std::string slug;
    std::string_view species_id;
  };
  std::vector<Name> names;
  const visits::Taxa& taxa = *model->taxa;
  for (std::size_t i = 0; i < taxa.size(); ++i) {
    names.push_back({taxa[i].species_id, taxa[i].species_id});
    if (!taxa[i].common_name.empty()) names.push_back({engine::slug(taxa[i].common_name), taxa[i].species_id});
  }
  const std::string wanted = engine::slug(name);
  std::string list;
  for (int i = 0; i < kNearestNames; ++i) {
    std::vector<std::string_view> slugs;
    slugs.reserve(names.size());
    for (const Name& one : names) slugs.push_back(one.slug);
    const std::string_view near = nearest_name(wanted, slugs);
    if (near.empty()) break;
    const std::string_view id = std::ranges::find(names, near, &Name::slug)->species_id;
    list += format_text("{}{}", list.empty() ? "" : ", ", id);
    std::erase_if(names, [&](const Name& one) { return one.species_id == id; });
  }
  return list;
}

Reply unknown_species(const HistoryView& view, const std::string& name) {
  const std::string near = nearest_species(view, name);
  return problem("unknown-species", format_text("no label is called \"{}\"", printable(name)),
                 near.empty() ? "GET /api/v1/model/labels has all of them; review.name takes any name"
                              : format_text("did you mean {}?", near));
}

// A text of the patch; null takes the member away.
std::optional<std::string> text_of(const Body& value, std::size_t most) {
  if (value.is_null()) return std::string();
  if (!value.is_string() || value.get_ref<const std::string&>().size() > most) return std::nullopt;
  return value.get<std::string>();
}

bool has_control(std::string_view text) {
  // char has no sign on arm64.
  return std::ranges::any_of(text, [](unsigned char c) { return (c < ' ' && c != '\n' && c != '\t') || c == 0x7F; });
}

// Signs that turn the writing about beyond the name, or are not seen: U+202A to U+202E, U+2066 to U+2069, U+FEFF,
// U+3164.
bool has_hidden_sign(std::string_view name) {
  constexpr std::array<std::string_view, 11> kHidden{"\xE2\x80\xAA", "\xE2\x80\xAB", "\xE2\x80\xAC", "\xE2\x80\xAD",
                                                     "\xE2\x80\xAE", "\xE2\x81\xA6", "\xE2\x81\xA7", "\xE2\x81\xA8",
                                                     "\xE2\x81\xA9", "\xEF\xBB\xBF", "\xE3\x85\xA4"};
  return std::ranges::any_of(kHidden, [&](std::string_view sign) { return name.contains(sign); });
}

// The name of a bird that nobody else has to know: a line that can be read.
bool is_typed_name(std::string_view name) {
  return visits::is_text(name) && name.find_first_of("\n\r\t") == std::string_view::npos && !has_hidden_sign(name) &&
         !visits::folded(name).empty();
}

std::expected<Wish, Reply> with_members(const Body& members, Wish wish) {
  Review& review = wish.review;
  bool named = false;
  for (const auto& [name, value] : members.items()) {
    if (name == "verdict") {
      const auto text = text_of(value, kMostName);
      const auto verdict = value.is_null() ? Verdict::kNone : visits::verdict_of(text.value_or(""));
      if (!verdict) return bad_json("review.verdict is none of the known ones");
      review.verdict = *verdict;
    } else if (name == "species_id") {
      const auto text = text_of(value, kMostName);
      if (!text) return bad_json(format_text("review.species_id is no text of at most {} bytes", kMostName));
      if (wish.may_be_unknown) continue;  // another member says it
      named = !text->empty();
      review.species_id = *text;
      review.name.clear();
    } else if (name == "scientific_name") {
      const auto text = text_of(value, kMostName);
      if (!text || !visits::is_scientific_name(*text)) {
        return bad_json("review.scientific_name is no name of a species as science writes it",
                        "such as Turdus pilaris: the genus with a capital letter, then the species");
      }
      named = wish.may_be_unknown = true;
      review.species_id = engine::slug(*text);
      review.name.clear();
    } else if (name == "name") {
      const auto text = text_of(value, kMostTyped);
      if (!text || !is_typed_name(*text)) {
        return bad_json(format_text("review.name is no name of at most {} bytes on one line", kMostTyped));
      }
      named = wish.may_be_unknown = true;
      review.name = visits::trimmed(*text);
      review.species_id = visits::folded(review.name);
    } else if (name == "note") {
      const auto text = text_of(value, kMostNote);
      if (!text || has_control(*text)) {
        return bad_json(
            format_text("review.note is no text of at most {} bytes without control characters", kMostNote));
      }
      review.note = *text;
    } else {
      return bad_json(format_text("review has no member \"{}\" that can be set", printable(name)));
    }
  }
  if (review.verdict == Verdict::kCorrected && review.species_id.empty()) {
    return bad_json("the verdict corrected needs review.species_id");
  }
  if (review.verdict != Verdict::kCorrected) {
    if (named) return bad_json("the name of a species goes with the verdict corrected only");
    review.species_id.clear();
    review.name.clear();
  }
  return wish;
}

// What the review is after the patch.
std::expected<Wish, Reply> merged(const Call& call, const Review& review) {
  if (call.body.size() > kMostReviewed) {
    return std::unexpected(problem("body-too-large", "a review is larger than 64 KiB"));
  }
  const Body patch = parse_body(call.body);
  if (!patch.is_object()) return bad_json("expected an object {\"review\": {\"verdict\": \"confirmed\"}}");
  Wish result{.review = review};
  for (const auto& [name, value] : patch.items()) {
    if (name != "review") return bad_json(format_text("\"{}\" cannot be changed", printable(name)));
    if (value.is_null()) {
      result = {};
      continue;
    }
    if (!value.is_object()) return bad_json("review is no object");
    const auto changed = with_members(value, result);
    if (!changed) return std::unexpected(changed.error());
    result = *changed;
  }
  return result;
}

// One id for one bird, whatever it was called. What only a person knows keeps the name that the person typed.
std::optional<Reply> settle_species(const HistoryView& view, const Wish& wish, Review& review) {
  const std::string name = review.name.empty() ? review.species_id : review.name;
  if (auto listed = listed_species(view, name)) {
    review.species_id = *std::move(listed);
    review.name.clear();
    return std::nullopt;
  }
  const auto seen = seen_species(view, name);
  if (!seen) return store_problem(seen.error());
  if (!*seen && !wish.may_be_unknown) return unknown_species(view, name);
  if (*seen) review.species_id = (*seen)->species_id;
  // Not where the history has no name for it: of visits that have gone the counts alone are left.
  if (*seen && review.name.empty()) review.name = (*seen)->typed;
  if (visits::is_scientific_name(review.name)) review.name.clear();
  return std::nullopt;
}

}  // namespace

std::expected<Review, Reply> read_review(const HistoryView& view, const Call& call, const Review& review) {
  constexpr std::array<std::string_view, 2> kTypes{"application/merge-patch+json", "application/json"};
  if (!std::ranges::contains(kTypes, call.content_type)) {
    return std::unexpected(
        problem("unsupported-media-type", "a review is JSON", "send Content-Type: application/merge-patch+json"));
  }
  std::expected<Wish, Reply> wish = merged(call, review);
  if (!wish) return std::unexpected(std::move(wish).error());
  std::expected<Review, Reply> wished = std::move(wish->review);
  if (wished->verdict == Verdict::kCorrected) {
    if (auto refused = settle_species(view, *wish, *wished)) return std::unexpected(std::move(*refused));
  }
  // Taken back altogether: nobody has reviewed it.
  const bool none = wished->verdict == Verdict::kNone && wished->note.empty();
  wished->reviewed_by = none ? std::string() : call.caller.token_name;
  wished->reviewed_at = none ? std::nullopt : std::optional(std::chrono::system_clock::now());
  return wished;
}

Reply patch_visit(const HistoryView& view, const Call& call) {
  const std::string_view id = call.path_parameter("id");
  const Result<std::optional<BookedVisit>> seen = view.visits.find(id);
  if (!seen) return store_problem(seen.error());
  if (!*seen) return no_such_visit();
  if (call.if_match.empty()) {
    return problem("if-match-required", "the header If-Match is missing", "send the ETag of the visit as you saw it");
  }
  if (!names_tag(call.if_match, visit_tag(**seen))) return stale();
  const std::expected<Review, Reply> review = read_review(view, call, (*seen)->visit.review);
  if (!review) return review.error();
  Result<store::ReviewResult> done = view.store.review(id, *review, (*seen)->change);
  if (!done) return store_problem(done.error());
  if (done->what == store::Changing::kNotFound || !done->visit) return no_such_visit();
  if (done->what == store::Changing::kStale) return stale();
  const BookedVisit booked = store::booked(std::move(*done->visit));
  view.events.publish(EventType::kVisitReviewed, booked);
  return visit_reply(booked);
}

Reply delete_visit(const HistoryView& view, const Call& call) {
  const std::string_view id = call.path_parameter("id");
  std::optional<std::uint64_t> expected;
  if (!call.if_match.empty()) {
    const Result<std::optional<BookedVisit>> seen = view.visits.find(id);
    if (!seen) return store_problem(seen.error());
    if (!*seen) return no_such_visit();
    if (!names_tag(call.if_match, visit_tag(**seen))) return stale();
    expected = (*seen)->change;
  }
  const Result<store::Changing> done = view.store.erase(id, expected);
  if (!done) return store_problem(done.error());
  if (*done == store::Changing::kNotFound) return no_such_visit();
  if (*done == store::Changing::kStale) return stale();
  view.events.publish(EventType::kVisitDeleted, {.visit = {.id = std::string(id)}});
  return Reply{.status = 204};
}

}  // namespace kinglet::daemon::http
