// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet quantize`: a float classifier in 8-bit integers, calibrated on the owner's pictures, with what it
// costs. Exit code 1: the cost is above --max-drop, nothing was written.
#include "engine/quantize/quantize.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/activate.h"
#include "cli/command.h"
#include "cli/daemon_frames.h"
#include "cli/judgement_text.h"
#include "cli/picture_samples.h"
#include "cli/tool_files.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/quantize/uncalibrated.h"
#include "engine/session/model.h"

namespace kinglet::cli {
namespace {

using Json = nlohmann::ordered_json;
using engine::QuantizeReport;

constexpr std::size_t kFewPictures = 20;

struct Options {
  ModelOptions model;
  std::string output;
  std::string images;
  std::size_t most_images = 256;
  std::string method = "auto";
  double max_drop = -1;
  std::vector<std::string> keep_float;
  bool per_tensor = false;
  bool no_equalize = false;
  bool no_bias_correction = false;
  bool round_nearest = false;
  std::string fp16;  // "weights" or "whole"
  bool dynamic = false;
  bool force = false;
  bool activate = false;
  bool from_daemon = false;
  ActivateOptions hand_over{.report = false};
};

Json report_json(const QuantizeReport& report, const Options& options, const PictureSamples& pictures) {
  Json tried = Json::array();
  for (const auto& [method, noise] : report.tried) {
    tried.push_back({{"method", to_string(method)}, {"signal_to_noise_db", noise}});
  }
  Json layers = Json::array();
  for (const engine::LayerNoise& row : report.sensitivity) {
    layers.push_back({{"name", row.name},
                      {"operator", row.op_type},
                      {"signal_to_noise_db", row.signal_to_noise_db},
                      {"kept_float", row.kept_float}});
  }
  return {{"model", options.model.model},
          {"output", options.output},
          {"layers", report.layers},
          {"equalized_pairs", report.equalized_pairs},
          {"method", to_string(report.method)},
          {"tried", std::move(tried)},
          {"kept_float", report.kept_float},
          {"sensitivity", std::move(layers)},
          {"constant_bytes_before", report.bytes_before},
          {"constant_bytes_after", report.bytes_after},
          {"judgement", to_json(report.judgement, pictures.files)}};
}

std::string report_text(const QuantizeReport& report, const PictureSamples& pictures) {
  std::string text = format_text("layers      {} in 8-bit integers", report.layers);
  if (!report.kept_float.empty()) text += format_text(", {} kept in float", report.kept_float.size());
  text += format_text("; {} pairs equalised, ranges by {}\n", report.equalized_pairs, to_string(report.method));
  const auto bytes = [](std::int64_t count) { return human_bytes(static_cast<std::uint64_t>(count)); };
  text += format_text("weights     {} before, {} after\n", bytes(report.bytes_before), bytes(report.bytes_after));
  for (const engine::LayerNoise& row : report.sensitivity) {
    if (row.kept_float) {
      text += format_text("kept float  {} ({}): {:.1f} dB alone\n", printable(row.name, 60), row.op_type,
                          row.signal_to_noise_db);
    }
  }
  return text + to_text(report.judgement, pictures.files);
}

Result<engine::QuantizeOptions> options_for(const Options& options, const PictureSamples& pictures) {
  const auto method = engine::range_method(options.method);
  if (!method) {
    return fail(ErrorCode::kUsage, format_text("unknown method \"{}\"", printable(options.method)), "--method",
                "minmax, percentile, entropy, mse or auto");
  }
  engine::QuantizeOptions out{.method = *method,
                              .per_channel = !options.per_tensor,
                              .equalize = !options.no_equalize,
                              .correct_bias = !options.no_bias_correction,
                              .optimize_rounding = !options.round_nearest,
                              .keep_float = {options.keep_float.begin(), options.keep_float.end()},
                              .max_drop = std::nullopt,
                              .output = pictures.pipeline->model().output(),
                              .labels = pictures.labels};
  if (options.max_drop >= 0) out.max_drop = options.max_drop;
  return out;
}

// Recipe and labels travel with the file, and how it was made.
void describe(engine::Graph& graph, const Options& options, const PictureSamples& pictures,
              const QuantizeReport& report) {
  auto& properties = graph.metadata.properties;
  const auto set = [&](std::string_view key, std::string value) {
    std::erase_if(properties, [&](const auto& row) { return row.first == key; });
    properties.emplace_back(std::string(key), std::move(value));
  };
  set(engine::kRecipeProperty, engine::to_json(pictures.pipeline->model().recipe()));
  set("kinglet.quantized", Json{{"from", std::filesystem::path(options.model.model).filename().string()},
                                {"pictures", pictures.samples.count},
                                {"pictures_digest", pictures.digest},
                                {"method", to_string(report.method)},
                                {"agreement_percent", report.judgement.agreement_percent()}}
                               .dump());
}

// --- Forms without calibration: half precision, dynamic

struct Plain {
  engine::Graph graph;
  Json report;
  std::string text;
};

Result<Plain> halved(const engine::Graph& graph, const Options& options) {
  const engine::HalfOptions half{
      .form = options.fp16 == "whole" ? engine::HalfForm::kWhole : engine::HalfForm::kWeights,
      .keep_float = {options.keep_float.begin(), options.keep_float.end()}};
  engine::HalfModel made = KINGLET_TRY(engine::to_half_model(graph, half));
  const engine::HalfReport& report = made.report;
  return Plain{.graph = std::move(made.graph),
               .report = {{"form", options.fp16},
                          {"constants", report.constants},
                          {"raised", report.raised},
                          {"lowered", report.lowered}},
               .text = format_text("constants   {} in float16; {} tiny numbers raised, {} huge ones lowered\n",
                                   report.constants, report.raised, report.lowered)};
}

Result<Plain> dynamic(const engine::Graph& graph, const Options& options) {
  engine::DynamicModel made =
      KINGLET_TRY(engine::to_dynamic_model(graph, {options.keep_float.begin(), options.keep_float.end()}));
  return Plain{
      .graph = std::move(made.graph),
      .report = {{"form", "dynamic"}, {"layers", made.layers}},
      .text = format_text("layers      {} with int8 weights, their inputs rounded at each run\n", made.layers)};
}

struct Judged {
  engine::Judgement judgement;
  std::vector<std::string> files;
};

// What it costs, where pictures were given.
Result<std::optional<Judged>> judge_plain(const Options& options, const engine::Graph& before,
                                          const engine::Graph& after, Output& out) {
  if (options.images.empty()) return std::nullopt;
  const PictureSamples pictures =
      KINGLET_TRY(open_picture_samples(options.model, options.images, options.most_images, out));
  const auto progress = [&](std::string_view what, std::size_t done, std::size_t total) {
    out.progress(what, done, total);
  };
  auto a = KINGLET_TRY(engine::Session::create(engine::Graph(before), {}));
  auto b = KINGLET_TRY(engine::Session::create(engine::Graph(after), {}));
  const engine::OutputMeaning& output = pictures.pipeline->model().output();  // of the changed model as well
  engine::Judgement judgement =
      KINGLET_TRY(engine::judge({a, output}, {b, output}, pictures.samples, pictures.labels, progress));
  out.end_progress();
  return Judged{.judgement = std::move(judgement), .files = pictures.files};
}

// Writes the model unless it loses too much, and tells about it: on stderr when the model itself goes to stdout.
Result<int> finish(const Options& options, const engine::Graph& graph, const engine::Judgement* judgement,
                   const Json& report, const std::string& text, Output& out) {
  const bool holds =
      options.max_drop < 0 || judgement == nullptr || judgement->judged_drop_percent() <= options.max_drop;
  if (holds) KINGLET_TRY(write_model(graph, options.output, options.force, out));
  if (options.output == "-") {
    out.note(text);
  } else if (out.json()) {
    out.print_json(report);
  } else {
    out.print(text);
  }
  if (!holds) {
    out.warn(
        format_text("not written: {:.2f} points are lost, allowed are {:.2f}; try other pictures (as the camera "
                    "sees them), more of them, or a larger --max-drop",
                    judgement->judged_drop_percent(), options.max_drop));
    return 1;
  }
  if (options.output != "-") out.note(format_text("wrote {}", options.output));
  return 0;
}

Result<int> quantize_plain(const Options& options, Output& out) {
  const engine::ModelFile file = KINGLET_TRY(engine::open_model(options.model.model));
  auto made = options.dynamic ? dynamic(file.graph, options) : halved(file.graph, options);
  if (!made) return std::unexpected(with_context(made.error(), options.model.model));
  const auto judged = KINGLET_TRY(judge_plain(options, file.graph, made->graph, out));
  Json report{{"model", options.model.model}, {"output", options.output}};
  report.update(made->report);
  std::string text = made->text;
  if (judged) {
    report["judgement"] = to_json(judged->judgement, judged->files);
    text += to_text(judged->judgement, judged->files);
  }
  return finish(options, made->graph, judged ? &judged->judgement : nullptr, report, text, out);
}

Result<int> quantize(const Options& options, Output& out) {
  KINGLET_TRY(check_output(options.model.model, options.output, options.force, "quantize"));
  if (options.dynamic || !options.fp16.empty()) return quantize_plain(options, out);
  if (options.images.empty()) {
    return fail(ErrorCode::kUsage, "--images is missing: 8-bit levels are calibrated on pictures", "quantize",
                "a folder of pictures as the camera sees them, or a recording of it");
  }
  const PictureSamples pictures =
      KINGLET_TRY(open_picture_samples(options.model, options.images, options.most_images, out));
  if (pictures.samples.count < kFewPictures) {
    out.warn(format_text("{} pictures are few to calibrate on; {} or more, as the camera sees them, are better",
                         pictures.samples.count, kFewPictures));
  }
  const engine::ModelFile file = KINGLET_TRY(engine::open_model(options.model.model));
  const engine::QuantizeOptions quantize_options = KINGLET_TRY(options_for(options, pictures));
  auto made = engine::quantize_model(
      file.graph, pictures.samples, quantize_options,
      [&](std::string_view what, std::size_t done, std::size_t total) { out.progress(what, done, total); });
  out.end_progress();
  if (!made) return std::unexpected(with_context(made.error(), options.model.model));
  const QuantizeReport& report = made->report;
  describe(made->graph, options, pictures, report);
  return finish(options, made->graph, &report.judgement, report_json(report, options, pictures),
                report_text(report, pictures), out);
}

}  // namespace

Body quantize_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_model_argument(app, options->model);
  app.add_option("-o,--output", options->output, "where the result goes; - is stdout")->required()->type_name("OUT");
  app.add_option("--images", options->images,
                 "pictures to calibrate and judge on; a folder a label, or a labels.csv, tells what is right; or "
                 "a recording")
      ->type_name("DIR|FILE");
  CLI::Option* half =
      app.add_option(
             "--fp16", options->fp16,
             "float16 in place of 8 bits: weights (stored so, the default) or whole (computed so, where a runtime can)")
          ->expected(0, 1)
          ->default_str("weights")
          ->check(CLI::IsMember({"weights", "whole"}))
          ->type_name("HOW");
  app.add_flag("--dynamic", options->dynamic,
               "int8 weights of matrix products, their inputs rounded at each run: transformers")
      ->excludes(half);
  app.add_option("--most-images", options->most_images, "take at most so many of them (256)")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100000}))
      ->type_name("N");
  app.add_option("--max-drop", options->max_drop,
                 "percentage points that may be lost: layers stay float until it holds, else nothing is written")
      ->check(CLI::Range(0.0, 100.0))
      ->type_name("POINTS");
  app.add_option("--method", options->method, "ranges by minmax, percentile, entropy, mse or auto (tries them)")
      ->type_name("NAME");
  app.add_option("--keep-float", options->keep_float,
                 "names of layers that stay as they are; with --fp16 also operators")
      ->delimiter(',')
      ->type_name("NAME");
  app.add_flag("--per-tensor", options->per_tensor, "one scale for all channels of a weight");
  app.add_flag("--no-equalize", options->no_equalize, "leave the sizes of channels as they are");
  app.add_flag("--round-nearest", options->round_nearest,
               "each weight to its nearest level, not to the best for their sum");
  app.add_flag("--no-bias-correction", options->no_bias_correction, "leave biases as they are");
  app.add_flag("--force", options->force, "replace an output file that is there");
  add_picture_options(app, options->model);
  app.add_flag("--from-daemon", options->from_daemon, "calibrate on what the running daemon has kept (docs/models.md)")
      ->excludes("--images");
  app.add_flag("--activate", options->activate, "hand the result to the running daemon (docs/models.md)");
  add_trial_options(app, options->hand_over);
  add_daemon_options(app, options->hand_over.daemon);
  add_config_options(app, options->hand_over.daemon.config);
  return [options](Output& out) -> Result<int> {
    std::optional<FramesFolder> frames;
    if (options->from_daemon) {
      frames.emplace(KINGLET_TRY(fetch_frames(options->hand_over.daemon, options->most_images, out)));
      options->images = frames->path().string();
    }
    const int code = KINGLET_TRY(quantize(*options, out));
    if (code != 0 || !options->activate) return code;
    const std::string name =
        KINGLET_TRY(place_model(options->output, options->model.model, options->hand_over.daemon.config));
    return activate_model(name, options->hand_over, out);
  };
}

}  // namespace kinglet::cli
