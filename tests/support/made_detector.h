// SPDX-License-Identifier: Apache-2.0
// Why: a detector that is a model like any other, and whose boxes a test can foretell: red is a bird, green a cat, blue
// a person, each in a cell of a sixteenth of what it looks at.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "engine/base/check.h"
#include "engine/base/file.h"
#include "engine/onnx/save.h"
#include "tests/support/graph_of.h"

namespace kinglet::testing {

// 64x64 pixels in four times four cells; around the middle of one that is a fifth of one colour lies a box of 40x40.
inline constexpr std::string_view kColourRows = R"(
%x = input f32[1,3,64,64]
%1 = AveragePool(%x) {kernel_shape=[16,16], strides=[16,16]}
%2 = Conv(%1, w:f32[8,3,1,1]{0,0,0, 0,0,0, 0,0,0, 0,0,0, 0,0,0, 1,-0.5,-0.5, -0.5,1,-0.5, -0.5,-0.5,1}, b:f32[8]{0.5,0.5,0.9162907,0.9162907,1,0,0,0})
%3 = Reshape(%2, r:i64[3]{1,8,16})
%4 = Transpose(%3) {perm=[0,2,1]}
)";
inline constexpr std::string_view kColourDetector = "output %4\n";
// The same, but where a thirtieth of what it looks at is green its run fails: an index out of its table.
inline constexpr std::string_view kFailsAtGreen = R"(
%5 = GlobalAveragePool(%x)
%6 = Conv(%5, v:f32[1,3,1,1]{-32,32,0})
%7 = Relu(%6)
%8 = Reshape(%7, s:i64[3]{1,1,1})
%9:i64 = Cast(%8) {to=7}
%10 = Gather(t:f32[1]{0}, %9)
%11 = Add(%4, %10)
output %11
)";

inline void write_text(const std::filesystem::path& path, std::string_view text) {
  KINGLET_CHECK(write_file(path, text, Overwrite::kReplace));
}

// The model, its recipe and its labels beside it.
inline std::filesystem::path write_colour_detector(const std::filesystem::path& folder,
                                                   std::string_view end = kColourDetector) {
  std::filesystem::path model = folder / "colours.onnx";
  write_text(model, engine::to_onnx_bytes(engine::graph_of(std::string(kColourRows).append(end))).value());
  write_text(folder / "colours.labels.txt", "bird\ncat\nperson\n");
  write_text(
      folder / "colours.recipe.json",
      R"({"preset": "yolox", "color_order": "rgb", "std": 255, "boxes": {"strides": [16], "least_score": 0.2}})");
  return model;
}

}  // namespace kinglet::testing
