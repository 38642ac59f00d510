// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/open_bare.h"

#include "engine/base/file.h"
#include "engine/onnx/load.h"
#include "engine/ops/op.h"
#include "engine/passes/runner.h"
#include "tests/support/graph_text.h"

namespace kinglet::bench {

std::unique_ptr<BareSubgraph> open_bare(const std::filesystem::path& model, int threads) {
  engine::Graph graph = need(engine::load_model(need(InputFile::open(model))));
  engine::Shape single = *graph.value(graph.inputs().front().value).shape;
  single.front() = 1;
  graph.set_input_shape(0, single);
  return open_bare(std::move(graph), threads);
}

std::unique_ptr<BareSubgraph> open_bare(engine::Graph graph, int threads) {
  need(engine::infer_shapes(graph));
  need(engine::run_passes(graph));
  const engine::ValueId id = graph.inputs().front().value;
  auto bare = std::make_unique<BareSubgraph>(graph, threads);
  const engine::Tensor picture = engine::seeded_tensor(engine::DataType::kF32, *graph.value(id).shape, "photograph");
  const auto channels = static_cast<std::size_t>(picture.shape()[1]);
  const std::size_t pixels = picture.data<float>().size() / channels;
  for (std::size_t i = 0; i < pixels * channels; ++i) {
    bare->input()[i % pixels * channels + i / pixels] = picture.data<float>()[i];
  }
  return bare;
}

}  // namespace kinglet::bench
