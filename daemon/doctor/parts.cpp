// SPDX-License-Identifier: Apache-2.0
// Why: camera and model, which the daemon knows best; where it does not run, what can be seen from outside.
#include <algorithm>
#include <fstream>
#include <set>

#include "camera/sources/open_source.h"
#include "daemon/doctor/doctor.h"
#include "engine/base/format.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;

// The names of cameras and their helpers as the kernel has them.
std::vector<std::string> video_devices(const fs::path& root) {
  std::set<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator entry(root / "sys/class/video4linux", failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::ifstream file(entry->path() / "name");
    std::string name;
    if (std::getline(file, name) && !name.empty()) names.insert(name.substr(0, 80));
  }
  return {names.begin(), names.end()};
}

// What helps, by the state of the camera and by where it is.
std::string cure_of(const DoctorInput::Camera& camera, bool devices) {
  const bool absent = camera.state == "absent";
  const bool gone = absent || camera.state == "failed";
  switch (camera.kind) {
    case camera::SourceKind::kNetwork:
      return "is the camera on, and in the same network? its address stands in source";
    case camera::SourceKind::kProgram:
    case camera::SourceKind::kFile:
    case camera::SourceKind::kDrawn:
      return gone ? "the detail says what source names, and why it cannot be read" : "the detail says what is missing";
    case camera::SourceKind::kAttached:
      break;
  }
  if (absent && !devices) {
    return "the kernel sees no camera: switch the board off and check the ribbon cable or the plug; a network camera "
           "is named in source";
  }
  if (absent) return "the kernel sees a camera, but it cannot be opened: the detail says why";
  if (gone) return "check its cable and its power; journalctl -u kingletd says since when";
  return "wait a minute; if it stays so, check cable and power";
}

// What is found of one, without facts.
Finding judged(const DoctorInput::Camera& camera, bool devices) {
  Finding finding;
  if (camera.state == "streaming" || camera.state == "paused") {
    finding.detail = camera.description.empty() ? camera.state : camera.state + ": " + camera.description;
    if (camera.demonstration) {
      finding.status = CheckStatus::kWarn;
      finding.hint = "what is shown is drawn: connect a camera, or name one in source, and start again";
    } else if (camera.stalls > 0) {
      finding.status = CheckStatus::kWarn;
      finding.detail += format_text("; it stood still {} times", camera.stalls);
      finding.hint = camera.kind == camera::SourceKind::kAttached
                         ? "a ribbon cable that is loose or too long, or too little power, makes cameras stand still"
                         : cure_of(camera, devices);
    }
    return finding;
  }
  const bool gone = camera.state == "absent" || camera.state == "failed";
  finding.status = gone ? CheckStatus::kFail : CheckStatus::kWarn;
  finding.detail = camera.detail.empty() ? camera.state : camera.state + ": " + camera.detail;
  finding.hint = cure_of(camera, devices);
  return finding;
}

void add_facts(const DoctorInput::Camera& camera, const std::string& before, Finding& finding) {
  finding.facts.emplace_back(before + "state", camera.state);
  if (!camera.description.empty()) finding.facts.emplace_back(before + "description", camera.description);
  finding.facts.emplace_back(before + "stalls", camera.stalls);
}

}  // namespace

Finding look_at_camera(const DoctorInput& input) {
  Finding finding;
  const std::vector<std::string> devices = video_devices(input.root);
  finding.facts.emplace_back("video_devices", devices);
  if (input.cameras.empty()) {
    finding.status = CheckStatus::kFail;
    finding.detail = input.daemon_problem.empty() ? "kingletd does not answer" : input.daemon_problem;
    finding.hint = "systemctl status kingletd says why it does not run; journalctl -u kingletd has its last words";
    return finding;
  }
  const bool several = input.cameras.size() > 1;
  for (const DoctorInput::Camera& camera : input.cameras) {
    const Finding one = judged(camera, !devices.empty());
    finding.detail +=
        format_text("{}{}{}", finding.detail.empty() ? "" : "; ", several ? camera.name + " " : "", one.detail);
    // What helps the one that is worst off.
    if (one.status > finding.status || finding.hint.empty()) finding.hint = one.hint;
    finding.status = std::max(finding.status, one.status);
    add_facts(camera, &camera == &input.cameras.front() ? "" : camera.name + "_", finding);
  }
  return finding;
}

Finding look_at_model(const DoctorInput& input) {
  Finding finding;
  if (!input.model) {
    finding.status = CheckStatus::kWarn;
    finding.detail = "nobody could say which model is used";
    return finding;
  }
  const DoctorInput::Model& model = *input.model;
  if (!model.loaded) {
    finding.status = CheckStatus::kFail;
    finding.detail = "no model is loaded: " + model.problem;
    finding.hint = "set model.path to an ONNX image classifier; kinglet inspect FILE says what a file holds";
    return finding;
  }
  finding.detail = model.name;
  finding.facts.emplace_back("name", model.name);
  finding.facts.emplace_back("recipe_found", model.recipe_found);
  finding.facts.emplace_back("labels_named", model.labels_named);
  finding.facts.emplace_back("fallback_nodes", model.fallback_nodes);
  if (!model.recipe_found) {
    finding.status = CheckStatus::kWarn;
    finding.detail += ": nobody said how pictures become its input, so its answers may be wrong";
    finding.hint = "say it on the page (Settings, Models), or set model.recipe (docs/recipes.md)";
  } else if (!model.labels_named) {
    finding.status = CheckStatus::kWarn;
    finding.detail += ": its classes have no names";
    finding.hint = "paste them on the page (Settings, Models), or set model.labels to a file with one name a line";
  } else if (model.demonstration) {
    finding.detail += ": the demonstration's, which knows drawn birds only";
  } else if (!model.fallback_nodes.empty()) {
    finding.detail += format_text(": {} operators run slowly", model.fallback_nodes.size());
    finding.hint = "kinglet inspect FILE names them and why";
  }
  if (model.detector_problem) {
    finding.facts.emplace_back("detector_works", model.detector_problem->empty());
    if (!model.detector_problem->empty()) {
      finding.status = std::max(finding.status, CheckStatus::kWarn);
      finding.detail += "; its detector is left out: " + *model.detector_problem;
      finding.hint = "kinglet config check says what helps (docs/detector.md)";
    }
  }
  return finding;
}

}  // namespace kinglet::daemon
