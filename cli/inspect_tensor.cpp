// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet inspect --tensor NAME`: one value of the graph, and the numbers of a weight.
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "cli/inspect.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/graph/float16.h"

namespace kinglet::cli {
namespace {

using engine::Graph;
using engine::Tensor;
using Json = nlohmann::ordered_json;

struct Statistics {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  double mean = 0, deviation = 0;  // of the finite ones
  std::int64_t zeros = 0, not_finite = 0;
};

Statistics statistics_of(const Tensor& tensor) {
  Statistics out;
  double sum = 0;
  double squares = 0;
  std::int64_t count = 0;
  // As doubles: i64 beyond 2^53 is rounded, which statistics may be.
  for_each_number(tensor, [&](auto element) {
    const auto number = static_cast<double>(element);
    if (!std::isfinite(number)) {
      ++out.not_finite;
      return;
    }
    out.least = std::min(out.least, number);
    out.most = std::max(out.most, number);
    out.zeros += number == 0 ? 1 : 0;
    sum += number;
    ++count;
  });
  if (count == 0) return {.least = 0, .most = 0, .not_finite = out.not_finite};
  out.mean = sum / static_cast<double>(count);
  for_each_number(tensor, [&](auto element) {
    const auto number = static_cast<double>(element);
    if (std::isfinite(number)) squares += (number - out.mean) * (number - out.mean);
  });
  out.deviation = std::sqrt(squares / static_cast<double>(count));
  return out;
}

std::vector<std::string> first_numbers(const Tensor& tensor, std::size_t most) {
  std::vector<std::string> out;
  with_element(tensor.type(), [&]<typename T>() {
    const std::span<const T> numbers = tensor.data<T>();
    for (const T value : numbers.first(std::min(most, numbers.size()))) {
      out.push_back(format_text("{}", +engine::widened(value)));
    }
  });
  return out;
}

std::string node_text(const Graph& graph, engine::NodeId id) {
  return format_text("{} ({})", printable(graph.node(id).name, 60), graph.node(id).op_type);
}

std::vector<std::string> readers_of(const Graph& graph, engine::ValueId id) {
  std::vector<std::string> out;
  for (const engine::NodeId reader : graph.consumers(id)) out.push_back(node_text(graph, reader));
  return out;
}

std::string source_of(const Graph& graph, engine::ValueId id) {
  const engine::Value& value = graph.value(id);
  if (value.constant) return "constant";
  return value.producer == engine::kNoNode ? "graph input" : "made by " + node_text(graph, value.producer);
}

// A JSON number where there is one, else its text ("nan", "inf").
Json number_json(const std::string& text) {
  Json number = Json::parse(text, nullptr, false);
  return number.is_number() ? number : Json(text);
}

Json to_json(const Graph& graph, engine::ValueId id, std::size_t most_values) {
  const engine::Value& value = graph.value(id);
  Json out{{"name", value.name},
           {"type", to_string(value.type)},
           {"shape", value.shape ? Json(*value.shape) : Json(nullptr)},
           {"source", source_of(graph, id)},
           {"readers", readers_of(graph, id)},
           {"graph_output", graph.is_output(id)}};
  if (!value.constant) return out;
  const Statistics statistics = statistics_of(*value.constant);
  out["elements"] = value.constant->element_count();
  out["bytes"] = value.constant->byte_count();
  out["statistics"] = {{"min", statistics.least},   {"max", statistics.most},
                       {"mean", statistics.mean},   {"std", statistics.deviation},
                       {"zeros", statistics.zeros}, {"not_finite", statistics.not_finite}};
  out["values"] = Json::array();
  for (const std::string& number : first_numbers(*value.constant, most_values))
    out["values"].push_back(number_json(number));
  return out;
}

void print_text(const Graph& graph, engine::ValueId id, std::size_t most_values, Output& out) {
  const engine::Value& value = graph.value(id);
  const auto line = [&](std::string_view name, std::string_view text) {
    out.print(format_text("{:<11} {}\n", name, text));
  };
  line("tensor", printable(value.name));
  line("type", format_text("{} {}", to_string(value.type), value.shape ? engine::to_string(*value.shape) : "[?]"));
  line("source", source_of(graph, id));
  for (const std::string& reader : readers_of(graph, id)) line("read by", reader);
  if (graph.is_output(id)) line("graph", "output");
  if (!value.constant) return;
  const Tensor& tensor = *value.constant;
  const Statistics statistics = statistics_of(tensor);
  line("size", format_text("{} numbers, {}", grouped(tensor.element_count()), human_bytes(tensor.byte_count())));
  line("range", format_text("{:.6g} to {:.6g}", statistics.least, statistics.most));
  line("mean", format_text("{:.6g}, standard deviation {:.6g}", statistics.mean, statistics.deviation));
  line("zeros", grouped(statistics.zeros));
  line("not finite", grouped(statistics.not_finite));
  std::string numbers;
  for (const std::string& number : first_numbers(tensor, most_values)) numbers += (numbers.empty() ? "" : " ") + number;
  if (static_cast<std::size_t>(tensor.element_count()) > most_values) numbers += " ...";
  line("values", numbers);
}

}  // namespace

Result<void> print_tensor(const Graph& graph, const std::string& name, std::size_t most_values, Output& out) {
  const std::optional<engine::ValueId> id = graph.find_value(name);
  if (!id) {
    std::vector<std::string_view> names;
    for (const engine::ValueId value : graph.values()) names.push_back(graph.value(value).name);
    const std::string_view nearest = nearest_name(name, names);
    return fail(ErrorCode::kBadData, format_text("the model has no tensor \"{}\"", printable(name)), {},
                nearest.empty() ? "`kinglet inspect MODEL --html graph.html` shows all names"
                                : format_text("did you mean \"{}\"?", printable(nearest)));
  }
  if (out.json()) {
    out.print_json(to_json(graph, *id, most_values));
  } else {
    print_text(graph, *id, most_values, out);
  }
  return {};
}

}  // namespace kinglet::cli
