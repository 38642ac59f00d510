// SPDX-License-Identifier: Apache-2.0
#include "daemon/answer/camera.h"

#include <utility>

#include "engine/base/format.h"

namespace kinglet::daemon {
namespace {

LogSink with_name(LogSink log, const std::string& name) {
  if (name.empty() || !log) return log;
  return [log = std::move(log), name](LogLevel level, std::string_view text) {
    log(level, format_text("{}: {}", name, text));
  };
}

// Of the thread that works for this camera.
std::string thread_name(const char* work, std::size_t index) {
  return index == 0 ? work : format_text("{}-{}", work, index + 1);
}

// Only for a disk.
std::unique_ptr<ClipRecorder> make_clips(const CameraOptions& wished, const Camera::Surroundings& around,
                                         const LogSink& log, std::shared_ptr<camera::FrameCopies> copies) {
  store::Store& history = around.history;
  if (!wished.clips || history.brief().memory_is_wanted) return nullptr;
  ClipOptions options = *wished.clips;
  options.thread = thread_name("clips", wished.index);
  // Each has its part, and where there is any room not none.
  options.room = [&history, cameras = around.cameras] { return (history.clip_bytes() + cameras - 1) / cameras; };
  return std::make_unique<ClipRecorder>(std::move(options), log, std::move(copies));
}

CaptureOptions capture_options(const CameraOptions& wished, ClipRecorder* clips, const Camera::Surroundings& around) {
  CaptureOptions options;
  options.settle = wished.settle;
  options.clips = clips;
  options.paused = around.paused;
  options.changed = around.changed;
  return options;
}

}  // namespace

Camera::Camera(CameraOptions options, const Surroundings& around)
    : options_(std::move(options)),
      name_in_log_(around.cameras > 1 ? options_.name : std::string()),
      log(with_name(around.log, name_in_log_)),
      stats(SteadyClock::now(), &around.whole),
      people(around.can_see_people ? std::make_shared<People>(around.can_see_people) : nullptr),
      clips(make_clips(options_, around, log, copies)),
      pictures(around.history, clips.get(), around.pictured, people, copies),
      snapshots(people, copies),
      samples({.count = options_.samples, .thread = thread_name("samples", options_.index)}, log, people, copies),
      mailbox(around.bell),
      capture([this, open = around.open_source] { return open(*this); }, capture_options(options_, clips.get(), around),
              mailbox, snapshots, stats, log) {}

LineOptions Camera::line_options(LineOptions common) const {
  common.track.source = name();
  if (index() == 0) return common;
  common.gate.region = options_.region;
  common.look.fixed = options_.fixed;
  // "fixed" may have been said on the page, of the first camera's parts, before this one was there.
  if (options_.fixed.empty() && common.look.propose == ProposedBy::kFixed) common.look.propose.reset();
  return common;
}

}  // namespace kinglet::daemon
