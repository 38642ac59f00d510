// SPDX-License-Identifier: Apache-2.0
// Whole small classifiers at random: what `kinglet optimize` and `kinglet quantize` are given.
#include <algorithm>

#include "tests/contract/random_lowering/cases.h"

namespace kinglet::engine::random_cases {
namespace {

struct Made {
  std::string name;
  int channels = 1, height = 1, width = 1;
  [[nodiscard]] bool same(const Made& other) const {
    return channels == other.channels && height == other.height && width == other.width;
  }
};

// Lines of a graph whose values are pictures; each node is one more value.
class Writer {
 public:
  Writer(Draw& draw, std::string type) : draw_(draw), type_(std::move(type)) {}

  std::string text;

  void input() {
    values_.push_back({"%x", draw_.between(1, 4), draw_.between(4, 10), draw_.between(4, 10)});
    text = std::format("%x = input {}[1,{},{},{}]\n", type_, x().channels, x().height, x().width);
  }

  void add_layer() {
    const Made from = one();
    switch (draw_.below(19)) {
      case 0:
      case 1:
        return convolution(from);
      case 2:
        return batch_normalization(from);
      case 3:
        return node(from, "Relu({})");
      case 4:
        return node(from, std::format("Clip({{}}, lo{0}:{1}[]{{{{0}}}}, hi{0}:{1}[]{{{{{2}}}}})", count_, type_,
                                      draw_.pick({6, 1})));
      case 5:
        return node(from, std::format("LeakyRelu({{}}) {{{{alpha={}}}}}", number(draw_.pick({0.1, 0.001, 0.0}))));
      case 6:
        return node(from, "HardSwish({})");
      case 7:
        return node(from, "Sigmoid({})");
      case 8:
        return by_channel(from, draw_.pick({"Mul", "Add", "Sub", "Div"}));
      case 9:
        return two(from);
      case 10:
        return pool(from);
      case 11:
        return pad(from);
      case 12:
        return concat(from);
      case 13:
        return turn_twice(from);
      case 14:
        return slice(from);
      case 15:
        return gate(from);
      case 16:
        return node(from, draw_.pick({"Identity({})", "Dropout({})", "Neg({})", "Abs({})", "Tanh({})"}));
      case 17:
        return shuffle(from);
      default: {
        const Made behind = (node(from, "Sigmoid({})"), values_.back());
        node(from, std::format("Mul({{}}, {})", behind.name));
      }
    }
  }

  void end() {
    Made last = values_.back();
    if (last.height * last.width > 1) {
      node({last.name, last.channels, 1, 1},
           draw_.pick({"GlobalAveragePool({})", "ReduceMean({}, axes:i64[2]{{2,3}}) {{keepdims=1}}"}), last.name);
      last = values_.back();
    }
    const int classes = draw_.between(2, 7);
    const std::string flat = fresh(), scores = fresh();
    line(flat, std::format("Flatten({})", last.name));
    const bool turned = draw_.one_in(2);
    line(scores, draw_.one_in(3) ? std::format("MatMul({}, wl:{}[{},{}]#wl)", flat, type_, last.channels, classes)
                                 : std::format("Gemm({}, wl:{}[{},{}]#wl, bl:{}[{}]#bl) {{transB={}}}", flat, type_,
                                               turned ? classes : last.channels, turned ? last.channels : classes,
                                               type_, classes, int{turned}));
    std::string outputs = scores;
    if (draw_.one_in(3)) {
      outputs = fresh();
      line(outputs, std::format("Softmax({})", scores));
    }
    if (draw_.one_in(4) && values_.size() > 2)
      outputs += ", " + values_[1 + static_cast<std::size_t>(draw_.below(static_cast<int>(values_.size()) - 1))].name;
    text += "output " + outputs + "\n";
  }

 private:
  const Made& x() const { return values_.front(); }
  // Mostly the newest, so that graphs are deep.
  Made one() {
    const int size = static_cast<int>(values_.size());
    return values_[static_cast<std::size_t>(draw_.one_in(4) ? draw_.below(size) : size - 1)];
  }
  std::string fresh() { return std::format("%{}", ++count_); }
  void line(const std::string& name, const std::string& node) {
    text += std::format("{}{} = {}\n", name, type_ == "f32" ? "" : ":" + type_, node);
  }
  void node(Made made, std::string_view form, std::string from = {}) {
    if (from.empty()) from = made.name;
    made.name = fresh();
    line(made.name, std::vformat(form, std::make_format_args(from)));
    values_.push_back(made);
  }

  void convolution(const Made& from) {
    const int kind = draw_.below(3);
    const int kernel = kind == 0 ? 1 : draw_.pick({3, 1, 2, 5});
    const int groups = kind == 2 ? from.channels : 1;
    const int outputs = groups > 1 ? groups : draw_.between(1, 8);
    const int pad = draw_.one_in(2) ? kernel / 2 : 0;
    const int stride = draw_.one_in(4) ? 2 : 1;
    if (from.height + 2 * pad < kernel || from.width + 2 * pad < kernel) return node(from, "Relu({})");
    const std::string bias = draw_.one_in(2) ? std::format(", b{0}:{1}[{2}]#b{0}", count_, type_, outputs) : "";
    node({from.name, outputs, (from.height + 2 * pad - kernel) / stride + 1,
          (from.width + 2 * pad - kernel) / stride + 1},
         std::format("Conv({{}}, w{0}:{1}[{2},{3},{4},{4}]#w{0}{5}) {{{{group={6}, pads=[{7},{7},{7},{7}], "
                     "strides=[{8},{8}]}}}}",
                     count_, type_, outputs, from.channels / groups, kernel, bias, groups, pad, stride));
  }
  void batch_normalization(const Made& from) {
    node(from, std::format("BatchNormalization({{}}, s{0}:{1}[{2}]#+s{0}, h{0}:{1}[{2}]#h{0}, m{0}:{1}[{2}]#m{0}, "
                           "v{0}:{1}[{2}]#+v{0})",
                           count_, type_, from.channels));
  }
  void by_channel(const Made& from, const char* op) {
    node(from, std::format("{3}({{}}, c{0}:{1}[{2},1,1]#{4}c{0})", count_, type_, draw_.one_in(3) ? 1 : from.channels,
                           op, std::string_view(op) == "Div" ? "+" : ""));
  }
  void two(const Made& from) {
    std::string other = from.name;
    for (const Made& value : values_) {
      if (value.same(from) && draw_.one_in(2)) other = value.name;
    }
    node(from, std::format("{}({{}}, {})", draw_.pick({"Add", "Sub", "Max", "Min"}), other));
  }
  void pool(const Made& from) {
    const int kernel = draw_.between(2, 3);
    const int stride = draw_.between(1, 2);
    const int pad = draw_.one_in(3) ? 1 : 0;
    if (from.height + pad < kernel || from.width + pad < kernel) return node(from, "Relu({})");
    node(
        {from.name, from.channels, (from.height + pad - kernel) / stride + 1, (from.width + pad - kernel) / stride + 1},
        std::format("{}({{}}) {{{{kernel_shape=[{},{}], strides=[{},{}], pads=[{},0,0,{}]}}}}",
                    draw_.pick({"MaxPool", "AveragePool"}), kernel, kernel, stride, stride, pad, pad));
  }
  void pad(const Made& from) {
    const int top = draw_.below(3), left = draw_.below(3), bottom = draw_.below(2), right = draw_.below(2);
    node({from.name, from.channels, from.height + top + bottom, from.width + left + right},
         std::format("Pad({{}}, p{}:i64[8]{{{{0,0,{},{},0,0,{},{}}}}})", count_, top, left, bottom, right));
  }
  void concat(const Made& from) {
    if (from.channels > 12) return node(from, "Relu({})");
    node({from.name, 2 * from.channels, from.height, from.width},
         std::format("Concat({{}}, {}) {{{{axis=1}}}}", from.name));
  }
  void turn_twice(const Made& from) {
    node(from, "Transpose({}) {{perm=[0,2,3,1]}}");
    const std::string turned = values_.back().name;
    values_.pop_back();
    node(from, "Transpose({}) {{perm=[0,3,1,2]}}", turned);
  }
  void slice(const Made& from) {
    const int first = draw_.below(from.channels);
    node(
        {from.name, from.channels - first, from.height, from.width},
        std::format("Slice({{}}, a{0}:i64[1]{{{{{1}}}}}, e{0}:i64[1]{{{{99}}}}, i{0}:i64[1]{{{{1}}}})", count_, first));
  }
  void gate(const Made& from) {
    node({from.name, from.channels, 1, 1}, "GlobalAveragePool({})");
    node(values_.back(), draw_.pick({"Sigmoid({})", "HardSigmoid({})"}));
    const std::string factor = values_.back().name;
    node(from, std::format("Mul({{}}, {})", factor));
  }
  void shuffle(const Made& from) {
    if (from.channels % 2 != 0) return node(from, "Relu({})");
    const std::string shaped = fresh(), turned = fresh();
    line(shaped, std::format("Reshape({}, r{}:i64[5]{{1,2,{},{},{}}})", from.name, count_, from.channels / 2,
                             from.height, from.width));
    line(turned, std::format("Transpose({}) {{perm=[0,2,1,3,4]}}", shaped));
    node(from,
         std::format("Reshape({{}}, r{}:i64[4]{{{{1,{},{},{}}}}})", count_ + 1, from.channels, from.height, from.width),
         turned);
  }

  Draw& draw_;
  std::string type_;
  std::vector<Made> values_;
  int count_ = 0;
};

Case network(Draw& draw, const char* type) {
  Writer writer(draw, type);
  writer.input();
  for (int i = draw.between(1, 9); i > 0; --i) writer.add_layer();
  writer.end();
  return {.text = writer.text, .scale = 2, .half = std::string_view(type) == "f16"};
}

}  // namespace

Case floats(Draw& draw) { return network(draw, "f32"); }
Case halves(Draw& draw) { return network(draw, "f16"); }
Case levels(Draw& draw) { return network(draw, "f32"); }

}  // namespace kinglet::engine::random_cases
