// SPDX-License-Identifier: Apache-2.0
// Why: a source of frames as a command names it, with what the configuration says of it.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "camera/source/source.h"
#include "camera/sources/auto_source.h"
#include "cli/load_config.h"
#include "cli/output.h"

namespace kinglet::cli {

struct SourceWish {
  std::string spec;      // empty: the configuration's
  ConfigOptions config;  // size, rate and settings of the camera
  std::string size;
  double fps = 0;
};

// SOURCE, --config, --set, --size, --fps.
void add_source_options(CLI::App& app, SourceWish& wish);

// kConfig, kUsage, and what open_source says. Its log goes to stderr as the tool's notes do.
// "auto" is decided by `choice`, which outlives the source.
[[nodiscard]] Result<std::unique_ptr<camera::FrameSource>> open_wished_source(const SourceWish& wish,
                                                                              camera::AutoChoice& choice, Output& out);

}  // namespace kinglet::cli
