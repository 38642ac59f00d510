// SPDX-License-Identifier: Apache-2.0
// Why: what the commands that run a model have in common on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "engine/picture/picture_model.h"

namespace kinglet::cli {

struct ModelOptions {
  std::string model;
  std::string labels;
  std::string recipe;
  std::string scores;  // the output that has them; empty: engine::decide_output chooses
  std::string precision = "auto";
  int threads = 0;                                 // 0: cores minus one, 1 to 4
  std::shared_ptr<const engine::ThreadPool> pool;  // share_workers(); empty: each session has one of its own

  // The same as the engine asks for it.
  [[nodiscard]] engine::PictureModelOptions of_pictures() const {
    return {.model = model,
            .labels = labels,
            .recipe = recipe,
            .output = scores,
            .precision = engine::precision_of(precision).value_or(engine::Precision::kAuto)};
  }
};
void add_model_argument(CLI::App& app, ModelOptions& options);
void add_threads_option(CLI::App& app, ModelOptions& options);
void add_labels_option(CLI::App& app, ModelOptions& options);
// --labels, --recipe, --scores, --precision, --threads
void add_picture_options(CLI::App& app, ModelOptions& options);
[[nodiscard]] int thread_count(const ModelOptions& options);
// For a command that opens several sessions: one pool for all that are opened with `options`. kUnavailable.
[[nodiscard]] Result<void> share_workers(ModelOptions& options);
[[nodiscard]] engine::SessionOptions session_options(const ModelOptions& options);

}  // namespace kinglet::cli
