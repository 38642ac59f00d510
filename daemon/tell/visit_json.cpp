// SPDX-License-Identifier: Apache-2.0
#include "daemon/tell/visit_json.h"

#include "engine/base/format.h"
#include "visits/json.h"

namespace kinglet::daemon {

std::vector<std::pair<std::string, std::string>> visit_links(const visits::BookedVisit& booked) {
  const std::string self = format_text("/api/v1/visits/{}", booked.visit.id);
  std::vector<std::pair<std::string, std::string>> links{{"self", self}};
  if (booked.has_frame) links.emplace_back("snapshot", self + "/snapshot.jpg");
  if (booked.has_clip) {
    links.emplace_back("clip", self + "/clip.mjpg");
    links.emplace_back("clip_file", self + "/clip.avi");
  }
  if (booked.has_crop) links.emplace_back("crop", self + "/crop.jpg");
  return links;
}

nlohmann::ordered_json visit_json(const visits::BookedVisit& booked) {
  nlohmann::ordered_json json = visits::to_json(booked.visit);
  json["count_today"] = booked.count_today;
  json["first_today"] = booked.first_today;
  json["first_ever"] = booked.first_ever;
  nlohmann::ordered_json& links = json["links"];
  for (const auto& [name, path] : visit_links(booked)) links[name] = path;
  return json;
}

}  // namespace kinglet::daemon
