// SPDX-License-Identifier: Apache-2.0
// Why: 8-bit RGB to the model's numbers. A pixel has 256 values, so each channel is one table, made once: the float
// is the same to the last bit as (float32(pixel) - float32(mean)) / float32(std), the byte what ONNX's QuantizeLinear
// makes of that float. Where a processor does it faster, floats are multiplied by the reciprocal and corrected, if that
// gives the table's floats for all 256 pixels.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "camera/preprocess/preprocess.h"

namespace kinglet::camera {

class Normalise {
 public:
  // What a channel's pixels are moved by and divided by.
  struct Divisor {
    float mean;
    float deviation;
    float reciprocal;  // of the deviation
  };

  Normalise() = default;
  // Tables for a tensor of this type, scale and zero point; channels in the recipe's order. Pixels are taken `gain`
  // times as bright, at most white.
  Normalise(const engine::Recipe& recipe, const engine::PictureInput& tensor, double gain = 1);

  [[nodiscard]] bool fits(const engine::PictureInput& tensor) const;
  // Output row `y`: red, green and blue, tensor.width bytes each, `kStep` apart.
  template <std::size_t kStep>
  void write_row(const std::array<const std::uint8_t*, 3>& rgb, std::size_t y,
                 const engine::PictureInput& tensor) const;

 private:
  template <std::size_t kStep, typename T>
  void write(const std::array<const std::uint8_t*, 3>& rgb, std::size_t y, const engine::PictureInput& tensor,
             const std::array<std::array<T, 256>, 3>& table) const;

  engine::DataType type_ = engine::DataType::kBool;
  engine::Quantization quantization_;
  std::array<std::size_t, 3> source_{0, 1, 2};      // which of R, G, B each tensor channel takes
  std::array<std::array<float, 256>, 3> floats_{};  // kF32
  std::array<Divisor, 3> divisors_{};
  bool divides_ = true;                                   // the divisors give the table's floats
  std::array<std::array<std::uint8_t, 256>, 3> bytes_{};  // kU8 and kI8, as bytes
};

}  // namespace kinglet::camera
