// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet compare`: what a changed model costs and gains beside the one before, on pictures: answers, layers,
// size, time. Exit code 1: it loses more than --max-drop.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/comparison_page.h"
#include "cli/judgement_text.h"
#include "cli/picture_samples.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/quantize/layer_noise.h"
#include "engine/session/model.h"

namespace kinglet::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  ModelOptions a;
  std::string b;
  std::string images;
  std::size_t most_images = 256;
  double max_drop = -1;
  std::string page;
  bool force = false;
};

// The least of several runs on one picture each, in turn: other work on the machine hits both.
struct Times {
  double a_ms = 0, b_ms = 0;
};

Result<double> run_ms(engine::Session& session) {
  const auto start = std::chrono::steady_clock::now();
  KINGLET_TRY(session.run());
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

Result<Times> measure(engine::Session& a, engine::Session& b) {
  constexpr int kRounds = 20;
  Times times{.a_ms = 1e9, .b_ms = 1e9};
  for (int i = 0; i < kRounds; ++i) {
    times.a_ms = std::min(times.a_ms, KINGLET_TRY(run_ms(a)));
    times.b_ms = std::min(times.b_ms, KINGLET_TRY(run_ms(b)));
  }
  return times;
}

Json model_json(const std::string& path, std::uint64_t bytes, double ms) {
  return {{"model", path}, {"size_bytes", bytes}, {"min_ms", ms}};
}

Json comparison_json(const Comparison& found) {
  Json layers = Json::array();
  for (const engine::ValueNoise& row : found.layers) {
    layers.push_back({{"value", row.value}, {"operator", row.op_type}, {"signal_to_noise_db", row.signal_to_noise_db}});
  }
  return {{"before", model_json(found.a, found.a_bytes, found.a_ms)},
          {"after", model_json(found.b, found.b_bytes, found.b_ms)},
          {"judgement", to_json(found.judgement, found.files)},
          {"layers", std::move(layers)}};
}

std::string comparison_text(const Comparison& found) {
  constexpr std::size_t kWorst = 5;
  std::string text = to_text(found.judgement, found.files);
  text +=
      format_text("size        {} before, {} after ({:.2f})\n", human_bytes(found.a_bytes), human_bytes(found.b_bytes),
                  static_cast<double>(found.b_bytes) / static_cast<double>(found.a_bytes));
  text += format_text("time        {:.2f} ms before, {:.2f} after ({:.2f}), the least of 20 in turn\n", found.a_ms,
                      found.b_ms, found.b_ms / found.a_ms);
  std::vector<engine::ValueNoise> worst = found.layers;
  std::ranges::stable_sort(worst, {}, &engine::ValueNoise::signal_to_noise_db);
  for (std::size_t i = 0; i < std::min(kWorst, worst.size()); ++i) {
    text += format_text("noisiest    {} ({}): {:.1f} dB\n", printable(worst[i].value, 60), worst[i].op_type,
                        worst[i].signal_to_noise_db);
  }
  return text;
}

Result<Comparison> measure_all(const Options& options, const PictureSamples& pictures, Output& out) {
  const auto progress = [&](std::string_view what, std::size_t done, std::size_t total) {
    out.progress(what, done, total);
  };
  const engine::ModelFile a = KINGLET_TRY(engine::open_model(options.a.model));
  const engine::ModelFile b = KINGLET_TRY(engine::open_model(options.b));
  auto before = KINGLET_TRY(engine::Session::create(engine::Graph(a.graph), session_options(options.a)));
  auto after = KINGLET_TRY(engine::Session::create(engine::Graph(b.graph), session_options(options.a)));
  Comparison found{
      .a = options.a.model, .b = options.b, .files = pictures.files, .a_bytes = a.size_bytes, .b_bytes = b.size_bytes};
  const engine::OutputMeaning& meaning = pictures.pipeline->model().output();
  const auto meaning_after =
      engine::decide_output(after.output_forms(), {.name = {},
                                                   .stated = pictures.pipeline->model().recipe().output,
                                                   .labels = pictures.pipeline->model().labels().size()});
  if (!meaning_after) return std::unexpected(with_context(meaning_after.error(), options.b));
  found.judgement = KINGLET_TRY(
      engine::judge({before, meaning}, {after, *meaning_after}, pictures.samples, pictures.labels, progress));
  const Times times = KINGLET_TRY(measure(before, after));
  found.a_ms = times.a_ms;
  found.b_ms = times.b_ms;
  found.layers = KINGLET_TRY(engine::layer_noise(a.graph, b.graph, pictures.samples, progress));
  out.end_progress();
  return found;
}

Result<int> compare(Options& options, Output& out) {
  KINGLET_TRY(share_workers(options.a));
  const PictureSamples pictures =
      KINGLET_TRY(open_picture_samples(options.a, options.images, options.most_images, out));
  const Comparison found = KINGLET_TRY(measure_all(options, pictures, out));
  if (!options.page.empty()) {
    KINGLET_TRY(
        write_file(options.page, comparison_page(found), options.force ? Overwrite::kReplace : Overwrite::kRefuse));
  }
  if (out.json()) {
    out.print_json(comparison_json(found));
  } else {
    out.print(comparison_text(found));
  }
  if (options.max_drop < 0 || found.judgement.drop_percent() <= options.max_drop) return 0;
  out.warn(format_text("{:.2f} points are lost, allowed are {:.2f}", found.judgement.drop_percent(), options.max_drop));
  return 1;
}

}  // namespace

Body compare_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("A", options->a.model, "the model before")->required()->type_name("");
  app.add_option("B", options->b, "the model after")->required()->type_name("");
  app.add_option("--images", options->images,
                 "pictures to judge on; a folder a label, or a labels.csv, tells what is right; or "
                 "a recording")
      ->required()
      ->type_name("DIR|FILE");
  app.add_option("--most-images", options->most_images, "take at most so many of them (256)")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100000}))
      ->type_name("N");
  app.add_option("--max-drop", options->max_drop, "exit code 1 when more percentage points are lost")
      ->check(CLI::Range(0.0, 100.0))
      ->type_name("POINTS");
  app.add_option("--html", options->page, "write a page with the figures, too")->type_name("FILE");
  app.add_flag("--force", options->force, "replace a page that is there");
  add_picture_options(app, options->a);
  return [options](Output& out) { return compare(*options, out); };
}

}  // namespace kinglet::cli
