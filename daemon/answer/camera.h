// SPDX-License-Identifier: Apache-2.0
// Why: what belongs to one of several cameras, from the source of its frames to where they wait to be answered, and
// what becomes of them beside that. It knows no other camera; they meet on the answer thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "camera/frame/frame_copies.h"
#include "camera/frame/mailbox.h"
#include "camera/source/source.h"
#include "daemon/capture/capture.h"
#include "daemon/capture/clips/clip_recorder.h"
#include "daemon/capture/frame_samples.h"
#include "daemon/capture/people/people.h"
#include "daemon/capture/snapshot.h"
#include "daemon/capture/visit_pictures.h"
#include "daemon/line/frame_line.h"
#include "daemon/line/stats.h"
#include "engine/base/area.h"
#include "engine/base/log.h"
#include "store/store.h"

namespace kinglet::daemon {

struct CameraOptions {
  std::size_t index = 0;  // its place among the cameras
  std::string name;
  // What it has for itself, of a further camera: of the first the settings of all speak.
  std::optional<Area> region;
  std::vector<Area> fixed;
  std::optional<ClipOptions> clips;  // nothing: none are wished
  std::size_t samples = 0;           // most
  std::chrono::milliseconds settle{0};
};

class Camera {
 public:
  // What all cameras have in common; it outlives them.
  struct Surroundings {
    std::size_t cameras = 1;
    std::shared_ptr<camera::Bell> bell;
    store::Store& history;
    Stats& whole;  // of all cameras
    LogSink log;
    std::function<void()> changed;                           // the state of one
    std::function<void(const std::string& visit)> pictured;  // has its first picture
    std::function<Result<std::unique_ptr<camera::FrameSource>>(const Camera& camera)> open_source;
    std::function<bool()> paused;               // by somebody, all of them
    std::function<bool()> can_see_people = {};  // while they are to be hidden; empty: they are shown
  };
  Camera(CameraOptions options, const Surroundings& around);

  [[nodiscard]] std::size_t index() const { return options_.index; }
  [[nodiscard]] const std::string& name() const { return options_.name; }
  // For the log, where there are several; empty: it is the only one.
  [[nodiscard]] const std::string& name_in_log() const { return name_in_log_; }
  // The settings of all, with what this camera has for itself.
  [[nodiscard]] LineOptions line_options(LineOptions common) const;

 private:
  const CameraOptions options_;
  const std::string name_in_log_;

 public:
  const LogSink log;
  Stats stats;
  const std::shared_ptr<People> people;  // empty: they are shown
  const std::shared_ptr<camera::FrameCopies> copies = camera::FrameCopies::make();
  const std::unique_ptr<ClipRecorder> clips;  // empty: none are made
  VisitPictures pictures;
  SnapshotBoard snapshots;
  FrameSamples samples;
  camera::Mailbox mailbox;
  const std::shared_ptr<camera::ChosenCamera> chosen = std::make_shared<camera::ChosenCamera>();
  const std::shared_ptr<camera::PictureNeeds> needs = std::make_shared<camera::PictureNeeds>();
  Capture capture;  // last: ended first
};

}  // namespace kinglet::daemon
