// SPDX-License-Identifier: Apache-2.0
// Why: detectors enlarge their maps by the nearest pixel, which XNNPACK has no operator for. As [N,H,W,C] a pixel is
// one piece of memory, so that this is copying, of any type: a row is put together once, and copied where it repeats.
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "engine/backend/kernels/convolution_parts.h"
#include "engine/backend/kernels/rows.h"

namespace kinglet::engine::kernels {
namespace {

// Output rows one after the other that come from the same row of the input.
struct Repeated {
  std::size_t first = 0, count = 0;
  std::uint32_t from = 0;
};

std::vector<Repeated> repeated_rows(std::span<const std::uint32_t> rows) {
  std::vector<Repeated> out;
  for (std::size_t y = 0; y < rows.size(); ++y) {
    if (out.empty() || out.back().from != rows[y]) out.push_back({.first = y, .from = rows[y]});
    ++out.back().count;
  }
  return out;
}

class NearestKernel final : public Kernel {
 public:
  explicit NearestKernel(const Nearest& work) : work_(work), repeated_(repeated_rows(work.rows)) {}

  void run(Inputs inputs, Outputs outputs, std::span<std::byte> /*scratch*/, pthreadpool_t pool) const override {
    const std::size_t input_row = work_.input_width * work_.pixel_bytes;
    const std::size_t output_row = work_.columns.size() * work_.pixel_bytes;
    run_parts(work_.batch * repeated_.size(), pool, [&](std::size_t part) {
      const std::size_t image = part / repeated_.size();
      const Repeated& rows = repeated_[part % repeated_.size()];
      const std::byte* from = inputs[0].data() + (image * work_.input_height + rows.from) * input_row;
      std::byte* const first = outputs[0].data() + (image * work_.rows.size() + rows.first) * output_row;
      std::byte* to = first;
      for (const std::uint32_t column : work_.columns) {
        std::memcpy(to, from + column * work_.pixel_bytes, work_.pixel_bytes);
        to += work_.pixel_bytes;
      }
      for (std::size_t i = 1; i < rows.count; ++i) std::memcpy(first + i * output_row, first, output_row);
    });
  }

 private:
  Nearest work_;
  std::vector<Repeated> repeated_;
};

}  // namespace

const KernelRow kNearestScalar{.name = "nearest__scalar",
                               .offer = [](const Work& work) -> std::optional<Offer> {
                                 if (!std::holds_alternative<Nearest>(work.kind)) return std::nullopt;
                                 return Offer{.cost = 0};
                               },
                               .make = [](const Work& work, PackedWeights& /*weights*/) -> std::unique_ptr<Kernel> {
                                 return std::make_unique<NearestKernel>(std::get<Nearest>(work.kind));
                               }};

}  // namespace kinglet::engine::kernels
