// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kinglet::cli {
namespace {

std::string stderr_of(const OutputOptions& options, const Error& error) {
  ::testing::internal::CaptureStderr();
  Output(options).error(error);
  return ::testing::internal::GetCapturedStderr();
}

TEST(HumanBytes, KeepsThreeDigitsAndAUnit) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(999), "999 B");
  EXPECT_EQ(human_bytes(1000), "1.0 kB");
  EXPECT_EQ(human_bytes(13'783'532), "13.8 MB");
  EXPECT_EQ(human_bytes(999'960), "1.0 MB");
  EXPECT_EQ(human_bytes(5'000'000'000'000), "5.0 TB");
}

TEST(Grouped, PutsACommaEveryThreeDigits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1'000), "1,000");
  EXPECT_EQ(grouped(3'442'983), "3,442,983");
  EXPECT_EQ(grouped(-100'000), "-100,000");
}

TEST(TableText, AlignsNumbersRightAndCountsCharactersNotBytes) {
  Table table({"NAME", ">N"});
  table.add({"Mönchsgrasmücke", "7"});
  table.add({"Elster", "1,234"});
  EXPECT_EQ(table.text(Output(OutputOptions{.color = "never"})),
            "NAME                 N\n"
            "Mönchsgrasmücke      7\n"
            "Elster           1,234\n");
}

TEST(OutputError, IsOneLineAndItsHint) {
  const Error error{ErrorCode::kBadData, "is empty", "bird.onnx", "copy it again"};
  EXPECT_EQ(stderr_of({}, error), "kinglet: bird.onnx: is empty\nhint: copy it again\n");
}

TEST(OutputError, ShowsNamesOfFilesWithoutTheirControlCharacters) {
  const Error error{ErrorCode::kNotFound, "is not there", "a\nb\x1b[2J\xc2\x9b.onnx", ""};
  EXPECT_EQ(stderr_of({}, error), "kinglet: a?b?[2J?.onnx: is not there\n");
}

TEST(OutputError, IsNotSilencedByQuiet) {
  EXPECT_NE(stderr_of({.quiet = true}, {ErrorCode::kIo, "cannot write", "x", ""}), "");
}

TEST(OutputError, IsTheProblemObjectWithJson) {
  const Error error{ErrorCode::kBadData, "is empty", "bird.onnx", "copy it again"};
  const auto object = nlohmann::json::parse(stderr_of({.json = true}, error));
  EXPECT_EQ(object, (nlohmann::json{{"type", "/problems/bad-data"},
                                    {"title", "The data cannot be used"},
                                    {"detail", "bird.onnx: is empty"},
                                    {"hint", "copy it again"},
                                    {"exit_code", 65}}));
}

TEST(OutputError, IsJsonEvenIfANameIsNotUtf8) {
  const auto text = stderr_of({.json = true}, {ErrorCode::kNotFound, "is not there", "\xff\xfe", ""});
  EXPECT_TRUE(nlohmann::json::accept(text)) << text;
}

TEST(OutputNote, IsSilencedByQuiet) {
  ::testing::internal::CaptureStderr();
  Output loud{OutputOptions{}};
  loud.note("said");
  loud.detail("only with -v");
  Output quiet(OutputOptions{.quiet = true, .verbosity = 1});
  quiet.note("not said");
  quiet.detail("not said");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "said\n");
}

}  // namespace
}  // namespace kinglet::cli
