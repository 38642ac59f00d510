// SPDX-License-Identifier: Apache-2.0
// Why: what a mutator of models picks from: parts of the model at hand, and numbers and words that find faults.
#pragma once

#include <onnx/onnx.pb.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace kinglet::fuzz {

class RandomModelParts {
 public:
  RandomModelParts(::onnx::ModelProto& model, std::uint32_t seed)
      : model_(model), graph_(*model.mutable_graph()), random_(seed) {}

 protected:
  using Dim = std::int64_t;

  std::size_t below(std::size_t count) { return count == 0 ? 0 : random_() % count; }
  bool one_in(std::size_t count) { return below(count) == 0; }
  template <typename Range>
  auto pick(const Range& range) {
    return range[below(std::size(range))];
  }
  std::int64_t number();
  float real();
  std::string word();
  Dim small_dim() { return static_cast<Dim>(one_in(10) ? 0 : 1 + below(8)); }
  ::onnx::NodeProto* any_node() {
    if (graph_.node_size() == 0) return nullptr;
    return graph_.mutable_node(static_cast<int>(below(static_cast<std::size_t>(graph_.node_size()))));
  }
  ::onnx::TensorProto* any_weight() {
    if (graph_.initializer_size() == 0) return nullptr;
    return graph_.mutable_initializer(static_cast<int>(below(static_cast<std::size_t>(graph_.initializer_size()))));
  }
  std::string any_value();
  std::string new_name() { return "m" + std::to_string(random_() % 100000); }

  // `kind`: how attributes.def names it.
  void fill_attribute(::onnx::AttributeProto& attribute, std::string_view kind);
  // Numbers of the tensor's type, as many as its dimensions say.
  void fill_weight(::onnx::TensorProto& tensor, int type, const std::vector<Dim>& dims);
  static bool has_numbers(int type);

  ::onnx::ModelProto& model_;
  ::onnx::GraphProto& graph_;
  std::mt19937 random_;
};

}  // namespace kinglet::fuzz
