// SPDX-License-Identifier: Apache-2.0
// Why: XNNPACK walks twice over the numbers for x * sigmoid(x), with a value between, and takes its sigmoid apart from
// what it is multiplied by. Here it is one walk with one division (silu/numbers.h), over the input where nobody else
// reads that.
//
// The error is at most 3 * 2^-23 of the answer and, below -88, 2^-121; what is not a number stays so.
#include <algorithm>
#include <memory>
#include <optional>

#include "engine/backend/kernels/convolution_parts.h"
#include "engine/backend/kernels/rows.h"
#include "engine/backend/kernels/silu/form.h"

namespace kinglet::engine::kernels {
namespace {

// Numbers of a thread's part: whole vectors, in a core's first cache.
constexpr std::size_t kPart = 4096;

class SiluKernel final : public Kernel {
 public:
  SiluKernel(std::size_t count, silu::Form form) : count_(count), form_(form) {}

  void run(Inputs inputs, Outputs outputs, std::span<std::byte> /*scratch*/, pthreadpool_t pool) const override {
    const auto* from = reinterpret_cast<const float*>(inputs[0].data());
    auto* to = reinterpret_cast<float*>(outputs[0].data());
    run_parts((count_ + kPart - 1) / kPart, pool, [&](std::size_t part) {
      const std::size_t begin = part * kPart;
      form_(from + begin, to + begin, std::min(kPart, count_ - begin));
    });
  }

 private:
  std::size_t count_;
  silu::Form form_;
};

// A processor that has a form.
struct Processor {
  silu::Form form;
  bool (*is_here)();
  double (*pace)();  // a number's time, in times of XNNPACK's (docs/benchmarks.md)
};

// A step of its own cuts a segment: what XNNPACK does to so many numbers meanwhile.
constexpr double kStart = 6000;

std::optional<Offer> offer_of(const Work& work, const Processor& processor) {
  const auto* silu = std::get_if<SiluF32>(&work.kind);
  if (silu == nullptr || silu->count == 0 || !processor.is_here()) return std::nullopt;
  return Offer{.cost = processor.pace() * (1 + kStart / static_cast<double>(silu->count)), .writes_over = 0};
}

template <const Processor& processor>
constexpr KernelRow row(std::string_view name) {
  return {.name = name,
          .offer = [](const Work& work) { return offer_of(work, processor); },
          .make = [](const Work& work, PackedWeights& /*weights*/) -> std::unique_ptr<Kernel> {
            return std::make_unique<SiluKernel>(std::get<SiluF32>(work.kind).count, processor.form);
          }};
}

constexpr Processor kScalar{
    .form = silu::run_scalar, .is_here = [] { return true; }, .pace = [] { return kScalarCost; }};
constexpr Processor kNowhere{
    .form = silu::run_scalar, .is_here = [] { return false; }, .pace = [] { return kScalarCost; }};
#if defined(__x86_64__)
constexpr Processor kAvx512{.form = silu::run_avx512, .is_here = has_avx512, .pace = [] { return 0.5; }};
constexpr Processor kAvx2{.form = silu::run_avx2, .is_here = has_avx2, .pace = [] { return has_avx512() ? 1.0 : 0.5; }};
#else
constexpr Processor kAvx512 = kNowhere;
constexpr Processor kAvx2 = kNowhere;
#endif
#if defined(__aarch64__)
constexpr Processor kNeon{.form = silu::run_neon, .is_here = [] { return true; }, .pace = [] { return 0.5; }};
#else
constexpr Processor kNeon = kNowhere;
#endif

}  // namespace

const KernelRow kSiluF32Avx512 = row<kAvx512>("silu_f32__avx512");
const KernelRow kSiluF32Avx2 = row<kAvx2>("silu_f32__avx2");
const KernelRow kSiluF32Neon = row<kNeon>("silu_f32__neon");
const KernelRow kSiluF32Scalar = row<kScalar>("silu_f32__scalar");

}  // namespace kinglet::engine::kernels
