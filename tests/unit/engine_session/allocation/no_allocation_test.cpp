// SPDX-License-Identifier: Apache-2.0
// A run of a session allocates nothing, in no thread: malloc's family is counted for the whole process (operator new
// calls malloc), XNNPACK and its pool included.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <format>

#include "engine/graph/text.h"
#include "engine/session.h"
#include "tests/support/corpus.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KINGLET_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KINGLET_COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef KINGLET_COUNTS_ALLOCATIONS
#define KINGLET_COUNTS_ALLOCATIONS 1
#endif

namespace {
constinit std::atomic<std::size_t> g_allocations{0};
}  // namespace

#if KINGLET_COUNTS_ALLOCATIONS
// glibc keeps its own functions under these names for such wrappers.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void* malloc(std::size_t size) {
  ++g_allocations;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  ++g_allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  ++g_allocations;
  return __libc_realloc(old, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  ++g_allocations;
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  *out = memalign(alignment, size);
  return *out == nullptr ? 12 : 0;
}
}
#endif

namespace kinglet::engine {
namespace {

std::size_t allocations_of_runs(Session& session, int count) {
  const TensorInfo& input = session.inputs().front();
  EXPECT_TRUE(session.set_input(0, seeded_tensor(input.type, input.shape, "photograph")));
  EXPECT_TRUE(session.run());
  const std::size_t before = g_allocations;
  bool good = true;
  for (int i = 0; i < count; ++i) good = session.run().has_value() && good;
  const std::size_t made = g_allocations - before;
  EXPECT_TRUE(good);
  return made;
}

class NoAllocation : public ::testing::TestWithParam<std::tuple<const char*, int>> {
 protected:
  void SetUp() override {
    if (KINGLET_COUNTS_ALLOCATIONS == 0) GTEST_SKIP() << "the sanitizer has an allocator of its own";
  }
};

TEST_P(NoAllocation, HoldsForEachRunOfARealModel) {
  KINGLET_NEEDS_CORPUS();
  const auto [name, threads] = GetParam();
  auto session = Session::open(testing::corpus() / "models" / std::format("{}.onnx", name), {.threads = threads});
  ASSERT_TRUE(session) << describe(session.error());
  EXPECT_EQ(allocations_of_runs(*session, 3), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Models, NoAllocation,
    ::testing::Combine(::testing::Values("bird_mobilenetv2_fp32", "bird_mobilenetv2_u8_qdq",
                                         "flowers_mobilenetv2_035_128_fp32_bn", "imagenet_mobilenetv1_050_160_fp32",
                                         "imagenet_mobilenetv2_s8_qdq"),
                       ::testing::Values(1, 2)),
    [](const auto& test) { return std::format("{}_{}_threads", std::get<0>(test.param), std::get<1>(test.param)); });

// What falls back to evaluate does allocate: the counter would see it.
TEST(AllocationCount, SeesAFallback) {
  if (KINGLET_COUNTS_ALLOCATIONS == 0) GTEST_SKIP() << "the sanitizer has an allocator of its own";
  const char* text = "%x = input f32[2,4]\n%1 = Relu(%x)\noutput %1";
  auto lowered = Session::create(parse_text(text).value().graph, {});
  auto evaluated = Session::create(parse_text(text).value().graph, {.disabled_lowerings = {"Relu"}});
  ASSERT_TRUE(lowered && evaluated);
  EXPECT_EQ(allocations_of_runs(*lowered, 3), 0U);
  EXPECT_GT(allocations_of_runs(*evaluated, 3), 0U);
}

}  // namespace
}  // namespace kinglet::engine
