// SPDX-License-Identifier: Apache-2.0
// Why: what the operators of engine/tflite share: the file's tensors as values of the Graph in the making, their layout
// and their levels; and the operators by name.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/graph/graph.h"
#include "engine/tflite/model_generated.h"

namespace kinglet::engine::tflite {

// A tensor of the file, checked: its shape fits its data, its scales fit its shape.
struct TensorFacts {
  std::string name;
  Shape shape;  // as in the file: images are [N,H,W,C]
  int type = 0;
  std::vector<float> scales;              // empty: real numbers
  std::vector<std::int64_t> zero_points;  // as many
  std::size_t quantized_axis = 0;         // of several scales
  std::span<const std::uint8_t> data;     // of constants
};

class Builder {
 public:
  // `bytes` hold the verified model and live as long as the builder.
  Builder(const Model& model, std::string_view bytes)
      : model_(model), file_(*model.subgraphs()->Get(0)), bytes_(bytes) {}

  [[nodiscard]] Result<void> read_tensors();
  [[nodiscard]] Result<void> add_inputs();
  [[nodiscard]] Result<void> add_outputs();
  [[nodiscard]] Graph take() { return std::move(graph_); }

  // --- For operators: `tensor` is the file's number of one, -1 an absent one
  // --------------------------------------------
  [[nodiscard]] const Operator& current() const { return *operator_; }
  void begin(const Operator& next, std::string name) {
    operator_ = &next;
    name_ = std::move(name);
  }
  // Options of the current operator, nullptr when it has none. kBadData when they lie outside the file.
  template <typename Options>
  Result<const Options*> options();
  [[nodiscard]] Result<int> input(std::size_t i) const;  // its tensor; kBadData: it has fewer
  [[nodiscard]] Result<int> output(std::size_t i) const;
  [[nodiscard]] std::size_t input_count() const;
  [[nodiscard]] const TensorFacts& facts(int tensor) const { return tensors_.at(static_cast<std::size_t>(tensor)); }
  [[nodiscard]] bool is_constant(int tensor) const { return !facts(tensor).data.empty(); }

  // Its real numbers, as ONNX lays images out. kBadData when no operator made it yet.
  Result<ValueId> real(int tensor);
  // A layer's weight with its axes in the order `perm` of the file's, then of `shape`; scales along axis 0.
  Result<ValueId> weight(int tensor, std::vector<std::size_t> perm, Shape shape);
  // The integers of a constant (axes, pads, shapes).
  Result<std::vector<std::int64_t>> integers(int tensor) const;

  // A node with one float output.
  ValueId add(std::string op_type, std::vector<ValueId> inputs, Attributes attributes = {});
  ValueId constant(std::string_view role, Tensor tensor);
  // What the current operator made: its fused activation, then the levels of its tensor.
  Result<void> finish(ValueId made, int fused_activation = 0);

  [[nodiscard]] std::unexpected<Error> fail(ErrorCode code, std::string message, std::string hint = {}) const;

 private:
  Result<TensorFacts> read_tensor(const FileTensor& tensor, std::size_t number) const;
  Result<Tensor> numbers(int tensor) const;
  Result<ValueId> stored(const TensorFacts& facts, Tensor numbers, std::int64_t axis);
  std::string unique(std::string name);  // of a node
  Result<ValueId> rounded(ValueId real, const TensorFacts& facts);

  const Model& model_;
  const SubGraph& file_;
  std::string_view bytes_;
  const Operator* operator_ = nullptr;
  std::string name_;
  Graph graph_;
  std::set<std::string> node_names_;
  std::vector<TensorFacts> tensors_;
  std::vector<ValueId> values_;  // kNoValue: not made yet
};

template <typename Options>
Result<const Options*> Builder::options() {
  if (current().builtin_options() == nullptr) return nullptr;
  // Which table it is follows from the operator's code; only now its fields can be verified.
  const auto* found = reinterpret_cast<const Options*>(current().builtin_options());
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes_.data()), bytes_.size());
  if (!found->Verify(verifier)) return fail(ErrorCode::kBadData, "its options lie outside the file");
  return found;
}

// Each reads the current operator of the builder and finishes its tensor; rows of operators.def.
using ImportOperator = Result<void>(Builder& builder);

ImportOperator import_add, import_average_pool, import_concatenation, import_conv, import_depthwise_conv,
    import_fully_connected, import_hard_swish, import_logistic, import_max_pool, import_mean, import_mul, import_pad,
    import_relu, import_relu6, import_relu_n1_to_1, import_reshape, import_same, import_softmax, import_sub,
    import_tanh;

}  // namespace kinglet::engine::tflite
