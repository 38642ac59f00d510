// SPDX-License-Identifier: Apache-2.0
// Why: of a layer of single pixels and the depthwise one behind it XNNPACK is told band by band (bands.h). Bands write
// their rows into the whole result; the bits are the same.
#include <algorithm>

#include "engine/backend/bands.h"
#include "engine/backend/xnnpack/subgraph_builder.h"

namespace kinglet::engine::xnn {

// In how many bands this node and the next one run; 1: each by itself.
std::size_t SubgraphBuilder::bands_at(std::size_t node) const {
  if (node + 1 >= definitions_.size()) return 1;
  const std::optional<Layer>& pixels = definitions_[node].layer;
  const std::optional<Layer>& windows = definitions_[node + 1].layer;
  if (!pixels || !windows || pixels->depthwise || !windows->depthwise || windows->input != pixels->output) return 1;
  const Record& between = record(pixels->output);
  const bool fits = is_of_pixels(pixels->window) && !record(pixels->input).is_static && !between.external &&
                    between.reads == 1 && between.dims[0] == 1;
  return fits ? bands_of(between_of(*pixels, *windows)) : 1;
}

Between SubgraphBuilder::between_of(const Layer& pixels, const Layer& windows) const {
  const Record& between = record(pixels.output);
  return {.bytes = bytes_of(between),
          .rows = between.dims[1],
          .weight_bytes = record(pixels.filter).numbers.byte_count(),
          .window = windows.window,
          .outputs = dims(windows.output)[1]};
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
  const Between whole = between_of(pixels, windows);
  std::size_t& layers = records_[pixels.filter.index].layers;
  layers -= std::min<std::size_t>(layers, 1);  // each band is one
  records_[windows.output.index].clips_itself = false;
  for (std::size_t index = 0; index < bands; ++index) {
    const Band band = band_of(whole, index, bands);
    node_ = of_pixels;
    const Operand input = KINGLET_TRY(rows_of(pixels.input, band.begin, band.rows, true));
    Dims between = dims(pixels.output);
    between[1] = band.rows;
    const Operand made = KINGLET_TRY(temporary_like(pixels.output, between));
    KINGLET_TRY(convolution(pixels.window, pixels.count, pixels.range, input, pixels.filter, pixels.bias, made));
    node_ = of_windows;
    const Operand output = KINGLET_TRY(rows_of(windows.output, band.first, band.outputs, false));
    KINGLET_TRY(
        depthwise_convolution(band.window, windows.count, windows.range, made, windows.filter, windows.bias, output));
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
