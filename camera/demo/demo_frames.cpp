// SPDX-License-Identifier: Apache-2.0

#include <string>

#include "camera/decode/decode.h"
#include "camera/demo/demo_scene.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::camera {
namespace {

constexpr std::uint64_t kSceneStep = 10;

Result<void> check(const DemoFramesOptions& options) {
  const auto side = [](int value) { return value >= 32 && value <= 4096; };
  if (!side(options.width) || !side(options.height)) {
    return fail(ErrorCode::kUsage, format_text("demo frames of {}x{} pixels, expected sides of 32 to 4096",
                                               options.width, options.height));
  }
  if (options.count < 1 || options.count > 1'000'000) {
    return fail(ErrorCode::kUsage, format_text("{} demo frames, expected 1 to 1000000", options.count));
  }
  return {};
}

DemoFrame draw(const DemoFramesOptions& options, std::uint64_t number) {
  return options.kind == DemoFramesKind::kSamples
             ? draw_demo_sample(options.seed, number, options.width, options.height)
             : draw_demo_scene(options.seed, number * kSceneStep, options.width, options.height);
}

}  // namespace

Result<void> write_demo_frames(const std::filesystem::path& folder, const DemoFramesOptions& options,
                               const std::function<void(std::uint64_t done)>& progress) {
  KINGLET_TRY(check(options));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return fail(ErrorCode::kCannotCreate, "folder cannot be made: " + error.message(), printable(folder.string()));
  }
  if (std::filesystem::exists(folder / "labels.csv", error)) {
    return fail(ErrorCode::kCannotCreate, "the folder holds demo frames already", printable(folder.string()),
                "choose another folder, or remove this one");
  }
  std::string table = "file,index,label,x,y,width,height\n";
  for (std::uint64_t number = 0; number < options.count; ++number) {
    const DemoFrame frame = draw(options, number);
    const std::string name = format_text("frame_{:06}.png", number);
    const std::vector<std::byte> png = KINGLET_TRY(encode_png(frame.image.view()));
    KINGLET_TRY(
        write_file(folder / name, {reinterpret_cast<const char*>(png.data()), png.size()}, Overwrite::kReplace));
    table += format_text("{},{},{},{},{},{},{}\n", name, frame.label, demo_labels()[frame.label], frame.bird_px.x,
                         frame.bird_px.y, frame.bird_px.width, frame.bird_px.height);
    if (progress) progress(number + 1);
  }
  return write_file(folder / "labels.csv", table, Overwrite::kRefuse);
}

}  // namespace kinglet::camera
