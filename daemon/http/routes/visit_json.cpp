// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/routes/visit_json.h"

#include "engine/base/format.h"
#include "visits/json.h"

namespace kinglet::daemon::http {
namespace {

constexpr std::string_view kPath = "/api/v1/visits";

}  // namespace

Json visit_json(const visits::BookedVisit& booked) {
  Json json = visits::to_json(booked.visit);
  json["count_today"] = booked.count_today;
  json["first_today"] = booked.first_today;
  json["first_ever"] = booked.first_ever;
  json["links"] = {{"self", format_text("{}/{}", kPath, booked.visit.id)}};
  if (booked.has_frame) json["links"]["snapshot"] = format_text("{}/{}/snapshot.jpg", kPath, booked.visit.id);
  if (booked.has_clip) {
    json["links"]["clip"] = format_text("{}/{}/clip.mjpg", kPath, booked.visit.id);
    json["links"]["clip_file"] = format_text("{}/{}/clip.avi", kPath, booked.visit.id);
  }
  if (booked.has_crop) json["links"]["crop"] = format_text("{}/{}/crop.jpg", kPath, booked.visit.id);
  return json;
}

}  // namespace kinglet::daemon::http
