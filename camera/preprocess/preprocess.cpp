// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/preprocess.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "camera/preprocess/brightness.h"
#include "camera/preprocess/geometry.h"
#include "camera/preprocess/preprocess_state.h"
#include "engine/base/check.h"
#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

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

bool same(const PreprocessKey& a, const PreprocessKey& b) {
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

// A length of the frame in pixels of planes that are smaller by a whole factor.
int reduced(int length, int frame_side, int plane_side) {
  return length / std::max(1, (frame_side + plane_side / 2) / plane_side);
}

// The planes from this pixel on, or from the one before it where chroma begins, as if the frame began there.
std::array<Plane, 3> from_corner(std::array<Plane, 3> planes, const YuvLayout& layout, int x, int y) {
  for (const YuvChannel& channel : layout) {
    x -= x % channel.coarser_x;
    y -= y % channel.coarser_y;
  }
  for (std::size_t i = 0; i < planes.size(); ++i) {
    const auto* const channel = std::ranges::find(layout, i, &YuvChannel::plane);
    if (channel == layout.end()) continue;
    const int column = x / channel->coarser_x * channel->layout.step;
    const auto row = static_cast<std::size_t>(y / channel->coarser_y);
    planes[i].bytes = planes[i].bytes.subspan(row * planes[i].stride + static_cast<std::size_t>(column));
  }
  return planes;
}

// Of the whole picture, for an input of this size. Nothing: the crop is none.
std::optional<ImageSize> needed_pixels(const engine::Recipe& recipe, ImageSize input, ImageSize picture,
                                       const std::optional<CropRect>& crop) {
  // The crop decides how much smaller the whole frame may be decoded.
  const CropRect part = crop.value_or(CropRect{0, 0, picture.width, picture.height});
  if (part.width < 1 || part.height < 1) return std::nullopt;
  const engine::Fit fit = engine::fit_of(recipe.resize_mode, part.width, part.height, input.width, input.height);
  const auto geometry = make_geometry(recipe, picture.width, picture.height, crop, fit.width, fit.height);
  if (!geometry) return std::nullopt;
  const auto of = [](const AxisSpan& span) {
    return static_cast<int>(std::min(1e9, std::ceil(span.input_size * (span.output_size / span.length))));
  };
  return ImageSize{of(geometry->columns), of(geometry->rows)};
}

// 0 to 255, of a part that is all there is of the frame.
double brightness_of(const std::array<Plane, 3>& planes, const PreprocessKey& part) {
  const YuvChannel& luma = part.layout[0];
  const double level = mean_level(planes[luma.plane], luma.layout, part.plane_width, part.plane_height);
  if (part.range == ColorRange::kFull) return level;
  return std::max(0.0, (level - 16) * 255 / 219);  // black and white of ITU-R BT.601
}

}  // namespace

Result<void> Preprocessor::State::check(const FrameView& frame, const engine::PictureInput& out) {
  KINGLET_TRY(check_view(frame));
  KINGLET_TRY(check_tensor(out));
  if (normalise[0].fits(out)) return {};
  for (std::size_t i = 0; i < kGains.size(); ++i) normalise[i] = Normalise(recipe, out, kGains[i]);
  return {};
}

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

Result<void> Preprocessor::State::make_tables(Tables& tables, const PreprocessKey& wanted,
                                              const std::optional<CropRect>& crop) {
  tables.ready = false;
  Geometry geometry = KINGLET_TRY(make_geometry(recipe, wanted.width, wanted.height, crop, width, height));
  tables.used = geometry.used;
  if (wanted.format == PixelFormat::kRgb888) {
    if (wanted.plane_width != wanted.width || wanted.plane_height != wanted.height) {
      geometry.columns = scaled(geometry.columns, wanted.plane_width);
      geometry.rows = scaled(geometry.rows, wanted.plane_height);
    }
    const Antialias antialias = recipe.antialias ? Antialias::kOn : Antialias::kOff;
    tables.still = PillowResize(make_weights(geometry.columns, recipe.interpolation, antialias),
                                make_weights(geometry.rows, recipe.interpolation, antialias));
    still_rgb.resize(3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
    narrowed.resize(std::max(narrowed.size(), tables.still.scratch_size()));
  } else {
    geometry.columns = scaled(geometry.columns, wanted.plane_width);
    geometry.rows = scaled(geometry.rows, wanted.plane_height);
    tables.video = YuvResample(wanted.layout, geometry, recipe, make_yuv_factors(wanted.matrix, wanted.range));
  }
  tables.key = wanted;
  tables.ready = true;
  return {};
}

Result<PreprocessKey> Preprocessor::State::key_of(const FrameView& frame, const std::optional<CropRect>& crop,
                                                  MjpegPlanes& decoder) {
  PreprocessKey key{.format = frame.format, .width = frame.width, .height = frame.height, .crop = crop};
  key.plane_width = frame.width;
  key.plane_height = frame.height;
  if (frame.format == PixelFormat::kRgb888) return key;
  if (frame.format == PixelFormat::kMjpeg) {
    const auto pixels = needed_pixels(recipe, {width, height}, {frame.width, frame.height}, crop);
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
  return key;
}

Result<Preprocessor::State::Tables*> Preprocessor::State::whole_of(const PreprocessKey& key,
                                                                   const std::optional<CropRect>& crop) {
  const auto found =
      std::ranges::find_if(wholes, [&](const Tables& have) { return have.ready && same(have.key, key); });
  if (found != wholes.end()) return &*found;
  Tables& tables = place_in(wholes, next_whole, kKeptKinds);
  KINGLET_TRY(make_tables(tables, key, crop));
  return &tables;
}

Result<void> Preprocessor::State::make_sizes(const PreprocessKey& kind, std::span<const int> sizes) {
  if (std::ranges::any_of(kinds, [&](const PreprocessKey& have) { return same(have, kind); })) return {};
  place_in(kinds, next_kind, kKeptKinds) = kind;
  for (const int size : sizes) KINGLET_TRY(tables_of(kind, size, size));
  return {};
}

// Of a part of this size, wherever it lies. `key`: of the whole frame.
Result<Preprocessor::State::Tables*> Preprocessor::State::tables_of(PreprocessKey key, int part_width,
                                                                    int part_height) {
  key.plane_width = std::max(1, reduced(part_width, key.width, key.plane_width));
  key.plane_height = std::max(1, reduced(part_height, key.height, key.plane_height));
  key.width = part_width;
  key.height = part_height;
  key.crop = CropRect{0, 0, part_width, part_height};
  const auto found = std::ranges::find_if(parts, [&](const Tables& have) { return have.ready && same(have.key, key); });
  if (found != parts.end()) return &*found;
  Tables& tables = place_in(parts, next_victim, kKeptSizes * std::max<std::size_t>(1, kinds.size()));
  KINGLET_TRY(make_tables(tables, key, key.crop));
  return &tables;
}

void Preprocessor::State::run_still(const Tables& tables, const Plane& plane, std::size_t gain,
                                    const engine::PictureInput& out) {
  tables.still.run(plane, narrowed, still_rgb);
  const auto* rgb = reinterpret_cast<const std::uint8_t*>(still_rgb.data());
  const std::size_t row_bytes = 3 * static_cast<std::size_t>(width);
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
    const std::uint8_t* row = rgb + y * row_bytes;
    normalise[gain].write_row<3>({row, row + 1, row + 2}, y, out);
  }
}

void Preprocessor::State::run_video(Tables& tables, const std::array<Plane, 3>& planes, std::size_t gain,
                                    const engine::PictureInput& out) {
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
    normalise[gain].write_row<1>(tables.video.rgb_row(planes, y), y, out);
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

std::optional<ImageSize> Preprocessor::needed(const FrameView& frame, const std::optional<CropRect>& crop) const {
  return needed_pixels(state_->recipe, {state_->width, state_->height}, {frame.width, frame.height}, crop);
}

Result<CropRect> Preprocessor::run(const FrameView& frame, const std::optional<CropRect>& crop,
                                   const engine::PictureInput& out) {
  state_->mjpeg.forget();
  return run(frame, crop, out, state_->mjpeg);
}

Result<CropRect> Preprocessor::run(const FrameView& frame, const std::optional<CropRect>& crop,
                                   const engine::PictureInput& out, MjpegPlanes& decoder) {
  State& state = *state_;
  if (state.recipe.resize_mode == engine::ResizeMode::kLetterbox)
    return state.run_letterbox(frame, crop, std::nullopt, out, decoder);
  KINGLET_TRY(state.check(frame, out));
  const PreprocessKey key = KINGLET_TRY(state.key_of(frame, crop, decoder));
  State::Tables& whole = *KINGLET_TRY(state.whole_of(key, crop));
  if (frame.format == PixelFormat::kRgb888) {
    state.run_still(whole, frame.planes[0], 0, out);
  } else {
    state.run_video(whole, frame.format == PixelFormat::kMjpeg ? decoder.planes() : frame.planes, 0, out);
  }
  return whole.used;
}

Result<CropRect> Preprocessor::run_reduced(const FrameView& still, ImageSize size, const std::optional<CropRect>& crop,
                                           const engine::PictureInput& out) {
  State& state = *state_;
  KINGLET_CHECK(still.format == PixelFormat::kRgb888);
  if (state.recipe.resize_mode == engine::ResizeMode::kLetterbox)
    return state.run_reduced_letterbox(still, size, crop, out);
  KINGLET_TRY(state.check(still, out));
  PreprocessKey key{.format = still.format, .width = size.width, .height = size.height, .crop = crop};
  key.plane_width = still.width;
  key.plane_height = still.height;
  State::Tables& whole = *KINGLET_TRY(state.whole_of(key, crop));
  state.run_still(whole, still.planes[0], 0, out);
  return whole.used;
}

Result<CropRect> Preprocessor::run_part(const FrameView& frame, const CropRect& part, std::span<const int> sizes,
                                        const engine::PictureInput& out, MjpegPlanes& decoder) {
  State& state = *state_;
  if (state.recipe.resize_mode == engine::ResizeMode::kLetterbox)
    return state.run_letterbox(frame, part, sizes, out, decoder);
  KINGLET_TRY(state.check(frame, out));
  KINGLET_TRY(make_geometry(state.recipe, frame.width, frame.height, part, state.width, state.height));
  PreprocessKey key = KINGLET_TRY(state.key_of(frame, part, decoder));
  key.crop.reset();
  KINGLET_TRY(state.make_sizes(key, sizes));
  State::Tables& tables = *KINGLET_TRY(state.tables_of(key, part.width, part.height));
  if (frame.format == PixelFormat::kRgb888) {
    Plane plane = frame.planes[0];
    plane.bytes =
        plane.bytes.subspan(static_cast<std::size_t>(part.y) * plane.stride + 3 * static_cast<std::size_t>(part.x));
    const double green = mean_level(plane, {.step = 3, .offset = 1}, part.width, part.height);
    state.run_still(tables, plane, gain_for(green), out);
    return part;
  }
  const int corner_x = reduced(part.x, frame.width, key.plane_width);
  const int corner_y = reduced(part.y, frame.height, key.plane_height);
  const auto& whole = frame.format == PixelFormat::kMjpeg ? decoder.planes() : frame.planes;
  const std::array<Plane, 3> planes = from_corner(whole, key.layout, corner_x, corner_y);
  state.run_video(tables, planes, gain_for(brightness_of(planes, tables.key)), out);
  return part;
}

ImageSize enough_pixels(const engine::Recipe& recipe, ImageSize input, ImageSize picture,
                        const std::optional<CropRect>& crop) {
  constexpr int kTimes = 2;
  // Without antialiasing the recipe means single pixels of the picture, which a smaller one has not.
  if (!recipe.antialias || recipe.interpolation == engine::Interpolation::kNearest) return picture;
  const auto needed = needed_pixels(recipe, input, picture, crop);
  if (!needed) return picture;
  const auto of = [](int pixels, int side) { return std::min<std::int64_t>(std::int64_t{kTimes} * pixels, side); };
  return {static_cast<int>(of(needed->width, picture.width)), static_cast<int>(of(needed->height, picture.height))};
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
  const PillowResize resize(make_weights(geometry.columns, interpolation, Antialias::kOn),
                            make_weights(geometry.rows, interpolation, Antialias::kOn));
  Image out{width, height, {}};
  out.rgb.resize(3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  std::vector<std::uint8_t> narrowed(resize.scratch_size());
  resize.run(rgb.planes[0], narrowed, out.rgb);
  return out;
}

}  // namespace kinglet::camera
