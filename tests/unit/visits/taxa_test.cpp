// SPDX-License-Identifier: Apache-2.0
#include "visits/taxa.h"

#include <gtest/gtest.h>

namespace kinglet::visits {
namespace {

engine::Labels labels(std::string_view text) { return engine::Labels::parse(text, "l.txt").value(); }

Taxa taxa_of(std::string_view text, std::string_view table = {}) {
  std::vector<SpeciesRow> rows;
  if (!table.empty()) rows = parse_species_table(table, "t.tsv").value();
  return Taxa::make(labels(text), rows).value();
}

TEST(Taxa, MaleFemaleAndYoungOfOneNameAreOne) {
  const Taxa taxa = taxa_of(
      "Northern Cardinal (Adult Male)\nBlue Jay\nNorthern Cardinal (Female/juvenile)\nDark-eyed Junco "
      "(Slate-colored)\n");
  EXPECT_EQ(taxa.leaf_count(), 3U);
  EXPECT_EQ(taxa[0].species_id, "northern-cardinal");
  EXPECT_EQ(taxa[0].label, "Northern Cardinal");
  EXPECT_EQ(taxa[0].classes, (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(taxa[2].species_id, "dark-eyed-junco-slate-colored");
}

TEST(Taxa, ASpeciesBelongsToItsGenusAndASubspeciesToItsSpecies) {
  const Taxa taxa =
      taxa_of("Turdus merula (Blackbird)\nJunco hyemalis oreganus (Oregon Junco)\nTurdus philomelos (Song Thrush)\n");
  const auto genus = taxa.find("Turdus");
  ASSERT_TRUE(genus);
  EXPECT_EQ(taxa[*genus].child_count, 2U);
  EXPECT_TRUE(taxa.within(*taxa.find("Song Thrush"), *genus));
  const auto junco = taxa.find("junco-hyemalis");
  ASSERT_TRUE(junco);
  EXPECT_TRUE(taxa.within(*taxa.find("Oregon Junco"), *junco));
  EXPECT_TRUE(taxa.within(*junco, *taxa.find("Junco")));
  EXPECT_FALSE(taxa.within(*taxa.find("Turdus merula"), *junco));
}

TEST(Taxa, ALabelThatIsAScientificNameAloneHasTheNameThatComesWithTheProgram) {
  const Taxa taxa = taxa_of("Passer domesticus\nDryobates pubescens\nCommon swift\nnone\n");
  EXPECT_EQ(taxa[0].scientific_name, "Passer domesticus");
  EXPECT_EQ(taxa[0].common_name, "House Sparrow");
  EXPECT_EQ(name_in(taxa[0], "en"), "House Sparrow");
  EXPECT_EQ(name_in(taxa[0], "de"), "Haussperling");
  EXPECT_EQ(taxa.find("House Sparrow"), taxa.find("Passer domesticus"));
  EXPECT_TRUE(taxa.within(*taxa.find("House Sparrow"), *taxa.find("Passer")));
  EXPECT_EQ(taxa[1].common_name, "Downy Woodpecker") << "under another scientific name";
  EXPECT_EQ(taxa[2].common_name, "Common swift") << "two words are not science";
  EXPECT_EQ(taxa[2].scientific_name, "");
}

TEST(Taxa, TheTableSaysWhatLabelsDoNot) {
  const Taxa taxa = taxa_of("cock sparrow\nhen sparrow\nsquirrel\n",
                            "label\tscientific_name\tcommon_name\trole\tparent\n"
                            "cock sparrow\tPasser domesticus\tHouse Sparrow\n"
                            "hen sparrow\tPasser domesticus\n"
                            "squirrel\t\t\tother\n");
  EXPECT_EQ(taxa.leaf_count(), 2U);
  EXPECT_EQ(taxa[0].species_id, "passer-domesticus");
  EXPECT_EQ(taxa[0].common_name, "House Sparrow");
  EXPECT_EQ(taxa[1].role, engine::LabelRole::kOther);
}

TEST(Taxa, ATableOfNamesGivesAnotherLanguage) {
  const Taxa taxa = taxa_of("Turdus merula (Eurasian Blackbird)\n",
                            "species_id\tcommon_name\nturdus-merula\tAmsel\npica-pica\tElster\n");
  EXPECT_EQ(taxa[0].common_name, "Amsel");
  EXPECT_EQ(taxa[0].scientific_name, "Turdus merula");
}

TEST(Taxa, ABirdIsStillFoundByTheNameItHadBeforeTheTable) {
  const Taxa taxa = taxa_of("Turdus merula (Blackbird)\nTurdus pilaris (Fieldfare)\n",
                            "species_id\tcommon_name\nturdus-merula\tAmsel\n");
  EXPECT_EQ(taxa[0].common_name, "Amsel");
  EXPECT_EQ(taxa.find("Blackbird"), 0U);
  EXPECT_EQ(taxa.find("Amsel"), 0U);
  EXPECT_EQ(taxa.nearest("Blakbird"), "blackbird");
}

TEST(Taxa, ATableOfNamesNamesAGenusToo) {
  const Taxa taxa =
      taxa_of("Turdus merula (Blackbird)\nTurdus pilaris (Fieldfare)\n", "species_id\tcommon_name\nturdus\tDrosseln\n");
  ASSERT_TRUE(taxa.find("Turdus"));
  EXPECT_EQ(taxa[*taxa.find("Turdus")].common_name, "Drosseln");
  EXPECT_EQ(taxa.find("Drosseln"), taxa.find("Turdus"));
}

TEST(Taxa, WhatTheOwnerCallsABirdThatNoClassMeansIsKeptBesideThem) {
  std::vector<SpeciesRow> rows =
      parse_species_table(
          "species_id\tcommon_name\npoecile-montanus\tMattkopf\npicoides-pubescens\tPube\nturdus\tDrosseln\n", "t.tsv")
          .value();
  for (SpeciesRow& row : rows) row.owners_name = true;
  const Taxa taxa = Taxa::make(labels("Turdus merula (Blackbird)\n"), rows).value();
  EXPECT_EQ(taxa.others().size(), 2U);
  EXPECT_FALSE(taxa.find("Mattkopf")) << "no class means it";
  const auto called = [&](std::string_view name) {
    const OtherBird* bird = taxa.find_other(name);
    return bird != nullptr ? bird->species_id : "none";
  };
  for (const char* name : {"poecile-montanus", "Poecile montanus", "MATTKOPF"})
    EXPECT_EQ(called(name), "poecile-montanus");
  for (const char* name : {"Picoides pubescens", "dryobates-pubescens", "Dunenspecht"}) {
    EXPECT_EQ(called(name), "picoides-pubescens") << name;
  }
  for (const char* name : {"Turdus merula", "turdus", "Phoenix", ""}) EXPECT_EQ(called(name), "none") << name;
}

TEST(Taxa, AParentOfTheTableComesBeforeTheGenus) {
  const Taxa taxa = taxa_of("Larus argentatus (Herring Gull)\nLarus fuscus (Lesser Black-backed Gull)\n",
                            "scientific_name\tparent\nLarus argentatus\tlarge gull\nLarus fuscus\tlarge gull\n");
  const auto parent = taxa.find("large gull");
  ASSERT_TRUE(parent);
  EXPECT_EQ(taxa[*parent].child_count, 2U);
  EXPECT_FALSE(taxa.find("Larus"));
}

TEST(Taxa, ATableWithParentsInACircleIsRefused) {
  const auto rows = parse_species_table("label\tparent\na\tb\nb\ta\n", "t.tsv").value();
  const Result<Taxa> taxa = Taxa::make(labels("a\nb\n"), rows);
  ASSERT_FALSE(taxa);
  EXPECT_EQ(taxa.error().code, ErrorCode::kBadData);
}

TEST(Taxa, ATableForAnotherModelIsRefused) {
  const auto rows = parse_species_table("label\trole\nsquirel\tother\n", "t.tsv").value();
  const Result<Taxa> taxa = Taxa::make(labels("squirrel\n"), rows);
  ASSERT_FALSE(taxa);
  EXPECT_EQ(taxa.error().message, "species table: no class has the label \"squirel\"");
}

TEST(SpeciesTable, NamesTheLineOfAFault) {
  EXPECT_EQ(parse_species_table("label\troll\n", "t.tsv").error().hint, "did you mean role?");
  EXPECT_EQ(describe(parse_species_table("label\trole\n# why\na\tbird\n", "t.tsv").error()),
            "t.tsv:3: role is \"bird\", expected species, background or other");
  EXPECT_EQ(describe(parse_species_table("label\na\tb\n", "t.tsv").error()),
            "t.tsv:2: 2 cells, expected 1 as in the first line");
  EXPECT_EQ(describe(parse_species_table("label\na\xFF\n", "t.tsv").error()), "t.tsv:2: the line is not UTF-8 text");
}

TEST(SpeciesList, ReadsMonthsOverTheNewYear) {
  const SpeciesList list = SpeciesList::parse("Turdus merula\nApus apus: 4-8\r\nBrambling: 10-2, 4\n", "l").value();
  EXPECT_EQ(list.entries().at("turdus-merula").months, kWholeYear);
  EXPECT_EQ(list.entries().at("apus-apus").months, 0b0000'1111'1000);
  EXPECT_EQ(list.entries().at("brambling").months, 0b1110'0000'1011);
}

TEST(SpeciesList, OverridesCountInstead) {
  SpeciesList list = SpeciesList::parse("Apus apus: 4-8\nPica pica\n", "l").value();
  list.apply(SpeciesList::parse("# mine\nApus apus\n-Pica pica\n", "m").value());
  EXPECT_EQ(list.entries().at("apus-apus").months, kWholeYear);
  EXPECT_EQ(list.entries().at("pica-pica").months, 0);
}

TEST(SpeciesList, NamesTheLineOfAFault) {
  EXPECT_EQ(describe(SpeciesList::parse("a\nApus apus: 4-13\n", "l").error()),
            "l:2: months are \"4-13\", expected such as 4-8 or 10-3, 5");
  EXPECT_EQ(describe(SpeciesList::parse("- : 4\n", "l").error()), "l:1: \"- : 4\" is no bird of a list");
}

}  // namespace
}  // namespace kinglet::visits
