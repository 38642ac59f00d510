// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/tracks and /tracks/{id}: what was seen and not named, with its reason; PATCH: a person names it,
// which makes it a visit.
#include "daemon/answer/unnamed_tracks.h"
#include "daemon/http/history/history.h"
#include "daemon/http/history/newest.h"
#include "daemon/http/message/parameters.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/routes.h"
#include "daemon/tell/event_bus.h"
#include "engine/base/format.h"
#include "store/store.h"
#include "visits/json.h"

namespace kinglet::daemon::http {
namespace {

using visits::Verdict;

Json track_json(const UnnamedTrack& track) {
  const Json visit = visits::to_json(track.visit);
  Json json{{"id", track.id}};
  for (const char* member : {"source", "started_at", "ended_at", "duration_seconds", "clock_synced"}) {
    json[member] = visit[member];
  }
  json["looks"] = track.looks;
  json["proposed_by"] = to_string(track.by);
  json["outcome"] = to_string(track.outcome);
  if (track.being) {
    json["detector"] = {{"sees", to_string(*track.being)}};
    if (!track.being_label.empty()) json["detector"]["label"] = track.being_label;
  }
  if (!track.visit.model_result.species_id.empty()) {
    json["likeliest"] = {{"species_id", visit["species_id"]},
                         {"score", visit["model_result"]["score"]},
                         {"wanted_score", rounded(track.wanted_score, 6)}};
  }
  json["top"] = visit["model_result"]["top"];
  for (const char* member : {"best_prediction", "crop_px", "box_ratio"}) json[member] = visit[member];
  json["model"] = visit["model_result"]["model"];
  const std::string self = "/api/v1/tracks/" + track.id;
  json["links"] = {{"self", self}};
  if (!track.crop.empty()) json["links"]["crop"] = self + "/crop.jpg";
  return json;
}

Reply no_such_track() {
  return problem("not-found", "there is no track of this id that ended without a name and is still in memory",
                 "GET /api/v1/tracks?named=false lists them");
}

}  // namespace

Reply get_tracks(const TracksView& view, const Call& call) {
  if (const auto named = word_parameter(call, "named", {"false"}); !named) return named.error();
  const auto query = read_newest_query(call);
  if (!query) return query.error();
  const auto found = view.tracks.list(query->limit + 1, [&](const UnnamedTrack& track) {
    return query->wants(track.seq, track.outcome, track.visit.source);
  });
  return newest_reply(
      call, *query, std::span(found), [](const auto& track) { return track->seq; },
      [](const auto& track) { return std::optional(track_json(*track)); });
}

Reply get_track(const TracksView& view, const Call& call) {
  const auto track = view.tracks.find(call.path_parameter("id"));
  return track ? json_reply(track_json(*track).dump()) : no_such_track();
}

Reply get_track_crop(const TracksView& view, const Call& call) {
  const auto track = view.tracks.find(call.path_parameter("id"));
  if (!track || track->crop.empty()) return no_such_track();
  return {.content_type = "image/jpeg",
          .body = track->crop,
          .headers = {{"Cache-Control", "private, max-age=31536000, immutable"}}};
}

// What it was becomes a visit with the person's word on it; what was no bird is no longer listed.
Reply patch_track(const TracksView& view, const Call& call) {
  const HistoryView& history = view.history;
  const auto track = view.tracks.take(call.path_parameter("id"));
  if (!track) return no_such_track();
  const auto refuse = [&](Reply reply) {
    view.tracks.give_back(track);
    return reply;
  };
  const auto review = read_review(history, call, {});
  if (!review) return refuse(review.error());
  visits::Visit visit = track->visit;
  const bool has_name = review->verdict == Verdict::kCorrected || !visit.model_result.species_id.empty();
  if (review->verdict == Verdict::kNone || (review->verdict == Verdict::kConfirmed && !has_name)) {
    return refuse(problem("bad-json", "nobody is named by this review",
                          "review.verdict: corrected with review.species_id, confirmed, unknown or not_a_bird"));
  }
  if (review->verdict == Verdict::kNotABird || review->verdict == Verdict::kUnknown) return Reply{.status = 204};
  if (visit.model_result.species_id.empty()) visit.model_result.species_id = review->species_id;
  visit.seq = history.store.next_seq();
  history.store.put(visit);
  if (track->has_picture()) {
    history.store.add_pictures(visit.seq, [track] { return store::Pictures{.crop = track->picture()}; });
  }
  Result<store::ReviewResult> done = history.store.review(visit.id, *review, {});
  if (!done || !done->visit) {
    (void)history.store.erase(visit.id);
    return refuse(done ? no_such_track() : store_problem(done.error()));
  }
  const visits::BookedVisit booked = store::booked(std::move(*done->visit));
  history.events.publish(EventType::kVisitReviewed, booked);
  Reply reply = visit_reply(booked);
  reply.status = 201;
  reply.headers.emplace_back("Location", "/api/v1/visits/" + visit.id);
  return reply;
}

}  // namespace kinglet::daemon::http
