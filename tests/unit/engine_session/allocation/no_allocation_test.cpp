// SPDX-License-Identifier: Apache-2.0
// A run of a session allocates nothing, in no thread: malloc's family is counted for the whole process (operator new
// calls malloc), XNNPACK and its pool included.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <format>

#include "engine/session/session.h"
#include "tests/support/corpus.h"
#include "tests/support/counted_malloc.h"
#include "tests/support/graph_text.h"

namespace {
constinit std::atomic<std::size_t> g_allocations{0};
}  // namespace

void kinglet::testing::note_allocation() { ++g_allocations; }

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

TEST(NoAllocationInADetector, HoldsForEachRunAndNoStepFallsBack) {
  const auto model = testing::corpus() / "detectors" / "yolox_nano_416.onnx";
  if (!std::filesystem::exists(model)) GTEST_SKIP() << "no detector in the corpus";
  auto session = Session::open(model, {.threads = 2});
  ASSERT_TRUE(session) << describe(session.error());
  EXPECT_TRUE(session->plan().fallback_nodes.empty()) << session->plan().fallback_nodes.front();
  if (KINGLET_COUNTS_ALLOCATIONS == 0) GTEST_SKIP() << "the sanitizer has an allocator of its own";
  EXPECT_EQ(allocations_of_runs(*session, 2), 0U);
}

// What the networks of the zoo are made of, small: one of each family, and one with steps outside XNNPACK.
struct Network {
  const char* name;
  bool falls_back;
  const char* text;
};

void PrintTo(const Network& network, std::ostream* out) { *out << network.name; }

constexpr Network kNetworks[] = {
    {"shuffle_and_excite", false, R"(
%x = input f32[1,4,8,8]
%1, %2 = Split(%x, s:i64[2]{2,2}) {axis=1}
%3 = Conv(%1, w1:f32[6,2,3,3]#w1, b1:f32[6]#b1) {pads=[1,1,1,1]}
%4 = HardSwish(%3)
%5 = Concat(%4, %2) {axis=1}
%6 = Reshape(%5, s1:i64[5]{1,2,4,8,8})
%7 = Transpose(%6) {perm=[0,2,1,3,4]}
%8 = Reshape(%7, s2:i64[4]{1,8,8,8})
%9 = GlobalAveragePool(%8)
%10 = Conv(%9, w2:f32[8,8,1,1]#w2)
%11 = Sigmoid(%10)
%12 = Mul(%8, %11)
output %12
)"},
    {"attention", false, R"(
%x = input f32[1,3,8,8]
%1 = Conv(%x, w1:f32[12,3,2,2]#w1, b1:f32[12]#b1) {strides=[2,2]}
%2 = Reshape(%1, s1:i64[3]{1,12,16})
%3 = Transpose(%2) {perm=[0,2,1]}
%4 = LayerNormalization(%3, g1:f32[12]#g1, h1:f32[12]#h1)
%5 = MatMul(%4, w2:f32[12,36]#w2)
%6 = Reshape(%5, s2:i64[5]{1,16,3,2,6})
%7 = Transpose(%6) {perm=[2,0,3,1,4]}
%8 = Gather(%7, i0:i64[]{0})
%9 = Gather(%7, i1:i64[]{1})
%10 = Gather(%7, i2:i64[]{2})
%11 = Transpose(%9) {perm=[0,1,3,2]}
%12 = MatMul(%8, %11)
%13 = Softmax(%12)
%14 = MatMul(%13, %10)
%15 = Transpose(%14) {perm=[0,2,1,3]}
%16 = Reshape(%15, s3:i64[3]{1,16,12})
%17 = Gelu(%16)
%18 = Add(%3, %17)
output %18
)"},
    {"enlarged", false, R"(
%x = input f32[1,3,8,8]
%1 = Conv(%x, w1:f32[4,3,3,3]#w1, b1:f32[4]#b1)
%2 = Resize(%1, _, s:f32[4]{1,1,2,2}) {mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"}
%3 = Conv(%2, w2:f32[4,4,3,3]#w2, b2:f32[4]#b2)
output %3
)"},
    {"steps_outside_xnnpack", true, R"(
%x = input f32[1,3,8,8]
%1 = Conv(%x, w1:f32[4,3,3,3]#w1, b1:f32[4]#b1)
%2 = Softplus(%1)
%3 = Conv(%2, w2:f32[4,4,3,3]#w2, b2:f32[4]#b2)
%4 = Mish(%3)
output %4
)"},
};

class NoAllocationInSmall : public ::testing::TestWithParam<Network> {};

TEST_P(NoAllocationInSmall, HoldsForEachRun) {
  if (KINGLET_COUNTS_ALLOCATIONS == 0) GTEST_SKIP() << "the sanitizer has an allocator of its own";
  auto session = Session::create(parse_text(GetParam().text).value().graph, {});
  ASSERT_TRUE(session) << describe(session.error());
  EXPECT_EQ(session->plan().fallback_nodes.empty(), !GetParam().falls_back);
  EXPECT_EQ(allocations_of_runs(*session, 3), 0U);
}

INSTANTIATE_TEST_SUITE_P(Networks, NoAllocationInSmall, ::testing::ValuesIn(kNetworks),
                         [](const auto& test) { return std::string(test.param.name); });

// Numbers that say where to read are checked anew at each run, which allocates: the counter sees it.
TEST(AllocationCount, SeesAFallbackThatChecksItsNumbers) {
  if (KINGLET_COUNTS_ALLOCATIONS == 0) GTEST_SKIP() << "the sanitizer has an allocator of its own";
  auto session = Session::create(
      parse_text("%x = input f32[2,4]\n%1 = ArgMax(%x) {axis=1, keepdims=0}\n%2 = Gather(%x, %1) {axis=1}\noutput %2")
          .value()
          .graph,
      {});
  ASSERT_TRUE(session) << describe(session.error());
  EXPECT_GT(allocations_of_runs(*session, 3), 0U);
}

}  // namespace
}  // namespace kinglet::engine
