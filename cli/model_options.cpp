// SPDX-License-Identifier: Apache-2.0
#include "cli/model_options.h"

#include <algorithm>
#include <thread>

#include "engine/session/thread_pool.h"

namespace kinglet::cli {

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
  app.add_option("--precision", options.precision,
                 "what the model is computed with: auto (default), float32, or float16 where the processor has it")
      ->check(CLI::IsMember({"auto", "float32", "float16"}))
      ->option_text("P");
  add_threads_option(app, options);
}

int thread_count(const ModelOptions& options) {
  if (options.threads > 0) return options.threads;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()) - 1, 1, 4);
}

Result<void> share_workers(ModelOptions& options) {
  options.pool = KINGLET_TRY(engine::ThreadPool::make(thread_count(options)));
  return {};
}

engine::SessionOptions session_options(const ModelOptions& options) {
  return {.threads = thread_count(options), .pool = options.pool};
}

}  // namespace kinglet::cli
