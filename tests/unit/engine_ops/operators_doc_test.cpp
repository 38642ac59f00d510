// SPDX-License-Identifier: Apache-2.0
// docs/operators.md names every operator of ops.def, and none that is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <format>
#include <fstream>
#include <sstream>

#include "engine/ops/op.h"
#include "engine/ops/out_of_scope.h"

namespace kinglet::engine {
namespace {

// The table under "All operators".
std::string operator_table() {
  std::ifstream file(KINGLET_SOURCE_DIR "/docs/operators.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  const std::size_t start = all.find("## All operators");
  EXPECT_NE(start, std::string::npos);
  return all.substr(start, all.find("## Where answers differ") - start);
}

TEST(OperatorsDocument, NamesEveryOperator) {
  const std::string table = operator_table();
  for (const Op& op : all_ops()) {
    EXPECT_THAT(table, ::testing::HasSubstr(std::format("`{}`", op.op_type))) << op.domain;
  }
}

TEST(OutOfScope, ListsNoOperatorThatRuns) {
  for (const Op& op : all_ops()) EXPECT_EQ(out_of_scope_reason(op.domain, op.op_type), "") << op.op_type;
}

TEST(OutOfScope, SaysWhatToDoAboutModelsMadeForOneProcessor) {
  for (const auto& [domain, op_type] : {std::pair("com.microsoft.nchwc", "Conv"),
                                        {"com.ms.internal.nhwc", "MaxPool"},
                                        {"com.microsoft", "NhwcFusedConv"},
                                        {"com.microsoft", "EPContext"}}) {
    EXPECT_THAT(std::string(out_of_scope_reason(domain, op_type)),
                ::testing::HasSubstr("save without layout optimisation"));
  }
}

}  // namespace
}  // namespace kinglet::engine
