// SPDX-License-Identifier: Apache-2.0
// Why: a model is handed to the running daemon in one way, by `kinglet models activate` and `kinglet quantize
// --activate`.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "cli/daemon_client.h"
#include "cli/output.h"

namespace kinglet::cli {

struct ActivateOptions {
  DaemonOptions daemon;
  bool report = true;  // with --json: print the job
  bool trial = false;
  int frames = 0;  // below: 0 and less is what the configuration says
  double agreement = -1;
  double time = -1;
  int within = 0;  // seconds
};
// --trial, --frames, --min-agreement, --max-time, --within.
void add_trial_options(CLI::App& app, ActivateOptions& options);

// Has the daemon change to the model of this name and waits for the end. 0: it answers; 1: the owner's rule keeps the
// one before. Errors are those of the daemon; kBadData: the model cannot be used.
[[nodiscard]] Result<int> activate_model(const std::string& name, const ActivateOptions& options, Output& out);

// Copies the model, and what goes with it, into the daemon's model folder; one that lies there stays where it is. Gives
// its name there. `companions_of`: the model whose labels, recipe and species table it shares where it has none.
[[nodiscard]] Result<std::string> place_model(const std::filesystem::path& model,
                                              const std::filesystem::path& companions_of, const ConfigOptions& config);

// The model folder of the daemon. kNotFound: it has none.
[[nodiscard]] Result<std::filesystem::path> daemon_model_folder(const ConfigOptions& config);

}  // namespace kinglet::cli
