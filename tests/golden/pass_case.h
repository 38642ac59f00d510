// SPDX-License-Identifier: Apache-2.0
// Why: a file of tests/golden/passes/<pass>/<case>.txt in parts, for the golden test and for the contract of passes.
//
//   why: one line
//   before:
//     the graph as text (tests/support/graph_text.h), indented by two
//   after: same            or "after:" and the graph, indented
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/verify.h"
#include "engine/ops/op.h"
#include "tests/support/graph_text.h"

namespace kinglet::testing {

struct PassCase {
  std::string pass;
  std::string name;
  std::filesystem::path path;
  std::string why;
  std::string before;  // not indented
  std::string after;   // not indented; "same" for a pass that declines

  [[nodiscard]] bool declines() const { return after == "same"; }
};

inline std::filesystem::path pass_case_folder() {
  return std::filesystem::path(KINGLET_SOURCE_DIR) / "tests" / "golden" / "passes";
}

inline PassCase read_pass_case(const std::filesystem::path& path) {
  PassCase out{.pass = path.parent_path().filename().string(),
               .name = path.stem().string(),
               .path = path,
               .why = {},
               .before = {},
               .after = {}};
  std::ifstream file(path);
  std::string* part = nullptr;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("why: ")) {
      out.why = line.substr(5);
    } else if (line == "before:") {
      part = &out.before;
    } else if (line == "after: same") {
      out.after = "same";
      part = nullptr;
    } else if (line == "after:") {
      part = &out.after;
    } else if (part != nullptr && line.starts_with("  ")) {
      *part += line.substr(2) + '\n';
    }
  }
  return out;
}

// Every case, sorted by pass and name.
inline std::vector<PassCase> all_pass_cases() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(pass_case_folder())) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<PassCase> cases;
  for (const std::filesystem::path& path : paths) cases.push_back(read_pass_case(path));
  return cases;
}

inline void write_pass_case(const PassCase& changed) {
  const auto indented = [](const std::string& text) {
    std::istringstream lines(text);
    std::string out;
    for (std::string line; std::getline(lines, line);) out += "  " + line + '\n';
    return out;
  };
  std::ofstream file(changed.path);
  file << "why: " << changed.why << "\nbefore:\n" << indented(changed.before);
  if (changed.declines()) {
    file << "after: same\n";
  } else {
    file << "after:\n" << indented(changed.after);
  }
}

// The graph before, whole and with shapes inferred.
inline Result<engine::ParsedGraph> load_pass_case(const PassCase& given) {
  engine::ParsedGraph parsed = KINGLET_TRY(engine::parse_text(given.before));
  for (const engine::NodeId id : parsed.graph.nodes()) {
    const engine::Node& node = parsed.graph.node(id);
    if (engine::find_op(node.domain, node.op_type) == nullptr) {
      return fail(ErrorCode::kBadData, "operator " + node.op_type + " is not known");
    }
  }
  KINGLET_TRY(engine::infer_shapes(parsed.graph));
  KINGLET_TRY(engine::verify(parsed.graph));
  return parsed;
}

inline void PrintTo(const PassCase& given, std::ostream* out) { *out << given.path << ": " << given.why; }

// gtest prints it and ctest shows it: "fuse_bn_into_conv__two_readers".
inline std::string case_name(const ::testing::TestParamInfo<PassCase>& of) {
  return of.param.pass + "__" + of.param.name;
}

}  // namespace kinglet::testing
