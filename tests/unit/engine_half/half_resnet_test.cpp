// SPDX-License-Identifier: Apache-2.0
// A whole ResNet-18 in float16, most of it by Winograd's way: beside XNNPACK's float16, whose sums are of all products,
// how far its answer is from float32's. Its weights are drawn, in the spread that such networks begin to learn from; of
// 128x128 pixels, since an emulated core takes a minute for 224x224.
#include <algorithm>
#include <cmath>
#include <format>

#include "tests/support/graph_of.h"
#include "tests/unit/engine_half/needs_half.h"

namespace kinglet::engine {
namespace {

class Writer {
 public:
  std::string layer(const std::string& from, std::size_t channels, std::size_t outputs, int side, int step) {
    return line(std::format("Conv({}, w{}:f32[{},{},{},{}]#w{}) {{pads=[{},{},{},{}], strides=[{},{}]}}", from, made_,
                            outputs, channels, side, side, made_, side / 2, side / 2, side / 2, side / 2, step, step));
  }
  std::string relu(const std::string& from) { return line(std::format("Relu({})", from)); }
  std::string block(const std::string& from, std::size_t channels, std::size_t outputs, int step) {
    const std::string inner = layer(relu(layer(from, channels, outputs, 3, step)), outputs, outputs, 3, 1);
    const std::string beside = channels == outputs ? from : layer(from, channels, outputs, 1, step);
    return relu(line(std::format("Add({}, {})", inner, beside)));
  }
  std::string line(const std::string& text) {
    text_ += std::format("%{} = {}\n", ++made_, text);
    return std::format("%{}", made_);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_ = "%x = input f32[1,3,128,128]\n";
  int made_ = 0;
};

// As He and others draw them, so that values keep their size through layers and clips at zero.
void spread_weights(Graph& graph) {
  for (const ValueId id : graph.values()) {
    const Tensor* constant = graph.constant(id);
    if (constant == nullptr || constant->shape().size() != 4) continue;
    Tensor weights = *constant;
    const auto numbers = static_cast<float>(weights.data<float>().size()) / static_cast<float>(weights.shape()[0]);
    const float scale = std::sqrt(2 * 3 / numbers);
    for (float& weight : weights.mutable_data<float>()) weight *= scale;
    graph.set_constant(id, std::move(weights));
  }
}

Graph resnet18() {
  Writer writer;
  std::string at = writer.relu(writer.layer("%x", 3, 64, 7, 2));
  at = writer.line(std::format("MaxPool({}) {{kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]}}", at));
  std::size_t channels = 64;
  for (const std::size_t outputs : {64, 128, 256, 512}) {
    at = writer.block(at, channels, outputs, outputs == channels ? 1 : 2);
    at = writer.block(at, outputs, outputs, 1);
    channels = outputs;
  }
  at = writer.line(std::format("GlobalAveragePool({})", at));
  at = writer.line(std::format("Flatten({}) {{axis=1}}", at));
  at = writer.line(std::format("Gemm({}, g:f32[200,512]#g) {{transB=1}}", at));
  Graph graph = graph_of(std::format("{}output {}\n", writer.text(), at));
  spread_weights(graph);
  return graph;
}

struct Answers {
  std::vector<float> numbers;
  std::ptrdiff_t by_tiles = 0;  // steps
};

Answers answers_of(const Graph& graph, const SessionOptions& options) {
  auto session = Session::create(Graph(graph), options);
  EXPECT_TRUE(session) << describe(session.error());
  Answers answers;
  EXPECT_TRUE(session->set_input(0, seeded_tensor(DataType::kF32, session->inputs().front().shape, "picture")));
  EXPECT_TRUE(session->run());
  answers.numbers = session->get_output(0).to_floats();
  answers.by_tiles = std::ranges::count_if(session->plan().steps, [](const StepInfo& step) {
    return step.kernel && step.kernel->name.starts_with("winograd") && step.kernel->name.contains("_f16");
  });
  return answers;
}

double root_of_mean_square(const std::vector<float>& numbers) {
  double squares = 0;
  for (const float number : numbers) squares += double{number} * double{number};
  return std::sqrt(squares / static_cast<double>(numbers.size()));
}

double difference_of(std::vector<float> a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return root_of_mean_square(a);
}

TEST(HalfResnet, IsAsNearToFloat32AsXnnpacksFloat16) {
  KINGLET_NEEDS_HALF();
  const Graph graph = resnet18();
  const Answers exact = answers_of(graph, {});
  const Answers xnnpack = answers_of(graph, {.own_kernels = false, .half = true});
  const Answers own = answers_of(graph, {.half = true});
  EXPECT_EQ(xnnpack.by_tiles, 0);
  EXPECT_GE(own.by_tiles, 14) << "of 13 layers and 8 additions";
  const double size = root_of_mean_square(exact.numbers);
  const double of_xnnpack = difference_of(xnnpack.numbers, exact.numbers) / size;
  const double of_own = difference_of(own.numbers, exact.numbers) / size;
  std::printf("ResNet-18: XNNPACK's float16 %.5f off, with Winograd %.5f, %td steps by tiles\n", of_xnnpack, of_own,
              own.by_tiles);
  EXPECT_LE(of_own, 1.5 * of_xnnpack);
  EXPECT_LE(of_own, 0.05) << "half of what model.precision = auto allows";
}

}  // namespace
}  // namespace kinglet::engine
