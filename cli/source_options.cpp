// SPDX-License-Identifier: Apache-2.0
#include "cli/source_options.h"

#include <charconv>

#include "config/config.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::cli {
namespace {

Result<void> parse_size(const std::string& text, camera::SourceOptions& out) {
  const char* end = text.data() + text.size();
  const auto [x, width_error] = std::from_chars(text.data(), end, out.width);
  if (width_error == std::errc{} && x != end && *x == 'x') {
    const auto [rest, height_error] = std::from_chars(x + 1, end, out.height);
    if (height_error == std::errc{} && rest == end && out.width > 0 && out.height > 0) return {};
  }
  return fail(ErrorCode::kUsage,
              format_text("--size is \"{}\", expected WIDTHxHEIGHT such as 640x480", printable(text)));
}

}  // namespace

void add_source_options(CLI::App& app, SourceWish& wish) {
  app.add_option("SOURCE", wish.spec, "demo:, images:DIR, libcamera:ID, ... (default: source of the configuration)")
      ->type_name("");
  app.add_option("--config", wish.config, "this file instead of /etc/kinglet: size, rate and settings of the camera")
      ->type_name("FILE");
  app.add_option("--size", wish.size, "wished size of a frame")->type_name("WxH");
  app.add_option("--fps", wish.fps, "wished frames a second")->check(CLI::Range(0.01, 240.0))->option_text("N");
}

Result<std::unique_ptr<camera::FrameSource>> open_wished_source(const SourceWish& wish, Output& out) {
  config::LoadOptions load;
  if (!wish.config.empty()) load.file = wish.config;
  load.environment = config::process_environment();
  const auto loaded = config::load(load);
  if (!loaded) return std::unexpected(loaded.error().front());
  const auto& source = loaded->config.source;
  camera::SourceOptions options{.spec = wish.spec.empty() ? source.spec : wish.spec,
                                .width = source.size.width,
                                .height = source.size.height,
                                .frames_per_second = wish.fps > 0 ? wish.fps : source.fps,
                                .login_file = source.login_file,
                                .certificates = source.certificates};
  if (!wish.size.empty()) KINGLET_TRY(parse_size(wish.size, options));
  options.log = [&out](LogLevel level, std::string_view line) {
    if (level >= LogLevel::kWarning) {
      out.warn(line);
    } else {
      out.detail(line);
    }
  };
  return camera::open_source(options);
}

}  // namespace kinglet::cli
