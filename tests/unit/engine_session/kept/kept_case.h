// SPDX-License-Identifier: Apache-2.0
// Why: a model with a layer of each kind, and a folder in which its packed weights are kept.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "engine/onnx/save.h"
#include "engine/session/kept_weights.h"
#include "engine/session/session.h"
#include "tests/support/graph_of.h"
#include "tests/support/graph_text.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::engine {

namespace fs = std::filesystem;

// A filter of each kind: Winograd's or strided, of one pixel, depthwise, grouped, shared by two layers, with its scale
// folded into it, a matrix of both orders.
inline constexpr std::string_view kLayers = R"(
%x = input f32[1,3,32,32]
%1 = Conv(%x, w1:f32[16,3,3,3]#a, b1:f32[16]#b) {kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]}
%2 = Relu(%1)
%3 = Conv(%2, w2:f32[64,16,1,1]#c)
%4 = Conv(%3, w3:f32[64,1,3,3]#d) {group=64, kernel_shape=[3,3], pads=[1,1,1,1]}
%5 = Conv(%4, w4:f32[64,64,3,3]#e, b4:f32[64]#f) {kernel_shape=[3,3], pads=[1,1,1,1]}
%6 = Add(%5, %3)
%7 = Conv(%6, w5:f32[64,16,3,3]#g) {group=4, kernel_shape=[3,3], pads=[1,1,1,1]}
%8 = Conv(%7, w6:f32[64,64,1,1]#h)
%9 = Relu(%8)
%10 = Conv(%9, w6)
%11 = Mul(%10, s:f32[1,64,1,1]#+i)
%12 = GlobalAveragePool(%11)
%13 = Flatten(%12)
%14 = MatMul(%13, m:f32[64,96]#j)
%15 = Gemm(%14, n:f32[40,96]#k, o:f32[40]#l) {transB=1}
%16 = Softmax(%15)
output %16
)";

struct Answer {
  std::vector<Tensor> outputs;
  KeptInfo kept;

  [[nodiscard]] bool same_bits(const Answer& other) const {
    return std::ranges::equal(outputs, other.outputs, [](const Tensor& a, const Tensor& b) { return a.bit_equal(b); });
  }
};

inline Answer answer_of(const fs::path& model, const SessionOptions& options) {
  auto session = Session::open(model, options);
  if (!session) throw std::runtime_error(describe(session.error()));
  for (std::size_t i = 0; i < session->inputs().size(); ++i) {
    const TensorInfo& input = session->inputs()[i];
    if (!session->set_input(i, seeded_tensor(input.type, input.shape, "picture"))) throw std::runtime_error("input");
  }
  if (!session->run()) throw std::runtime_error("run");
  Answer answer{.outputs = {}, .kept = session->plan().kept};
  for (std::size_t i = 0; i < session->outputs().size(); ++i) answer.outputs.push_back(session->get_output(i));
  return answer;
}

inline std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) files.push_back(entry.path());
  return files;
}

class KeptWeights : public ::testing::Test {
 protected:
  KeptWeights() { save(kLayers, model_); }

  void save(std::string_view text, const fs::path& path) const {
    ASSERT_TRUE(save_model(graph_of(text), path, Overwrite::kReplace));
  }
  [[nodiscard]] SessionOptions keeping(const fs::path& model, SessionOptions options = {}) const {
    options.weights = WeightsFolder::of(folder_, model).value();
    return options;
  }
  [[nodiscard]] Answer kept_answer() const { return answer_of(model_, keeping(model_)); }
  [[nodiscard]] fs::path only_file() const {
    const std::vector<fs::path> files = files_of(folder_);
    EXPECT_EQ(files.size(), 1U);
    return files.at(0);
  }
  void expect_same_bits(const fs::path& model, const SessionOptions& options) const {
    const Answer without = answer_of(model, options);
    const Answer first = answer_of(model, keeping(model, options));
    const Answer second = answer_of(model, keeping(model, options));
    EXPECT_EQ(without.kept.bytes, 0U);
    EXPECT_FALSE(first.kept.found);
    EXPECT_EQ(first.kept.problem, "");
    EXPECT_TRUE(second.kept.found);
    EXPECT_TRUE(first.same_bits(without)) << "while it is made";
    EXPECT_TRUE(second.same_bits(without)) << "found";
  }

  testing::ScratchFolder scratch_;
  fs::path folder_ = scratch_.path() / "packed";
  fs::path model_ = scratch_.path() / "model.onnx";
};

}  // namespace kinglet::engine
