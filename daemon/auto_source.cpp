// SPDX-License-Identifier: Apache-2.0
#include "daemon/auto_source.h"

#include <utility>

namespace kinglet::daemon {
namespace {

using camera::FrameSource;
using camera::SourceOptions;
using Chosen = AutoChoice::Chosen;

Result<std::unique_ptr<FrameSource>> open_spec(SourceOptions options, const char* spec) {
  options.spec = spec;
  return camera::open_source(options);
}

class AutoSource final : public FrameSource {
 public:
  AutoSource(SourceOptions options, std::atomic<Chosen>& chosen) : options_(std::move(options)), chosen_(chosen) {}

  Result<void> start() override {
    if (chosen_ != Chosen::kScene) {
      Result<void> started = start_spec("libcamera:");
      if (started) {
        chosen_ = Chosen::kCamera;
        return {};
      }
      if (chosen_ == Chosen::kCamera) return started;
      if (options_.log) {
        options_.log(LogLevel::kInfo, "no camera (" + describe(started.error()) + "): showing the demonstration scene");
      }
    }
    Result<void> started = start_spec("demo:");
    if (started) chosen_ = Chosen::kScene;
    return started;
  }

  Result<std::variant<camera::Frame, camera::NoFrame>> next(SteadyTime deadline) override {
    return inner_.load()->next(deadline);
  }
  void stop() override {
    if (FrameSource* inner = inner_.load()) inner->stop();
  }
  int depth() const override { return inner_.load() != nullptr ? inner_.load()->depth() : 1; }
  std::string description() const override {
    return inner_.load() != nullptr ? inner_.load()->description() : "no source yet";
  }
  std::uint64_t dropped_count() const override { return inner_.load() != nullptr ? inner_.load()->dropped_count() : 0; }

 private:
  Result<void> start_spec(const char* spec) {
    std::unique_ptr<FrameSource> source = KINGLET_TRY(open_spec(options_, spec));
    KINGLET_TRY(source->start());
    if (owned_) return fail(ErrorCode::kUnavailable, "an automatic source starts once: open it again");
    owned_ = std::move(source);
    inner_ = owned_.get();
    return {};
  }

  const SourceOptions options_;
  std::atomic<Chosen>& chosen_;
  std::unique_ptr<FrameSource> owned_;  // set once, so that stop() may come from any thread
  std::atomic<FrameSource*> inner_{nullptr};
};

}  // namespace

std::unique_ptr<FrameSource> AutoChoice::open(const SourceOptions& options) {
  return std::make_unique<AutoSource>(options, chosen_);
}

}  // namespace kinglet::daemon
