// SPDX-License-Identifier: Apache-2.0
#include "engine/recipe/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/support/corpus.h"

namespace kinglet::engine {
namespace {

Label one(std::string_view line) { return Labels::parse(line, "l.txt").value()[0]; }

TEST(Labels, SplitScientificFromCommonNames) {
  const Label label = one("Turdus merula (Eurasian Blackbird)");
  EXPECT_EQ(label.text, "Turdus merula (Eurasian Blackbird)");
  EXPECT_EQ(label.scientific_name, "Turdus merula");
  EXPECT_EQ(label.common_name, "Eurasian Blackbird");
  EXPECT_EQ(label.species_id, "turdus-merula");
  EXPECT_EQ(label.role, LabelRole::kSpecies);
}

TEST(Labels, KnowSubspeciesAndHybrids) {
  EXPECT_EQ(one("Junco hyemalis hyemalis (Slate-colored Junco)").species_id, "junco-hyemalis-hyemalis");
  EXPECT_EQ(one("Anas superciliosa \u00D7 platyrhynchos (Pacific Black Duck \u00D7 Mallard hybrid)").common_name,
            "Pacific Black Duck \u00D7 Mallard hybrid");
}

TEST(Labels, LeaveOtherNamesWhole) {
  const Label eagle = one("bald eagle, American eagle, Haliaeetus leucocephalus");
  EXPECT_EQ(eagle.scientific_name, "");
  EXPECT_EQ(eagle.common_name, eagle.text);
  EXPECT_EQ(eagle.species_id, "bald-eagle-american-eagle-haliaeetus-leucocephalus");
  EXPECT_EQ(one("Toy Poodle (small)").scientific_name, "");
  EXPECT_EQ(one("devil's darning needle").species_id, "devils-darning-needle");
}

TEST(Labels, NumberAnIdForNamesWithoutLatinLetters) { EXPECT_EQ(one("\u30B9\u30BA\u30E1").species_id, "class-0"); }

TEST(Labels, KnowTheBackgroundInAnyCase) {
  EXPECT_EQ(one("background").role, LabelRole::kBackground);
  EXPECT_EQ(one("Background").role, LabelRole::kBackground);
  EXPECT_EQ(one("NONE").role, LabelRole::kBackground);
}

TEST(Labels, TakeWindowsLineEndsAByteOrderMarkAndNoLastLineEnd) {
  const Result<Labels> labels = Labels::parse(
      "\xEF\xBB\xBF"
      "robin\r\nwren",
      "l.txt");
  ASSERT_TRUE(labels);
  ASSERT_EQ(labels->size(), 2U);
  EXPECT_EQ((*labels)[0].text, "robin");
  EXPECT_EQ((*labels)[1].text, "wren");
}

TEST(Labels, NameTheLineOfABlank) {
  EXPECT_EQ(describe(Labels::parse("a\n\nb\n", "l.txt").error()), "l.txt:2: blank line between labels");
}

TEST(Labels, NameTheLineThatIsNotText) {
  const Error error = Labels::parse("a\nb\xFF\n", "l.txt").error();
  EXPECT_EQ(describe(error), "l.txt:2: byte 2 of the line is not UTF-8 text");
  EXPECT_EQ(error.code, ErrorCode::kBadData);
}

TEST(Labels, RefuseAnEmptyFile) {
  EXPECT_EQ(describe(Labels::parse("", "l.txt").error()), "l.txt: label file is empty");
  EXPECT_EQ(describe(Labels::parse("\n\n", "l.txt").error()), "l.txt: label file is empty");
}

TEST(Labels, RefuseMoreThanAMebibyte) {
  EXPECT_NE(Labels::parse(std::string((1 << 20) + 1, 'a'), "l.txt").error().message.find("limit"), std::string::npos);
}

TEST(Labels, AreNotFoundWhereThereIsNoFile) {
  EXPECT_EQ(Labels::open("/nowhere/labels.txt").error().code, ErrorCode::kNotFound);
}

TEST(Labels, NameBothCountsWhenTheyDiffer) {
  const Labels labels = Labels::parse("a\nb\n", "l.txt").value();
  EXPECT_TRUE(labels.check_count(2));
  const Error error = labels.check_count(3).error();
  EXPECT_EQ(describe(error), "l.txt: label file has 2 labels, the model's output has 3 classes");
  EXPECT_THAT(error.hint, ::testing::HasSubstr("background"));
}

TEST(Labels, AreNumberedWithoutAFile) {
  const Labels labels = Labels::numbered(3);
  EXPECT_EQ(labels.size(), 3U);
  EXPECT_EQ(labels[2].text, "class 2");
  EXPECT_TRUE(labels.check_count(3));
}

TEST(Labels, OfTheCorpusAreReadWhole) {
  KINGLET_NEEDS_CORPUS();
  const Labels birds = Labels::open(testing::corpus() / "labels/inat_bird_965.txt").value();
  ASSERT_EQ(birds.size(), 965U);
  EXPECT_EQ(birds[964].role, LabelRole::kBackground);
  EXPECT_TRUE(
      std::all_of(birds.begin(), birds.end() - 1, [](const Label& label) { return !label.scientific_name.empty(); }));
  std::set<std::string> ids;
  for (const Label& label : birds) ids.insert(label.species_id);
  EXPECT_EQ(ids.size(), birds.size());
}

}  // namespace
}  // namespace kinglet::engine
