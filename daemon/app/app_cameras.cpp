// SPDX-License-Identifier: Apache-2.0
// Why: the cameras' part of AppParts: how each is made, its source, its line and what handlers see of it.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "camera/sources/open_source.h"
#include "daemon/app/app_parts.h"
#include "daemon/app/camera_options.h"

namespace kinglet::daemon {

std::vector<std::unique_ptr<Camera>> AppParts::make_cameras(const config::Config& config) {
  Camera::Surroundings around{.cameras = config::camera_count(config),
                              .bell = bell,
                              .history = history,
                              .whole = stats,
                              .log = log,
                              .changed = [this] { events.look(); },
                              .pictured = [this](const std::string& visit) { events.note_picture(visit); },
                              .open_source = [this](const Camera& camera) { return open_source(camera); },
                              .paused = [this] { return pipeline.paused(); }};
  if (config.privacy.people == "hide") {
    around.can_see_people = detector.sees_people();
    if (!around.can_see_people())
      log(LogLevel::kError, "privacy.people: nobody looks for people, so that all pictures are black");
  }
  std::vector<std::unique_ptr<Camera>> made;
  for (std::size_t i = 0; i < around.cameras; ++i) {
    made.push_back(std::make_unique<Camera>(camera_options(config, i), around));
  }
  return made;
}

std::vector<Feed> AppParts::make_feeds(Result<LineModel> classifier, const LineOptions& options) {
  ids.start_at(history.last_id_ms());
  *seen_before = last_seen();
  const auto model = classifier ? std::make_shared<LineModel>(std::move(*classifier)) : nullptr;
  std::vector<Feed> feeds;
  for (const auto& camera : cameras) {
    const auto own = [&one = *camera](const LineOptions& common) { return one.line_options(common); };
    Feed feed{.line = std::nullopt,
              .mailbox = camera->mailbox,
              .stats = camera->stats,
              .samples = &camera->samples,
              .clips = camera->clips.get(),
              .name = camera->name_in_log(),
              .options = own,
              .needs = camera->needs};
    if (model) feed.line.emplace(make_line(*camera, model, own(options)));
    feeds.push_back(std::move(feed));
  }
  return feeds;
}

http::CamerasView AppParts::make_cameras_view() {
  http::CamerasView view{
      .cameras = {}, .vitals = [this] { return vitals(); }, .latest = latest, .long_answers = long_answers};
  for (const auto& camera : cameras) {
    const Camera& one = *camera;
    view.cameras.push_back({.name = one.name(),
                            .kind = [this, &one] { return camera::kind_of(settings.source(one.index()).spec); },
                            .is_demonstration = [this, &one] { return source_is_demonstration(one); },
                            .stats = one.stats,
                            .mailbox = one.mailbox,
                            .snapshots = camera->snapshots,
                            .samples = one.samples,
                            .clips = one.clips.get()});
  }
  return view;
}

FrameLine AppParts::make_line(Camera& camera, std::shared_ptr<LineModel> classifier, LineOptions options) {
  std::vector<std::string> warnings;
  options.track.next_seq = [this] { return history.next_seq(); };
  options.track.knows_birds = [this] { return history.knows_birds(); };
  options.track.last_seen = seen_before;
  FrameLine line(
      std::move(classifier), std::move(options), ids,
      [this, &camera](visits::VisitEvent event, const visits::Visit& visit) { note_visit(camera, event, visit); },
      warnings, [this, &camera](const Track& track) { note_track_end(camera, track); });
  detector.attach(line);
  if (const auto people = camera.people; people && detector.knows_people()) {
    line.watch_people({.looked = [people](SteadyTime at) { people->looked(at); },
                       .seen = [people](SteadyTime at, const Area& box) { people->seen(at, box); }});
  }
  // They are about the model, which is the same for all.
  if (camera.index() > 0) warnings.clear();
  for (const std::string& warning : warnings) log(LogLevel::kWarning, warning);
  return line;
}

Result<std::unique_ptr<camera::FrameSource>> AppParts::open_source(const Camera& camera) {
  camera::SourceOptions source = settings.source(camera.index());
  source.log = camera.log;
  source.chosen_camera = camera.chosen;
  source.needs = camera.needs;
  if (source.spec != "auto") return camera::open_source(source);
  return auto_choice.open(source, scene_may_stand_in() ? camera::StandIn::kScene : camera::StandIn::kNothing);
}

bool AppParts::source_is_demonstration(const Camera& camera) const {
  const std::string spec = settings.source(camera.index()).spec;
  return spec.starts_with("demo:") || (spec == "auto" && auto_choice.is_demonstration());
}

}  // namespace kinglet::daemon
