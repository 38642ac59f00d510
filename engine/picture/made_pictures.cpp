// SPDX-License-Identifier: Apache-2.0
#include "engine/picture/made_pictures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "engine/session/integer_inputs.h"

namespace kinglet::engine {
namespace {

constexpr std::size_t kChannels = 3;
using Colour = std::array<float, kChannels>;  // 0 to 1, red first

float mix(float a, float b, float share) { return a + (b - a) * share; }

Colour mix(const Colour& a, const Colour& b, float share) {
  Colour out{};
  for (std::size_t i = 0; i < kChannels; ++i) out[i] = mix(a[i], b[i], share);
  return out;
}

// Random numbers of 0 to 1 at the corners of squares, and smooth between them.
class Noise {
 public:
  Noise(std::size_t squares, std::mt19937& random) : side_(squares + 1), corners_(side_ * side_) {
    std::uniform_real_distribution<float> any(0, 1);
    for (float& corner : corners_) corner = any(random);
  }
  // x, y: 0 to 1.
  [[nodiscard]] float at(float x, float y) const {
    const auto squares = static_cast<float>(side_ - 1);
    const std::size_t left = std::min(static_cast<std::size_t>(x * squares), side_ - 2);
    const std::size_t top = std::min(static_cast<std::size_t>(y * squares), side_ - 2);
    const float right = smooth(x * squares - static_cast<float>(left));
    const float down = smooth(y * squares - static_cast<float>(top));
    const float* row = corners_.data() + top * side_ + left;
    return mix(mix(row[0], row[1], right), mix(row[side_], row[side_ + 1], right), down);
  }

 private:
  static float smooth(float x) { return x * x * (3 - 2 * x); }

  std::size_t side_;
  std::vector<float> corners_;
};

class Scene {
 public:
  explicit Scene(std::size_t index) : random_(static_cast<std::mt19937::result_type>(20'241'108 + index)) {
    for (std::size_t squares = 2; squares <= 64; squares *= 2) octaves_.emplace_back(squares, random_);
    for (Colour& colour : colours_) {
      for (float& part : colour) part = any();
    }
    radius_ = mix(0.1F, 0.35F, any());
    centre_x_ = mix(0.3F, 0.7F, any());
    centre_y_ = mix(0.3F, 0.7F, any());
  }

  [[nodiscard]] Colour at(float x, float y) const {
    float light = 0, whole = 0, strength = 1;
    for (const Noise& octave : octaves_) {
      light += strength * octave.at(x, y);
      whole += strength;
      strength *= 0.6F;
    }
    const float share = std::clamp(2 * light / whole - 0.5F, 0.0F, 1.0F);
    const float reach = std::hypot(x - centre_x_, 1.4F * (y - centre_y_)) + 0.1F * octaves_[2].at(y, x);
    const bool in_front = reach < radius_;
    return mix(colours_[in_front ? 2 : 0], colours_[in_front ? 3 : 1], in_front ? 1 - share : share);
  }

 private:
  float any() { return std::uniform_real_distribution<float>(0, 1)(random_); }

  std::mt19937 random_;
  std::vector<Noise> octaves_;
  std::array<Colour, 4> colours_{};  // two behind, two in front
  float radius_ = 0, centre_x_ = 0, centre_y_ = 0;
};

}  // namespace

void draw_made_picture(std::size_t index, const Recipe& recipe, const PictureInput& input) {
  const HeldLevels levels{.type = input.type, .quantization = input.quantization};
  const std::size_t size = byte_size(input.type);
  const Scene scene(index);
  const auto width = static_cast<std::size_t>(input.width), height = static_cast<std::size_t>(input.height);
  const bool nhwc = input.layout == TensorLayout::kNhwc;
  for (std::size_t pixel = 0; pixel < width * height; ++pixel) {
    const std::size_t column = pixel % width, row = pixel / width;
    const Colour colour = scene.at((static_cast<float>(column) + 0.5F) / static_cast<float>(width),
                                   (static_cast<float>(row) + 0.5F) / static_cast<float>(height));
    for (std::size_t channel = 0; channel < kChannels; ++channel) {
      const std::size_t source = recipe.color_order == ColorOrder::kRgb ? channel : kChannels - 1 - channel;
      const double level = std::round(255 * double{colour[source]});
      const auto number = static_cast<float>((level - recipe.mean[channel]) / recipe.std[channel]);
      const std::size_t place = nhwc ? pixel * kChannels + channel : channel * width * height + pixel;
      const std::span<std::byte> bytes = input.bytes.subspan(place * size, size);
      if (input.type == DataType::kF32) {
        std::memcpy(bytes.data(), &number, sizeof number);
      } else {
        make_levels({&number, 1}, levels, bytes);
      }
    }
  }
}

}  // namespace kinglet::engine
