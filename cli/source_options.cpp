// SPDX-License-Identifier: Apache-2.0
#include "cli/source_options.h"

#include <tuple>
#include "daemon/settings/settings.h"

#include "camera/sources/open_source.h"
#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"

namespace kinglet::cli {
namespace {

Result<void> read_size(std::string_view text, camera::SourceOptions& out) {
  const auto sides = parse_sides<int>(text);
  if (!sides || sides->first <= 0 || sides->second <= 0) {
    return fail(ErrorCode::kUsage,
                format_text("--size is \"{}\", expected WIDTHxHEIGHT such as 640x480", printable(text)));
  }
  std::tie(out.width, out.height) = *sides;
  return {};
}

}  // namespace

void add_source_options(CLI::App& app, SourceWish& wish) {
  app.add_option("SOURCE", wish.spec, "demo:, images:DIR, libcamera:ID, ... (default: source of the configuration)")
      ->type_name("");
  add_config_options(app, wish.config);
  app.add_option("--size", wish.size, "wished size of a frame")->type_name("WxH");
  app.add_option("--fps", wish.fps, "wished frames a second")->check(CLI::Range(0.01, 240.0))->option_text("N");
}

Result<std::unique_ptr<camera::FrameSource>> open_wished_source(const SourceWish& wish, camera::AutoChoice& choice,
                                                                Output& out) {
  const auto loaded = load_config(wish.config);
  if (!loaded) return std::unexpected(loaded.error().front());
  // Masks, login and settings of the camera are those the daemon would have.
  camera::SourceOptions options = daemon::source_options(loaded->config, [&out](LogLevel level, std::string_view line) {
    if (level >= LogLevel::kWarning) {
      out.warn(line);
    } else {
      out.detail(line);
    }
  });
  if (!wish.spec.empty()) options.spec = wish.spec;
  if (wish.fps > 0) options.frames_per_second = wish.fps;
  if (!wish.size.empty()) KINGLET_TRY(read_size(wish.size, options));
  if (options.spec == "auto") return choice.open(options, camera::StandIn::kNothing);
  return camera::open_source(options);
}

}  // namespace kinglet::cli
