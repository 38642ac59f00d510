// SPDX-License-Identifier: Apache-2.0
// Why: graphs as text, one node a line: golden tests of passes are written and read in it, and tests write their
// graphs. Not a storage format: weights print as a hash.
//
//   %x = input f32[N,3,8,8]                                  free dimensions by name, "?" when nameless
//   %1 = Conv(%x, w:f32[4,3,3,3]#a1, b:f32[4]{0,1,2,-1}) {group=1, pads=[1,1,1,1]}
//   %2, %3 = com.microsoft::Thing(%1, _)                     "_": an optional input or output that is absent
//   %4:f32[1,4,8,8] = Relu(%2)                               types and shapes are optional after a made value
//   output %4
//
// Constants stand where they are first read: NAME:TYPE[SHAPE]{numbers} or NAME:TYPE[SHAPE]#SEED; the same NAME again is
// the same constant and must read the same, or may be written as NAME alone. Names with other characters than
// [A-Za-z0-9_./-] are quoted. Attributes: i=1, f=1.0, s="text", ints=[1,2], floats=[1.0,2.0], strings=["a"],
// tensor=f32[2]{1,2}. Blank lines and lines that start with "//" mean nothing.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/graph/graph.h"
#include "engine/graph/text.h"

namespace kinglet::engine {

// Content hash of a generated constant -> the seed it was written with, so that an untouched weight prints as written.
using SeedNames = std::map<std::string, std::string, std::less<>>;

struct TextOptions {
  bool types = false;  // "%1:f32[1,4,8,8] = ..." for every made value
  const SeedNames* seeds = nullptr;
};

// Computed values are numbered in order of the nodes, whatever their names; graph inputs and constants keep theirs.
// Constants of up to 16 elements are literal, larger ones end in a hash of type, shape and bits.
[[nodiscard]] std::string to_text(const Graph& graph, const TextOptions& options = {});

// One node as its line stands in to_text, without the line's end.
[[nodiscard]] std::string to_text(const Graph& graph, NodeId id);

struct ParsedGraph {
  Graph graph;  // computed values have the names they are written with ("1"); no type but f32 unless written
  SeedNames seeds;
};

// kBadData with "line N" in where. "#SEED" makes numbers that depend on the seed, the type and the count only:
// f32 and f16 in [-1, 1), i8 and u8 over the whole range, i32 and i64 in [-100, 100], bool both;
// "#+SEED" makes them positive: f32 and f16 in [0.5, 1.5), integers from 1 on (variances, scales).
[[nodiscard]] Result<ParsedGraph> parse_text(std::string_view text);

// The numbers of "#SEED" (or "#+SEED" with `positive`), for tests that need tensors of their own.
[[nodiscard]] Tensor seeded_tensor(DataType type, Shape shape, std::string_view seed, bool positive = false);

}  // namespace kinglet::engine
