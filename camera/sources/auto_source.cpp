// SPDX-License-Identifier: Apache-2.0
#include "camera/sources/auto_source.h"

#include <array>
#include <utility>

#include "camera/sources/open_source.h"
#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

constexpr std::array kCameras{"libcamera:", "rpicam:"};  // best first
constexpr const char* kScene = "demo:";

}  // namespace

class AutoSource final : public FrameSource {
 public:
  AutoSource(SourceOptions options, StandIn stand_in, AutoChoice& choice)
      : options_(std::move(options)), stand_in_(stand_in), choice_(choice) {}

  Result<void> start() override {
    if (const std::string chosen = choice_.chosen(); !chosen.empty()) return start_spec(chosen);
    std::string why;
    std::string cure;
    for (const char* spec : kCameras) {
      Result<void> started = start_spec(spec);
      if (started) {
        choose(spec, std::move(why));
        return {};
      }
      if (stopped()) return started;
      const Error& error = started.error();
      why += format_text("{}{} {}", why.empty() ? "" : "; ", spec, describe(error));
      if (!error.hint.empty()) cure += format_text("{}{} {}", cure.empty() ? "" : "; ", spec, error.hint);
    }
    if (stand_in_ == StandIn::kNothing) return fail(ErrorCode::kUnavailable, "no camera: " + why, {}, cure);
    KINGLET_TRY(start_spec(kScene));
    if (options_.log && !cure.empty()) options_.log(LogLevel::kInfo, "source auto: " + cure);
    choose(kScene, std::move(why));
    return {};
  }

  Result<std::variant<Frame, NoFrame>> next(SteadyTime deadline) override {
    if (!inner_) return NoFrame{NoFrame::Reason::kStopped};
    return inner_->next(deadline);
  }
  // Reaches the one that is being tried as well: a camera that hangs is waited for as long as its start may take.
  void stop() override {
    std::shared_ptr<FrameSource> tried;
    {
      const MutexLock lock(mutex_);
      stopped_ = true;
      tried = tried_;
    }
    if (tried) tried->stop();
  }
  int depth() const override { return inner_ ? inner_->depth() : 1; }
  std::uint64_t dropped_count() const override { return inner_ ? inner_->dropped_count() : 0; }
  SteadyClock::duration longest_start() const override {
    SteadyClock::duration all{};
    for (const char* spec : kCameras) {
      if (const auto source = open_spec(spec)) all += (*source)->longest_start();
    }
    return all + FrameSource::longest_start();  // of the scene
  }
  SteadyClock::duration longest_pause() const override {
    return inner_ ? inner_->longest_pause() : SteadyClock::duration{};
  }
  void want_every(SteadyClock::duration pause) override {
    if (inner_) inner_->want_every(pause);
  }
  bool settles() const override { return inner_ && inner_->settles(); }
  bool works_unwanted() const override { return inner_ && inner_->works_unwanted(); }
  std::string description() const override {
    if (!inner_) return "no source yet";
    const std::string why = choice_.why();
    return format_text("{} (auto{}{})", inner_->description(), why.empty() ? "" : ": ", why);
  }

 private:
  [[nodiscard]] Result<std::unique_ptr<FrameSource>> open_spec(const std::string& spec) const {
    SourceOptions options = options_;
    options.spec = spec;
    return open_source(options);
  }

  Result<void> start_spec(const std::string& spec) {
    if (inner_) return fail(ErrorCode::kUnavailable, "an automatic source starts once: open it again");
    const std::shared_ptr<FrameSource> source = KINGLET_TRY(open_spec(spec));
    {
      const MutexLock lock(mutex_);
      if (stopped_) return fail(ErrorCode::kUnavailable, "it was stopped while it started");
      tried_ = source;
    }
    KINGLET_TRY(source->start());
    inner_ = source;
    return {};
  }

  [[nodiscard]] bool stopped() {
    const MutexLock lock(mutex_);
    return stopped_;
  }

  void choose(std::string_view spec, std::string why) {
    if (options_.log) {
      if (spec == kScene) {
        options_.log(LogLevel::kWarning, format_text("no camera: showing the demonstration scene ({})", why));
      } else {
        options_.log(LogLevel::kInfo, format_text("source auto: {}{}{}", spec, why.empty() ? "" : " because ", why));
      }
    }
    choice_.choose(spec, std::move(why));
  }

  const SourceOptions options_;
  const StandIn stand_in_;
  AutoChoice& choice_;
  std::shared_ptr<FrameSource> inner_;  // the one that started; of the source's thread

  Mutex mutex_;
  std::shared_ptr<FrameSource> tried_ KINGLET_GUARDED_BY(mutex_);  // the newest one
  bool stopped_ KINGLET_GUARDED_BY(mutex_) = false;
};

std::unique_ptr<FrameSource> AutoChoice::open(const SourceOptions& options, StandIn stand_in) {
  if (stand_in == StandIn::kNothing) static_cast<void>(forget_scene());
  return std::make_unique<AutoSource>(options, stand_in, *this);
}

bool AutoChoice::forget_scene() {
  const MutexLock lock(mutex_);
  if (chosen_ != kScene) return false;
  chosen_.clear();
  why_.clear();
  return true;
}

bool AutoChoice::is_demonstration() const {
  const MutexLock lock(mutex_);
  return chosen_ == kScene;
}

std::string AutoChoice::chosen() const {
  const MutexLock lock(mutex_);
  return chosen_;
}

std::string AutoChoice::why() const {
  const MutexLock lock(mutex_);
  return why_;
}

void AutoChoice::choose(std::string_view spec, std::string why) {
  const MutexLock lock(mutex_);
  chosen_ = spec;
  why_ = std::move(why);
}

}  // namespace kinglet::camera
