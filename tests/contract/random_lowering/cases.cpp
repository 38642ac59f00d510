// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/random_lowering/cases.h"

#include <algorithm>

namespace kinglet::engine::random_cases {
namespace {

constexpr Row kRows[] = {
#define RANDOM_CASE(group, domain, op_type, make) {Group::group, domain, op_type, make},
#define CHECKED_CASE(group, domain, op_type, make, check) {Group::group, domain, op_type, make, check},
#include "tests/contract/random_lowering/cases.def"
#undef RANDOM_CASE
#undef CHECKED_CASE
};

std::string bounds_behind(Draw& draw, const std::string& type) {
  switch (draw.below(7)) {
    case 0:
      return "Relu(%1)";
    case 1:
      return std::format("Clip(%1, lo:{}[]{{0}}, hi:{}[]{{6}})", type, type);
    case 2:
      return std::format("Clip(%1, lo:{}[]{{{}}}, hi:{}[]{{{}}})", type, draw.pick({-1.0, 0.25, -0.0, -0.5}), type,
                         draw.pick({1.0, 0.5, 0.0, 0.25}));
    case 3:
      return std::format("Clip(%1, _, hi:{}[]{{{}}})", type, draw.pick({1.0, 0.0, -0.5}));
    case 4:
      return std::format("Clip(%1, lo:{}[]{{{}}})", type, draw.pick({-1.0, 0.0, 0.5}));
    case 5:  // upside down
      return std::format("Clip(%1, lo:{}[]{{1}}, hi:{}[]{{-1}})", type, type);
    default:
      return std::format("Clip(%1, lo:{}[]{{-inf}}, hi:{}[]{{inf}})", type, type);
  }
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

std::span<const Row> all_rows() { return kRows; }

std::string list(const std::vector<int>& numbers) {
  std::string out;
  for (const int x : numbers) out += std::format("{}{}", out.empty() ? "" : ",", x);
  return out;
}

std::string number(double value) {
  const std::string text = std::format("{}", static_cast<float>(value));
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

std::vector<int> any_shape(Draw& draw, int low, int high) {
  constexpr int kMostNumbers = 3000;
  std::vector<int> out;
  int count = 1;
  for (int rank = draw.between(low, high); rank > 0; --rank) {
    int side = draw.between(1, 6);
    if (draw.one_in(12)) side = draw.between(7, 40);
    if (count * side > kMostNumbers) side = 1;
    count *= side;
    out.push_back(side);
  }
  return out;
}

std::vector<int> broadcast_part(Draw& draw, const std::vector<int>& shape) {
  const int fewer = draw.below(static_cast<int>(shape.size()) + 1);
  std::vector<int> out(shape.begin() + fewer, shape.end());
  for (int& side : out) {
    if (draw.one_in(3)) side = 1;
  }
  return out;
}

std::string pick_type(Draw& draw, Case& made) {
  made.half = draw.one_in(8);
  return made.half ? "f16" : "f32";
}

std::string with_neighbours(Draw& draw, const Body& body) {
  std::string text = body.inputs;
  std::string node = body.node;
  if (draw.one_in(3) && body.rank == 4) {
    text += "%p = MaxPool(%x) {kernel_shape=[1,1]}\n";
    replace_all(node, "%x", "%p");
  }
  text += node;
  int last = 1;
  if (draw.one_in(3)) text += std::format("%{} = {}\n", ++last, bounds_behind(draw, body.type));
  if (draw.one_in(4) && body.output_rank == 4) {
    text += std::format("%{} = MaxPool(%{}) {{kernel_shape=[1,1]}}\n", last + 1, last);
    ++last;
  }
  return text + std::format("output %{}\n", last);
}

std::string with_neighbours(Draw& draw, const std::string& type, const std::vector<int>& shape, std::string node) {
  return with_neighbours(draw, {.inputs = std::format("%x = input {}[{}]\n", type, list(shape)),
                                .node = std::move(node),
                                .rank = shape.size(),
                                .output_rank = shape.size(),
                                .type = type});
}

}  // namespace kinglet::engine::random_cases
