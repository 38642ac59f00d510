// SPDX-License-Identifier: Apache-2.0
#include "engine/edit/diff.h"

#include <onnx/onnx.pb.h>

#include <algorithm>
#include <unordered_map>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/edit/proto_text.h"
#include "engine/onnx/import.h"

namespace kinglet::engine {
namespace {

using ::onnx::AttributeProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

template <typename T>
using ByName = std::unordered_map<std::string, const T*>;

void count_tensor(const Document& document, const TensorProto& tensor, FileSummary& out) {
  out.parameters += edit::count_of(tensor);
  const std::uint64_t typed = 4 * static_cast<std::uint64_t>(tensor.float_data_size() + tensor.int32_data_size()) +
                              8 * static_cast<std::uint64_t>(tensor.int64_data_size() + tensor.double_data_size());
  out.weight_bytes += document.byte_count(tensor) + typed;
}

FileSummary summarise(const Document& document) {
  FileSummary out;
  const auto& graph = document.model().graph();
  out.nodes = static_cast<std::size_t>(graph.node_size());
  for (const NodeProto& node : graph.node()) {
    ++out.operators[edit::operator_of(node)];
    if (node.op_type() != "Constant") continue;
    for (const AttributeProto& attribute : node.attribute()) {
      if (attribute.has_t()) count_tensor(document, attribute.t(), out);
    }
  }
  for (const TensorProto& tensor : graph.initializer()) count_tensor(document, tensor, out);
  for (const auto& entry : document.model().opset_import()) {
    if (onnx_format::canonical_domain(entry.domain()).empty()) out.opset = entry.version();
  }
  return out;
}

// The k-th node of the same name and operator is matched with the k-th.
class NodeKeys {
 public:
  std::string operator()(const NodeProto& node) {
    const std::string key = edit::name_of(node) + '\0' + edit::operator_of(node);
    return format_text("{}{}{}", key, '\0', seen_[key]++);
  }

 private:
  std::unordered_map<std::string, int> seen_;
};

void add(std::string& what, const std::string& text) { what += (what.empty() ? "" : "; ") + text; }

// The same numbers of the same type and shape, however they are stored.
Result<bool> same_tensor(const Document& before, const TensorProto& a, const Document& after, const TensorProto& b) {
  if (!std::ranges::equal(a.dims(), b.dims()) || a.data_type() != b.data_type()) return false;
  if (a.has_raw_data() && b.has_raw_data()) {
    if (before.byte_count(a) != after.byte_count(b)) return false;
    return KINGLET_TRY(before.bytes_of(a)) == KINGLET_TRY(after.bytes_of(b));
  }
  const Tensor first = KINGLET_TRY(before.tensor(a));
  const Tensor second = KINGLET_TRY(after.tensor(b));
  return first.bit_equal(second);
}

Result<bool> same_attribute(const Document& before, const AttributeProto& a, const Document& after,
                            const AttributeProto& b) {
  if (a.has_t() && b.has_t()) return same_tensor(before, a.t(), after, b.t());
  return a.SerializeAsString() == b.SerializeAsString();
}

template <typename List>
void compare_names(std::string_view kind, const List& a, const List& b, std::string& what) {
  for (int i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::string from = i < a.size() ? a.Get(i) : "";
    const std::string to = i < b.size() ? b.Get(i) : "";
    if (from != to) add(what, format_text("{} {}: \"{}\" -> \"{}\"", kind, i, printable(from, 60), printable(to, 60)));
  }
}

Result<std::string> node_changes(const Document& before, const NodeProto& a, const Document& after,
                                 const NodeProto& b) {
  std::string what;
  compare_names("input", a.input(), b.input(), what);
  compare_names("output", a.output(), b.output(), what);
  ByName<AttributeProto> later;
  for (const AttributeProto& attribute : b.attribute()) later.emplace(attribute.name(), &attribute);
  for (const AttributeProto& attribute : a.attribute()) {
    const std::string label = "attribute " + printable(attribute.name(), 60);
    const auto found = later.find(attribute.name());
    if (found == later.end()) {
      add(what, label + " removed");
      continue;
    }
    if (!KINGLET_TRY(same_attribute(before, attribute, after, *found->second))) {
      add(what, format_text("{}: {} -> {}", label, edit::value_text(attribute), edit::value_text(*found->second)));
    }
    later.erase(found);
  }
  for (const AttributeProto& attribute : b.attribute()) {
    if (later.contains(attribute.name())) {
      add(what, format_text("attribute {} added: {}", printable(attribute.name(), 60), edit::value_text(attribute)));
    }
  }
  return what;
}

Result<void> diff_nodes(const Document& before, const Document& after, ModelDiff& out) {
  std::unordered_map<std::string, const NodeProto*> later;
  NodeKeys after_keys;
  std::vector<std::string> order;
  for (const NodeProto& node : after.model().graph().node()) later.emplace(order.emplace_back(after_keys(node)), &node);
  NodeKeys before_keys;
  for (const NodeProto& node : before.model().graph().node()) {
    const auto found = later.find(before_keys(node));
    if (found == later.end()) {
      out.gone.push_back({edit::name_of(node), edit::operator_of(node)});
      continue;
    }
    std::string what = KINGLET_TRY(node_changes(before, node, after, *found->second));
    if (!what.empty()) out.nodes.push_back({edit::name_of(node), edit::operator_of(node), std::move(what)});
    later.erase(found);
  }
  for (const std::string& key : order) {
    const auto found = later.find(key);
    if (found != later.end()) out.came.push_back({edit::name_of(*found->second), edit::operator_of(*found->second)});
  }
  return {};
}

Result<void> diff_weights(const Document& before, const Document& after, ModelDiff& out) {
  ByName<TensorProto> later;
  for (const TensorProto& tensor : after.model().graph().initializer()) later.emplace(tensor.name(), &tensor);
  for (const TensorProto& tensor : before.model().graph().initializer()) {
    const auto found = later.find(tensor.name());
    if (found == later.end()) {
      out.weights_gone.push_back(tensor.name());
      continue;
    }
    const std::string from = edit::type_text(tensor);
    const std::string to = edit::type_text(*found->second);
    if (from != to) {
      out.weights.push_back({tensor.name(), {}, format_text("{} -> {}", from, to)});
    } else if (!KINGLET_TRY(same_tensor(before, tensor, after, *found->second))) {
      out.weights.push_back({tensor.name(), {}, "other numbers"});
    }
    later.erase(found);
  }
  for (const TensorProto& tensor : after.model().graph().initializer()) {
    if (later.contains(tensor.name())) out.weights_came.push_back(tensor.name());
  }
  return {};
}

// Rows of both lists by name: gone, come and with another text.
template <typename List, typename Name, typename Text>
std::vector<Changed> diff_rows(const List& a, const List& b, Name name, Text text) {
  std::vector<Changed> out;
  std::unordered_map<std::string, std::string> later;
  for (const auto& row : b) later.emplace(name(row), text(row));
  for (const auto& row : a) {
    const auto found = later.find(name(row));
    if (found == later.end()) {
      out.push_back({name(row), {}, "removed"});
      continue;
    }
    if (found->second != text(row)) out.push_back({name(row), {}, format_text("{} -> {}", text(row), found->second)});
    later.erase(found);
  }
  for (const auto& row : b) {
    if (later.contains(name(row))) out.push_back({name(row), {}, "added: " + text(row)});
  }
  return out;
}

}  // namespace

bool ModelDiff::same() const {
  return gone.empty() && came.empty() && nodes.empty() && weights_gone.empty() && weights_came.empty() &&
         weights.empty() && inputs.empty() && outputs.empty() && metadata.empty() && before.opset == after.opset;
}

Result<ModelDiff> diff_documents(const Document& before, const Document& after) {
  ModelDiff out{.before = summarise(before), .after = summarise(after)};
  KINGLET_TRY(diff_nodes(before, after, out));
  KINGLET_TRY(diff_weights(before, after, out));
  const auto name = [](const ::onnx::ValueInfoProto& value) { return value.name(); };
  const auto type = [](const ::onnx::ValueInfoProto& value) { return edit::type_text(value); };
  out.inputs = diff_rows(before.model().graph().input(), after.model().graph().input(), name, type);
  out.outputs = diff_rows(before.model().graph().output(), after.model().graph().output(), name, type);
  out.metadata = diff_rows(
      before.model().metadata_props(), after.model().metadata_props(), [](const auto& row) { return row.key(); },
      [](const auto& row) { return format_text("\"{}\"", printable(row.value(), 80)); });
  return out;
}

}  // namespace kinglet::engine
