// SPDX-License-Identifier: Apache-2.0
// Why: XNNPACK asks for numbers too small for a float's full precision to be taken as zero while its kernels run: on
// most processors they take many times as long.
#pragma once

#include <cstdint>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace kinglet::engine {

// Of the calling thread, while it lives; nothing changes unless asked.
class FlushedDenormals {
 public:
  explicit FlushedDenormals(bool flush) : flush_(flush) {
    if (!flush_) return;
    before_ = control();
    set_control(before_ | kFlush);
  }
  ~FlushedDenormals() {
    if (flush_) set_control(before_);
  }
  FlushedDenormals(const FlushedDenormals&) = delete;
  FlushedDenormals& operator=(const FlushedDenormals&) = delete;

 private:
#if defined(__SSE__)
  static constexpr std::uint64_t kFlush = 0x8040;  // MXCSR: results (FTZ) and operands (DAZ)
  static std::uint64_t control() { return _mm_getcsr(); }
  static void set_control(std::uint64_t control) { _mm_setcsr(static_cast<unsigned>(control)); }
#elif defined(__aarch64__)
  static constexpr std::uint64_t kFlush = 0x1080000;  // FPCR: FZ, and FZ16 for halves
  static std::uint64_t control() {
    std::uint64_t control = 0;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    return control;
  }
  static void set_control(std::uint64_t control) { asm volatile("msr fpcr, %0" : : "r"(control)); }
#else
  static constexpr std::uint64_t kFlush = 0;
  static std::uint64_t control() { return 0; }
  static void set_control(std::uint64_t /*control*/) {}
#endif

  const bool flush_;
  std::uint64_t before_ = 0;
};

}  // namespace kinglet::engine
