// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet demo-frames`: pictures of the demonstration scene with their labels, for training and for looking.
#include "camera/demo/demo_scene.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>

#include "cli/command.h"
#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"

namespace kinglet::cli {
namespace {

struct Options {
  std::string folder;
  std::uint64_t seed = 1;
  std::uint64_t count = 100;
  std::string size = "640x480";
  bool scene = false;
};

Result<void> read_size(std::string_view text, camera::DemoFramesOptions& out) {
  const auto sides = parse_sides<int>(text);
  if (!sides) {
    return fail(ErrorCode::kUsage,
                format_text("--size is \"{}\", expected WIDTHxHEIGHT such as 640x480", printable(text)), "demo-frames");
  }
  std::tie(out.width, out.height) = *sides;
  return {};
}

Result<int> write_frames(const Options& options, Output& out) {
  camera::DemoFramesOptions frames{
      .seed = options.seed,
      .count = options.count,
      .kind = options.scene ? camera::DemoFramesKind::kScene : camera::DemoFramesKind::kSamples};
  KINGLET_TRY(read_size(options.size, frames));
  KINGLET_TRY(camera::write_demo_frames(options.folder, frames,
                                        [&](std::uint64_t done) { out.progress("frames", done, options.count); }));
  out.end_progress();
  if (out.json()) {
    out.print_json({{"folder", options.folder},
                    {"count", options.count},
                    {"seed", options.seed},
                    {"width_px", frames.width},
                    {"height_px", frames.height}});
  } else {
    out.print(format_text("{} frames and labels.csv in {}\n", options.count, options.folder));
  }
  return 0;
}

}  // namespace

Body demo_frames_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--out", options->folder, "the folder to write to; made if missing")->required()->type_name("DIR");
  app.add_option("--seed", options->seed, "same seed, same pictures (default 1)")->option_text("N");
  app.add_option("--count", options->count, "number of pictures (default 100)")->option_text("N");
  app.add_option("--size", options->size, "default 640x480")->type_name("WxH");
  app.add_flag("--scene", options->scene, "the animated scene, a frame a second, instead of independent pictures");
  return [options](Output& out) { return write_frames(*options, out); };
}

}  // namespace kinglet::cli
