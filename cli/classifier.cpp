// SPDX-License-Identifier: Apache-2.0
#include "cli/classifier.h"

#include <algorithm>
#include <cctype>
#include <iostream>
#include <iterator>
#include <thread>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/format.h"

namespace kinglet::cli {
namespace {

namespace fs = std::filesystem;
using engine::DataType;
using engine::TensorInfo;
using engine::TensorLayout;

constexpr camera::DecodeLimits kLimits{.max_pixels = 200'000'000, .max_side = 65'535};
constexpr std::uint64_t kPictureLimit = 512 << 20;

// Where the pixels go: the input must be a batch of one with three channels, first or last.
Result<camera::InputTensor> picture_input(engine::Session& session, const std::string& model) {
  if (session.inputs().empty()) return fail(ErrorCode::kBadData, "the model has no input", model);
  const TensorInfo& info = session.inputs().front();
  const auto& shape = info.shape;
  const bool channels_first = shape.size() == 4 && shape[1] == 3;
  const bool channels_last = shape.size() == 4 && !channels_first && shape[3] == 3;
  if (session.inputs().size() != 1 || !(channels_first || channels_last) || shape[0] != 1 ||
      (info.type != DataType::kF32 && info.type != DataType::kU8 && info.type != DataType::kI8)) {
    return fail(ErrorCode::kBadData,
                format_text("the model has {} input{}, the first is \"{}\" {} {}: not one picture of three channels",
                            session.inputs().size(), session.inputs().size() == 1 ? "" : "s", info.name,
                            to_string(info.type), engine::to_string(shape)),
                model, "`kinglet run` takes tensors of any shape");
  }
  const std::size_t row = channels_first ? 2 : 1;
  return camera::InputTensor{.bytes = session.input(0),
                             .type = info.type,
                             .width = static_cast<int>(shape[row + 1]),
                             .height = static_cast<int>(shape[row]),
                             .layout = channels_last ? TensorLayout::kNhwc : info.layout,
                             .quantization = {}};
}

// The labels that were found, held against the output; numbers where there are none.
Result<engine::Labels> labels_for(const ModelOptions& options, std::optional<engine::FoundLabels> found,
                                  const engine::OutputMeaning& output, Output& out) {
  if (!found) {
    out.note(format_text("no labels: classes are shown by number; use --labels, or put {}.labels.txt beside the model",
                         fs::path(options.model).stem().string()));
    return engine::Labels::numbered(output.classes);
  }
  KINGLET_TRY(found->labels.check_count(output.classes));
  return std::move(found->labels);
}

bool is_picture_name(const fs::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

double ms_since(SteadyTime start) { return to_ms(SteadyClock::now() - start).count(); }

}  // namespace

void add_model_argument(CLI::App& app, ModelOptions& options) {
  app.add_option("MODEL", options.model, "an ONNX file")->required()->type_name("");
}

void add_threads_option(CLI::App& app, ModelOptions& options) {
  app.add_option("--threads", options.threads, "threads of one run (default: cores minus one, 1 to 4)")
      ->check(CLI::Range(1, 64))
      ->option_text("N");
}

void add_labels_option(CLI::App& app, ModelOptions& options) {
  app.add_option("--labels", options.labels, "one label a line (default: MODEL.labels.txt beside the model)")
      ->type_name("FILE");
}

void add_picture_options(CLI::App& app, ModelOptions& options) {
  add_labels_option(app, options);
  app.add_option("--recipe", options.recipe,
                 "preprocessing as JSON, or a preset: torchvision, timm, keras-mobilenet, tflite-uint8, ... "
                 "(default: MODEL.recipe.json, or in the model)")
      ->type_name("FILE");
  app.add_option("--scores", options.scores, "the output that has the scores (default: the one that fits the labels)")
      ->option_text("OUTPUT");
}

int thread_count(const ModelOptions& options) {
  if (options.threads > 0) return options.threads;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()) - 1, 1, 4);
}

namespace {

std::optional<std::string_view> find_property(const engine::Graph::Metadata& metadata, std::string_view name) {
  for (const auto& [key, value] : metadata.properties) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::optional<fs::path> given(const std::string& path) {
  return path.empty() ? std::nullopt : std::optional<fs::path>(path);
}

}  // namespace

Result<FoundRecipe> recipe_of(const ModelOptions& options, const engine::Graph::Metadata& metadata) {
  const auto recipe = KINGLET_TRY(
      engine::find_recipe(options.model, given(options.recipe), find_property(metadata, engine::kRecipeProperty)));
  if (!recipe) return FoundRecipe{};
  const fs::path beside = fs::path(options.model).replace_extension(".recipe.json");
  std::error_code error;
  std::string origin = !options.recipe.empty()     ? options.recipe
                       : fs::exists(beside, error) ? beside.string()
                                                   : "in the model";
  return FoundRecipe{*recipe, std::move(origin)};
}

Result<std::optional<engine::FoundLabels>> labels_of(const ModelOptions& options,
                                                     const engine::Graph::Metadata& metadata) {
  return engine::find_labels(options.model, given(options.labels), find_property(metadata, engine::kLabelsProperty));
}

Result<engine::OutputMeaning> output_of(const ModelOptions& options, std::span<const engine::OutputForm> forms,
                                        const engine::Recipe& recipe,
                                        const std::optional<engine::FoundLabels>& labels) {
  engine::OutputWish wish{.name = options.scores, .stated = recipe.output};
  if (labels) wish.labels = labels->labels.size();
  auto found = engine::decide_output(forms, wish);
  if (!found) return std::unexpected(with_context(found.error(), options.model));
  return found;
}

Classifier::Classifier(engine::Session session, engine::Labels labels, camera::Preprocessor preprocessor,
                       camera::InputTensor input, engine::OutputMeaning output)
    : session_(std::move(session)),
      labels_(std::move(labels)),
      preprocessor_(std::move(preprocessor)),
      input_(input),
      reader_(session_, std::move(output)),
      scores_(labels_.size()) {}

namespace {

// The recipe for this input; what had to be guessed is noted.
Result<engine::Recipe> settled_recipe(const ModelOptions& options, const engine::Session& session, Output& out) {
  const FoundRecipe found = KINGLET_TRY(recipe_of(options, session.metadata()));
  const TensorInfo& input = session.inputs().front();
  if (found.origin.empty()) {
    out.note(
        format_text("no recipe: pixels {}; use --recipe (a preset or a file), or put {}.recipe.json beside the model",
                    input.type == DataType::kF32 ? "are divided by 255" : "go in as they are",
                    fs::path(options.model).stem().string()));
  }
  auto recipe = engine::recipe_for_input(found.origin.empty() ? std::nullopt : std::optional(found.recipe), input.type,
                                         input.quantization);
  if (!recipe) return std::unexpected(with_context(recipe.error(), options.model));
  return recipe;
}

}  // namespace

Result<Classifier> Classifier::open(const ModelOptions& options, Output& out) {
  engine::Session session = KINGLET_TRY(engine::Session::open(options.model, {.threads = thread_count(options)}));
  camera::InputTensor input = KINGLET_TRY(picture_input(session, options.model));
  const engine::Recipe recipe = KINGLET_TRY(settled_recipe(options, session, out));
  input.quantization = recipe.quantization.value_or(engine::Quantization{});
  auto found = labels_of(options, session.metadata());
  if (!found) {
    Error error = std::move(found).error();
    error.hint = "labels are a UTF-8 text with one label a line, one for each class of the model";
    return std::unexpected(std::move(error));
  }
  engine::OutputMeaning output = KINGLET_TRY(output_of(options, session.output_forms(), recipe, *found));
  if (!output.has_scores) out.note("the model names a class and gives no score: it is shown as 1");
  engine::Labels labels = KINGLET_TRY(labels_for(options, std::move(*found), output, out));
  return Classifier(std::move(session), std::move(labels), camera::Preprocessor(recipe, input.width, input.height),
                    input, std::move(output));
}

Result<PictureResult> Classifier::prepare(std::span<const std::byte> picture, Framing framing) {
  PictureResult result;
  SteadyTime start = SteadyClock::now();
  const camera::DecodedImage decoded = KINGLET_TRY(decode_picture(picture, camera::Upright::kApplyExif));
  result.timing.decode_ms = ms_since(start);
  result.width_px = decoded.image.width;
  result.height_px = decoded.image.height;
  result.orientation_applied = decoded.orientation_applied;
  start = SteadyClock::now();
  std::optional<camera::CropRect> part;
  if (framing == Framing::kWhole) part = {0, 0, result.width_px, result.height_px};
  result.crop_px = KINGLET_TRY(preprocessor_.run(decoded.image.view(), part, input_));
  result.timing.preprocess_ms = ms_since(start);
  return result;
}

Result<PictureResult> Classifier::classify(std::span<const std::byte> picture, std::size_t top_count, Framing framing) {
  PictureResult result = KINGLET_TRY(prepare(picture, framing));
  const SteadyTime start = SteadyClock::now();
  KINGLET_TRY(run());
  result.timing.inference_ms = ms_since(start);
  result.top = engine::top_k(scores_, top_count);
  return result;
}

Result<std::span<const float>> Classifier::run() {
  KINGLET_TRY(session_.run());
  KINGLET_TRY(reader_.read(session_, recipe().temperature, scores_));
  return std::span<const float>(scores_);
}

Result<std::vector<std::string>> expand_pictures(const std::vector<std::string>& arguments) {
  std::vector<std::string> pictures;
  for (const std::string& argument : arguments) {
    std::error_code error;
    if (argument == "-" || !fs::is_directory(argument, error)) {
      pictures.push_back(argument);
      continue;
    }
    const std::size_t first = pictures.size();
    for (const auto& entry : fs::directory_iterator(argument, error)) {
      if (is_picture_name(entry.path())) pictures.push_back(entry.path().string());
    }
    if (error) return fail(ErrorCode::kNotFound, "cannot read the folder: " + error.message(), argument);
    if (pictures.size() == first) {
      return fail(ErrorCode::kNotFound, "no *.jpg, *.jpeg or *.png in this folder", argument);
    }
    std::sort(pictures.begin() + static_cast<std::ptrdiff_t>(first), pictures.end());
  }
  return pictures;
}

Result<camera::DecodedImage> decode_picture(std::span<const std::byte> picture, camera::Upright upright) {
  return camera::decode_image(picture, kLimits, upright);
}

Result<std::string> read_picture(const std::string& name) {
  if (name != "-") return read_file(name, kPictureLimit);
  std::string bytes;
  char block[1 << 16];
  while (std::cin.read(block, sizeof block) || std::cin.gcount() > 0) {
    bytes.append(block, static_cast<std::size_t>(std::cin.gcount()));
    if (bytes.size() > kPictureLimit) {
      return fail(ErrorCode::kBadData, format_text("has more than {} bytes", kPictureLimit), "standard input");
    }
  }
  return bytes;
}

}  // namespace kinglet::cli
