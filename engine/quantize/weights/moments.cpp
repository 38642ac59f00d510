// SPDX-License-Identifier: Apache-2.0
#include "engine/quantize/weights/rounding.h"

#include <algorithm>
#include <set>

#include "engine/ops/families/window.h"
#include "engine/quantize/calibration/watch.h"

namespace kinglet::engine {
namespace {

constexpr std::size_t kMostWeights = 1152;  // 128 channels of 3x3
constexpr std::size_t kMostSamples = 32;
constexpr std::size_t kPlaces = 32;  // of a sample

// Sums over places of the numbers and of their products, for one group.
class Sums {
 public:
  explicit Sums(std::size_t size) : size_(size), sums_(size), products_(size * size) {}

  void add(const std::vector<float>& numbers) {
    ++count_;
    for (std::size_t i = 0; i < size_; ++i) {
      if (numbers[i] == 0) continue;
      sums_[i] += numbers[i];
      for (std::size_t j = 0; j <= i; ++j) products_[i * size_ + j] += numbers[i] * numbers[j];
    }
  }

  [[nodiscard]] std::vector<float> covariance() const {
    std::vector<float> out(size_ * size_);
    const auto count = static_cast<float>(std::max<std::size_t>(1, count_));
    for (std::size_t i = 0; i < size_; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        const float mean = products_[i * size_ + j] / count - sums_[i] / count * (sums_[j] / count);
        out[i * size_ + j] = out[j * size_ + i] = mean;
      }
    }
    return out;
  }

 private:
  std::size_t size_, count_ = 0;
  std::vector<float> sums_, products_;
};

// Where a layer's numbers lie in its input.
struct Reader {
  const Node* node;
  WeightView view;
  std::size_t groups = 1;
  std::vector<Sums> sums;
};

void add_rows(Reader& reader, const Tensor& input, std::size_t sample) {
  const auto numbers = input.data<float>();
  const std::size_t rows = numbers.size() / reader.view.inner;
  for (std::size_t k = 0; k < std::min(kPlaces, rows); ++k) {
    const std::size_t row = (k * rows / std::min(kPlaces, rows) + sample) % rows;
    const auto from = numbers.subspan(row * reader.view.inner, reader.view.inner);
    reader.sums[0].add({from.begin(), from.end()});
  }
}

// What the window at (y, x) of the result covers of one group's channels; 0 in the padding.
std::vector<float> patch(const Tensor& input, const ops::Window& window, std::size_t first, std::size_t channels, Dim y,
                         Dim x) {
  const Shape& shape = input.shape();
  const auto numbers = input.data<float>();
  std::vector<float> out;
  for (std::size_t c = first; c < first + channels; ++c) {
    for (Dim ky = 0; ky < window.kernel[0]; ++ky) {
      for (Dim kx = 0; kx < window.kernel[1]; ++kx) {
        const Dim row = y * window.strides[0] - window.pads_begin[0] + ky * window.dilations[0];
        const Dim column = x * window.strides[1] - window.pads_begin[1] + kx * window.dilations[1];
        const bool inside = row >= 0 && row < shape[2] && column >= 0 && column < shape[3];
        out.push_back(
            inside ? numbers[static_cast<std::size_t>((static_cast<Dim>(c) * shape[2] + row) * shape[3] + column)]
                   : 0.0F);
      }
    }
  }
  return out;
}

void add_windows(Reader& reader, const Graph& graph, const Tensor& input, std::size_t sample) {
  const Shape& weight = graph.constant(reader.node->inputs[1])->shape();
  const ops::Window window =
      ops::resolve_window(reader.node->attributes, std::span(weight).subspan(2), std::span(input.shape()).subspan(2));
  const Shape& result = *graph.value(reader.node->outputs[0]).shape;
  const auto places = static_cast<std::size_t>(result[2] * result[3]);
  const std::size_t taken = std::min(kPlaces, places);
  const auto channels = static_cast<std::size_t>(weight[1]);
  for (std::size_t k = 0; k < taken; ++k) {
    const auto place = static_cast<Dim>((k * places / taken + sample * 7) % places);
    for (std::size_t group = 0; group < reader.groups; ++group) {
      reader.sums[group].add(patch(input, window, group * channels, channels, place / result[3], place % result[3]));
    }
  }
}

std::map<NodeId, Reader> readers_of(const Graph& graph, const std::vector<NodeId>& layers) {
  std::map<NodeId, Reader> out;
  for (const NodeId id : layers) {
    const Node& node = graph.node(id);
    Reader reader{.node = &node, .view = *layer_of(graph, id), .sums = {}};
    if (reader.view.inner > kMostWeights || !graph.value(node.outputs[0]).shape) continue;
    if (node.op_type == "Conv") reader.groups = static_cast<std::size_t>(node.attributes.get_int("group", 1));
    reader.sums.assign(reader.groups, Sums(reader.view.inner));
    out.emplace(id, std::move(reader));
  }
  return out;
}

}  // namespace

Result<std::map<NodeId, Moments>> measure_moments(const Graph& graph, const std::vector<NodeId>& layers,
                                                  const Samples& samples, const Progress& progress) {
  std::map<NodeId, Reader> readers = readers_of(graph, layers);
  std::multimap<ValueId, Reader*> by_value;
  std::set<ValueId> values;
  for (auto& [id, reader] : readers) {
    by_value.emplace(reader.node->inputs[0], &reader);
    values.insert(reader.node->inputs[0]);
  }
  Watch watch = KINGLET_TRY(Watch::create(graph, values));
  const Samples some{.count = std::min(samples.count, kMostSamples), .input = samples.input};
  KINGLET_TRY(watch.each(some, progress, "moments",
                         [&](std::size_t sample, ValueId value, const Tensor& numbers) -> Result<void> {
                           const auto [first, last] = by_value.equal_range(value);
                           for (auto at = first; at != last; ++at) {
                             Reader& reader = *at->second;
                             if (reader.node->op_type == "Conv") {
                               add_windows(reader, graph, numbers, sample);
                             } else {
                               add_rows(reader, numbers, sample);
                             }
                           }
                           return {};
                         }));
  std::map<NodeId, Moments> out;
  for (const auto& [id, reader] : readers) {
    for (const Sums& sums : reader.sums) out[id].push_back(sums.covariance());
  }
  return out;
}

}  // namespace kinglet::engine
