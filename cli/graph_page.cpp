// SPDX-License-Identifier: Apache-2.0
// Layers are longest paths from the inputs; within a layer nodes stand near the mean of what they read. Every name of
// the file is hostile: it is escaped for HTML, or for JSON within HTML.
#include "cli/graph_page.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/graph_page_parts.h"
#include "cli/html.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/graph/text.h"

namespace kinglet::cli {
namespace {

using engine::Graph;
using engine::kNoValue;
using engine::NodeId;
using engine::ValueId;
using Json = nlohmann::ordered_json;

constexpr double kLayerHeight = 70;
constexpr double kBoxHeight = 34;
constexpr double kGap = 18;
constexpr double kCharacter = 6.6;
constexpr std::size_t kMostLabel = 28;

enum class BoxKind : std::uint8_t { kInput, kNode, kOutput };

struct Box {
  BoxKind kind = BoxKind::kNode;
  NodeId node = engine::kNoNode;
  ValueId value = kNoValue;  // of inputs and outputs
  std::string label, detail;
  std::size_t layer = 0;
  double x = 0, width = 0;  // x of the middle
};

struct Edge {
  std::size_t from = 0, to = 0;
  ValueId value = kNoValue;
};

std::string type_of(const Graph& graph, ValueId id) {
  const engine::Value& value = graph.value(id);
  return std::string(to_string(value.type)) + (value.shape ? engine::to_string(*value.shape) : "[?]");
}

class Drawing {
 public:
  explicit Drawing(const Graph& graph) : graph_(graph) {
    add_boxes();
    add_edges();
    assign_layers();
    place();
  }

  std::string svg(const PageFacts& facts) const {
    std::string out = format_text(
        "<svg id=\"drawing\" viewBox=\"{:.0f} -20 {:.0f} {:.0f}\" data-width=\"{:.0f}\" "
        "data-height=\"{:.0f}\">\n<g class=\"edges\">\n",
        left_ - 20, right_ - left_ + 40, height() + 40, right_ - left_ + 40, height() + 40);
    for (const Edge& edge : edges_) out += path(edge);
    out += "</g>\n<g class=\"nodes\">\n";
    for (std::size_t i = 0; i < boxes_.size(); ++i) out += box_svg(i, facts);
    return out + "</g>\n</svg>\n";
  }

  [[nodiscard]] std::string details(const PageFacts& facts) const {
    Json rows = Json::array();
    for (const Box& box : boxes_) rows.push_back(describe(box, facts));
    // "</script>" in a name must not end the script: '<' never stands in it.
    std::string text = rows.dump(-1, ' ', true, Json::error_handler_t::replace);
    std::string out;
    for (const char c : text) out += c == '<' ? std::string("\\u003c") : std::string(1, c);
    return out;
  }

 private:
  [[nodiscard]] double height() const { return static_cast<double>(layers_.size()) * kLayerHeight; }

  void add_box(Box box) {
    box.label = printable(box.label, kMostLabel);
    box.detail = printable(box.detail, kMostLabel);
    const std::size_t longest = std::max(box.label.size(), box.detail.size());
    box.width = std::max(64.0, static_cast<double>(longest) * kCharacter + 16);
    boxes_.push_back(std::move(box));
  }

  void add_boxes() {
    for (const engine::GraphInput& input : graph_.inputs()) {
      maker_[std::to_underlying(input.value)] = boxes_.size();
      add_box({.kind = BoxKind::kInput,
               .value = input.value,
               .label = graph_.value(input.value).name,
               .detail = type_of(graph_, input.value)});
    }
    for (const NodeId id : graph_.nodes()) {
      const engine::Node& node = graph_.node(id);
      const auto output = std::ranges::find_if(node.outputs, [](ValueId value) { return value != kNoValue; });
      for (const ValueId value : node.outputs) {
        if (value != kNoValue) maker_[std::to_underlying(value)] = boxes_.size();
      }
      add_box(
          {.node = id, .label = node.op_type, .detail = output == node.outputs.end() ? "" : type_of(graph_, *output)});
    }
    for (const ValueId id : graph_.outputs()) {
      add_box({.kind = BoxKind::kOutput, .value = id, .label = graph_.value(id).name, .detail = type_of(graph_, id)});
    }
  }

  void add_edge(ValueId value, std::size_t to) {
    const auto from = maker_.find(std::to_underlying(value));
    if (from != maker_.end()) edges_.push_back({.from = from->second, .to = to, .value = value});
  }

  void add_edges() {
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      first_edge_.push_back(edges_.size());
      if (boxes_[i].kind == BoxKind::kOutput) add_edge(boxes_[i].value, i);
      if (boxes_[i].kind != BoxKind::kNode) continue;
      for (const ValueId value : graph_.node(boxes_[i].node).inputs) {
        if (value != kNoValue) add_edge(value, i);
      }
    }
    first_edge_.push_back(edges_.size());
  }

  [[nodiscard]] std::span<const Edge> edges_into(std::size_t box) const {
    return std::span(edges_).subspan(first_edge_[box], first_edge_[box + 1] - first_edge_[box]);
  }

  // Boxes stand in the order of the graph, so what a box reads comes before it.
  void assign_layers() {
    std::size_t last = 0;
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      for (const Edge& edge : edges_into(i)) boxes_[i].layer = std::max(boxes_[i].layer, boxes_[edge.from].layer + 1);
      last = std::max(last, boxes_[i].layer);
    }
    // A node that reads constants alone stands just above its first reader.
    std::vector<std::size_t> reader(boxes_.size(), last);
    for (const Edge& edge : edges_) reader[edge.from] = std::min(reader[edge.from], boxes_[edge.to].layer);
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      if (boxes_[i].kind == BoxKind::kNode && edges_into(i).empty() && reader[i] > 0) boxes_[i].layer = reader[i] - 1;
      if (boxes_[i].kind == BoxKind::kOutput) boxes_[i].layer = last;
    }
    layers_.resize(last + 1);
    for (std::size_t i = 0; i < boxes_.size(); ++i) layers_[boxes_[i].layer].push_back(i);
  }

  void place() {
    for (std::vector<std::size_t>& layer : layers_) {
      std::vector<double> wanted;
      wanted.reserve(layer.size());
      for (const std::size_t box : layer) {
        double sum = 0;
        for (const Edge& edge : edges_into(box)) sum += boxes_[edge.from].x;
        const auto count = static_cast<double>(edges_into(box).size());
        boxes_[box].x = count > 0 ? sum / count : 0;
      }
      std::ranges::stable_sort(layer, {}, [&](std::size_t box) { return boxes_[box].x; });
      for (const std::size_t box : layer) wanted.push_back(boxes_[box].x);
      double edge = -1e18;
      double shift = 0;
      for (std::size_t i = 0; i < layer.size(); ++i) {
        Box& box = boxes_[layer[i]];
        box.x = std::max(box.x, edge + kGap + box.width / 2);
        edge = box.x + box.width / 2;
        shift += wanted[i] - box.x;
      }
      shift /= static_cast<double>(std::max<std::size_t>(1, layer.size()));
      for (const std::size_t index : layer) {
        Box& box = boxes_[index];
        box.x += shift;
        left_ = std::min(left_, box.x - box.width / 2);
        right_ = std::max(right_, box.x + box.width / 2);
      }
    }
    right_ += kDetour;
  }

  [[nodiscard]] std::string path(const Edge& edge) const {
    const Box& from = boxes_[edge.from];
    const Box& to = boxes_[edge.to];
    const double y1 = static_cast<double>(from.layer) * kLayerHeight + kBoxHeight;
    const double y2 = static_cast<double>(to.layer) * kLayerHeight;
    // An edge over more than one layer swings out, so that it does not run under the boxes between.
    const bool is_long = to.layer > from.layer + 1;
    const double out = is_long ? std::max(from.x + from.width / 2, to.x + to.width / 2) + kDetour : 0;
    const double bend = is_long ? kLayerHeight : (y2 - y1) / 2;
    return format_text(
        "<path d=\"M{:.0f} {:.0f}C{:.0f} {:.0f} {:.0f} {:.0f} {:.0f} {:.0f}\"><title>{} {}</title></path>\n", from.x,
        y1, is_long ? out : from.x, y1 + bend, is_long ? out : to.x, y2 - bend, to.x, y2,
        html(graph_.value(edge.value).name), type_of(graph_, edge.value));
  }

  [[nodiscard]] std::string where(const Box& box, const PageFacts& facts) const {
    const auto found = facts.runs.find(graph_.node(box.node).name);
    return found == facts.runs.end() ? facts.runs_elsewhere : found->second;
  }

  [[nodiscard]] std::string box_svg(std::size_t index, const PageFacts& facts) const {
    const Box& box = boxes_[index];
    const double y = static_cast<double>(box.layer) * kLayerHeight;
    std::string style = "border";
    std::string hover = box.label;
    std::string search = graph_.contains(box.value) && box.value != kNoValue ? graph_.value(box.value).name : "";
    if (box.kind == BoxKind::kNode) {
      const std::string runs = where(box, facts);
      style = runs.starts_with("xnnpack") || runs.starts_with("kinglet") ? "fast"
              : runs.starts_with("evaluate")                             ? "slow"
                                                                         : "gone";
      search = graph_.node(box.node).name + " " + box.label;
      hover = format_text("{} ({}); {}; {}", graph_.node(box.node).name, box.label, box.detail, runs);
    }
    return format_text(
        "<g class=\"{}\" data-i=\"{}\" data-s=\"{}\"><title>{}</title><rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" "
        "height=\"{:.0f}\" rx=\"5\"/><text x=\"{:.0f}\" y=\"{:.0f}\">{}</text><text class=\"small\" x=\"{:.0f}\" "
        "y=\"{:.0f}\">{}</text></g>\n",
        style, index, html(search), html(hover), box.x - box.width / 2, y, box.width, kBoxHeight, box.x, y + 14,
        html(box.label), box.x, y + 27, html(box.detail));
  }

  [[nodiscard]] Json value_row(ValueId id) const {
    if (id == kNoValue) return "(absent)";
    const engine::Value& value = graph_.value(id);
    return format_text("{}: {}{}", printable(value.name, 200), type_of(graph_, id), value.constant ? ", constant" : "");
  }

  [[nodiscard]] Json describe(const Box& box, const PageFacts& facts) const {
    if (box.kind != BoxKind::kNode) {
      return {{"name", printable(graph_.value(box.value).name, 400)},
              {"operator", box.kind == BoxKind::kInput ? "input" : "output"},
              {"outputs", Json::array({value_row(box.value)})}};
    }
    const engine::Node& node = graph_.node(box.node);
    Json row{{"name", printable(node.name, 400)}, {"operator", node.op_type}, {"runs", where(box, facts)}};
    for (const ValueId id : node.inputs) row["inputs"].push_back(value_row(id));
    for (const ValueId id : node.outputs) row["outputs"].push_back(value_row(id));
    for (const auto& [name, value] : node.attributes) {
      row["attributes"].push_back(format_text("{} = {}", printable(name, 60), printable(engine::to_text(value), 400)));
    }
    return row;
  }

  static constexpr double kDetour = 60;

  const Graph& graph_;
  std::vector<Box> boxes_;
  std::vector<Edge> edges_;  // in the order of the boxes they lead to
  std::vector<std::size_t> first_edge_;
  std::unordered_map<std::uint32_t, std::size_t> maker_;  // value -> box
  std::vector<std::vector<std::size_t>> layers_;
  double left_ = 0, right_ = 0;
};

}  // namespace

std::string graph_page(const Graph& graph, const PageFacts& facts) {
  const Drawing drawing(graph);
  std::string out = format_text(kPageHead, html(facts.title), kPageStyle, html(facts.title));
  for (const auto& [name, value] : facts.lines) {
    out += format_text("<dt>{}</dt><dd>{}</dd>\n", html(name), html(value));
  }
  out += kPageMiddle;
  out += drawing.svg(facts);
  out += "</main>\n<script type=\"application/json\" id=\"details\">" + drawing.details(facts) + "</script>\n<script>";
  out += kPageScript;
  return out + "</script>\n</body>\n</html>\n";
}

}  // namespace kinglet::cli
