// SPDX-License-Identifier: Apache-2.0
// The corpus' models through a whole Session: its reference tensors in, ONNX Runtime's stored answers out, within the
// limits its README gives, alone and with a thread pool.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <format>

#include "engine/session/session.h"
#include "tests/support/corpus.h"
#include "tests/support/npy.h"

namespace kinglet::engine {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModels[] = {"bird_mobilenetv2_fp32", "bird_mobilenetv2_u8_qdq",
                                   "flowers_mobilenetv2_035_128_fp32_bn", "imagenet_mobilenetv1_050_160_fp32",
                                   "imagenet_mobilenetv2_s8_qdq"};

bool is_quantised(const std::string& model) { return model.ends_with("_qdq"); }

// The 8-bit bird model takes the inputs of the fp32 one; the ImageNet one only has outputs, and its chickadee differs
// from the birds' by the recipe alone.
std::optional<Tensor> reference_input(const std::string& model, const std::string& photo) {
  const fs::path folder = testing::corpus() / "reference";
  if (!is_quantised(model)) return testing::read_npy(folder / model / (photo + ".input.npy"));
  auto tensor = testing::read_npy(folder / "bird_mobilenetv2_fp32" / (photo + ".input.npy"));
  if (!tensor || !model.starts_with("imagenet")) return tensor;
  if (photo != "chickadee") return std::nullopt;
  for (float& x : tensor->mutable_data<float>()) x = (x * 128 + 1) / 127.5F;
  return tensor;
}

void expect_close(std::span<const float> found, std::span<const float> expected, bool quantised) {
  ASSERT_EQ(found.size(), expected.size());
  float largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_TRUE(std::isfinite(found[i])) << "class " << i;
    largest = std::max(largest, std::abs(found[i] - expected[i]));
  }
  EXPECT_LE(largest, quantised ? 0.1F : 1e-4F);
  const auto best = std::ranges::max_element(expected);
  std::vector<float> sorted(expected.begin(), expected.end());
  std::ranges::sort(sorted, std::ranges::greater{});
  if (quantised && sorted[0] - sorted[1] < 0.2F) return;
  EXPECT_EQ(std::ranges::max_element(found) - found.begin(), best - expected.begin());
}

class CorpusReference : public ::testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(CorpusReference, AnswersLieWithinTheLimits) {
  KINGLET_NEEDS_CORPUS();
  const std::string model = std::get<0>(GetParam());
  auto session = Session::open(testing::corpus() / "models" / (model + ".onnx"), {.threads = std::get<1>(GetParam())});
  ASSERT_TRUE(session) << describe(session.error());
  const auto own_kernels = std::ranges::count(session->plan().steps, "kinglet", &StepInfo::backend);
  EXPECT_LE(session->plan().segments, static_cast<std::size_t>(own_kernels) + 1);  // nothing else cuts them
  EXPECT_TRUE(session->plan().fallback_nodes.empty()) << session->plan().fallback_nodes.front();
  int compared = 0;
  for (const std::string& photo : testing::reference_photos(model)) {
    const auto input = reference_input(model, photo);
    if (!input) continue;
    SCOPED_TRACE(photo);
    const auto expected = testing::read_npy(testing::corpus() / "reference" / model / (photo + ".output.npy"));
    ASSERT_TRUE(expected);
    ASSERT_TRUE(session->set_input(0, *input));
    ASSERT_TRUE(session->run());
    expect_close(session->get_output(0).data<float>(), expected->data<float>(), is_quantised(model));
    ++compared;
  }
  EXPECT_GE(compared, model.starts_with("imagenet_mobilenetv2") ? 1 : 5);
}

class CorpusBits : public ::testing::TestWithParam<const char*> {};

TEST_P(CorpusBits, AreTheSameWithOneToFourThreads) {
  KINGLET_NEEDS_CORPUS();
  const std::string model = GetParam();
  const auto input = reference_input(model, "chickadee");
  ASSERT_TRUE(input);
  std::optional<Tensor> expected;
  for (int threads = 1; threads <= 4; ++threads) {
    auto session = Session::open(testing::corpus() / "models" / (model + ".onnx"), {.threads = threads});
    ASSERT_TRUE(session) << describe(session.error());
    ASSERT_TRUE(session->set_input(0, *input));
    for (int run = 0; run < 3; ++run) {
      ASSERT_TRUE(session->run());
      const Tensor found = session->get_output(0);
      if (!expected) expected = found;
      EXPECT_TRUE(found.bit_equal(*expected)) << threads << " threads, run " << run;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CorpusBits, ::testing::ValuesIn(kModels),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Models, CorpusReference,
                         ::testing::Combine(::testing::ValuesIn(kModels), ::testing::Values(1, 2)),
                         [](const auto& test) {
                           return std::format("{}_{}_threads", std::get<0>(test.param), std::get<1>(test.param));
                         });

}  // namespace
}  // namespace kinglet::engine
