// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/line_detector.h"

#include <algorithm>
#include <utility>

#include "daemon/line/regions/regions.h"
#include "engine/base/format.h"

namespace kinglet::daemon {
namespace {

constexpr std::chrono::minutes kShortestPause{1};
constexpr std::chrono::minutes kLongestPause{60};

// What helps, in the words of the configuration and not of the tool.
Error in_keys(Error error) {
  if (error.hint.starts_with("--recipe")) {
    error.hint = "set detector.recipe to yolox, nanodet, nanodet-plus or nms, or to a file (docs/recipes.md)";
  }
  return error;
}

}  // namespace

LineDetector::LineDetector(std::string name, engine::DetectorModel model)
    : name_(std::move(name)),
      model_(std::move(model)),
      squares_(model_.recipe(), model_.input().width, model_.input().height),
      wholes_(model_.recipe(), model_.input().width, model_.input().height) {
  for (const engine::Label& label : model_.labels()) beings_.push_back(being_of(label.text));
}

Result<std::shared_ptr<LineDetector>> LineDetector::open(const LineDetectorOptions& options) {
  auto model = engine::DetectorModel::open(
      {.model = options.model, .labels = options.labels, .recipe = options.recipe, .output = {}},
      {.threads = options.threads, .pool = options.pool});
  if (!model) return std::unexpected(in_keys(std::move(model).error()));
  if (model->recipe().resize_mode == engine::ResizeMode::kCenterCrop) {
    return fail(ErrorCode::kBadData, "its recipe cuts away the borders of what it looks at", options.model.string(),
                "set its resize_mode to letterbox or stretch (docs/recipes.md)");
  }
  const bool named = !model->labels_origin().empty();
  std::shared_ptr<LineDetector> detector(new LineDetector(options.model.stem().string(), *std::move(model)));
  if (std::ranges::all_of(detector->beings_, [](Being being) { return being == Being::kNobody; })) {
    return fail(ErrorCode::kBadData,
                named ? "none of its classes is a bird, a person or an animal such as \"squirrel\""
                      : "its classes have no names",
                options.model.string(), "set detector.labels to a file with one name a line (docs/detector.md)");
  }
  // The first run may make what later ones have.
  KINGLET_TRY(detector->model_.run());
  const SteadyTime begun = SteadyClock::now();
  KINGLET_TRY(detector->model_.run());
  detector->cost_ = Seconds(SteadyClock::now() - begun).count();
  return detector;
}

bool LineDetector::knows(Being being) const { return std::ranges::contains(beings_, being); }

camera::ImageSize LineDetector::enough_pixels(camera::ImageSize picture) const {
  const engine::PictureInput& input = model_.input();
  return camera::enough_pixels(model_.recipe(), {input.width, input.height}, picture, std::nullopt);
}

std::string LineDetector::problem() const {
  MutexLock lock(mutex_);
  return problem_;
}

Result<CropRect> LineDetector::prepare(const camera::FrameView& frame, const std::optional<CropRect>& part,
                                       camera::MjpegPlanes& decoder) {
  if (!part) return wholes_.run(frame, std::nullopt, model_.input(), decoder);
  const SquareSizes sizes(frame.width, frame.height);
  return squares_.run_part(frame, *part, sizes.all(), model_.input(), decoder);
}

void LineDetector::note_prepared(const Result<CropRect>& prepared) {
  constexpr int kMany = 10;  // one frame may be damaged
  const int before = std::exchange(unprepared_, prepared ? 0 : unprepared_ + 1);
  if (unprepared_ != kMany && !(prepared && before >= kMany)) return;
  if (!failed_) set_problem(prepared ? std::string() : describe(prepared.error()));
}

// It may fail of one picture alone, or of all that come.
void LineDetector::note_failed(SteadyTime now, const Error& error) {
  const bool at_once = failed_at_ && now - *failed_at_ < 2 * pause_;
  pause_ = at_once ? std::min<SteadyClock::duration>(2 * pause_, kLongestPause) : kShortestPause;
  failed_at_ = now;
  again_at_ = now + pause_;
  failed_ = true;
  set_problem(format_text("{}; it is tried again after {} min", describe(error),
                          std::chrono::duration_cast<std::chrono::minutes>(pause_).count()));
}

void LineDetector::set_problem(std::string problem) {
  MutexLock lock(mutex_);
  problem_ = std::move(problem);
}

Result<void> LineDetector::look(const camera::FrameView& frame, const std::optional<CropRect>& part, SteadyTime now,
                                camera::MjpegPlanes& decoder, Findings& found) {
  const SteadyTime begun = SteadyClock::now();
  const Result<CropRect> prepared = prepare(frame, part, decoder);
  note_prepared(prepared);
  const CropRect used = KINGLET_TRY(prepared);
  const auto boxes = model_.run();
  if (!boxes) {
    note_failed(now, boxes.error());
    return std::unexpected(boxes.error());
  }
  if (std::exchange(failed_, false)) set_problem({});
  found.begin_look();
  for (const engine::Box& box : *boxes) {
    const Being being = beings_[box.label];
    if (being == Being::kNobody) continue;
    const engine::PictureBox in = engine::in_picture(box, model_.recipe(), model_.input(), used);
    if (in.width < 1 || in.height < 1) continue;
    found.add({.box = {.left = in.left / frame.width,
                       .top = in.top / frame.height,
                       .width = in.width / frame.width,
                       .height = in.height / frame.height},
               .opinion = {.being = being, .score = box.score, .label = static_cast<std::uint32_t>(box.label)}});
  }
  constexpr double kShare = 0.125;
  cost_ += kShare * (Seconds(SteadyClock::now() - begun).count() - cost_);
  return {};
}

}  // namespace kinglet::daemon
