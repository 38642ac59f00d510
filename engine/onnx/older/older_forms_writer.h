// SPDX-License-Identifier: Apache-2.0
// Why: what the rules of older_forms.cpp and older_forms_several.cpp share: one node on its way into an older form.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/format.h"
#include "engine/graph/float16.h"
#include "engine/onnx/older/older_forms.h"
#include "engine/ops/normalize.h"

namespace kinglet::engine {

class OlderFormsWriter {
 public:
  OlderFormsWriter(Graph& graph, NodeId id, std::int64_t opset) : graph_(graph), id_(id), opset_(opset) {}

  // The rule of the node's operator, then whether the form is one of the opset.
  Result<void> run();

 private:
  [[nodiscard]] const Node& node() const { return graph_.node(id_); }
  [[nodiscard]] Attributes& attributes() { return graph_.attributes(id_); }
  [[nodiscard]] std::unexpected<Error> refuse(std::string why) const {
    return ops::refuse(graph_, id_, ErrorCode::kUnsupported, std::move(why),
                       format_text("it has no form in opset {} that kinglet can write; choose a newer one", opset_));
  }

  [[nodiscard]] ValueId input(std::size_t index) const {
    return index < node().inputs.size() ? node().inputs[index] : kNoValue;
  }
  [[nodiscard]] bool has(std::size_t index) const { return input(index) != kNoValue; }
  void drop_inputs_from(std::size_t index) {
    if (node().inputs.size() > index) graph_.resize_inputs(id_, index);
  }
  Result<std::size_t> rank(std::size_t index) const {
    const auto& shape = graph_.value(input(index)).shape;
    if (shape) return shape->size();
    return refuse("the number of dimensions of its input is not known");
  }
  Result<std::vector<std::int64_t>> numbers(std::size_t index, std::string_view what) const {
    const Tensor* constant = graph_.constant(input(index));
    if (constant == nullptr) return refuse(format_text("its {} are computed, that opset has them fixed", what));
    return constant->to_int64s();
  }
  // Is the attribute absent or what it means by default? Then it goes.
  template <typename T>
  Result<void> only_default(std::string_view name, const T& value) {
    const Attribute* found = node().attributes.find(name);
    if (found == nullptr) return {};
    const T* held = std::get_if<T>(found);
    if (held == nullptr || *held != value) return refuse(format_text("its attribute {} is newer", name));
    attributes().remove(name);
    return {};
  }
  // Before opset 11 axes were counted from the front only.
  Result<void> count_from_front(std::string_view attribute, std::int64_t fallback, std::size_t extra = 0) {
    if (opset_ >= 11) return {};
    const std::int64_t axis = node().attributes.get_int(attribute, fallback);
    if (axis >= 0) return {};
    attributes().set(std::string(attribute), axis + static_cast<std::int64_t>(KINGLET_TRY(rank(0)) + extra));
    return {};
  }

  Result<void> rewrite();
  Result<void> check_old_operator();
  Result<void> check_old_types();

  // Forms of attributes and inputs, older_forms.cpp.
  Result<void> axis();
  Result<void> axis_of_one();
  Result<void> arg();
  Result<void> batch_normalization();
  Result<void> pool();
  Result<void> clip();
  Result<void> dropout();
  Result<void> gemm();
  Result<void> pad();
  Result<void> reduce();
  Result<void> quantise();
  Result<void> reshape();
  Result<void> resize();
  Result<void> slice();
  Result<void> softmax();
  Result<void> split();
  Result<void> squeeze();

  // Operators that become several, older_forms_several.cpp.
  Result<void> hard_swish();
  Result<void> mish();
  Result<void> gelu();
  Result<void> layer_normalization();
  // A node in front; it takes the form of the opset, too.
  Result<ValueId> make(std::string_view op_type, std::vector<ValueId> inputs, Attributes attributes = {});
  ValueId scalar(std::string_view role, float value);
  // The node itself becomes the last of the chain: its output keeps its name.
  Result<void> become(std::string_view op_type, const std::vector<ValueId>& inputs);

  Graph& graph_;
  NodeId id_;
  std::int64_t opset_;
};

}  // namespace kinglet::engine
