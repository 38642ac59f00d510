// SPDX-License-Identifier: Apache-2.0
#include "engine/onnx/save.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "engine/ops/op.h"
#include "engine/session/compare_graphs.h"
#include "engine/session/model.h"
#include "tests/support/graph_text.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::engine {
namespace {

Graph small_network() {
  auto parsed = parse_text(R"(
%x = input f32[1,3,8,8]
%1 = Conv(%x, w:f32[16,3,3,3]#w, b:f32[16]#b)
%2 = GlobalAveragePool(%1)
%3 = Flatten(%2)
%4 = Gemm(%3, v:f32[16,40]#v)
output %4
)");
  EXPECT_TRUE(parsed && infer_shapes(parsed->graph));
  return std::move(parsed->graph);
}

TEST(SaveModel, PutsWeightsBesideAModelThatIsTooLargeForOneFile) {
  const kinglet::testing::ScratchFolder folder;
  const auto path = folder.path() / "large.onnx";
  const Graph before = small_network();
  ASSERT_TRUE(save_model(before, path, Overwrite::kRefuse, 1000));
  EXPECT_LT(std::filesystem::file_size(path), 1000U);
  EXPECT_GE(std::filesystem::file_size(path.string() + ".data"), (16U * 27 + 16U * 40) * 4);
  const auto after = open_model(path);
  ASSERT_TRUE(after) << describe(after.error());
  const std::vector<Tensor> inputs = make_inputs(before, MadeInput::kNormal);
  EXPECT_TRUE((*evaluate_graph(before, inputs))[0].bit_equal((*evaluate_graph(after->graph, inputs))[0]));
}

TEST(SaveModel, LeavesTheDataOfAModelThatIsThereAlone) {
  const kinglet::testing::ScratchFolder folder;
  const auto path = folder.path() / "large.onnx";
  ASSERT_TRUE(save_model(small_network(), path, Overwrite::kRefuse, 1000));
  const auto written = std::filesystem::last_write_time(path.string() + ".data");
  EXPECT_FALSE(save_model(small_network(), path, Overwrite::kRefuse, 1000));
  EXPECT_EQ(std::filesystem::last_write_time(path.string() + ".data"), written);
  EXPECT_TRUE(save_model(small_network(), path, Overwrite::kReplace, 1000));
}

}  // namespace
}  // namespace kinglet::engine
