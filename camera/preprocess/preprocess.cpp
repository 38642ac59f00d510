// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/preprocess.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "camera/preprocess/geometry.h"
#include "camera/preprocess/mjpeg_planes.h"
#include "camera/preprocess/normalise.h"
#include "camera/preprocess/yuv_resample.h"
#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

// What fixes the tables; a frame with another key makes new ones.
struct Key {
  PixelFormat format = PixelFormat::kRgb888;
  int width = 0;
  int height = 0;
  ColorMatrix matrix = ColorMatrix::kBt601;
  ColorRange range = ColorRange::kFull;
  std::optional<CropRect> crop;
  YuvLayout layout;
  int plane_width = 0;
  int plane_height = 0;
};

bool same(const std::optional<CropRect>& a, const std::optional<CropRect>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->x == b->x && a->y == b->y && a->width == b->width && a->height == b->height;
}

bool same(const YuvLayout& a, const YuvLayout& b) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (a[i].coarser_x != b[i].coarser_x || a[i].coarser_y != b[i].coarser_y) return false;
  }
  return true;
}

bool same(const Key& a, const Key& b) {
  return a.format == b.format && a.width == b.width && a.height == b.height && a.matrix == b.matrix &&
         a.range == b.range && same(a.crop, b.crop) && same(a.layout, b.layout) && a.plane_width == b.plane_width &&
         a.plane_height == b.plane_height;
}

AxisSpan scaled(AxisSpan span, int input_size) {
  const double factor = static_cast<double>(input_size) / span.input_size;
  span.begin *= factor;
  span.length *= factor;
  span.input_size = input_size;
  return span;
}

}  // namespace

struct Preprocessor::State {
  engine::Recipe recipe;
  int width;
  int height;
  bool ready = false;  // tables below belong to `key`
  Key key;
  CropRect used;
  PillowResize still;
  std::vector<std::byte> still_rgb;
  MjpegPlanes mjpeg;
  YuvResample video;
  Normalise normalise;

  [[nodiscard]] Result<void> check_tensor(const engine::PictureInput& out) const;
  [[nodiscard]] Result<void> make_tables(const Key& wanted, const std::optional<CropRect>& crop);
  void run_still(const FrameView& frame, const engine::PictureInput& out);
  void run_video(const std::array<Plane, 3>& planes, const engine::PictureInput& out);
};

Result<void> Preprocessor::State::check_tensor(const engine::PictureInput& out) const {
  const bool known =
      out.type == engine::DataType::kF32 || out.type == engine::DataType::kU8 || out.type == engine::DataType::kI8;
  const std::size_t count = 3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  const std::size_t need = count * engine::byte_size(out.type);
  if (!known || out.width != width || out.height != height || out.bytes.size() != need ||
      !(out.quantization.scale > 0)) {
    return fail(ErrorCode::kBadData,
                format_text("model input of {}x{} {} in {} bytes, expected {}x{} f32, u8 or i8 in {} bytes", out.width,
                            out.height, engine::to_string(out.type), out.bytes.size(), width, height, need));
  }
  return {};
}

Result<void> Preprocessor::State::make_tables(const Key& wanted, const std::optional<CropRect>& crop) {
  if (ready && same(wanted, key)) return {};
  ready = false;
  Geometry geometry = KINGLET_TRY(make_geometry(recipe, wanted.width, wanted.height, crop, width, height));
  used = geometry.used;
  if (wanted.format == PixelFormat::kRgb888) {
    const Antialias antialias = recipe.antialias ? Antialias::kOn : Antialias::kOff;
    still = PillowResize(make_weights(geometry.columns, recipe.interpolation, antialias),
                         make_weights(geometry.rows, recipe.interpolation, antialias));
    still_rgb.resize(3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  } else {
    geometry.columns = scaled(geometry.columns, wanted.plane_width);
    geometry.rows = scaled(geometry.rows, wanted.plane_height);
    video = YuvResample(wanted.layout, geometry, recipe, make_yuv_factors(wanted.matrix, wanted.range));
  }
  key = wanted;
  ready = true;
  return {};
}

void Preprocessor::State::run_still(const FrameView& frame, const engine::PictureInput& out) {
  still.run(frame.planes[0], still_rgb);
  const auto* rgb = reinterpret_cast<const std::uint8_t*>(still_rgb.data());
  const std::size_t row_bytes = 3 * static_cast<std::size_t>(width);
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
    const std::uint8_t* row = rgb + y * row_bytes;
    normalise.write_row<3>({row, row + 1, row + 2}, y, out);
  }
}

void Preprocessor::State::run_video(const std::array<Plane, 3>& planes, const engine::PictureInput& out) {
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
    normalise.write_row<1>(video.rgb_row(planes, y), y, out);
  }
}

Preprocessor::Preprocessor(engine::Recipe recipe, int model_width, int model_height)
    : state_(std::make_unique<State>()) {
  state_->recipe = std::move(recipe);
  state_->width = model_width;
  state_->height = model_height;
}
Preprocessor::Preprocessor(Preprocessor&&) noexcept = default;
Preprocessor& Preprocessor::operator=(Preprocessor&&) noexcept = default;
Preprocessor::~Preprocessor() = default;

const engine::Recipe& Preprocessor::recipe() const { return state_->recipe; }

std::optional<Preprocessor::Pixels> Preprocessor::needed(const FrameView& frame,
                                                         const std::optional<CropRect>& crop) const {
  // The crop decides how much smaller the whole frame may be decoded.
  const auto geometry = make_geometry(state_->recipe, frame.width, frame.height, crop, state_->width, state_->height);
  if (!geometry) return std::nullopt;
  const auto of = [](const AxisSpan& span) {
    return static_cast<int>(std::min(1e9, std::ceil(span.input_size * (span.output_size / span.length))));
  };
  return Pixels{of(geometry->columns), of(geometry->rows)};
}

Result<CropRect> Preprocessor::run(const FrameView& frame, const std::optional<CropRect>& crop,
                                   const engine::PictureInput& out) {
  state_->mjpeg.forget();
  return run(frame, crop, out, state_->mjpeg);
}

Result<CropRect> Preprocessor::run(const FrameView& frame, const std::optional<CropRect>& crop,
                                   const engine::PictureInput& out, MjpegPlanes& decoder) {
  State& state = *state_;
  KINGLET_TRY(check_view(frame));
  KINGLET_TRY(state.check_tensor(out));
  if (!state.normalise.fits(out)) state.normalise = Normalise(state.recipe, out);
  Key key{.format = frame.format, .width = frame.width, .height = frame.height, .crop = crop};
  if (frame.format == PixelFormat::kRgb888) {
    KINGLET_TRY(state.make_tables(key, crop));
    state.run_still(frame, out);
    return state.used;
  }
  key.plane_width = frame.width;
  key.plane_height = frame.height;
  if (frame.format == PixelFormat::kMjpeg) {
    const auto pixels = needed(frame, crop);
    // What is no crop is said by the one who makes the tables.
    KINGLET_TRY(decoder.decode(frame, pixels ? pixels->width : 0, pixels ? pixels->height : 0));
    key.layout = decoder.layout();
    key.plane_width = decoder.width();
    key.plane_height = decoder.height();
  } else {
    key.layout = yuv_layout(frame.format);
    key.matrix = frame.matrix;
    key.range = frame.range;
  }
  KINGLET_TRY(state.make_tables(key, crop));
  state.run_video(frame.format == PixelFormat::kMjpeg ? decoder.planes() : frame.planes, out);
  return state.used;
}

Result<Image> resize_like_pillow(const FrameView& rgb, const CropRect& box, int width, int height,
                                 engine::Interpolation interpolation) {
  constexpr std::int64_t kMaxPixels = 200'000'000;
  KINGLET_TRY(check_view(rgb));
  if (rgb.format != PixelFormat::kRgb888 || width < 1 || height < 1 || std::int64_t{width} * height > kMaxPixels) {
    return fail(ErrorCode::kBadData,
                format_text("cannot resize {} to {}x{} pixels", to_string(rgb.format), width, height));
  }
  const Geometry geometry = KINGLET_TRY(make_geometry(engine::Recipe{}, rgb.width, rgb.height, box, width, height));
  PillowResize resize(make_weights(geometry.columns, interpolation, Antialias::kOn),
                      make_weights(geometry.rows, interpolation, Antialias::kOn));
  Image out{width, height, {}};
  out.rgb.resize(3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  resize.run(rgb.planes[0], out.rgb);
  return out;
}

}  // namespace kinglet::camera
