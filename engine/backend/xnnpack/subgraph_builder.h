// SPDX-License-Identifier: Apache-2.0
// Why: one XNNPACK subgraph in the making. `lower` functions of operators ask it for operands in the layout they need
// and add nodes; every node is checked (checks.h) before XNNPACK sees it, because XNNPACK itself checks little.
//
// XNNPACK hears of all of it in finish(): which values are to lie outside of its own memory has to be said when they
// are defined, and shows only when all their readers are known.
//
// Two modes: a probe makes the same checks and records but never calls XNNPACK nor copies a weight; the plan uses it to
// ask "would you take this node?". Thread-bound. The graph, the layouts and the rules must outlive the
// builder.
#pragma once

#include <xnnpack.h>

#include <compare>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/backend/bands.h"
#include "engine/backend/layout.h"
#include "engine/backend/xnnpack/checks.h"
#include "engine/graph/graph.h"

namespace kinglet::engine::xnn {

// A tensor of the subgraph: an index into the builder's records.
struct Operand {
  std::uint32_t index = 0;
  bool operator==(const Operand&) const = default;
};

// How long the numbers behind a static operand are read: convolution and fully-connected weights are packed when the
// runtime is made, operands of other nodes are read at every run.
enum class Lifetime { kUntilPacked, kForever };

struct SubgraphDeleter {
  void operator()(xnn_subgraph_t subgraph) const { xnn_delete_subgraph(subgraph); }
};
using SubgraphHandle = std::unique_ptr<xnn_subgraph, SubgraphDeleter>;

// What a node computes the graph's f32 values with.
enum class Floats : std::uint8_t { kSingle, kHalf };

// One XNNPACK node and the graph's node it was made for (kNoNode: a layout change at the border).
struct DefinedNode {
  NodeId node = kNoNode;
  std::string_view kind;  // as the profile names its operator: "Convolution", "Binary Elementwise" ...
};

// What is known of XNNPACK's nodes beside their shapes.
struct NodeKind {
  std::string_view name;     // as DefinedNode::kind
  bool writes_over = false;  // each number only where it was read: XNNPACK itself puts output over input there
  enum class Join : std::uint8_t { kNone, kClamp, kPad, kConvolution } join = Join::kNone;
};

// The filter of a layer that asks XNNPACK's weights cache before it reads the numbers (packing.h).
struct LateFilter {
  Tensor numbers;               // lie where XNNPACK was told
  std::size_t least_bytes = 0;  // that they take packed
};

// A value that lies where we say: one that crosses the border of the subgraph, or one between its nodes. `xnn_id` is
// its place in the binding list. XNNPACK runs nodes in the order they were defined, so that its memory is free before
// `first` and after `last`.
struct ExternalValue {
  ValueId value = kNoValue;  // none: between nodes
  std::uint32_t xnn_id = 0;
  Dims dims;               // physical
  bool is_output = false;  // written here
  std::size_t bytes = 0;
  std::size_t first = 0, last = 0;     // nodes of Built::nodes that write or read it, both inclusive
  std::vector<std::size_t> over;       // other external values, dead after `first`, that it may be written over
  std::optional<std::size_t> part_of;  // an earlier external value, of which these are the bytes from `offset` on
  std::size_t offset = 0;
};

class SubgraphBuilder {
 public:
  // Values that come from and go to outside, in their border layout; `halves`, of both, as float16. kUnavailable when
  // XNNPACK refuses the machine.
  [[nodiscard]] static Result<SubgraphBuilder> create(const Graph& graph, const Layouts& layouts,
                                                      const LevelRules& rules, std::span<const ValueId> inputs,
                                                      std::span<const ValueId> outputs,
                                                      const std::set<ValueId>& halves = {});
  [[nodiscard]] static SubgraphBuilder probe(const Graph& graph, const Layouts& layouts, const LevelRules& rules);

  // --- Around each `lower` ----------------------------------------------------------------------------------------
  // The graph's node that the following calls belong to; its fused clip (fused_clip.h) is remembered. With kHalf its
  // operands and results are float16, and what was made as f32 is converted, once for all its readers.
  void begin_node(NodeId id, Floats floats = Floats::kSingle);
  // Adds the clamp that a node asked for by its attributes and that `lower` did not take itself.
  [[nodiscard]] Result<void> end_node();
  // Adds layout changes of external outputs, says where values lie, and makes XNNPACK's subgraph. After this nothing
  // may be added. kInternal when XNNPACK refuses something; node() is what that was for.
  [[nodiscard]] Result<void> finish();
  [[nodiscard]] NodeId node() const { return node_; }

  // After finish(): a node that made something which neither leaves nor is read here, as the ratio of a Dropout in
  // inference may be; kNoNode without one. XNNPACK drops the last of a chain of such nodes and aborts at the one
  // before.
  [[nodiscard]] NodeId unread() const;

  // --- Operands ---------------------------------------------------------------------------------------------------
  [[nodiscard]] const Graph& graph() const { return *graph_; }
  // The layout the plan gave to a value.
  [[nodiscard]] Layout layout(ValueId id) const { return layouts_->of(id); }
  [[nodiscard]] bool is_probe() const { return probe_; }
  // How many will share its work; 1 at first.
  void set_threads(std::size_t threads) { threads_ = threads; }
  [[nodiscard]] std::size_t threads() const { return threads_; }

  // The value in the asked layout; constants are copied in that order, computed ones transposed when they lie
  // otherwise. kBadData for element types XNNPACK does not take.
  [[nodiscard]] Result<Operand> input(ValueId id, Layout layout);
  // The value in whatever layout it lies, when the order of its numbers is that of its shape; else transposed to it.
  [[nodiscard]] Result<Operand> input_in_logical_order(ValueId id);
  // The same as input(), with dimensions of 1 put in front up to `rank` when the layout needs all four of them.
  [[nodiscard]] Result<Operand> input_for_broadcast(ValueId id, Layout layout, std::size_t rank);
  // What a node makes, in the layout of the plan.
  [[nodiscard]] Result<Operand> output(ValueId id);
  // A value between two XNNPACK nodes of one operator.
  [[nodiscard]] Result<Operand> temporary(const Dims& dims);
  template <std::size_t kCount>
  [[nodiscard]] Result<std::array<Operand, kCount>> temporaries(const Dims& dims) {
    std::array<Operand, kCount> made{};
    for (Operand& one : made) one = KINGLET_TRY(temporary(dims));
    return made;
  }
  // The same, of the type, scale and zero point of `other`.
  [[nodiscard]] Result<Operand> temporary_like(Operand other, const Dims& dims);
  // Static float numbers; `dims` are physical and describe as many elements as the tensor has. kBadData when they are
  // read as float16 and one is too large.
  [[nodiscard]] Result<Operand> constant(const Tensor& numbers, Dims dims, Lifetime lifetime);
  [[nodiscard]] Result<Operand> scalar(float value);
  // Weights of a layer: i8 with one scale or one for each index of `channel_axis`, zero point 0; or u8 with one scale.
  // Packed when the runtime is made. `numbers` lie in the order of `dims`.
  [[nodiscard]] Result<Operand> quantized_filter(const Tensor& numbers, const Dims& dims, std::span<const float> scales,
                                                 std::int32_t zero_point, std::size_t channel_axis);
  // Its i32 bias [channels], one scale or one for each. `filter` tells which of the two forms goes with it.
  [[nodiscard]] Result<Operand> quantized_bias(const Tensor& levels, std::span<const float> scales, Operand filter);
  // A float matrix [rows, columns] whose rows get their own scales at each run: what convert() fills and
  // fully_connected() multiplies with i8 weights, giving floats.
  [[nodiscard]] Result<Operand> dynamically_quantized(const Dims& dims);
  [[nodiscard]] const Dims& dims(Operand operand) const { return records_.at(operand.index).dims; }

  // The node's fused clip, for nodes that clip by themselves; without this call end_node() adds a clamp.
  [[nodiscard]] Range take_clip();

  // --- Nodes: each verifies, then defines. kBadData: refused by our check; kInternal: XNNPACK refused. ------------
  [[nodiscard]] Result<void> convolution(const Window& window, std::size_t groups, Range range, Operand input,
                                         Operand filter, std::optional<Operand> bias, Operand output);
  [[nodiscard]] Result<void> depthwise_convolution(const Window& window, std::size_t multiplier, Range range,
                                                   Operand input, Operand filter, std::optional<Operand> bias,
                                                   Operand output);
  [[nodiscard]] Result<void> fully_connected(bool transposed_filter, Range range, Operand input, Operand filter,
                                             std::optional<Operand> bias, Operand output);
  [[nodiscard]] Result<void> batch_matrix_multiply(Operand a, Operand b, Operand output);
  [[nodiscard]] Result<void> average_pooling(const Window& window, Range range, Operand input, Operand output);
  [[nodiscard]] Result<void> max_pooling(const Window& window, Range range, Operand input, Operand output);
  [[nodiscard]] Result<void> unary(xnn_unary_operator type, const xnn_unary_params& params, Operand input,
                                   Operand output);
  [[nodiscard]] Result<void> clamp(Range range, Operand input, Operand output);
  // Between float and 8-bit values, between two 8-bit ones, or between f32 and float16.
  [[nodiscard]] Result<void> convert(Operand input, Operand output);
  [[nodiscard]] Result<void> binary(xnn_binary_operator type, Operand a, Operand b, Operand output);
  [[nodiscard]] Result<void> softmax(Operand input, Operand output);  // over the last physical axis
  [[nodiscard]] Result<void> reduce(xnn_reduce_operator type, const std::vector<std::size_t>& axes, bool keep_dims,
                                    Operand input, Operand output);
  // Any number of inputs; more than five are chained.
  [[nodiscard]] Result<void> concatenate(std::size_t axis, std::span<const Operand> inputs, Operand output);
  [[nodiscard]] Result<void> slice(const Dims& offsets, const Dims& sizes, Operand input, Operand output);
  [[nodiscard]] Result<void> reshape(Operand input, Operand output);
  [[nodiscard]] Result<void> transpose(const Dims& permutation, Operand input, Operand output);
  [[nodiscard]] Result<void> pad(const Dims& before, const Dims& after, float value, Operand input, Operand output);
  enum class ResizeGrid { kHalfPixel, kAlignCorners, kAsymmetric };
  [[nodiscard]] Result<void> resize_bilinear(ResizeGrid grid, Operand input, Operand output);

  // --- After finish() ---------------------------------------------------------------------------------------------
  struct Built {
    SubgraphHandle subgraph;
    std::vector<ExternalValue> externals;
    std::vector<DefinedNode> nodes;
    std::vector<LateFilter> filters;  // one a layer, each until it is packed
    std::vector<Tensor> packed_data;  // may go as soon as the runtime exists
    std::vector<Tensor> kept_data;    // must live as long as the runtime
    std::size_t transposes = 0;
  };
  [[nodiscard]] Built take();

 private:
  struct Record {
    xnn_datatype type = xnn_datatype_fp32;
    Quantization quantization;
    Tensor channel_scales;  // of qcint8 and qcint32
    std::size_t channel_axis = 0;
    Dims dims;
    Tensor numbers;  // of a static one
    Lifetime lifetime = Lifetime::kForever;
    Floats floats = Floats::kSingle;  // that its node computes with
    std::size_t layers = 0;           // whose filter it is, of those that look it up before they read it
    bool made = false;                // external, static, or written by a node
    bool is_static = false;

    [[nodiscard]] bool is_late() const { return layers > 0 && lifetime == Lifetime::kUntilPacked; }
    Range range;                        // what its maker clips it to
    bool clips_itself = false;          // its maker: XNNPACK joins a clamp behind it with it
    NodeId owner = kNoNode;             // the graph's node that it was added for
    std::optional<Operand> whole;       // whose rows these are,
    std::size_t offset = 0;             // from this byte on
    std::optional<std::size_t> writer;  // of nodes_
    std::size_t first = 0, last = 0;    // nodes of nodes_ that write or read it, also as XNNPACK joins them
    std::size_t reads = 0;
    bool joined = false;                  // by XNNPACK, so that nothing is written to it
    std::optional<std::size_t> external;  // of externals_
  };
  // A value may be there in both layouts and as both floats.
  struct Key {
    ValueId value = kNoValue;
    Layout layout = Layout::kLogical;
    bool half = false;
    auto operator<=>(const Key&) const = default;
  };
  struct Ids {
    std::vector<std::uint32_t> of_records;
    [[nodiscard]] std::uint32_t operator()(Operand operand) const { return of_records[operand.index]; }
  };
  using Call = std::function<xnn_status(xnn_subgraph_t, const Ids&)>;
  // A convolution as it was asked for.
  struct Layer {
    Window window;
    bool depthwise = false;
    std::size_t count = 1;  // of groups; of depthwise: the multiplier
    Range range;
    Operand input, filter;
    std::optional<Operand> bias;
    Operand output;
  };
  // Beside each of nodes_.
  struct Definition {
    NodeKind kind;
    std::vector<Operand> inputs;
    Operand output;
    Call call;
    std::optional<Layer> layer;
  };

  SubgraphBuilder(const Graph& graph, const Layouts& layouts, const LevelRules& rules, bool probe)
      : graph_(&graph), layouts_(&layouts), rules_(&rules), probe_(probe) {}

  [[nodiscard]] Result<Operand> add_record(Record record);
  [[nodiscard]] Result<Record> describe(ValueId id, Layout layout) const;
  [[nodiscard]] Result<void> add_external(ValueId id, bool is_output);
  [[nodiscard]] Result<Operand> add_static(Record record, const Tensor& numbers, Lifetime lifetime);
  // finish(), in order.
  [[nodiscard]] Result<void> fill_outputs();
  [[nodiscard]] Result<void> cut_into_bands();
  void find_joined();
  void place_values();
  [[nodiscard]] std::vector<std::size_t> may_lie_over(std::size_t node) const;
  [[nodiscard]] Result<void> define_all();
  [[nodiscard]] std::size_t bands_at(std::size_t node) const;
  [[nodiscard]] Between between_of(const Layer& pixels, const Layer& windows) const;
  [[nodiscard]] Result<void> define_layer(const Layer& layer);
  [[nodiscard]] Result<void> define_in_bands(const Layer& pixels, const Layer& windows, NodeId of_windows,
                                             std::size_t bands);
  [[nodiscard]] Result<Operand> rows_of(Operand whole, std::size_t first, std::size_t count, bool is_read);
  [[nodiscard]] std::size_t bytes_of(const Record& record) const;
  void share_out_numbers(Built& built) const;
  [[nodiscard]] xnn_status define_value(const Record& record, std::uint32_t* id) const;
  [[nodiscard]] Result<Operand> constant_input(ValueId id, Layout layout, const Shape& shape);
  [[nodiscard]] Result<Operand> computed_input(ValueId id, Layout layout);
  [[nodiscard]] Key key_of(ValueId id, Layout layout) const;
  [[nodiscard]] std::optional<std::pair<Key, Operand>> find_other(const Key& wanted) const;
  [[nodiscard]] Result<void> change_layout(Operand from, Layout from_layout, Operand to, Layout to_layout);
  // change_layout, from one kind of floats to the other where they differ.
  [[nodiscard]] Result<void> carry(Operand from, Layout from_layout, Operand to, Layout to_layout);
  [[nodiscard]] Result<void> check_halves(const Tensor& numbers) const;
  [[nodiscard]] Result<void> check_float(std::initializer_list<Operand> operands) const;
  [[nodiscard]] Result<void> check_product(Operand input, Operand filter, std::optional<Operand> bias,
                                           Operand output) const;
  [[nodiscard]] Result<void> check_arithmetic(xnn_binary_operator type, Operand a, Operand b, Operand output) const;
  [[nodiscard]] Result<void> check_unary(xnn_unary_operator type, const xnn_unary_params& params, Operand input,
                                         Operand output) const;
  [[nodiscard]] Result<void> check_conversion(Operand input, Operand output) const;
  [[nodiscard]] Result<void> check_numbers(Operand output) const;     // of what computes: none of whole numbers
  [[nodiscard]] Result<void> check_kind(Operand a, Operand b) const;  // both float, or both 8-bit of one sign
  [[nodiscard]] Result<void> check_same_type(std::initializer_list<Operand> operands) const;
  [[nodiscard]] Result<void> join(std::size_t axis, std::span<const Operand> inputs, Operand output);
  // check_product; weights are constant, and the range is that of `output` from now on.
  [[nodiscard]] Result<void> begin_layer(const Range& range, Operand input, Operand filter, std::optional<Operand> bias,
                                         Operand output);
  // check_range; the range is that of the operand from now on.
  [[nodiscard]] Result<void> set_range(Operand output, const Range& range);
  [[nodiscard]] Result<void> check_bounds(Operand output, const Range& range) const;
  [[nodiscard]] Result<void> define(const NodeKind& kind, std::span<const Operand> inputs, Operand output, Call call);
  [[nodiscard]] const Record& record(Operand operand) const { return records_.at(operand.index); }

  const Graph* graph_;
  const Layouts* layouts_;
  const LevelRules* rules_;
  bool probe_;
  std::size_t threads_ = 1;
  SubgraphHandle subgraph_;
  std::vector<Record> records_;
  std::map<Key, Operand> operands_;  // of values
  std::map<Key, Operand> widened_;   // made 4-D for broadcasting
  std::map<ValueId, Operand> external_outputs_;
  std::vector<ExternalValue> externals_;
  std::vector<DefinedNode> nodes_;
  std::vector<Definition> definitions_;
  std::size_t transposes_ = 0;

  NodeId node_ = kNoNode;
  Floats floats_ = Floats::kSingle;
  Range clip_;
  std::optional<std::pair<Operand, Operand>> clip_pair_;  // before, after
};

}  // namespace kinglet::engine::xnn
