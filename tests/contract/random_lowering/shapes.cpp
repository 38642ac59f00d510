// SPDX-License-Identifier: Apache-2.0
// Cases of operators that move numbers and change none: their answers are the same bits. Of all types that lie in
// memory as they are: float, and 8-bit levels whose scale a reader tells.
#include <algorithm>

#include "tests/contract/random_lowering/cases.h"

namespace kinglet::engine::random_cases {
namespace {

// Levels come to be floats at the end, by a scale and a zero point of any kind.
struct Moved {
  std::string type;
  std::string tail;  // behind %1, up to the output line
};

Moved moved_type(Draw& draw, Case& made) {
  made.roundings = 0;
  switch (draw.below(4)) {
    case 1:
      return {"i8", std::format("%2 = DequantizeLinear(%1, s:f32[]{{0.25}}, z:i8[]{{{}}})\noutput %2\n",
                                draw.pick({0, -128, 127, 5}))};
    case 2:
      return {"u8", std::format("%2 = DequantizeLinear(%1, s:f32[]{{0.25}}, z:u8[]{{{}}})\noutput %2\n",
                                draw.pick({0, 255, 128}))};
    case 3:
      made.half = true;
      return {"f16", "output %1\n"};
    default:
      return {"f32", "output %1\n"};
  }
}

// %x in, %1 out.
Case moving(Draw& draw, const std::vector<int>& x, const std::string& node, Case made = {}) {
  const Moved moved = moved_type(draw, made);
  const std::string inputs = std::format("%x = input {}[{}]\n", moved.type, list(x));
  if (moved.type == "f32" && draw.one_in(2)) {
    made.text =
        with_neighbours(draw, {.inputs = inputs, .node = node + "\n", .rank = x.size(), .output_rank = x.size()});
    if (made.text.find("MaxPool(%1)") != std::string::npos && node.find("Transpose") == std::string::npos) {
      // The rank behind most of them is another.
      made.text = inputs + node + "\n" + moved.tail;
    }
    return made;
  }
  made.text = inputs + node + "\n" + moved.tail;
  return made;
}

int count_of(const std::vector<int>& shape) {
  int count = 1;
  for (const int side : shape) count *= side;
  return count;
}

}  // namespace

Case identity(Draw& draw) { return moving(draw, any_shape(draw, 0, 6), "%1 = Identity(%x)"); }
Case dropout(Draw& draw) {
  Case made{.roundings = 0};
  made.text = std::format("%x = input f32[{}]\n%1{} = Dropout(%x)\noutput %1\n", list(any_shape(draw, 0, 5)),
                          draw.pick({"", ", _", ", %2"}));
  return made;
}
Case reshape(Draw& draw) {
  const std::vector<int> x = any_shape(draw, 0, 6);
  int left = count_of(x);
  std::vector<int> to;
  for (int i = draw.below(7); i > 0; --i) {
    const int side = draw.between(1, 6);
    if (left % side != 0) continue;
    to.push_back(side);
    left /= side;
  }
  if (left > 1 || draw.one_in(3)) to.push_back(draw.one_in(3) ? -1 : left);
  return moving(draw, x, std::format("%1 = Reshape(%x, t:i64[{}]{{{}}})", to.size(), list(to)));
}
Case flatten(Draw& draw) {
  const std::vector<int> x = any_shape(draw, 0, 6);
  const int rank = static_cast<int>(x.size());
  return moving(draw, x, std::format("%1 = Flatten(%x) {{axis={}}}", draw.between(-rank, rank)));
}
Case squeeze(Draw& draw) {
  std::vector<int> x = any_shape(draw, 0, 6);
  std::vector<int> axes;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!draw.one_in(2)) continue;
    x[i] = 1;
    axes.push_back(static_cast<int>(i) - (draw.one_in(3) ? static_cast<int>(x.size()) : 0));
  }
  const bool named = !axes.empty() && !draw.one_in(4);
  return moving(draw, x,
                named ? std::format("%1 = Squeeze(%x, a:i64[{}]{{{}}})", axes.size(), list(axes)) : "%1 = Squeeze(%x)");
}
Case unsqueeze(Draw& draw) {
  const std::vector<int> x = any_shape(draw, 0, 5);
  const int more = draw.between(1, 2);
  const int rank = static_cast<int>(x.size()) + more;
  std::vector<int> axes = draw.permutation(rank);
  axes.resize(static_cast<std::size_t>(more));
  for (int& axis : axes) axis -= draw.one_in(3) ? rank : 0;
  return moving(draw, x, std::format("%1 = Unsqueeze(%x, a:i64[{}]{{{}}})", more, list(axes)));
}

Case concat(Draw& draw) {
  Case made{.roundings = 0};
  const Moved moved = moved_type(draw, made);
  const std::vector<int> x = any_shape(draw, 1, 6);
  const int rank = static_cast<int>(x.size());
  const int axis = draw.between(0, rank - 1);
  std::string inputs = std::format("%x = input {}[{}]\n", moved.type, list(x));
  std::string parts = "%x";
  for (int i = draw.below(draw.one_in(4) ? 14 : 4); i > 0; --i) {
    std::vector<int> other = x;
    other[static_cast<std::size_t>(axis)] = draw.between(1, 5);
    switch (draw.below(moved.type == "f32" ? 3 : 2)) {
      case 0:
        parts += ", %x";
        break;
      case 1:
        inputs += std::format("%y{} = input {}[{}]\n", i, moved.type, list(other));
        parts += std::format(", %y{}", i);
        break;
      default:
        parts += std::format(", c{}:f32[{}]#c{}", i, list(other), i);
    }
  }
  made.text =
      inputs + std::format("%1 = Concat({}) {{axis={}}}\n", parts, draw.one_in(2) ? axis : axis - rank) + moved.tail;
  return made;
}

Case split(Draw& draw) {
  Case made{.roundings = 0};
  std::vector<int> x = any_shape(draw, 1, 6);
  const int rank = static_cast<int>(x.size());
  const int axis = draw.between(0, rank - 1);
  const int parts = draw.between(1, 4);
  std::vector<int> lengths;
  int whole = 0;
  for (int i = 0; i < parts; ++i) {
    lengths.push_back(draw.one_in(10) ? 0 : draw.between(1, 3));
    whole += lengths.back();
  }
  x[static_cast<std::size_t>(axis)] = std::max(1, whole);
  if (whole == 0) lengths[0] = 1;
  std::string made_values = "%1";
  std::string outputs;
  for (int i = 1; i <= parts; ++i) {
    if (i > 1) made_values += std::format(", %{}", i);
    if (!draw.one_in(5)) outputs += std::format("{}%{}", outputs.empty() ? "" : ", ", i);
  }
  made.text =
      std::format("%x = input f32[{}]\n{} = Split(%x, l:i64[{}]{{{}}}) {{axis={}}}\noutput {}\n", list(x), made_values,
                  parts, list(lengths), draw.one_in(2) ? axis : axis - rank, outputs.empty() ? "%1" : outputs);
  return made;
}

Case slice(Draw& draw) {
  const std::vector<int> x = any_shape(draw, 1, 6);
  const int rank = static_cast<int>(x.size());
  std::vector<int> axes, starts, ends, steps;
  for (int axis = 0; axis < rank; ++axis) {
    if (!axes.empty() && !draw.one_in(2)) continue;
    const int side = x[static_cast<std::size_t>(axis)];
    axes.push_back(draw.one_in(3) ? axis - rank : axis);
    starts.push_back(draw.between(-side - 1, side));
    ends.push_back(draw.one_in(4) ? 100 : draw.between(-side, side + 1));
    steps.push_back(draw.one_in(3) ? draw.pick({2, 3, -1}) : 1);
  }
  const std::size_t count = axes.size();
  return moving(
      draw, x,
      std::format("%1 = Slice(%x, a:i64[{0}]{{{1}}}, b:i64[{0}]{{{2}}}, c:i64[{0}]{{{3}}}, d:i64[{0}]{{{4}}})", count,
                  list(starts), list(ends), list(axes), list(steps)));
}

Case transpose(Draw& draw) {
  const std::vector<int> x = any_shape(draw, 1, draw.one_in(6) ? 7 : 6);
  return moving(draw, x,
                std::format("%1 = Transpose(%x) {{perm=[{}]}}", list(draw.permutation(static_cast<int>(x.size())))));
}

Case channel_shuffle(Draw& draw) {
  const int groups = draw.between(1, 4);
  const std::vector<int> x{draw.between(1, 2), groups * draw.between(1, 5), draw.between(1, 6), draw.between(1, 6)};
  return moving(draw, x, std::format("%1 = kinglet::ChannelShuffle(%x) {{groups={}}}", groups));
}

Case rearrange(Draw& draw) {
  const std::vector<int> split = any_shape(draw, 1, 7);
  const int rank = static_cast<int>(split.size());
  std::vector<int> take;
  std::vector<int> perm;
  for (const int axis : draw.permutation(rank)) perm.push_back(axis);
  for (int axis = 0; axis < rank; ++axis) {
    take.push_back(draw.one_in(6) && perm.size() > 1 ? draw.below(split[static_cast<std::size_t>(axis)]) : -1);
    if (take.back() >= 0) std::erase(perm, axis);
  }
  // Neighbours of `split`, and of what is left in the new order, are joined.
  const auto join = [&](const std::vector<int>& sides) {
    std::vector<int> out;
    for (const int side : sides) {
      if (!out.empty() && draw.one_in(2)) {
        out.back() *= side;
      } else {
        out.push_back(side);
      }
    }
    return out;
  };
  std::vector<int> turned;
  for (const int axis : perm) turned.push_back(split[static_cast<std::size_t>(axis)]);
  const std::vector<int> x = join(split);
  const std::vector<int> shape = join(turned);
  return moving(draw, x,
                std::format("%1 = kinglet::Rearrange(%x) {{split=[{}], take=[{}], perm=[{}], shape=[{}]}}", list(split),
                            list(take), list(perm), list(shape)));
}

Case gather(Draw& draw) {
  const std::vector<int> x = any_shape(draw, 1, 5);
  const int rank = static_cast<int>(x.size());
  const int axis = draw.between(0, rank - 1);
  const int side = x[static_cast<std::size_t>(axis)];
  const std::vector<int> shape = any_shape(draw, 0, 2);
  std::vector<int> indices;
  for (int i = count_of(shape); i > 0; --i) indices.push_back(draw.between(-side, side - 1));
  if (draw.one_in(3)) std::ranges::sort(indices);
  return moving(draw, x,
                std::format("%1 = Gather(%x, i:i64[{}]{{{}}}) {{axis={}}}", list(shape), list(indices),
                            draw.one_in(2) ? axis : axis - rank));
}

Case expand(Draw& draw) {
  const std::vector<int> to = any_shape(draw, 0, 6);
  const std::vector<int> x = broadcast_part(draw, to);
  Case made{.infinities = draw.one_in(4)};
  return moving(draw, x, std::format("%1 = Expand(%x, to:i64[{}]{{{}}})", to.size(), list(to)), made);
}

Case pad(Draw& draw) {
  Case made{.roundings = 0};
  const std::vector<int> x = any_shape(draw, 1, 6);
  std::vector<int> pads;
  for (std::size_t i = 0; i < 2 * x.size(); ++i) pads.push_back(draw.one_in(2) ? draw.between(-1, 3) : 0);
  const char* mode = draw.pick({"constant", "constant", "constant", "edge", "reflect"});
  const std::string type = pick_type(draw, made);
  made.text = with_neighbours(
      draw, type, x,
      std::format("%1 = Pad(%x, pads:i64[{}]{{{}}}{}) {{mode=\"{}\"}}\n", pads.size(), list(pads),
                  draw.pick({std::string(), std::format(", fill:{}[]{{-1.5}}", type),
                             std::format(", fill:{}[]{{-inf}}", type), std::format(", fill:{}[1]{{2}}", type)}),
                  mode));
  return made;
}

}  // namespace kinglet::engine::random_cases
