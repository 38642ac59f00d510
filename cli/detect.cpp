// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet detect`: what a detector finds in pictures, and where. A bad picture is told and does not stop the
// others.
#include <memory>
#include <nlohmann/json.hpp>

#include "camera/preprocess/preprocess.h"
#include "cli/command.h"
#include "cli/each_picture.h"
#include "cli/model_options.h"
#include "cli/picture_files.h"
#include "engine/base/clock.h"
#include "engine/base/format.h"
#include "engine/picture/detector_model.h"

namespace kinglet::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  ModelOptions model;
  std::vector<std::string> pictures;
};

struct Found {
  std::size_t label = 0;
  float score = 0;
  engine::PictureBox box;  // in pixels of the picture
};

struct PictureResult {
  std::vector<Found> found;  // the best first
  int width_px = 0;
  int height_px = 0;
  double preprocess_ms = 0;
  double inference_ms = 0;  // and reading the boxes
};

class Detection {
 public:
  explicit Detection(engine::DetectorModel model)
      : model_(std::move(model)), preprocessor_(model_.recipe(), model_.input().width, model_.input().height) {}

  [[nodiscard]] const engine::DetectorModel& model() const { return model_; }

  [[nodiscard]] Result<PictureResult> detect(const std::string& file) {
    const std::string bytes = KINGLET_TRY(read_picture(file));
    const camera::DecodedImage decoded =
        KINGLET_TRY(decode_picture(std::as_bytes(std::span(bytes)), camera::Upright::kApplyExif));
    PictureResult result{.found = {}, .width_px = decoded.image.width, .height_px = decoded.image.height};
    SteadyTime start = SteadyClock::now();
    const CropRect used = KINGLET_TRY(preprocessor_.run(decoded.image.view(), std::nullopt, model_.input()));
    result.preprocess_ms = to_ms(SteadyClock::now() - start).count();
    start = SteadyClock::now();
    for (const engine::Box& box : KINGLET_TRY(model_.run())) {
      result.found.push_back({.label = box.label,
                              .score = box.score,
                              .box = engine::in_picture(box, model_.recipe(), model_.input(), used)});
    }
    result.inference_ms = to_ms(SteadyClock::now() - start).count();
    return result;
  }

 private:
  engine::DetectorModel model_;
  camera::Preprocessor preprocessor_;
};

Json to_json(const std::string& file, const PictureResult& result, const engine::Labels& labels) {
  Json boxes = Json::array();
  for (const Found& found : result.found) {
    boxes.push_back(
        {{"label", labels[found.label].text},
         {"index", found.label},
         {"score", found.score},
         {"box_px",
          {{"x", found.box.left}, {"y", found.box.top}, {"width", found.box.width}, {"height", found.box.height}}}});
  }
  return {{"file", file},
          {"boxes", std::move(boxes)},
          {"input", {{"width_px", result.width_px}, {"height_px", result.height_px}}},
          {"timing", {{"preprocess_ms", result.preprocess_ms}, {"inference_ms", result.inference_ms}}}};
}

void print_text(const std::string& file, const PictureResult& result, const engine::Labels& labels, Output& out) {
  out.print(format_text("{}  {}x{}\n", out.styled(file, Style::kBold), result.width_px, result.height_px));
  for (const Found& found : result.found) {
    out.print(format_text("  {:.4f}  {:.0f},{:.0f} {:.0f}x{:.0f}  {}\n", found.score, found.box.left, found.box.top,
                          found.box.width, found.box.height, labels[found.label].text));
  }
  if (result.found.empty()) out.print("  nothing\n");
  out.detail(format_text("{}: preprocess {:.1f} ms, run {:.1f} ms", file, result.preprocess_ms, result.inference_ms));
}

Result<Detection> open_detector(const Options& options, Output& out) {
  Detection detection(
      KINGLET_TRY(engine::DetectorModel::open(options.model.of_pictures(), {.threads = thread_count(options.model)})));
  if (detection.model().labels_origin().empty()) {
    out.note("no labels: classes are shown by number; use --labels, or put MODEL.labels.txt beside the model");
  }
  return detection;
}

Result<int> detect(const Options& options, Output& out) {
  const std::vector<std::string> pictures = KINGLET_TRY(expand_pictures(options.pictures));
  Detection detection = KINGLET_TRY(open_detector(options, out));
  const engine::Labels& labels = detection.model().labels();
  return look_at_each(pictures, {{"path", options.model.model}}, out, [&](const std::string& file) -> Result<Json> {
    const PictureResult result = KINGLET_TRY(detection.detect(file));
    if (out.json()) return to_json(file, result, labels);
    print_text(file, result, labels, out);
    return Json();
  });
}

}  // namespace

Body detect_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_model_argument(app, options->model);
  add_pictures_argument(app, options->pictures);
  add_labels_option(app, options->model);
  app.add_option("--recipe", options->model.recipe,
                 "preprocessing and boxes as JSON, or a preset: yolox, nanodet, nanodet-plus, nms (default: "
                 "MODEL.recipe.json, or in the model)")
      ->type_name("FILE");
  add_threads_option(app, options->model);
  return [options](Output& out) { return detect(*options, out); };
}

}  // namespace kinglet::cli
