// SPDX-License-Identifier: Apache-2.0
// A machine of 512 MB runs the camera's other programs as well: loading and running the bird model peaks below 33 MB of
// 10^6 bytes (VmHWM, in the tests' build of a program of little else: 31.9 with AVX-512; a release of `kinglet bench`
// is to have 32): the weights are not in memory twice, as read and as packed, nor the widest value as a whole. One
// model a process, or the peak is not its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "engine/session/session.h"
#include "tests/support/corpus.h"
#include "tests/support/graph_text.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KINGLET_MEMORY_IS_OURS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KINGLET_MEMORY_IS_OURS 0
#endif
#endif
#ifndef KINGLET_MEMORY_IS_OURS
#define KINGLET_MEMORY_IS_OURS 1
#endif

namespace kinglet::engine {
namespace {

// 0 where the kernel does not tell.
double peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) * 1024;
  }
  return 0;
}

TEST(PeakMemory, OfTheBirdModelIsBelow33Megabytes) {
  if (KINGLET_MEMORY_IS_OURS == 0) GTEST_SKIP() << "the sanitizer keeps memory of its own";
  KINGLET_NEEDS_CORPUS();
  auto session = Session::open(testing::corpus() / "models" / "bird_mobilenetv2_fp32.onnx", {});
  ASSERT_TRUE(session) << describe(session.error());
  const TensorInfo& input = session->inputs().front();
  ASSERT_TRUE(session->set_input(0, seeded_tensor(input.type, input.shape, "photograph")));
  ASSERT_TRUE(session->run());
  const double peak = peak_bytes();
  if (peak == 0) GTEST_SKIP() << "no VmHWM in /proc/self/status";
  // At least the packed weights: else this looks at something else.
  EXPECT_GT(peak, 14e6);
  EXPECT_LT(peak, 33e6);
}

}  // namespace
}  // namespace kinglet::engine
