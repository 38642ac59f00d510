// SPDX-License-Identifier: Apache-2.0
// Why: "demo:": kinglet runs without a camera, a model of one's own or a network, and shows what it does.
#include <cmath>

#include "camera/decode/to_yuv420.h"
#include "camera/demo/demo_painter.h"
#include "camera/source/spec.h"
#include "camera/sources/paced_source.h"
#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"

namespace kinglet::camera {
namespace {

constexpr int kMinSide = 64;
constexpr int kMaxSide = 4096;
constexpr double kSceneFramesPerSecond = 10;  // draw_demo_scene's

class DemoSource final : public PacedSource {
 public:
  DemoSource(std::uint64_t seed, int width, int height, SteadyClock::duration period)
      : PacedSource(period, Late::kSkip, Shows::kDrawnOnes),
        seed_(seed),
        width_(width),
        height_(height),
        painter_(seed, width, height) {
    const double seconds = std::chrono::duration<double>(period).count();
    scene_step_ = seconds > 0 ? seconds * kSceneFramesPerSecond : 1;
  }

  [[nodiscard]] std::string description() const override {
    return format_text("demonstration scene {}x{}, seed {}", width_, height_, seed_);
  }

 protected:
  [[nodiscard]] Result<void> rewind() override { return {}; }

  [[nodiscard]] Result<Drawn> draw(std::uint64_t sequence, MadePicture& picture) override {
    const bool even = width_ % 2 == 0 && height_ % 2 == 0;
    using Light = demo::ScenePainter::Light;
    painter_.show(static_cast<std::uint64_t>(std::llround(static_cast<double>(sequence) * scene_step_)), scene_,
                  rests() ? Light::kAsBefore : Light::kOfTheHour, [&](const Image& image) {
                    if (even) {  // as most cameras give theirs, and half the bytes
                      to_yuv420(image, picture.yuv420);
                      picture.size = {width_, height_};
                    } else {
                      picture.image = image;
                    }
                  });
    return Drawn::kFrame;
  }

 private:
  std::uint64_t seed_;
  int width_;
  int height_;
  double scene_step_ = 1;
  demo::ScenePainter painter_;
  DemoFrame scene_;
};

}  // namespace

Result<std::unique_ptr<FrameSource>> open_demo(std::string_view rest, const SourceOptions& options) {
  constexpr std::string_view kKnown[] = {"fps"};
  const Spec spec = KINGLET_TRY(parse_spec(rest, kKnown));
  const auto seed =
      spec.path.empty() ? 1 + std::uint64_t{options.camera_index} : parse_number<std::uint64_t>(spec.path);
  if (!seed) {
    return fail(ErrorCode::kUsage, format_text("demo seed \"{}\" is not a whole number", printable(spec.path, 40)), {},
                "write demo: or demo:7");
  }
  const auto side = [](int value) { return value >= kMinSide && value <= kMaxSide; };
  if (!side(options.width) || !side(options.height)) {
    return fail(ErrorCode::kUsage, format_text("demo scene of {}x{} pixels, expected sides of {} to {}", options.width,
                                               options.height, kMinSide, kMaxSide));
  }
  const SteadyClock::duration period = KINGLET_TRY(period_of(spec, options));
  return std::make_unique<DemoSource>(*seed, options.width, options.height, period);
}

}  // namespace kinglet::camera
