// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/families/window.h"

#include <algorithm>
#include <limits>

#include "engine/base/format.h"

namespace kinglet::engine::ops {
namespace {

constexpr std::int64_t kMaxStep = std::int64_t{1} << 24;

std::vector<std::int64_t> ints_or(const Attributes& attributes, std::string_view name, std::size_t count,
                                  std::int64_t fallback) {
  std::vector<std::int64_t> values = attributes.get_ints(name);
  if (values.size() != count) values.assign(count, fallback);
  return values;
}

// ONNX, Conv, auto_pad: the output is ceil(input / stride); what is missing is split, the odd one at the end (UPPER).
void pad_same(Window& window, std::span<const Dim> input, bool upper) {
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (input[i] == kUnknownDim) continue;
    const std::int64_t output = (input[i] + window.strides[i] - 1) / window.strides[i];
    const std::int64_t needed = (output - 1) * window.strides[i] + window_extent(window.kernel[i], window.dilations[i]);
    const std::int64_t total = std::max<std::int64_t>(0, needed - input[i]);
    window.pads_begin[i] = upper ? total / 2 : total - total / 2;
    window.pads_end[i] = total - window.pads_begin[i];
  }
}

}  // namespace

bool pads_same(const Attributes& attributes) {
  return attributes.get_string("auto_pad", "NOTSET").starts_with("SAME_");
}

Window resolve_window(const Attributes& attributes, std::span<const std::int64_t> kernel, std::span<const Dim> input) {
  const std::size_t rank = kernel.size();
  const std::vector<std::int64_t> pads = ints_or(attributes, "pads", 2 * rank, 0);
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(rank);
  Window window{.kernel = {kernel.begin(), kernel.end()},
                .strides = ints_or(attributes, "strides", rank, 1),
                .dilations = ints_or(attributes, "dilations", rank, 1),
                .pads_begin = {pads.begin(), middle},
                .pads_end = {middle, pads.end()}};
  const std::string_view mode = attributes.get_string("auto_pad", "NOTSET");
  if (mode != "NOTSET" && !mode.empty()) {
    window.pads_begin.assign(rank, 0);
    window.pads_end.assign(rank, 0);
  }
  if (pads_same(attributes)) pad_same(window, input, mode == "SAME_UPPER");
  return window;
}

Result<Window> checked_window(const InferContext& context, std::span<const std::int64_t> kernel,
                              std::span<const Dim> input) {
  const std::size_t rank = input.size();
  if (kernel.size() != rank) {
    return context.fail(
        format_text("the kernel has {} dimensions, the input has {} spatial ones", kernel.size(), rank));
  }
  for (const std::int64_t size : kernel) {
    if (size < 1 || size > kMaxStep) return context.fail(format_text("a kernel size is {}", size));
  }
  KINGLET_TRY(checked_ints(context, "strides", rank, 1, 1, kMaxStep));
  KINGLET_TRY(checked_ints(context, "dilations", rank, 1, 1, kMaxStep));
  KINGLET_TRY(checked_ints(context, "pads", 2 * rank, 0, 0, kMaxStep));
  const std::string_view mode = context.attributes().get_string("auto_pad", "NOTSET");
  constexpr std::array<std::string_view, 5> kModes{"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", ""};
  if (std::ranges::find(kModes, mode) == kModes.end()) return context.fail("attribute auto_pad has an unknown value");
  return resolve_window(context.attributes(), kernel, input);
}

std::optional<Shape> window_output(const Window& window, std::span<const Dim> input, bool ceil_mode,
                                   bool same_padding) {
  Shape output;
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (input[i] == kUnknownDim) {
      output.push_back(kUnknownDim);
      continue;
    }
    const std::int64_t stride = window.strides[i];
    if (same_padding) {
      output.push_back((input[i] + stride - 1) / stride);
      continue;
    }
    const std::int64_t room =
        input[i] + window.pads_begin[i] + window.pads_end[i] - window_extent(window.kernel[i], window.dilations[i]);
    if (room < 0) return std::nullopt;
    std::int64_t size = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
    // A window that would start in the padding behind the input does not count.
    if (ceil_mode && (size - 1) * stride >= input[i] + window.pads_begin[i]) --size;
    output.push_back(size);
  }
  return output;
}

std::optional<xnn::Window> to_xnn(const Window& window) {
  if (window.kernel.size() != 2) return std::nullopt;
  const auto all = {&window.kernel, &window.strides, &window.dilations, &window.pads_begin, &window.pads_end};
  for (const auto* numbers : all) {
    if (numbers->size() != 2) return std::nullopt;
    for (const std::int64_t number : *numbers) {
      if (number < 0 || number > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
    }
  }
  const auto narrow = [](std::int64_t number) { return static_cast<std::uint32_t>(number); };
  return xnn::Window{.kernel_height = narrow(window.kernel[0]),
                     .kernel_width = narrow(window.kernel[1]),
                     .stride_height = narrow(window.strides[0]),
                     .stride_width = narrow(window.strides[1]),
                     .dilation_height = narrow(window.dilations[0]),
                     .dilation_width = narrow(window.dilations[1]),
                     .pad_top = narrow(window.pads_begin[0]),
                     .pad_left = narrow(window.pads_begin[1]),
                     .pad_bottom = narrow(window.pads_end[0]),
                     .pad_right = narrow(window.pads_end[1])};
}

}  // namespace kinglet::engine::ops
