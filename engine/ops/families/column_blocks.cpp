// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/families/column_blocks.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "engine/graph/fused_clip.h"

namespace kinglet::engine::ops {
namespace {

// Half of the second cache of a Cortex-A76; a Cortex-A72 has as much for each core.
constexpr std::size_t kBlockBytes = std::size_t{512} << 10;
constexpr std::size_t kJoined = 5;  // what one node of XNNPACK joins
constexpr std::size_t kMostBlocks = kJoined * kJoined;
constexpr std::size_t kMostCopies = kJoined;
constexpr std::size_t kLeastRows = 16;  // kernels take up to 16 at a time
constexpr std::size_t kAligned = 16;    // and as many columns
// Few enough that the pool walks along them first (engine/threads/forms.h), column by column, and so many of those that
// each thread has as much to do; 49 rows in sevens are four and three for two of them. Measured where each core has a
// second cache of its own.
constexpr std::size_t kMostSharedRows = 64;
#if defined(__x86_64__)
constexpr bool kOwnCaches = true;
#else
constexpr bool kOwnCaches = false;
#endif

std::size_t product_of(const Dims& dims, std::size_t begin, std::size_t end) {
  std::size_t product = 1;
  for (std::size_t i = begin; i < end; ++i) product *= dims[i];
  return product;
}

// Parts that are too many for one node are joined in groups first.
Result<void> join(SubgraphBuilder& builder, std::span<const Operand> parts, Operand output) {
  const std::size_t axis = builder.dims(output).size() - 1;
  if (parts.size() <= kJoined) return builder.concatenate(axis, parts, output);
  const std::size_t each = (parts.size() + kJoined - 1) / kJoined;
  std::vector<Operand> groups;
  for (; !parts.empty(); parts = parts.subspan(std::min(each, parts.size()))) {
    const auto group = parts.first(std::min(each, parts.size()));
    Dims dims = builder.dims(output);
    dims.back() = 0;
    for (const Operand part : group) dims.back() += builder.dims(part).back();
    groups.push_back(KINGLET_TRY(builder.temporary(dims)));
    KINGLET_TRY(builder.concatenate(axis, group, groups.back()));
  }
  return builder.concatenate(axis, groups, output);
}

}  // namespace

std::vector<ColumnBlock> column_blocks(std::size_t columns, std::size_t weight_bytes, std::size_t rows,
                                       BlockWeights weights, std::size_t threads) {
  const std::size_t most = weights == BlockWeights::kTogether ? kMostBlocks : kMostCopies;
  const bool shared_out = kOwnCaches && threads > 1 && rows <= kMostSharedRows;
  const std::size_t wanted = rows < kLeastRows || shared_out ? 1 : weight_bytes / kBlockBytes;
  const std::size_t count = std::clamp<std::size_t>(wanted, 1, most);
  const std::size_t each = count == 1 ? columns : (columns / count + kAligned) / kAligned * kAligned;
  std::vector<ColumnBlock> blocks;
  for (std::size_t first = 0; first < columns; first += each) {
    blocks.push_back({.first = first, .count = std::min(each, columns - first)});
  }
  return blocks;
}

Result<void> lower_in_blocks(SubgraphBuilder& builder, const std::vector<ColumnBlock>& blocks, Operand output,
                             const LowerBlock& lower) {
  if (blocks.size() == 1) return lower(blocks[0], output);
  std::vector<Operand> parts;
  for (const ColumnBlock& block : blocks) {
    Dims dims = builder.dims(output);
    dims.back() = block.count;
    parts.push_back(KINGLET_TRY(builder.temporary(dims)));
    KINGLET_TRY(lower(block, parts.back()));
  }
  return join(builder, parts, output);
}

Tensor columns_of(const Tensor& tensor, std::size_t axis, const ColumnBlock& block) {
  const Dims dims = dims_of(tensor.shape());
  if (block.count == dims.at(axis)) return tensor;
  if (axis == 0) return tensor.rows(static_cast<Dim>(block.first), static_cast<Dim>(block.count));
  Shape shape = tensor.shape();
  shape[axis] = static_cast<Dim>(block.count);
  const std::size_t inner = product_of(dims, axis + 1, dims.size()) * byte_size(tensor.type());
  const std::size_t outer = product_of(dims, 0, axis);
  const std::size_t step = dims[axis] * inner;
  return Tensor::later(tensor.type(), std::move(shape),
                       [tensor, outer, step, from = block.first * inner, count = block.count * inner](
                           std::size_t /*first*/, std::span<std::byte> to) {
                         for (std::size_t i = 0; i < outer; ++i)
                           std::memcpy(to.data() + i * count, tensor.bytes().data() + i * step + from, count);
                         return true;
                       });
}

Result<void> lower_matrix(SubgraphBuilder& builder, const Tensor& weight, const Tensor* bias, xnn::Range range,
                          Operand input, Operand output) {
  const Dims& out = builder.dims(output);
  // A probe asks whether it can be done, which does not depend on the blocks.
  const std::size_t rows = builder.is_probe() ? 1 : product_of(out, 0, out.size() - 1);
  const auto blocks = column_blocks(out.back(), weight.byte_count(), rows, BlockWeights::kCopied, builder.threads());
  return lower_in_blocks(builder, blocks, output, [&](const ColumnBlock& block, Operand part) -> Result<void> {
    const Tensor numbers = columns_of(weight, 1, block);
    const Operand filter = KINGLET_TRY(builder.constant(numbers, dims_of(numbers.shape()), Lifetime::kUntilPacked));
    std::optional<Operand> offset;
    if (bias != nullptr) {
      offset = KINGLET_TRY(builder.constant(columns_of(*bias, 0, block), {block.count}, Lifetime::kUntilPacked));
    }
    return builder.fully_connected(true, range, input, filter, offset, part);
  });
}

std::optional<kernels::Work> matrix_work(const Graph& graph, const Node& node, const Tensor& weight, bool outputs_first,
                                         const Tensor* bias) {
  const Value& output = graph.value(node.outputs[0]);
  const bool is_single = output.type == DataType::kF32 && weight.type() == DataType::kF32 &&
                         (bias == nullptr || bias->type() == DataType::kF32);
  if (!is_single || !output.shape || !fused_clip(node).open()) return std::nullopt;
  const Dims out = dims_of(*output.shape);
  const Dims matrix = dims_of(weight.shape());
  return kernels::Work{kernels::ProductF32{.rows = product_of(out, 0, out.size() - 1),
                                           .numbers = matrix.at(outputs_first ? 1 : 0),
                                           .outputs = matrix.at(outputs_first ? 0 : 1),
                                           .weights = weight,
                                           .outputs_first = outputs_first,
                                           .bias = bias == nullptr ? std::span<const float>() : bias->data<float>()}};
}

}  // namespace kinglet::engine::ops
