// SPDX-License-Identifier: Apache-2.0
// Resize (and Upsample, its old name): each axis is sampled on its own. For every place of an output axis a short list
// of input places and weights is worked out once; axes that shrink go first, so that nothing between is larger than
// input and output. The coordinates are ONNX's: length_original * scale may be a fraction where scales are given.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/backend/kernels/work.h"
#include "engine/base/format.h"
#include "engine/graph/float16.h"
#include "engine/ops/common.h"
#include "engine/ops/families/resize_plan.h"
#include "engine/ops/lower.h"
#include "engine/ops/rows.h"
#include "engine/ops/steps.h"

namespace kinglet::engine::ops {
namespace {

constexpr std::size_t kRoi = 1, kScales = kResizeScales, kSizes = 3;

// --- Sizes ----------------------------------------------------------------------------------------------------------

bool is_empty(const Tensor* tensor) { return tensor == nullptr || tensor->element_count() == 0; }

Result<void> check_resize_attributes(const InferContext& context) {
  const Attributes& attributes = context.attributes();
  const std::string_view mode = attributes.get_string("mode", "nearest");
  if (mode != "nearest" && mode != "linear" && mode != "cubic")
    return context.fail("attribute mode has an unknown value");
  if (!coordinates_of(attributes)) {
    return context.fail("attribute coordinate_transformation_mode has an unknown value");
  }
  constexpr std::array<std::string_view, 4> kNearest{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  if (std::ranges::find(kNearest, attributes.get_string("nearest_mode", kNearest[0])) == kNearest.end()) {
    return context.fail("attribute nearest_mode has an unknown value");
  }
  constexpr std::array<std::string_view, 3> kPolicies{"stretch", "not_larger", "not_smaller"};
  if (std::ranges::find(kPolicies, attributes.get_string("keep_aspect_ratio_policy", "stretch")) == kPolicies.end()) {
    return context.fail("attribute keep_aspect_ratio_policy has an unknown value");
  }
  if (mode == "nearest" && attributes.get_int("antialias", 0) != 0) {
    return context.fail("antialias goes with linear and cubic only");
  }
  return need_type(context, 0, mode == "nearest" ? kAnyType : kNumbers);
}

// The roi's numbers, when the coordinates need them: starts, then ends.
Result<void> check_roi(const InferContext& context, std::size_t axis_count) {
  if (coordinates_of(context.attributes()) != Coordinates::kCrop) return {};
  KINGLET_TRY(need_type(context, kRoi, kFloats));
  const Tensor* roi = context.input_constant(kRoi);
  if (roi == nullptr || roi->element_count() == static_cast<std::int64_t>(2 * axis_count)) return {};
  return context.fail(format_text("roi has {} numbers for {} axes", roi->element_count(), axis_count));
}

Result<std::optional<Shape>> resized_shape(const InferContext& context) {
  const std::optional<Shape>& x = context.input_shape(0);
  if (!x) return std::nullopt;
  KINGLET_TRY(checked_axes(context, context.attributes().get_ints("axes"), x->size()));
  const std::vector<std::size_t> axes = resized_axes(context.attributes(), x->size());
  KINGLET_TRY(check_roi(context, axes.size()));
  if (context.has_input(kScales)) KINGLET_TRY(need_type(context, kScales, {DataType::kF32}));
  if (context.has_input(kSizes)) KINGLET_TRY(need_type(context, kSizes, kIndices));
  Shape unknown = *x;
  for (const std::size_t axis : axes) unknown[axis] = kUnknownDim;
  const Tensor* scales = context.input_constant(kScales);
  const Tensor* sizes = context.input_constant(kSizes);
  const bool computed =
      (context.has_input(kScales) && scales == nullptr) || (context.has_input(kSizes) && sizes == nullptr);
  if (computed) return unknown;
  if (is_empty(scales) == is_empty(sizes)) return context.fail("has both scales and sizes, or none");
  const Tensor& given = is_empty(scales) ? *sizes : *scales;
  if (given.element_count() != static_cast<std::int64_t>(axes.size())) {
    return context.fail(format_text("{} numbers for {} axes", given.element_count(), axes.size()));
  }
  const std::vector<float> factors = is_empty(scales) ? std::vector<float>{} : scales->to_floats();
  const std::vector<std::int64_t> wanted = is_empty(sizes) ? std::vector<std::int64_t>{} : sizes->to_int64s();
  Shape assumed = *x;
  std::ranges::replace(assumed, kUnknownDim, Dim{1});
  const auto plan = plan_axes(context.attributes(), assumed, axes, factors, wanted);
  if (!plan) return context.fail(format_text("cannot resize {} by these scales or sizes", to_string(*x)));
  const bool stretches = context.attributes().get_string("keep_aspect_ratio_policy", "stretch") == "stretch";
  const bool all_known = std::ranges::none_of(axes, [&](std::size_t axis) { return (*x)[axis] == kUnknownDim; });
  Shape out = *x;
  for (const std::size_t axis : axes) {
    const bool known = wanted.empty() ? (*x)[axis] != kUnknownDim : stretches || all_known;
    out[axis] = known ? (*plan)[axis].out : kUnknownDim;
  }
  return out;
}

Result<void> infer_resize(InferContext& context) {
  KINGLET_TRY(check_resize_attributes(context));
  context.set_output(0, context.input_type(0), KINGLET_TRY(resized_shape(context)));
  return {};
}

// --- Sampling -------------------------------------------------------------------------------------------------------

// Where place `x` of the output lies in the input; nothing outside of a crop.
std::optional<double> original_place(Coordinates coordinates, const AxisPlan& axis, Dim x) {
  const auto at = static_cast<double>(x);
  const auto in = static_cast<double>(axis.in);
  switch (coordinates) {
    case Coordinates::kAlignCorners:
      return axis.length == 1 ? 0.0 : at * (in - 1) / (axis.length - 1);
    case Coordinates::kAsymmetric:
      return at / axis.scale;
    case Coordinates::kPytorchHalfPixel:
      return axis.length == 1 ? -0.5 : (at + 0.5) / axis.scale - 0.5;
    case Coordinates::kHalfPixel:
      return (at + 0.5) / axis.scale - 0.5;
    case Coordinates::kHalfPixelSymmetric:
      return in / 2 * (1 - static_cast<double>(axis.out) / axis.length) + (at + 0.5) / axis.scale - 0.5;
    case Coordinates::kCrop:
      break;
  }
  const double width = (axis.roi_end - axis.roi_start) * (in - 1);
  const double place = axis.roi_start * (in - 1) + (axis.length == 1 ? width / 2 : at * width / (axis.length - 1));
  if (!(place >= 0 && place <= in - 1)) return std::nullopt;
  return place;
}

struct Sample {
  std::int64_t place;
  double weight;
};
// The samples of one output place; none: the extrapolation value.
using Samples = std::vector<std::vector<Sample>>;

std::int64_t nearest_place(double x, std::string_view mode) {
  if (mode == "floor") return static_cast<std::int64_t>(std::floor(x));
  if (mode == "ceil") return static_cast<std::int64_t>(std::ceil(x));
  if (mode == "round_prefer_ceil") return static_cast<std::int64_t>(std::floor(x + 0.5));
  return static_cast<std::int64_t>(std::ceil(x - 0.5));
}

// Keys' cubic convolution kernel with parameter a; the tent for linear.
double kernel_weight(double distance, bool cubic, double a) {
  const double d = std::abs(distance);
  if (!cubic) return std::max(0.0, 1 - d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return 0;
}

class AxisSampler {
 public:
  explicit AxisSampler(const Attributes& attributes)
      : coordinates_(*coordinates_of(attributes)),
        nearest_(attributes.get_string("mode", "nearest") == "nearest"),
        cubic_(attributes.get_string("mode", "nearest") == "cubic"),
        nearest_mode_(attributes.get_string("nearest_mode", "round_prefer_floor")),
        antialias_(attributes.get_int("antialias", 0) != 0),
        exclude_outside_(attributes.get_int("exclude_outside", 0) != 0),
        a_(attributes.get_float("cubic_coeff_a", -0.75F)) {}

  [[nodiscard]] bool nearest() const { return nearest_; }
  // Every output place is the input place of the same index.
  [[nodiscard]] bool keeps(const AxisPlan& axis) const {
    const bool cropped = coordinates_ == Coordinates::kCrop && (axis.roi_start != 0 || axis.roi_end != 1);
    return axis.in == axis.out && axis.scale == 1 && !cropped;
  }
  [[nodiscard]] Samples samples(const AxisPlan& axis) const {
    Samples all(static_cast<std::size_t>(axis.out));
    for (Dim x = 0; x < axis.out; ++x) {
      if (const auto place = original_place(coordinates_, axis, x)) {
        all[static_cast<std::size_t>(x)] = at(*place, axis);
      }
    }
    return all;
  }

 private:
  [[nodiscard]] std::vector<Sample> at(double x, const AxisPlan& axis) const {
    if (nearest_)
      return {{.place = std::clamp<std::int64_t>(nearest_place(x, nearest_mode_), 0, axis.in - 1), .weight = 1}};
    // Shrinking with antialias widens the kernel by 1 / scale.
    const double shrink = antialias_ ? std::min(axis.scale, 1.0) : 1.0;
    const auto reach = static_cast<std::int64_t>(std::ceil((cubic_ ? 2 : 1) / shrink));
    const auto left = static_cast<std::int64_t>(std::ceil(x)) - 1;
    std::vector<Sample> samples;
    double sum = 0;
    for (std::int64_t place = left - reach + 1; place <= left + reach; ++place) {
      const bool outside = place < 0 || place >= axis.in;
      if (outside && exclude_outside_) continue;
      const double weight = kernel_weight((static_cast<double>(place) - x) * shrink, cubic_, a_);
      samples.push_back({.place = std::clamp<std::int64_t>(place, 0, axis.in - 1), .weight = weight});
      sum += weight;
    }
    if ((antialias_ || exclude_outside_) && sum != 0) {
      for (Sample& sample : samples) sample.weight /= sum;
    }
    return samples;
  }

  Coordinates coordinates_;
  bool nearest_, cubic_;
  std::string_view nearest_mode_;
  bool antialias_, exclude_outside_;
  double a_;
};

std::vector<AxisPlan> plan_of(const Node& node, Inputs inputs) {
  const Shape& x = inputs[0]->shape();
  const auto given = [&](std::size_t i) { return i < inputs.size() ? inputs[i] : nullptr; };
  const std::vector<std::size_t> axes = resized_axes(node.attributes, x.size());
  auto plan =
      plan_axes(node.attributes, x, axes, is_empty(given(kScales)) ? std::vector<float>{} : given(kScales)->to_floats(),
                is_empty(given(kSizes)) ? std::vector<std::int64_t>{} : given(kSizes)->to_int64s());
  KINGLET_CHECK(plan.has_value());  // infer made the same
  if (!is_empty(given(kRoi)) && coordinates_of(node.attributes) == Coordinates::kCrop) {
    const std::vector<float> roi = given(kRoi)->to_floats();
    for (std::size_t i = 0; i < axes.size(); ++i) {
      (*plan)[axes[i]].roi_start = roi[i];
      (*plan)[axes[i]].roi_end = roi[axes.size() + i];
    }
  }
  return *std::move(plan);
}

template <typename T>
T to_element(double value) {
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<float>(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else {
    constexpr auto kLow = static_cast<double>(std::numeric_limits<T>::min());
    constexpr auto kHigh = static_cast<double>(std::numeric_limits<T>::max());
    if (!(value > kLow)) return std::numeric_limits<T>::min();
    return value < kHigh ? static_cast<T>(value) : std::numeric_limits<T>::max();
  }
}

// Numbers are copied, whatever their type.
void resize_nearest(const Node& node, const std::vector<AxisPlan>& plan, const Tensor& x, Tensor& y) {
  const AxisSampler sampler(node.attributes);
  const std::vector<std::int64_t> strides = row_major_strides(x.shape());
  std::vector<std::vector<std::int64_t>> offsets;  // -1: outside
  for (std::size_t axis = 0; axis < plan.size(); ++axis) {
    std::vector<std::int64_t>& places = offsets.emplace_back();
    for (const auto& samples : sampler.samples(plan[axis])) {
      places.push_back(samples.empty() ? -1 : samples[0].place * strides[axis]);
    }
  }
  visit_type(y.type(), [&]<typename T>() {
    const T outside = to_element<T>(node.attributes.get_float("extrapolation_value", 0));
    const T* from = x.data<T>().data();
    std::vector<std::size_t> index(plan.size(), 0);
    for (T& element : y.mutable_data<T>()) {
      std::int64_t offset = 0;
      bool inside = true;
      for (std::size_t axis = 0; axis < index.size(); ++axis) {
        const std::int64_t place = offsets[axis][index[axis]];
        inside = inside && place >= 0;
        offset += place;
      }
      element = inside ? from[offset] : outside;
      for (std::size_t axis = index.size(); axis-- > 0;) {
        if (++index[axis] < offsets[axis].size()) break;
        index[axis] = 0;
      }
    }
  });
}

// One axis of `values`, seen as [outer, axis, inner].
std::vector<double> resample(const std::vector<double>& values, const AxisView& view, const Samples& samples,
                             double outside) {
  const auto inner = static_cast<std::size_t>(view.inner);
  std::vector<double> out(static_cast<std::size_t>(view.outer) * samples.size() * inner, 0.0);
  double* to = out.data();
  for (std::int64_t outer = 0; outer < view.outer; ++outer) {
    const double* from = values.data() + outer * view.length * view.inner;
    for (const std::vector<Sample>& place : samples) {
      if (place.empty()) std::fill_n(to, inner, outside);
      for (const Sample& sample : place) {
        const double* line = from + sample.place * view.inner;
        for (std::size_t i = 0; i < inner; ++i) to[i] += sample.weight * line[i];
      }
      to += inner;
    }
  }
  return out;
}

template <typename T>
void interpolate(const Node& node, const std::vector<AxisPlan>& plan, const Tensor& x, Tensor& y) {
  const AxisSampler sampler(node.attributes);
  std::vector<std::size_t> order;
  for (std::size_t axis = 0; axis < plan.size(); ++axis) {
    if (!sampler.keeps(plan[axis])) order.push_back(axis);
  }
  const auto growth = [&](std::size_t axis) {
    return static_cast<double>(plan[axis].out) / static_cast<double>(std::max<Dim>(1, plan[axis].in));
  };
  std::ranges::stable_sort(order, {}, growth);
  Shape shape = x.shape();
  const auto from = x.data<T>();
  std::vector<double> values(from.begin(), from.end());
  for (const std::size_t axis : order) {
    values = resample(values, view_axis(shape, axis), sampler.samples(plan[axis]),
                      node.attributes.get_float("extrapolation_value", 0));
    shape[axis] = plan[axis].out;
  }
  const auto to = y.mutable_data<T>();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = to_element<T>(values[i]);
}

Result<void> evaluate_resize(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  if (outputs[0].element_count() == 0) return {};
  const std::vector<AxisPlan> plan = plan_of(node, inputs);
  if (AxisSampler(node.attributes).nearest()) {
    resize_nearest(node, plan, *inputs[0], outputs[0]);
    return {};
  }
  visit_type(outputs[0].type(), [&]<typename T>() { interpolate<T>(node, plan, *inputs[0], outputs[0]); });
  return {};
}

// --- Bilinear pictures on XNNPACK, which takes the scales from the sizes

std::optional<SubgraphBuilder::ResizeGrid> grid_of(Coordinates coordinates, const Shape& y) {
  using Grid = SubgraphBuilder::ResizeGrid;
  if (coordinates == Coordinates::kAlignCorners) return Grid::kAlignCorners;
  if (coordinates == Coordinates::kAsymmetric) return Grid::kAsymmetric;
  if (coordinates == Coordinates::kHalfPixel) return Grid::kHalfPixel;
  const bool larger_than_one = y[2] > 1 && y[3] > 1;
  if (coordinates == Coordinates::kPytorchHalfPixel && larger_than_one) return Grid::kHalfPixel;
  return std::nullopt;
}

// The plan of a node whose scales or sizes are constant.
std::optional<std::vector<AxisPlan>> constant_plan(const Graph& graph, const Node& node) {
  std::array<const Tensor*, 4> numbers{};
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    numbers[i] = constant_input(graph, node, i);
    if (numbers[i] == nullptr && is_given(node, i) && i != kRoi) return std::nullopt;
  }
  const Shape& x = *graph.value(node.inputs[0]).shape;
  return plan_axes(node.attributes, x, resized_axes(node.attributes, x.size()),
                   is_empty(numbers[kScales]) ? std::vector<float>{} : numbers[kScales]->to_floats(),
                   is_empty(numbers[kSizes]) ? std::vector<std::int64_t>{} : numbers[kSizes]->to_int64s());
}

Result<bool> lower_resize(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Shape& y = *graph.value(node.outputs[0]).shape;
  if (node.attributes.get_string("mode", "nearest") != "linear" || y.size() != 4) return false;
  if (node.attributes.get_int("antialias", 0) != 0 || node.attributes.get_int("exclude_outside", 0) != 0) return false;
  const auto plan = constant_plan(graph, node);
  const auto grid = grid_of(*coordinates_of(node.attributes), y);
  if (!plan || !grid) return false;
  for (std::size_t axis = 0; axis < plan->size(); ++axis) {
    const AxisPlan& one = (*plan)[axis];
    if (axis < 2 && (one.in != one.out || one.scale != 1)) return false;
    if (one.length != static_cast<double>(one.out)) return false;
  }
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], Layout::kNhwc));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.resize_bilinear(*grid, input, output));
  return true;
}

// --- Nearest pixels by a kernel of kinglet's own ---------------------------------------------------------------------

// The input place of each output place; nothing where one lies outside of a crop.
std::optional<std::vector<std::uint32_t>> nearest_places(const AxisSampler& sampler, const AxisPlan& axis) {
  std::vector<std::uint32_t> places;
  for (const std::vector<Sample>& samples : sampler.samples(axis)) {
    if (samples.empty()) return std::nullopt;
    places.push_back(static_cast<std::uint32_t>(samples[0].place));
  }
  return places;
}

std::optional<kernels::Work> nearest_work(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Value& x = graph.value(node.inputs[0]);
  const AxisSampler sampler(node.attributes);
  const bool crops = *coordinates_of(node.attributes) == Coordinates::kCrop;
  const bool roi_is_computed = is_given(node, kRoi) && constant_input(graph, node, kRoi) == nullptr;
  if (!sampler.nearest() || crops || x.shape->size() != 4 || roi_is_computed) return std::nullopt;
  const auto plan = constant_plan(graph, node);
  if (!plan || !sampler.keeps((*plan)[0]) || !sampler.keeps((*plan)[1])) return std::nullopt;
  auto rows = nearest_places(sampler, (*plan)[2]);
  auto columns = nearest_places(sampler, (*plan)[3]);
  if (!rows || !columns || rows->empty() || columns->empty()) return std::nullopt;
  const auto size = [&](std::size_t axis) { return static_cast<std::size_t>((*x.shape)[axis]); };
  return kernels::Work{kernels::Nearest{.batch = size(0),
                                        .input_height = size(2),
                                        .input_width = size(3),
                                        .pixel_bytes = size(1) * byte_size(x.type),
                                        .rows = std::move(*rows),
                                        .columns = std::move(*columns)}};
}

// Pointers to the four corners around each place.
double resize_kept_bytes(const Graph& graph, const Node& node) {
  const Shape& out = *graph.value(node.outputs[0]).shape;
  double bytes = 4 * sizeof(void*);
  for (std::size_t axis = 2; axis < out.size(); ++axis) bytes *= std::max(1.0, static_cast<double>(out[axis]));
  return bytes;
}

// An axis at a time, up to four samples of the smaller side for each number of the larger one.
double resize_steps(const Graph& graph, const Node& node) {
  constexpr double kSamples = 16;
  return kSamples * (input_numbers(graph, node, 0) + output_numbers(graph, node));
}

}  // namespace

const OpParts kResize{.normalize = normalize_resize,
                      .infer = infer_resize,
                      .evaluate = evaluate_resize,
                      .steps = resize_steps,
                      .lower = lower_resize,
                      .traits = {.fits_half = false},
                      .kept_bytes = resize_kept_bytes,
                      .work_alone = nearest_work};
const OpParts kUpsample{.normalize = normalize_upsample,
                        .infer = infer_resize,
                        .evaluate = evaluate_resize,
                        .steps = resize_steps,
                        .traits = {.fits_half = false}};

}  // namespace kinglet::engine::ops
