// SPDX-License-Identifier: Apache-2.0
// Runs the pass each folder of tests/golden/passes is named after on every case in it, and compares the text.
// KINGLET_UPDATE_GOLDEN=1 writes what the pass does into the files instead; the review reads the difference.
#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/passes/runner.h"
#include "tests/golden/pass_case.h"

namespace kinglet::engine {
namespace {

using testing::PassCase;

class PassGolden : public ::testing::TestWithParam<PassCase> {};

TEST_P(PassGolden, GivesTheWrittenGraph) {
  PassCase given = GetParam();
  auto parsed = testing::load_pass_case(given);
  ASSERT_TRUE(parsed) << describe(parsed.error());
  Graph& graph = parsed->graph;
  const TextOptions text{.seeds = &parsed->seeds};
  const std::string before = to_text(graph, text);

  const auto report = run_passes(graph, {.only = {given.pass}, .verify = true});
  ASSERT_TRUE(report) << describe(report.error());

  const std::string after = to_text(graph, text);
  if (std::getenv("KINGLET_UPDATE_GOLDEN") != nullptr) {
    given.after = after == before ? "same" : after;
    write_pass_case(given);
    GTEST_SKIP() << "written, not compared";
  }
  EXPECT_EQ(report->rewrite_count() == 0, given.declines()) << given.why;
  EXPECT_EQ(after, given.declines() ? before : given.after) << given.why;
}

INSTANTIATE_TEST_SUITE_P(Passes, PassGolden, ::testing::ValuesIn(testing::all_pass_cases()), testing::case_name);

TEST(PassGoldenFiles, SayWhyInOneLine) {
  for (const PassCase& given : testing::all_pass_cases()) {
    EXPECT_GT(given.why.size(), 10U) << given.path;
    EXPECT_FALSE(given.before.empty()) << given.path;
    EXPECT_FALSE(given.after.empty()) << given.path;
  }
}

TEST(PassGoldenFiles, EveryPassHasACaseThatAppliesAndOneThatDeclines) {
  const std::vector<PassCase> cases = testing::all_pass_cases();
  for (const Pass& pass : all_passes()) {
    const auto of_pass = [&](bool declines) {
      return std::ranges::any_of(cases,
                                 [&](const PassCase& c) { return c.pass == pass.name && c.declines() == declines; });
    };
    EXPECT_TRUE(of_pass(false)) << pass.name;
    EXPECT_TRUE(of_pass(true)) << pass.name;
  }
}

TEST(PassGoldenFiles, AreOfPassesThatExist) {
  for (const PassCase& given : testing::all_pass_cases()) {
    EXPECT_TRUE(std::ranges::any_of(all_passes(), [&](const Pass& pass) { return pass.name == given.pass; }))
        << given.path;
  }
}

}  // namespace
}  // namespace kinglet::engine
