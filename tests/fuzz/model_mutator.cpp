// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/model_mutator.h"

#include <onnx/onnx.pb.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <vector>

#include "engine/ops/op.h"
#include "tests/fuzz/random_model_parts.h"

namespace kinglet::fuzz {
namespace {

using ::onnx::AttributeProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

struct AttributeRow {
  std::string_view name;
  std::string_view kind;
};
constexpr AttributeRow kAttributes[] = {
#define KINGLET_ATTRIBUTE(op_type, name, kind) {name, #kind},
#include "engine/onnx/attributes.def"
#undef KINGLET_ATTRIBUTE
};

class Mutator : RandomModelParts {
 public:
  Mutator(ModelProto& model, const ModelProto* donor, std::uint32_t seed)
      : RandomModelParts(model, seed), donor_(donor) {}

  void splice() {
    for (std::size_t i = 1 + below(3); i > 0; --i) static_cast<void>(splice_node());
  }

  // False: this kind of change does not apply here.
  bool change() {
    using Change = bool (Mutator::*)();
    constexpr std::array<Change, 27> kChanges{
        &Mutator::change_attribute, &Mutator::change_attribute, &Mutator::change_attribute, &Mutator::add_attribute,
        &Mutator::drop_attribute,   &Mutator::change_operator,  &Mutator::rewire_input,     &Mutator::rewire_input,
        &Mutator::add_input,        &Mutator::drop_input,       &Mutator::add_output,       &Mutator::duplicate_node,
        &Mutator::remove_node,      &Mutator::insert_node,      &Mutator::insert_node,      &Mutator::swap_nodes,
        &Mutator::reshape_weight,   &Mutator::reshape_weight,   &Mutator::change_dims,      &Mutator::change_numbers,
        &Mutator::change_numbers,   &Mutator::change_border,    &Mutator::change_type,      &Mutator::change_opset,
        &Mutator::change_outputs,   &Mutator::splice_node,      &Mutator::change_name};
    return (this->*kChanges[below(kChanges.size())])();
  }

 private:
  bool add_attribute() {
    NodeProto* node = any_node();
    if (node == nullptr) return false;
    const AttributeRow row = pick(kAttributes);
    AttributeProto& attribute = *node->add_attribute();
    attribute.set_name(std::string(row.name));
    fill_attribute(attribute, row.kind);
    return true;
  }

  bool drop_attribute() {
    NodeProto* node = any_node();
    if (node == nullptr || node->attribute_size() == 0) return false;
    node->mutable_attribute()->DeleteSubrange(static_cast<int>(below(static_cast<std::size_t>(node->attribute_size()))),
                                              1);
    return true;
  }

  bool change_attribute() {
    NodeProto* node = any_node();
    if (node == nullptr || node->attribute_size() == 0) return false;
    AttributeProto& attribute =
        *node->mutable_attribute(static_cast<int>(below(static_cast<std::size_t>(node->attribute_size()))));
    if (attribute.ints_size() > 0 && one_in(6)) {
      attribute.add_ints(number());
    } else if (attribute.ints_size() > 0) {
      attribute.set_ints(static_cast<int>(below(static_cast<std::size_t>(attribute.ints_size()))), number());
    } else if (attribute.has_i()) {
      attribute.set_i(number());
    } else if (attribute.has_f()) {
      attribute.set_f(real());
    } else if (attribute.has_s()) {
      attribute.set_s(word());
    } else if (attribute.has_t()) {
      return change_tensor(*attribute.mutable_t());
    } else {
      return false;
    }
    return true;
  }

  bool change_operator() {
    NodeProto* node = any_node();
    if (node == nullptr) return false;
    const engine::Op& op = pick(engine::all_ops());
    node->set_op_type(std::string(op.op_type));
    node->set_domain(std::string(op.domain));
    return true;
  }

  bool rewire_input() {
    NodeProto* node = any_node();
    if (node == nullptr || node->input_size() == 0) return false;
    node->set_input(static_cast<int>(below(static_cast<std::size_t>(node->input_size()))),
                    one_in(15) ? std::string() : any_value());
    return true;
  }

  bool add_input() {
    NodeProto* node = any_node();
    if (node == nullptr || node->input_size() > 8) return false;
    if (one_in(2)) {
      TensorProto& weight = *graph_.add_initializer();
      weight.set_name(new_name());
      const bool whole = one_in(2);
      fill_weight(weight, whole ? TensorProto::INT64 : TensorProto::FLOAT, {1 + static_cast<Dim>(below(4))});
      node->add_input(weight.name());
    } else {
      node->add_input(any_value());
    }
    return true;
  }

  bool drop_input() {
    NodeProto* node = any_node();
    if (node == nullptr || node->input_size() == 0) return false;
    node->mutable_input()->RemoveLast();
    return true;
  }

  bool add_output() {
    NodeProto* node = any_node();
    if (node == nullptr || node->output_size() > 6) return false;
    node->add_output(one_in(8) ? std::string() : new_name());
    return true;
  }

  // Readers of `name` read `other` from now on, or one of them does.
  void redirect(const std::string& name, const std::string& other, const NodeProto* spared, bool all) {
    for (NodeProto& node : *graph_.mutable_node()) {
      if (&node == spared) continue;
      for (std::string& input : *node.mutable_input()) {
        if (input != name) continue;
        input = other;
        if (!all) return;
      }
    }
    for (auto& output : *graph_.mutable_output()) {
      if (output.name() == name) output.set_name(other);
    }
  }

  // `node` is a new one whose first output takes the place of its first input with some reader.
  void weave(NodeProto node, const std::string& source) {
    for (std::string& output : *node.mutable_output()) output = new_name();
    if (node.output_size() == 0) node.add_output(new_name());
    node.set_name(new_name());
    const std::string made = node.output(0);
    NodeProto* added = graph_.add_node();
    *added = std::move(node);
    redirect(source, made, added, one_in(2));
  }

  bool duplicate_node() {
    const NodeProto* node = any_node();
    if (node == nullptr || node->input_size() == 0) return false;
    const NodeProto copy = *node;
    weave(copy, one_in(2) && copy.output_size() > 0 ? copy.output(0) : copy.input(0));
    return true;
  }

  bool remove_node() {
    if (graph_.node_size() == 0) return false;
    const int at = static_cast<int>(below(static_cast<std::size_t>(graph_.node_size())));
    const NodeProto node = graph_.node(at);
    graph_.mutable_node()->DeleteSubrange(at, 1);
    if (node.output_size() > 0 && node.input_size() > 0) redirect(node.output(0), node.input(0), nullptr, true);
    return true;
  }

  bool insert_node() {
    const engine::Op& op = pick(engine::all_ops());
    const std::string source = any_value();
    if (source.empty()) return false;
    NodeProto node;
    node.set_op_type(std::string(op.op_type));
    node.set_domain(std::string(op.domain));
    node.add_input(source);
    const int most = std::min(op.max_inputs, 4);
    while (node.input_size() < op.min_inputs || (node.input_size() < most && one_in(3))) node.add_input(any_value());
    node.add_output(new_name());
    weave(std::move(node), source);
    return true;
  }

  bool swap_nodes() {
    if (graph_.node_size() < 2) return false;
    const auto count = static_cast<std::size_t>(graph_.node_size());
    graph_.mutable_node()->SwapElements(static_cast<int>(below(count)), static_cast<int>(below(count)));
    return true;
  }

  bool splice_node() {
    if (donor_ == nullptr || donor_->graph().node_size() == 0) return false;
    const auto& from = donor_->graph();
    NodeProto node = from.node(static_cast<int>(below(static_cast<std::size_t>(from.node_size()))));
    const std::string source = any_value();
    for (int i = 0; i < node.input_size(); ++i) {
      const auto weight = std::ranges::find(from.initializer(), node.input(i), &TensorProto::name);
      if (weight == from.initializer().end()) {
        node.set_input(i, i == 0 || one_in(2) ? source : any_value());
        continue;
      }
      TensorProto& copy = *graph_.add_initializer();
      copy = *weight;
      copy.set_name(new_name());
      node.set_input(i, copy.name());
    }
    weave(std::move(node), source);
    return true;
  }

  // The tensor gets another shape and as many numbers as that asks for.
  bool change_tensor(TensorProto& tensor) {
    std::vector<Dim> dims(tensor.dims().begin(), tensor.dims().end());
    const std::size_t kind = below(4);
    if (kind == 0 && dims.size() < 6) {
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(below(dims.size() + 1)), small_dim());
    } else if (kind == 1 && !dims.empty()) {
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(below(dims.size())));
    } else if (!dims.empty()) {
      dims[below(dims.size())] = small_dim();
    }
    std::int64_t count = 1;
    for (const Dim dim : dims) count = dim < 0 || dim > 512 || count > 512 ? 4096 : count * dim;
    if (count > 512 || !has_numbers(tensor.data_type())) return false;
    fill_weight(tensor, tensor.data_type(), dims);
    return true;
  }

  bool reshape_weight() {
    TensorProto* weight = any_weight();
    return weight != nullptr && change_tensor(*weight);
  }

  // Dimensions that the numbers need not fit.
  bool change_dims() {
    TensorProto* weight = any_weight();
    if (weight == nullptr) return false;
    if (weight->dims_size() == 0 || one_in(4)) {
      weight->add_dims(one_in(2) ? 1 : number());
    } else {
      weight->set_dims(static_cast<int>(below(static_cast<std::size_t>(weight->dims_size()))), number());
    }
    return true;
  }

  bool change_numbers() {
    TensorProto* weight = any_weight();
    if (weight == nullptr) return false;
    if (weight->int64_data_size() > 0) {
      weight->set_int64_data(static_cast<int>(below(static_cast<std::size_t>(weight->int64_data_size()))), number());
    } else if (weight->float_data_size() > 0) {
      weight->set_float_data(static_cast<int>(below(static_cast<std::size_t>(weight->float_data_size()))), real());
    } else if (weight->data_type() == TensorProto::INT64 && weight->raw_data().size() >= 8) {
      const std::int64_t value = number();
      write_raw(*weight, value);
    } else if (weight->data_type() == TensorProto::FLOAT && weight->raw_data().size() >= 4) {
      write_raw(*weight, real());
    } else if (!weight->raw_data().empty()) {
      (*weight->mutable_raw_data())[below(weight->raw_data().size())] = static_cast<char>(random_());
    } else {
      return false;
    }
    return true;
  }

  template <typename T>
  void write_raw(TensorProto& weight, T value) {
    std::string& raw = *weight.mutable_raw_data();
    const std::size_t at = below(raw.size() / sizeof(T)) * sizeof(T);
    const auto bytes = std::bit_cast<std::array<char, sizeof(T)>>(value);
    raw.replace(at, sizeof(T), bytes.data(), sizeof(T));
  }

  bool change_border() {
    if (graph_.input_size() == 0) return false;
    auto& input = *graph_.mutable_input(static_cast<int>(below(static_cast<std::size_t>(graph_.input_size()))));
    auto& shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
    const std::size_t kind = below(8);
    if (kind == 0 || shape.dim_size() == 0) {
      shape.add_dim()->set_dim_value(small_dim());
    } else if (kind == 1) {
      shape.mutable_dim()->RemoveLast();
    } else {
      auto& dim = *shape.mutable_dim(static_cast<int>(below(static_cast<std::size_t>(shape.dim_size()))));
      if (kind == 2) {
        dim.set_dim_param("n");
      } else {
        dim.set_dim_value(kind == 3 ? number() : small_dim());
      }
    }
    return true;
  }

  bool change_type() {
    const int type = one_in(3) ? static_cast<int>(below(20)) : static_cast<int>(1 + below(10));
    if (one_in(2) && graph_.input_size() > 0) {
      auto& input = *graph_.mutable_input(static_cast<int>(below(static_cast<std::size_t>(graph_.input_size()))));
      input.mutable_type()->mutable_tensor_type()->set_elem_type(type);
      return true;
    }
    TensorProto* weight = any_weight();
    if (weight == nullptr) return false;
    const std::vector<Dim> dims(weight->dims().begin(), weight->dims().end());
    const bool small = std::ranges::all_of(dims, [](Dim dim) { return dim >= 0 && dim <= 64; }) && dims.size() <= 2;
    if (small && has_numbers(type)) {
      fill_weight(*weight, type, dims);
    } else {
      weight->set_data_type(type);
    }
    return true;
  }

  bool change_opset() {
    if (model_.opset_import_size() == 0) model_.add_opset_import();
    model_.mutable_opset_import(0)->set_version(static_cast<std::int64_t>(one_in(30) ? 0 : 1 + below(22)));
    return true;
  }

  bool change_name() {
    NodeProto* node = any_node();
    if (node == nullptr) return false;
    node->set_name(one_in(2) ? "two lines" : std::string(below(600), 'n'));
    if (one_in(4) && node->output_size() > 0) {
      const std::string old = node->output(0);
      node->set_output(0, "o " + new_name());
      redirect(old, node->output(0), nullptr, true);
    }
    return true;
  }

  bool change_outputs() {
    if (graph_.output_size() > 1 && one_in(2)) {
      graph_.mutable_output()->RemoveLast();
    } else {
      graph_.add_output()->set_name(any_value());
    }
    return true;
  }

  const ModelProto* donor_;
};

bool parse(std::span<const std::byte> bytes, ModelProto& model) {
  return !bytes.empty() && model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) && model.has_graph();
}

}  // namespace

std::string mutate_model(std::span<const std::byte> bytes, std::span<const std::byte> donor_bytes, std::uint32_t seed) {
  ModelProto model;
  if (!parse(bytes, model)) return {};
  ModelProto donor;
  const bool has_donor = parse(donor_bytes, donor);
  Mutator mutator(model, has_donor ? &donor : nullptr, seed);
  if (has_donor) mutator.splice();
  int changes = static_cast<int>(seed / 7 % 4) + 1;
  for (int tries = 0; tries < 40 && changes > 0; ++tries) {
    if (mutator.change()) --changes;
  }
  return model.SerializeAsString();
}

}  // namespace kinglet::fuzz
