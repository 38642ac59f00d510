// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>

#include "engine/base/error.h"
#include "visits/names/bird_names.h"
#include "visits/names/folded.h"
#include "visits/names/match.h"
#include "visits/names/own_names.h"
#include "visits/names/pasted.h"
#include "visits/names/shown_bird.h"

namespace kinglet::visits {
namespace {

Taxa garden() {
  return Taxa::make(engine::Labels::parse("Passer domesticus (House Sparrow)\nCyanistes caeruleus (Eurasian Blue Tit)\n"
                                          "Picoides pubescens (Downy Woodpecker)\nArdea cinerea (Grey Heron)\n"
                                          "Junco hyemalis (Dark-eyed Junco)\nApus apus (Common Swift)\nbackground\n",
                                          "labels")
                        .value())
      .value();
}

std::string pasted(std::string_view text) {
  const auto list = read_pasted_list(text, "list");
  return list ? list->text : describe(list.error());
}

TEST(FoldedName, IsTheSameWhateverCaseAccentsHyphensAndApostrophes) {
  EXPECT_EQ(folded("T\u00FCrkentaube"), folded("TURKENTAUBE"));
  EXPECT_EQ(folded("Tu\u0308rkentaube"), folded("T\u00FCrkentaube")) << "an accent of its own";
  EXPECT_EQ(folded("M\u00E9sange \u00E0 t\u00EAte noire"), "mesange-a-tete-noire");
  EXPECT_EQ(folded("Cassin\u2019s Finch"), folded("cassins finch"));
  EXPECT_EQ(folded("Black\u2010capped  Chickadee"), folded("black capped chickadee"));
  EXPECT_EQ(folded("Kernbei\u00DFer"), folded("Kernbeisser"));
  EXPECT_EQ(folded("Gray Catbird"), folded("grey catbird"));
  EXPECT_EQ(folded("Graylag Goose"), "graylag-goose") << "the word alone";
  EXPECT_EQ(folded("\u30B9\u30BA\u30E1"), "\u30B9\u30BA\u30E1") << "other scripts stay";
  EXPECT_EQ(folded(" - ' "), "");
}

TEST(FindListed, KnowsABirdByEitherOfTwoNamesAndASubspeciesByItsSpecies) {
  const Taxa taxa = garden();
  const auto id = [&](std::string_view name) {
    const auto found = find_listed(taxa, name);
    return found ? taxa[*found].species_id : "none";
  };
  EXPECT_EQ(id("house sparrow"), "passer-domesticus");
  EXPECT_EQ(id("Passer domesticus (Haussperling)"), "passer-domesticus");
  EXPECT_EQ(id("Haussperling (Passer domesticus)"), "passer-domesticus");
  EXPECT_EQ(id("Junco hyemalis oreganus"), "junco-hyemalis");
  EXPECT_EQ(id("GRAY HERON"), "ardea-cinerea");
  EXPECT_EQ(id("Passer"), "passer") << "a genus";
  EXPECT_EQ(id("haussperling"), "passer-domesticus") << "as the page calls it in German";
  EXPECT_EQ(id("Huismus"), "none");
}

TEST(MatchedList, SaysWhatIsMissingAndWhatMayBeMeant) {
  const Taxa taxa = garden();
  const auto list =
      SpeciesList::parse("House Sparow\nDryobates pubescens\nBlue Tit\nPhoenix\nApus apus: 5-8\n-Ardea cinerea\n", "l");
  const ListMatch match = visits::match(*list, taxa);
  ASSERT_EQ(match.found.size(), 1U);
  EXPECT_EQ(taxa[match.found[0].taxon].species_id, "apus-apus");
  EXPECT_EQ(match.found[0].months, 0b0000'1111'0000);
  ASSERT_EQ(match.missing.size(), 4U);
  const auto near = [&](std::size_t i) {
    return match.missing[i].near.empty() ? "" : taxa[match.missing[i].near[0]].species_id;
  };
  EXPECT_EQ(match.missing[0].name, "Blue Tit");
  EXPECT_EQ(near(0), "cyanistes-caeruleus") << "a longer name";
  EXPECT_EQ(near(1), "picoides-pubescens") << "the same species under another genus";
  EXPECT_EQ(near(2), "passer-domesticus") << "spelt nearly so";
  EXPECT_EQ(near(3), "");
}

TEST(PastedList, TakesNamesHoweverTheyAreNumberedOrPaired) {
  EXPECT_EQ(pasted("1. House Sparrow\n2) Blue Tit\n- Robin\n\u2022 Wren\n  Jay  \n"),
            "House Sparrow\nBlue Tit\nRobin\nWren\nJay\n");
  EXPECT_EQ(pasted("Passer domesticus\tHouse Sparrow\nApus apus \u2013 Common Swift: 4-8\n"),
            "Passer domesticus (House Sparrow)\nApus apus (Common Swift): 4-8\n");
  EXPECT_EQ(pasted("House Sparrow, Blue Tit; Robin"), "House Sparrow\nBlue Tit\nRobin\n");
  EXPECT_EQ(pasted("# mine\nFringilla montifringilla: 10-3, 4\n-Pica pica\n"),
            "# mine\nFringilla montifringilla: 10-3, 4\n-Pica pica\n")
      << "a list of ours stays as it is";
  EXPECT_EQ(pasted("Blue Tit, Marsh/Willow Tit, gull sp., Great Tit"), "Blue Tit\nGreat Tit\n");
  EXPECT_EQ(pasted("gull sp.\nGreater/Lesser Scaup\nMallard x Mexican Duck (hybrid)\n"), "");
}

TEST(PastedList, TakesTheTablesThatEBirdLetsPeopleDownload) {
  EXPECT_EQ(pasted("Row #,Taxon Order,Category,Common Name,Scientific Name,Count,Location,S/P,Date,LocID,SubID,Exotic,"
                   "Countable\r\n1,31547,species,House Sparrow,Passer domesticus,X,\"Garden, behind the house\",DE-BE,"
                   "01 May 2026,L1,S1,,1\r\n2,7090,spuh,gull sp.,Larinae sp.,1,Lake,DE-BE,02 May 2026,L2,S2,,0\r\n"),
            "Passer domesticus (House Sparrow)\n")
      << "a life list";
  EXPECT_EQ(pasted("Submission ID,Common Name,Scientific Name,Count,Checklist Comments\n"
                   "S1,\"Dark-eyed Junco (Slate-colored)\",Junco hyemalis hyemalis/carolinensis,2,\"cold,\nwindy\"\n"
                   "S1,Downy Woodpecker,Dryobates pubescens,1,\n"
                   "S2,Downy Woodpecker,Dryobates pubescens,1,\n"),
            "Junco hyemalis (Dark-eyed Junco)\nDryobates pubescens (Downy Woodpecker)\n")
      << "one's own data: each bird once, as its species";
  EXPECT_EQ(pasted("SPECIES_CODE;PRIMARY_COM_NAME;SCI_NAME\nhouspa;House Sparrow;Passer domesticus\n"),
            "Passer domesticus (House Sparrow)\n");
}

std::string quarters(double winter, double summer) {
  std::string cells;
  for (int month = 1; month <= 12; ++month) {
    for (int i = 0; i < 4; ++i) cells += "\t" + std::to_string(month >= 5 && month <= 8 ? summer : winter);
  }
  return cells + "\t\n";
}

TEST(PastedList, TakesTheMonthsOfABarChart) {
  const std::string chart =
      "\n\nFrequency of observations in the selected location(s).:\nNumber of taxa: \t4\n\n\tJan\t\t\t\tFeb\n"
      "Sample Size:" +
      quarters(40, 40) + "\n" + "House Sparrow (<em class=\"sci\">Passer domesticus</em>)" + quarters(0.6, 0.6) +
      "Common Swift (<em class=\"sci\">Apus apus</em>)" + quarters(0, 0.3) +
      "Waxwing (<em class=\"sci\">Bombycilla garrulus</em>)" + quarters(0.0004, 0) + "gull sp." + quarters(0.2, 0.2) +
      "Robin" + quarters(0.2, 0);
  const auto list = read_pasted_list(chart, "chart");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->form, PastedForm::kBarChart);
  EXPECT_EQ(list->text, "Passer domesticus (House Sparrow)\nApus apus (Common Swift): 5-8\nRobin: 1-4, 9-12\n");
  EXPECT_EQ(list->left_out, 2U) << "one that is rarer than one list in a thousand, and one that is no species";
}

TEST(PastedList, RefusesWhatIsNoText) {
  EXPECT_EQ(pasted(std::string("PK\x03\x04\0\0", 6)), "list: the list is not UTF-8 text");
  EXPECT_EQ(pasted(std::string((4U << 20) + 1, 'a')), "list: list has 4194305 bytes, the limit is 4194304");
}

std::string own(std::string_view text) {
  const auto names = read_own_names(text, "body", garden());
  return names ? names->text : describe(names.error());
}

TEST(OwnNames, SayTheBirdInEitherColumn) {
  constexpr std::string_view kTable = "species_id\tcommon_name\npasser-domesticus\tSpatz\n";
  EXPECT_EQ(own("Passer domesticus\tSpatz\n"), kTable);
  EXPECT_EQ(own("Spatz = House Sparrow"), kTable);
  EXPECT_EQ(own("\xEF\xBB\xBF\"Scientific name\";\"Name\"\r\nPasser domesticus;Spatz\r\n"), kTable);
  EXPECT_EQ(own(kTable), kTable) << "what was given out is taken back";
  EXPECT_EQ(own("# nothing\n"), "");
}

TEST(OwnNames, OfBirdsThatTheModelLacksAreThoseOfTheTableAndWhatScienceWrites) {
  const auto names = read_own_names("Poecile montanus,Mattkopf\nFieldfare,Schacker\nPhoenix,Vogel\n", "body", garden());
  ASSERT_TRUE(names);
  EXPECT_EQ(names->text,
            "species_id\tcommon_name\npoecile-montanus\tMattkopf\nturdus-pilaris\tSchacker\nphoenix\tVogel\n");
  EXPECT_EQ(names->found, 2U);
  EXPECT_EQ(names->missing, std::vector<std::string>{"Phoenix"});
  EXPECT_EQ(own("Dryobates pubescens,Pube"), "species_id\tcommon_name\npicoides-pubescens\tPube\n")
      << "the model has it under another name";
  EXPECT_EQ(own("Mattkopf,Poecile montanus"), "species_id\tcommon_name\npoecile-montanus\tMattkopf\n");
}

TEST(OwnNames, RefuseWhatHasNotTwoColumns) {
  EXPECT_EQ(own("Spatz\n"), "body, row 1: 1 cells, expected two: a bird and its name");
  EXPECT_EQ(own("Apus apus,Segler\nApus apus,\n"), "body, row 2: 2 cells, expected two: a bird and its name");
  EXPECT_EQ(own("Apus apus,\"a\nb\""), "body, row 1: \"a?b\" is no name: longer than 100 bytes, or of several lines");
}

TEST(BirdNamesTable, NamesAreOfOneBirdEachAndOfBirdsThatTheModelsKnow) {
  const auto labels = engine::Labels::open(KINGLET_SOURCE_DIR "/models/labels/inat_bird_965.txt");
  ASSERT_TRUE(labels);
  std::map<std::string, std::string> english;
  for (const engine::Label& label : *labels) english[label.species_id] = label.common_name;
  std::map<std::string, const BirdNames*> birds;
  for (const BirdNames& bird : bird_names()) {
    EXPECT_EQ(bird.names.front(), bird.is_current ? english[bird.species_id] : bird.names.front()) << bird.species_id;
    for (const std::string_view name : bird.names) {
      if (name.empty()) continue;
      EXPECT_FALSE(folded(name).empty()) << name;
      const auto [other, is_new] = birds.try_emplace(folded(name), &bird);
      EXPECT_TRUE(is_new || other->second->names == bird.names) << name << " is of two birds";
    }
  }
}

// Names come in, none goes: whoever finds more of them lowers these.
TEST(BirdNamesTable, AsManyAreMissingInALanguageAsWereNotFoundTwice) {
  std::map<std::string_view, std::size_t> missing;
  std::size_t birds = 0;
  for (const BirdNames& bird : bird_names()) {
    if (!bird.is_current) continue;
    ++birds;
    for (std::size_t i = 0; i < kNameLanguages.size(); ++i)
      missing[kNameLanguages.at(i)] += bird.names.at(i).empty() ? 1 : 0;
  }
  EXPECT_EQ(birds, 185U);
  EXPECT_EQ(missing, (std::map<std::string_view, std::size_t>{
                         {"en", 0}, {"de", 0}, {"fr", 0}, {"es", 1}, {"ja", 1}, {"zh", 0}}));
}

TEST(BirdNamesTable, ABirdIsFoundByEachOfItsScientificNames) {
  EXPECT_EQ(bird_name("passer-domesticus", "de"), "Haussperling");
  EXPECT_EQ(bird_name("dryobates-pubescens", "de"), "Dunenspecht");
  EXPECT_EQ(bird_name("picoides-pubescens", "de"), "Dunenspecht");
  EXPECT_EQ(bird_name("passer-domesticus", "en"), "House Sparrow");
  EXPECT_EQ(bird_name("passer-domesticus", "nl"), "");
  EXPECT_EQ(bird_name("phoenix", "de"), "");
}

TEST(BirdNamesTable, ABirdIsFoundByEachOfItsNames) {
  const auto id = [](std::string_view name) {
    const BirdNames* bird = find_bird_called(name);
    return bird != nullptr ? bird->species_id : "none";
  };
  for (const char* name :
       {"Passer domesticus", "passer-domesticus", "HOUSE SPARROW", "Haussperling", "moineau domestique",
        "Gorri\u00F3n com\u00FAn", "\u30A4\u30A8\u30B9\u30BA\u30E1", "\u5BB6\u9EBB\u96C0"}) {
    EXPECT_EQ(id(name), "passer-domesticus") << name;
  }
  EXPECT_EQ(id("Dryobates pubescens"), "dryobates-pubescens");
  EXPECT_EQ(id("Dunenspecht"), "picoides-pubescens") << "as the table has it";
  EXPECT_EQ(find_bird_called("Dryobates pubescens")->bird, find_bird_called("Dunenspecht")->bird);
  EXPECT_EQ(id("phoenix"), "none");
  EXPECT_EQ(id(" - "), "none");
}

TEST(ShownBird, IsNamedByTheModelElseByTheTableElseByWhoTypedIt) {
  Visit visit;
  visit.model_result = {.species_id = "parus-major",
                        .top = {{.species_id = "parus-major", .label = "Kohlmeise", .common_name = "Kohlmeise"}},
                        .model_name = {},
                        .model_digest = {}};
  EXPECT_EQ(shown_bird(visit).common_name, "Kohlmeise");
  visit.review = {
      .verdict = Verdict::kCorrected, .species_id = "turdus-pilaris", .name = {}, .note = {}, .reviewed_by = {}};
  EXPECT_EQ(shown_bird(visit).common_name, "Fieldfare");
  EXPECT_EQ(shown_bird(visit).scientific_name, "Turdus pilaris");
  visit.review.species_id = "der-bunte";
  EXPECT_EQ(shown_bird(visit).common_name, "");
  visit.review.name = "Der Bunte";
  EXPECT_EQ(shown_bird(visit).common_name, "Der Bunte");
  EXPECT_EQ(shown_bird(visit).species_id, "der-bunte");
}

}  // namespace
}  // namespace kinglet::visits
