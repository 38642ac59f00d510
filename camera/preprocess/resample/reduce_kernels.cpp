// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/resample/reduce_form.h"

#include <algorithm>
#include <array>
#include <utility>

#include "camera/preprocess/resample/avx.h"

namespace kinglet::camera {
namespace reduce {
namespace {

void narrow_scalar(const std::uint8_t* row, const std::int32_t* first, const std::uint8_t* weights, std::size_t window,
                   std::size_t length, std::uint8_t* out) {
  for (std::size_t x = 0; x < length; ++x, weights += window) {
    const std::uint8_t* from = row + first[x];
    int sum = kHalf;
    for (std::size_t i = 0; i < window; ++i) sum += from[i] * weights[i];
    out[x] = static_cast<std::uint8_t>(sum >> kSmallBits);
  }
}

}  // namespace

void blend_scalar(const std::uint8_t* top, std::size_t stride, std::size_t length, const std::uint8_t* weights,
                  std::int32_t count, std::uint8_t* out) {
  for (std::size_t x = 0; x < length; ++x) {
    int sum = kHalf;
    for (std::int32_t i = 0; i < count; ++i) sum += top[static_cast<std::size_t>(i) * stride + x] * weights[i];
    out[x] = static_cast<std::uint8_t>(sum >> kSmallBits);
  }
}

void split_scalar(const std::uint8_t* pairs, std::size_t count, std::uint8_t* first, std::uint8_t* second) {
  for (std::size_t i = 0; i < count; ++i) {
    first[i] = pairs[2 * i];
    second[i] = pairs[2 * i + 1];
  }
}

void narrow_rest(const std::uint8_t* row, const Windows& windows, std::size_t x, std::uint8_t* out) {
  const std::size_t window = windows.window;
  narrow_scalar(row, windows.first.data() + x, windows.weights.data() + x * window, window, windows.first.size() - x,
                out + x);
}

namespace {

void narrow_all_scalar(const std::uint8_t* row, const Windows& windows, std::uint8_t* out) {
  narrow_rest(row, windows, 0, out);
}

}  // namespace

constexpr ReduceKernels kScalar{"scalar", blend_scalar, split_scalar, narrow_all_scalar,
                                narrow_each<narrow_all_scalar>};

}  // namespace reduce

Windows::Windows(std::vector<std::int32_t> first_bytes, std::vector<std::uint8_t> all_weights, std::size_t bytes,
                 std::size_t taps)
    : first(std::move(first_bytes)),
      weights(std::move(all_weights)),
      window(bytes),
      taken((taps + reduce::kTakenBy - 1) / reduce::kTakenBy * reduce::kTakenBy) {
  if (reduce::kTogether == 0 || first.size() < kByteLanes) return;
  for (std::size_t done = 0; done < first.size(); done += kByteLanes) {
    const std::size_t x = std::min(done, first.size() - kByteLanes);
    for (std::size_t i = x; i < x + kByteLanes; ++i) {
      const std::int32_t place = first[i] - first[x];
      reach = std::max(reach, place < 0 ? SIZE_MAX : static_cast<std::size_t>(place) + taps);
      for (std::size_t k = 0; k < reduce::kTogether; ++k)
        woven.push_back(static_cast<std::uint8_t>(place + static_cast<int>(k)));
    }
    for (std::size_t from = 0; from < taken; from += reduce::kTogether) {
      for (std::size_t i = x; i < x + kByteLanes; ++i) {
        for (std::size_t k = from; k < from + reduce::kTogether; ++k)
          woven.push_back(k < window ? weights[i * window + k] : 0);
      }
    }
  }
  if (reach > kReach) woven.clear();
}

std::span<const ReduceKernels> reduce_kernels() {
#if defined(__x86_64__)
  static const std::array kAll{reduce::kVbmi, reduce::kAvx512, reduce::kAvx2, reduce::kScalar};
  const std::span<const ReduceKernels> all = kAll;
  return those_here(__builtin_cpu_supports("avx512vbmi") != 0 ? all : all.subspan(1));
#elif defined(__ARM_NEON) && defined(__aarch64__)
  static const std::array kAll{reduce::kNeon, reduce::kScalar};
  return kAll;
#else
  static const std::array kAll{reduce::kScalar};
  return kAll;
#endif
}

}  // namespace kinglet::camera
