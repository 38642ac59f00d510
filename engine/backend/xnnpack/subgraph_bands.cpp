// SPDX-License-Identifier: Apache-2.0
// Why: the largest value of a MobileNet lies between a layer of single pixels that makes more channels and the
// depthwise layer that reads it. Both run in bands of rows: of that value there is a band at a time, which a core's
// cache holds. Bands write their rows into the whole result; the bits are the same.
#include <algorithm>

#include "engine/backend/xnnpack/subgraph_builder.h"

namespace kinglet::engine::xnn {
namespace {

constexpr std::size_t kLeastBytes = std::size_t{2} << 20;  // of a value that is worth it
constexpr std::size_t kBandBytes = std::size_t{1} << 20;
// One of so many rows, at most, is computed for two bands; one byte of weights for so many of the value is packed for
// all bands together.
constexpr std::size_t kMostRowsTwice = 8;
constexpr std::size_t kMostWeights = 16;

std::size_t reach_of(const Window& window) {
  return std::size_t{window.kernel_height - 1} * window.dilation_height + 1;
}

bool is_of_pixels(const Window& w) {
  return w.kernel_height == 1 && w.kernel_width == 1 && w.stride_height == 1 && w.stride_width == 1 &&
         w.pad_top + w.pad_left + w.pad_bottom + w.pad_right == 0;
}

}  // namespace

// In how many bands this node and the next one run; 1: each by itself.
std::size_t SubgraphBuilder::bands_at(std::size_t node) const {
  if (node + 1 >= definitions_.size()) return 1;
  const std::optional<Layer>& pixels = definitions_[node].layer;
  const std::optional<Layer>& windows = definitions_[node + 1].layer;
  if (!pixels || !windows || pixels->depthwise || !windows->depthwise || windows->input != pixels->output) return 1;
  const Record& between = record(pixels->output);
  const Window& window = windows->window;
  const std::size_t reach = reach_of(window);
  const bool fits = is_of_pixels(pixels->window) && !record(pixels->input).is_static && !between.external &&
                    between.reads == 1 && between.dims[0] == 1 && window.pad_top < reach && window.pad_bottom < reach;
  const std::size_t bytes = bytes_of(between);
  if (!fits || bytes < kLeastBytes) return 1;
  const std::size_t twice = reach - std::min<std::size_t>(reach, window.stride_height);
  std::size_t bands = std::min(bytes / kBandBytes, dims(windows->output)[1]);
  if (twice > 0) bands = std::min(bands, 1 + between.dims[1] / (kMostRowsTwice * twice));
  const std::size_t weights = record(pixels->filter).numbers.byte_count();
  return weights * bands * kMostWeights <= bytes ? bands : 1;
}

Result<void> SubgraphBuilder::cut_into_bands() {
  std::vector<std::size_t> bands(definitions_.size());
  for (std::size_t i = 0; i < bands.size(); ++i) bands[i] = bands_at(i);
  if (std::ranges::all_of(bands, [](std::size_t count) { return count == 1; })) return {};
  const std::vector<DefinedNode> nodes = std::exchange(nodes_, {});
  const std::vector<Definition> definitions = std::exchange(definitions_, {});
  for (Record& record : records_) {
    record.made = record.made && !record.writer;
    record.writer.reset();
    record.reads = record.first = record.last = 0;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    node_ = nodes[i].node;
    const Definition& definition = definitions[i];
    if (bands[i] > 1) {
      KINGLET_TRY(define_in_bands(*definition.layer, *definitions[i + 1].layer, nodes[i + 1].node, bands[i]));
      ++i;
    } else {
      KINGLET_TRY(define(definition.kind, definition.inputs, definition.output, definition.call));
    }
  }
  node_ = kNoNode;
  return {};
}

Result<void> SubgraphBuilder::define_in_bands(const Layer& pixels, const Layer& windows, NodeId of_windows,
                                              std::size_t bands) {
  const NodeId of_pixels = node_;
  const std::size_t all = dims(pixels.output)[1];
  const std::size_t outputs = dims(windows.output)[1];
  const Window& whole = windows.window;
  std::size_t& layers = records_[pixels.filter.index].layers;
  layers -= std::min<std::size_t>(layers, 1);  // each band is one
  records_[windows.output.index].clips_itself = false;
  for (std::size_t band = 0; band < bands; ++band) {
    const std::size_t first = band * outputs / bands;
    const std::size_t end = (band + 1) * outputs / bands;
    // Rows of the value between, counted from the first one of the padding.
    const std::size_t from = first * whole.stride_height;
    const std::size_t to = (end - 1) * whole.stride_height + reach_of(whole);
    Window window = whole;
    window.pad_top = static_cast<std::uint32_t>(whole.pad_top - std::min<std::size_t>(from, whole.pad_top));
    window.pad_bottom = static_cast<std::uint32_t>(std::max(to, all + whole.pad_top) - all - whole.pad_top);
    const std::size_t begin = std::max<std::size_t>(from, whole.pad_top) - whole.pad_top;
    const std::size_t rows = std::min(to - whole.pad_top, all) - begin;
    node_ = of_pixels;
    const Operand input = KINGLET_TRY(rows_of(pixels.input, begin, rows, true));
    Dims between = dims(pixels.output);
    between[1] = rows;
    const Operand made = KINGLET_TRY(temporary_like(pixels.output, between));
    KINGLET_TRY(convolution(pixels.window, pixels.count, pixels.range, input, pixels.filter, pixels.bias, made));
    node_ = of_windows;
    const Operand output = KINGLET_TRY(rows_of(windows.output, first, end - first, false));
    KINGLET_TRY(
        depthwise_convolution(window, windows.count, windows.range, made, windows.filter, windows.bias, output));
  }
  return {};
}

Result<Operand> SubgraphBuilder::rows_of(Operand whole, std::size_t first, std::size_t count, bool is_read) {
  Dims dims = this->dims(whole);
  const std::size_t row = bytes_of(record(whole)) / dims[1];
  dims[1] = count;
  const Operand part = KINGLET_TRY(temporary_like(whole, dims));
  Record& made = records_[part.index];
  made.whole = whole;
  made.offset = first * row;
  made.made = is_read;
  return part;
}

}  // namespace kinglet::engine::xnn
