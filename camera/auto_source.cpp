// SPDX-License-Identifier: Apache-2.0
#include "camera/auto_source.h"

#include <array>
#include <utility>

#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

// Best first. The last one is always there.
constexpr std::array kCandidates{"libcamera:", "rpicam:", "demo:"};
constexpr std::string_view kScene = kCandidates.back();

}  // namespace

class AutoSource final : public FrameSource {
 public:
  AutoSource(SourceOptions options, AutoChoice& choice) : options_(std::move(options)), choice_(choice) {}

  Result<void> start() override {
    if (const std::string chosen = choice_.chosen(); !chosen.empty()) return start_spec(chosen);
    std::string why;
    for (const char* spec : kCandidates) {
      Result<void> started = start_spec(spec);
      if (started) {
        choose(spec, std::move(why));
        return {};
      }
      if (spec == kScene) return started;
      const std::string& hint = started.error().hint;
      if (options_.log && !hint.empty()) {
        options_.log(LogLevel::kInfo, format_text("source auto: {} {}; {}", spec, describe(started.error()), hint));
      }
      why += format_text("{}{} {}", why.empty() ? "" : "; ", spec, describe(started.error()));
    }
    return {};
  }

  Result<std::variant<Frame, NoFrame>> next(SteadyTime deadline) override {
    FrameSource* inner = inner_.load();
    if (inner == nullptr) return NoFrame{NoFrame::Reason::kStopped};
    return inner->next(deadline);
  }
  void stop() override {
    if (FrameSource* inner = inner_.load()) inner->stop();
  }
  int depth() const override { return inner_.load() != nullptr ? inner_.load()->depth() : 1; }
  std::uint64_t dropped_count() const override { return inner_.load() != nullptr ? inner_.load()->dropped_count() : 0; }
  SteadyClock::duration longest_pause() const override {
    return inner_.load() != nullptr ? inner_.load()->longest_pause() : SteadyClock::duration{};
  }
  bool settles() const override { return inner_.load() != nullptr && inner_.load()->settles(); }
  std::string description() const override {
    const FrameSource* inner = inner_.load();
    if (inner == nullptr) return "no source yet";
    const std::string why = choice_.why();
    return format_text("{} (auto{}{})", inner->description(), why.empty() ? "" : ": ", why);
  }

 private:
  Result<void> start_spec(const std::string& spec) {
    if (owned_) return fail(ErrorCode::kUnavailable, "an automatic source starts once: open it again");
    SourceOptions options = options_;
    options.spec = spec;
    std::unique_ptr<FrameSource> source = KINGLET_TRY(open_source(options));
    KINGLET_TRY(source->start());
    owned_ = std::move(source);
    inner_ = owned_.get();
    return {};
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
  AutoChoice& choice_;
  std::unique_ptr<FrameSource> owned_;  // set once, so that stop() may come from any thread
  std::atomic<FrameSource*> inner_{nullptr};
};

std::unique_ptr<FrameSource> AutoChoice::open(const SourceOptions& options) {
  return std::make_unique<AutoSource>(options, *this);
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
