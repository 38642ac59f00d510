// SPDX-License-Identifier: Apache-2.0
// Why: a layer whose weights are uint8 runs as int8 but for a few channels with a weight that 8 bits around 0 do not
// hold. Those are computed here with weights of 16 bits, over what the layer made of them.
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "engine/backend/kernels/convolution_parts.h"
#include "engine/backend/kernels/rows.h"

namespace kinglet::engine::kernels {
namespace {

constexpr std::size_t kAtOnce = 16;   // numbers of a run that are multiplied at once
constexpr std::size_t kColumns = 64;  // of the output whose sums are kept at once
using Sums = std::array<std::uint32_t, kColumns>;

// Numbers of a window that lie side by side in a row of the input: all of that row, or what one tap has of its group.
struct Run {
  std::size_t row = 0;      // of the window
  std::ptrdiff_t from = 0;  // behind the input's row, for the first column of the output
  std::size_t weights = 0;  // where they begin: one, or whole multiples of kAtOnce
  std::size_t count = 0;
  std::uint32_t zeros = 0;  // what its sum is in the padding
};

struct Channel {
  std::size_t output = 0, input = 0;  // of all; the first one of its group
  float factor = 0;
  std::uint32_t start = 0;  // bias, and what the input's zero point takes away
  std::vector<Run> runs;
};

std::uint32_t product_of(const std::int8_t* x, const std::int16_t* weights, std::size_t count) {
  std::int32_t sum = 0;
  count = count / kAtOnce * kAtOnce;
  for (std::size_t i = 0; i < count; ++i) sum += x[i] * weights[i];
  return static_cast<std::uint32_t>(sum);
}

class WideChannels final : public Kernel {
 public:
  explicit WideChannels(const WideChannelsS8& work);

  void run(Inputs inputs, Outputs outputs, std::span<std::byte> /*scratch*/, pthreadpool_t pool) const override {
    const auto* narrow = reinterpret_cast<const std::int8_t*>(inputs[0].data());
    const auto* x = reinterpret_cast<const std::int8_t*>(inputs[1].data());
    auto* to = reinterpret_cast<std::int8_t*>(outputs[0].data());
    const std::size_t row = shape_.output_width * shape_.output_channels;
    run_rows(shape_, pool, [&](std::size_t y) {
      if (to != narrow) std::memcpy(to + y * row, narrow + y * row, row);
      for (const Channel& channel : channels_) complete(channel, x, to + y * row + channel.output, y);
    });
  }

 private:
  void add_runs(Channel& channel, std::span<const std::int16_t> weights);
  void complete(const Channel& channel, const std::int8_t* x, std::int8_t* to, std::size_t y) const;
  void add_run(const Run& run, const std::int8_t* row, std::size_t first, std::size_t end, Sums& sums) const;
  void add_inner(const Run& run, const std::int8_t* from, std::span<std::uint32_t> sums) const;
  [[nodiscard]] std::uint32_t border_sum(const Run& run, const std::int8_t* row, std::ptrdiff_t at) const;

  // Of the row of an image.
  [[nodiscard]] std::size_t input_row() const { return shape_.input_width * shape_.input_channels; }
  // From a column of the output to the next.
  [[nodiscard]] std::size_t step() const { return shape_.window.stride_width * shape_.input_channels; }

  ConvolutionShape shape_;
  InnerColumns inner_;
  std::size_t in_group_;  // inputs of a group
  std::int32_t input_zero_;
  std::vector<Channel> channels_;
  std::vector<std::int16_t> weights_;  // of all runs, filled up with 0
  Levels levels_;
};

WideChannels::WideChannels(const WideChannelsS8& work)
    : shape_(work.shape),
      inner_(inner_columns(work.shape)),
      in_group_(work.shape.input_channels / work.shape.groups),
      input_zero_(work.numbers.input.zero_point),
      levels_{.zero = work.numbers.output.zero_point, .least = work.numbers.least, .most = work.numbers.most} {
  const std::size_t outputs_of_group = shape_.output_channels / shape_.groups;
  const std::size_t each = in_group_ * shape_.taps();
  for (std::size_t i = 0; i < work.channels.size(); ++i) {
    Channel channel{.output = work.channels[i],
                    .input = work.channels[i] / outputs_of_group * in_group_,
                    .factor = work.numbers.factor_of(i),
                    .start = static_cast<std::uint32_t>(work.numbers.bias_of(i)),
                    .runs = {}};
    add_runs(channel, std::span(work.weights).subspan(i * each, each));
    channels_.push_back(std::move(channel));
  }
}

// `weights` as ONNX orders them: the taps of an input, then those of the next.
void WideChannels::add_runs(Channel& channel, std::span<const std::int16_t> weights) {
  const xnn::Window& window = shape_.window;
  const bool whole_rows = shape_.groups == 1 && window.dilation_width == 1;
  const std::size_t taps = whole_rows ? window.kernel_width : 1;  // of a run
  for (std::size_t tap = 0; tap < shape_.taps(); tap += taps) {
    const auto column =
        static_cast<std::ptrdiff_t>(tap % window.kernel_width * window.dilation_width) - window.pad_left;
    Run run{.row = tap / window.kernel_width,
            .from = column * static_cast<std::ptrdiff_t>(shape_.input_channels) +
                    static_cast<std::ptrdiff_t>(channel.input),
            .weights = weights_.size(),
            .count = taps * in_group_};
    std::int32_t sum = 0;
    for (std::size_t number = 0; number < run.count; ++number) {
      weights_.push_back(weights[number % in_group_ * shape_.taps() + tap + number / in_group_]);
      sum += weights_.back();
    }
    if (run.count > 1) run.count = rounded_up(run.count, kAtOnce);
    weights_.resize(run.weights + run.count);
    run.zeros = static_cast<std::uint32_t>(sum) * static_cast<std::uint32_t>(input_zero_);
    channel.start -= run.zeros;
    channel.runs.push_back(run);
  }
}

// The channel's part of row `y` of all images; `to`: its number of the first column.
void WideChannels::complete(const Channel& channel, const std::int8_t* x, std::int8_t* to, std::size_t y) const {
  const xnn::Window& window = shape_.window;
  const std::int8_t* const image = x + y / shape_.output_height * shape_.input_height * input_row();
  const std::size_t next = shape_.output_channels;  // column of the output
  Sums sums;
  std::array<std::int8_t, kColumns> levels;
  for (std::size_t first = 0; first < shape_.output_width; first += kColumns) {
    const std::size_t end = std::min(first + kColumns, shape_.output_width);
    sums.fill(channel.start);
    for (const Run& run : channel.runs) {
      const std::size_t row = input_place(y % shape_.output_height, window.stride_height, run.row,
                                          window.dilation_height, window.pad_top, shape_.input_height);
      if (row == kOutside) {
        for (std::uint32_t& sum : sums) sum += run.zeros;
      } else {
        add_run(run, image + row * input_row(), first, end, sums);
      }
    }
    for (std::size_t i = 0; i < kColumns; ++i) levels[i] = to_level(sums[i], channel.factor, levels_);
    for (std::size_t column = first; column < end; ++column) to[column * next] = levels[column - first];
  }
}

void WideChannels::add_run(const Run& run, const std::int8_t* row, std::size_t first, std::size_t end,
                           Sums& sums) const {
  const auto place = [&](std::size_t column) { return static_cast<std::ptrdiff_t>(column * step()) + run.from; };
  const std::size_t inner_begin = std::clamp(inner_.begin, first, end);
  const std::size_t inner_end = std::clamp(inner_.end, inner_begin, end);
  for (std::size_t column = first; column < inner_begin; ++column)
    sums[column - first] += border_sum(run, row, place(column));
  if (inner_begin < inner_end)
    add_inner(run, row + place(inner_begin), std::span(sums).subspan(inner_begin - first, inner_end - inner_begin));
  for (std::size_t column = inner_end; column < end; ++column)
    sums[column - first] += border_sum(run, row, place(column));
}

// `from`: the run's first number for the first of the sums.
void WideChannels::add_inner(const Run& run, const std::int8_t* from, std::span<std::uint32_t> sums) const {
  const std::int16_t* const weights = weights_.data() + run.weights;
  const std::size_t next = step();
  if (run.count == 1) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<std::uint32_t>(from[i * next] * weights[0]);
  } else {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += product_of(from + i * next, weights, run.count);
  }
}

// Of a window that is not inside as a whole; what lies before and behind the row is the input's zero point.
std::uint32_t WideChannels::border_sum(const Run& run, const std::int8_t* row, std::ptrdiff_t at) const {
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < run.count; ++i, ++at) {
    const bool inside = at >= 0 && at < static_cast<std::ptrdiff_t>(input_row());
    sum += weights_[run.weights + i] * (inside ? row[at] : input_zero_);
  }
  return static_cast<std::uint32_t>(sum);
}

}  // namespace

// Nobody else has this work, so that it is its own twin: its sums are whole numbers.
const KernelRow kWideChannelsS8Scalar{
    .name = "wide_channels_s8__scalar",
    .offer = [](const Work& work) -> std::optional<Offer> {
      if (!std::holds_alternative<WideChannelsS8>(work.kind)) return std::nullopt;
      return Offer{.cost = 0, .writes_over = 0};
    },
    .make = [](const Work& work, PackedWeights& /*weights*/) -> std::unique_ptr<Kernel> {
      return std::make_unique<WideChannels>(std::get<WideChannelsS8>(work.kind));
    }};

}  // namespace kinglet::engine::kernels
