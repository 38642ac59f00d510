// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/xnnpack/checks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "engine/base/format.h"

namespace kinglet::engine::xnn {
namespace {

using Span = std::span<const std::size_t>;

std::unexpected<Error> refuse(std::string message) { return fail(ErrorCode::kBadData, std::move(message)); }

Result<void> check_all(std::initializer_list<Span> tensors) {
  for (const Span dims : tensors) KINGLET_TRY(check_dims(dims));
  return {};
}

std::optional<std::size_t> count_of(Span dims) {
  std::size_t count = 1;
  for (const std::size_t dim : dims) {
    if (dim != 0 && count > (std::size_t{1} << 40) / dim) return std::nullopt;
    count *= dim;
  }
  return count;
}

// One side of check_window. XNNPACK asserts that the kernel fits.
Result<void> check_side(const char* side, std::size_t size, std::size_t pads, std::size_t kernel, std::size_t stride,
                        std::size_t dilation, std::size_t output) {
  if (kernel == 0 || stride == 0 || dilation == 0) {
    return refuse(format_text("{}: kernel {}, stride {}, dilation {} must not be 0", side, kernel, stride, dilation));
  }
  const std::size_t reach = (kernel - 1) * dilation + 1;
  const std::size_t padded = size + pads;
  if (reach > padded)
    return refuse(format_text("{}: a kernel of {} does not fit the padded input of {}", side, reach, padded));
  const std::size_t expected = (padded - reach) / stride + 1;
  if (expected != output) return refuse(format_text("{}: output is {}, the window gives {}", side, output, expected));
  return {};
}

Result<void> check_bias(Span bias, std::size_t channels) {
  if (bias.empty()) return {};
  if (bias.size() != 1 || bias[0] != channels) {
    return refuse(format_text("bias is {}, expected [{}]", dims_text(bias), channels));
  }
  return {};
}

Result<void> check_image(Span input, Span output) {
  if (input.size() != 4 || output.size() != 4) {
    return refuse(format_text("input {} and output {} must have 4 dimensions", dims_text(input), dims_text(output)));
  }
  if (input[0] != output[0]) return refuse(format_text("batch is {} in and {} out", input[0], output[0]));
  return {};
}

// The last window must not begin behind the input, nor the first one end before it.
bool window_in_padding(std::size_t size, std::size_t before, std::size_t kernel, std::size_t stride,
                       std::size_t dilation, std::size_t output) {
  const std::size_t reach = (kernel - 1) * dilation + 1;
  return before >= reach || (output - 1) * stride >= before + size;
}

}  // namespace

std::string dims_text(Span dims) {
  std::string out = "[";
  for (const std::size_t dim : dims) out += format_text("{}{}", out.size() > 1 ? "," : "", dim);
  return out + "]";
}

Result<void> check_dims(Span dims) {
  if (dims.size() > kMaxRank) return refuse(format_text("{} dimensions, XNNPACK takes 6", dims.size()));
  constexpr std::size_t kLimit = std::size_t{1} << 31;
  if (std::ranges::any_of(dims, [](std::size_t dim) { return dim == 0 || dim >= kLimit; })) {
    return refuse(format_text("{} has a dimension that is 0 or above 2^31", dims_text(dims)));
  }
  if (!count_of(dims)) return refuse(format_text("{} has more than 2^40 elements", dims_text(dims)));
  return {};
}

Result<void> check_range(const Range& range) {
  // Written so that NaN fails.
  if (range.min < range.max) return {};
  return refuse(format_text("clipping to [{}, {}] is no range", range.min, range.max));
}

Result<void> check_joined_clamp(const Range& range) {
  const bool keeps_lower = range.min < 0 || (range.min == 0 && !std::signbit(range.min));
  if (keeps_lower && range.max >= std::numeric_limits<float>::min()) return {};
  return refuse(format_text("clipping to [{}, {}] would spoil the layer before it", range.min, range.max));
}

Result<void> check_quantization(const Quantization& quantization, bool is_signed) {
  if (!std::isnormal(quantization.scale) || quantization.scale <= 0) {
    return refuse(format_text("scale {} is not a normal positive number", quantization.scale));
  }
  const std::int32_t low = is_signed ? -128 : 0;
  if (quantization.zero_point < low || quantization.zero_point > low + 255) {
    return refuse(format_text("zero point {} is outside {} to {}", quantization.zero_point, low, low + 255));
  }
  return {};
}

Result<void> check_ratio(const ScaleRatios& range, float ratio) {
  if (range.hold(ratio)) return {};
  return refuse(format_text("scale ratio {} is outside {} to {}", ratio, range.least, range.most));
}

Result<void> check_slope(float ratio) {
  constexpr float kSteepestDown = -0x1.FFFC00p+6F;
  if (ratio >= kSteepestDown) return check_ratio(kConversionRatios, std::abs(ratio));
  return refuse(format_text("a slope of {} times the ratio of the scales", ratio));
}

Result<void> check_window(const Window& window, Span input, Span output) {
  KINGLET_TRY(check_all({input, output}));
  KINGLET_TRY(check_image(input, output));
  KINGLET_TRY(check_side("height", input[1], std::size_t{window.pad_top} + window.pad_bottom, window.kernel_height,
                         window.stride_height, window.dilation_height, output[1]));
  return check_side("width", input[2], std::size_t{window.pad_left} + window.pad_right, window.kernel_width,
                    window.stride_width, window.dilation_width, output[2]);
}

Result<void> check_convolution(const Window& window, std::size_t groups, Span input, Span filter, Span bias,
                               Span output) {
  KINGLET_TRY(check_window(window, input, output));
  KINGLET_TRY(check_dims(filter));
  if (filter.size() != 4) return refuse(format_text("filter {} must have 4 dimensions", dims_text(filter)));
  if (groups == 0 || input[3] % groups != 0 || filter[0] % groups != 0) {
    return refuse(format_text("{} groups do not divide {} input and {} output channels", groups, input[3], filter[0]));
  }
  if (filter[1] != window.kernel_height || filter[2] != window.kernel_width || filter[3] != input[3] / groups) {
    return refuse(format_text("filter is {}, expected [{},{},{},{}]", dims_text(filter), filter[0],
                              window.kernel_height, window.kernel_width, input[3] / groups));
  }
  if (output[3] != filter[0]) return refuse(format_text("output has {} channels, filter {}", output[3], filter[0]));
  return check_bias(bias, filter[0]);
}

Result<void> check_depthwise(const Window& window, std::size_t multiplier, Span input, Span filter, Span bias,
                             Span output) {
  KINGLET_TRY(check_window(window, input, output));
  KINGLET_TRY(check_dims(filter));
  const std::size_t channels = input[3] * multiplier;
  const Dims expected{1, window.kernel_height, window.kernel_width, channels};
  if (multiplier == 0 || !std::ranges::equal(filter, expected)) {
    return refuse(format_text("filter is {}, expected {}", dims_text(filter), dims_text(expected)));
  }
  if (output[3] != channels) return refuse(format_text("output has {} channels, expected {}", output[3], channels));
  return check_bias(bias, channels);
}

Result<void> check_pooling(const Window& window, Span input, Span output) {
  KINGLET_TRY(check_window(window, input, output));
  if (input[3] != output[3]) return refuse(format_text("{} channels in, {} out", input[3], output[3]));
  if (window.kernel_height * std::size_t{window.kernel_width} < 2) return refuse("pooling of one element");
  if (window_in_padding(input[1], window.pad_top, window.kernel_height, window.stride_height, window.dilation_height,
                        output[1]) ||
      window_in_padding(input[2], window.pad_left, window.kernel_width, window.stride_width, window.dilation_width,
                        output[2])) {
    return refuse("a pooling window lies wholly in the padding");
  }
  return {};
}

Result<void> check_fully_connected(Span input, Span filter, bool transposed, Span bias, Span output) {
  KINGLET_TRY(check_all({input, filter, output}));
  if (filter.size() != 2) return refuse(format_text("filter {} must have 2 dimensions", dims_text(filter)));
  const std::size_t outputs = filter[transposed ? 1 : 0];
  const std::size_t inputs = filter[transposed ? 0 : 1];
  if (input.empty() || input.back() != inputs) {
    return refuse(format_text("input {} does not end in {}", dims_text(input), inputs));
  }
  Dims expected(input.begin(), input.end());
  expected.back() = outputs;
  if (!std::ranges::equal(expected, output)) {
    return refuse(format_text("output is {}, expected {}", dims_text(output), dims_text(expected)));
  }
  return check_bias(bias, outputs);
}

Result<void> check_batch_matrix_multiply(Span a, Span b, Span output) {
  KINGLET_TRY(check_all({a, b, output}));
  const std::size_t rank = a.size();
  const auto refused = [&] { return refuse(format_text("{} does not multiply {}", dims_text(a), dims_text(b))); };
  if (rank < 3 || b.size() != rank || a[rank - 1] != b[rank - 2]) return refused();
  Dims expected(a.begin(), a.end());
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1) return refused();
    expected[i] = std::max(a[i], b[i]);
  }
  expected.back() = b[rank - 1];
  return check_same_dims(expected, output);
}

Result<void> check_same_dims(Span a, Span b) {
  KINGLET_TRY(check_all({a, b}));
  if (!std::ranges::equal(a, b)) return refuse(format_text("{} is not {}", dims_text(a), dims_text(b)));
  return {};
}

Result<void> check_broadcast(Span a, Span b, Span output) {
  KINGLET_TRY(check_all({a, b, output}));
  Dims expected(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) {  // from the innermost dimension outwards
    const std::size_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::size_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1)
      return refuse(format_text("{} does not broadcast with {}", dims_text(a), dims_text(b)));
    expected[expected.size() - 1 - i] = std::max(x, y);
  }
  return check_same_dims(expected, output);
}

Result<void> check_concatenate(std::size_t axis, std::span<const Dims* const> inputs, Span output) {
  KINGLET_TRY(check_dims(output));
  if (axis >= output.size()) return refuse(format_text("axis {} of {}", axis, dims_text(output)));
  Dims expected(output.begin(), output.end());
  expected[axis] = 0;
  for (const Dims* input : inputs) {
    KINGLET_TRY(check_dims(*input));
    if (input->size() != output.size()) return refuse(format_text("{} joins {}", dims_text(*input), dims_text(output)));
    for (std::size_t i = 0; i < output.size(); ++i) {
      if (i != axis && (*input)[i] != output[i]) {
        return refuse(format_text("{} joins {} along {}", dims_text(*input), dims_text(output), axis));
      }
    }
    expected[axis] += (*input)[axis];
  }
  return check_same_dims(expected, output);
}

Result<void> check_slice(Span offsets, Span sizes, Span input, Span output) {
  KINGLET_TRY(check_all({input, output}));
  if (input.empty() || offsets.size() != input.size() || sizes.size() != input.size()) {
    return refuse(format_text("{} offsets and {} sizes for {}", offsets.size(), sizes.size(), dims_text(input)));
  }
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (offsets[i] >= input[i] || sizes[i] > input[i] - offsets[i]) {
      return refuse(format_text("{} from {} of {} along {}", sizes[i], offsets[i], input[i], i));
    }
  }
  return check_same_dims(sizes, output);
}

Result<void> check_reshape(Span input, Span output) {
  KINGLET_TRY(check_all({input, output}));
  if (count_of(input) != count_of(output)) {
    return refuse(format_text("{} and {} differ in size", dims_text(input), dims_text(output)));
  }
  return {};
}

Result<void> check_transpose(Span permutation, Span input, Span output) {
  KINGLET_TRY(check_all({input, output}));
  std::vector<bool> seen(input.size(), false);
  Dims expected;
  for (const std::size_t axis : permutation) {
    if (axis >= input.size() || seen[axis]) return refuse(format_text("{} is no permutation", dims_text(permutation)));
    seen[axis] = true;
    expected.push_back(input[axis]);
  }
  if (expected.size() != input.size()) return refuse(format_text("{} is too short", dims_text(permutation)));
  return check_same_dims(expected, output);
}

Result<void> check_pad(Span before, Span after, Span input, Span output) {
  KINGLET_TRY(check_all({input, output}));
  if (before.size() != input.size() || after.size() != input.size()) {
    return refuse(format_text("{} and {} pads for {}", before.size(), after.size(), dims_text(input)));
  }
  Dims expected(input.begin(), input.end());
  constexpr std::size_t kLimit = std::size_t{1} << 31;
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (before[i] >= kLimit || after[i] >= kLimit) return refuse("a pad above 2^31");
    expected[i] += before[i] + after[i];
  }
  return check_same_dims(expected, output);
}

Result<void> check_reduce(Span axes, bool keep_dims, Span input, Span output) {
  KINGLET_TRY(check_dims(input));
  if (axes.empty() || !std::ranges::is_sorted(axes, std::ranges::less_equal{}) || axes.back() >= input.size()) {
    return refuse(format_text("axes {} of {}", dims_text(axes), dims_text(input)));
  }
  Dims expected;
  for (std::size_t i = 0; i < input.size(); ++i) {
    const bool reduced = std::ranges::binary_search(axes, i);
    if (!reduced) expected.push_back(input[i]);
    if (reduced && keep_dims) expected.push_back(1);
  }
  return check_same_dims(expected, output);
}

Result<void> check_resize(Span input, Span output) {
  KINGLET_TRY(check_all({input, output}));
  KINGLET_TRY(check_image(input, output));
  if (input[3] != output[3]) return refuse(format_text("{} channels in, {} out", input[3], output[3]));
  constexpr std::size_t kLimit = std::size_t{1} << 24;
  for (const std::size_t side : {input[1], input[2], output[1], output[2]}) {
    if (side >= kLimit) return refuse(format_text("a side of {}", side));
  }
  return {};
}

}  // namespace kinglet::engine::xnn
