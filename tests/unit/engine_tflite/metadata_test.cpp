// SPDX-License-Identifier: Apache-2.0
// What stands beside the graph: normalisation in a buffer of the model, labels in a zip behind it.
#include "engine/tflite/metadata.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>

#include "engine/recipe/labels.h"
#include "engine/recipe/recipe.h"
#include "engine/tflite/import.h"
#include "engine/tflite/metadata_generated.h"
#include "tests/unit/engine_tflite/tflite_model.h"

namespace kinglet::engine {
namespace {

using kinglet::testing::TfliteModel;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct File {
  std::string name;
  std::string text;
  std::string locale = {};
};

void put(std::string& out, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(number >> (8 * i)));
}

// As TensorFlow Lite's tools append them (APPNOTE.TXT, 4.3): not compressed, offsets from the start of the model.
std::string with_files(std::string out, const std::vector<File>& files) {
  std::string directory;
  for (const File& file : files) {
    std::string facts;
    put(facts, 20, 2);          // version needed
    put(facts, 0, 4);           // flags, method: stored
    put(facts, 0x5d210000, 4);  // time, date
    put(facts, crc32(0, reinterpret_cast<const Bytef*>(file.text.data()), static_cast<uInt>(file.text.size())), 4);
    put(facts, file.text.size(), 4);
    put(facts, file.text.size(), 4);
    put(facts, file.name.size(), 2);
    put(facts, 0, 2);  // extra field
    directory += "PK\x01\x02";
    put(directory, 20, 2);
    directory += facts;
    put(directory, 0, 2 + 2 + 2 + 4);  // comment, disk, attributes
    put(directory, out.size(), 4);
    directory += file.name;
    out += "PK\x03\x04" + facts + file.name + file.text;
  }
  const std::size_t start = out.size();
  out += directory + "PK\x05\x06";
  put(out, 0, 4);
  put(out, files.size(), 2);
  put(out, files.size(), 2);
  put(out, directory.size(), 4);
  put(out, start, 4);
  put(out, 0, 2);
  return out;
}

std::string metadata(const std::vector<float>& mean, const std::vector<float>& std, const std::vector<File>& labels) {
  using namespace tflite;  // NOLINT(google-build-using-namespace): the format's tables
  flatbuffers::FlatBufferBuilder fb;
  const auto options = CreateNormalizationOptions(fb, fb.CreateVector(mean), fb.CreateVector(std));
  const auto unit = CreateProcessUnit(fb, 1, flatbuffers::Offset<UnreadPart>(options.o));
  const auto input = CreateTensorMetadata(fb, 0, 0, 0, 0, fb.CreateVector(std::vector{unit}));
  std::vector<flatbuffers::Offset<AssociatedFile>> files;
  for (const File& file : labels) {
    const auto name = fb.CreateString(file.name);
    const auto locale = file.locale.empty() ? 0 : fb.CreateString(file.locale);
    files.push_back(CreateAssociatedFile(fb, name, 0, 2, locale));
  }
  const auto output = CreateTensorMetadata(fb, 0, 0, 0, 0, 0, 0, fb.CreateVector(files));
  const auto graph =
      CreateSubGraphMetadata(fb, 0, 0, fb.CreateVector(std::vector{input}), fb.CreateVector(std::vector{output}));
  fb.Finish(CreateModelMetadata(fb, 0, 0, 0, fb.CreateVector(std::vector{graph})), ModelMetadataIdentifier());
  return {reinterpret_cast<const char*>(fb.GetBufferPointer()), fb.GetSize()};
}

// Two classes from [1,1,1,2]; `type` of the input: 0 float, 3 uint8.
std::string classifier(const std::string& metadata, std::int8_t type = 0) {
  TfliteModel model;
  const bool levels = type != 0;
  const std::vector<float> scale(levels ? 1 : 0, 0.5F);
  const std::vector<std::int64_t> zero(levels ? 1 : 0, 100);
  const auto x = model.tensor({.shape = {1, 1, 1, 2}, .type = type, .scale = scale, .zero_point = zero});
  const auto y = model.tensor({.shape = {1, 2}, .type = type, .scale = scale, .zero_point = zero});
  const auto shape = model.tensor({.shape = {2}, .type = 2, .data = kinglet::testing::bytes_of<std::int32_t>({1, 2})});
  model.op(22, {x, shape}, {y});
  if (!metadata.empty()) model.named_buffer("TFLITE_METADATA", metadata);
  return model.bytes({x}, {y});
}

ImportedTflite imported_whole(const std::string& bytes) {
  auto found = import_tflite(bytes);
  EXPECT_TRUE(found) << describe(found.error());
  return std::move(*found);
}

std::string property(const ImportedTflite& model, std::string_view name) {
  const auto& properties = model.graph.metadata.properties;
  const auto found = std::ranges::find(properties, name, &std::pair<std::string, std::string>::first);
  return found == properties.end() ? "none" : found->second;
}

Recipe recipe_of(const ImportedTflite& model) {
  const auto recipe = parse_recipe(property(model, kRecipeProperty), "test");
  EXPECT_TRUE(recipe) << describe(recipe.error());
  return *recipe;
}

TEST(TfliteMetadata, NormalisationOfAFloatModelIsItsRecipe) {
  const Recipe one = recipe_of(imported_whole(classifier(metadata({127.5F}, {128}, {}))));
  EXPECT_THAT(one.mean, ElementsAre(127.5, 127.5, 127.5));
  EXPECT_THAT(one.std, ElementsAre(128, 128, 128));
  const Recipe three = recipe_of(imported_whole(classifier(metadata({1, 2, 3}, {4, 5, 6}, {}))));
  EXPECT_THAT(three.mean, ElementsAre(1, 2, 3));
  EXPECT_THAT(three.std, ElementsAre(4, 5, 6));
}

TEST(TfliteMetadata, LevelsSayMoreThanNormalisation) {
  EXPECT_THAT(recipe_of(imported_whole(classifier(metadata({127.5F}, {128}, {}), 3))).mean, ElementsAre(100, 100, 100));
}

TEST(TfliteMetadata, NormalisationThatCannotBeMeantIsLeftOutAndSaid) {
  for (const auto& std : {std::vector<float>{0}, {-1}, {1, 2}, {}}) {
    const ImportedTflite model = imported_whole(classifier(metadata({0}, std, {})));
    EXPECT_EQ(property(model, kRecipeProperty), "none");
    EXPECT_THAT(model.notes, ElementsAre(HasSubstr("normalisation")));
  }
}

// Loaded once it stays: this process has to be the test's own, as ctest starts it.
TEST(TfliteMetadata, AModelWithoutAZipNeedsNoLibraryForThem) {
  const auto is_loaded = [] { return ::dlopen("libzip.so.5", RTLD_NOW | RTLD_NOLOAD) != nullptr; };
  if (is_loaded()) GTEST_SKIP() << "another test's";
  EXPECT_THAT(imported_whole(classifier({})).notes, ElementsAre());
  EXPECT_FALSE(is_loaded());
  imported_whole(with_files(classifier({}), {{"labels.txt", "wren\nrobin\n"}}) + std::string(60'000, 'x'));
  EXPECT_TRUE(is_loaded()) << "where a comment may be behind it";
}

TEST(TfliteMetadata, TheOnlyTextOfTheZipHasTheLabels) {
  const ImportedTflite model =
      imported_whole(with_files(classifier({}), {{"labels.txt", "wren\nrobin\n"}, {"a.bin", "x"}}));
  EXPECT_EQ(property(model, kLabelsProperty), "wren\nrobin\n");
  EXPECT_THAT(model.notes, ElementsAre("2 labels from labels.txt, which was in the model"));
}

TEST(TfliteMetadata, OfSeveralTextsTheOneThatTheMetadataNamesHasThemInEnglishFirst) {
  const std::vector<File> files{
      {"ids.txt", "/m/1\n/m/2\n"}, {"de.txt", "Zaunkönig\nRotkehlchen\n", "de"}, {"en.txt", "wren\nrobin\n", "en-GB"}};
  EXPECT_EQ(property(imported_whole(with_files(classifier(metadata({0}, {1}, files)), files)), kLabelsProperty),
            "wren\nrobin\n");
  EXPECT_EQ(property(imported_whole(with_files(classifier({}), files)), kLabelsProperty), "none") << "nobody names one";
}

TEST(TfliteMetadata, LabelsThatDoNotFitAreLeftOutAndSaid) {
  const ImportedTflite three = imported_whole(with_files(classifier({}), {{"labels.txt", "wren\nrobin\ntit\n"}}));
  EXPECT_EQ(property(three, kLabelsProperty), "none");
  EXPECT_THAT(three.notes, ElementsAre(HasSubstr("labels.txt")));
  const ImportedTflite large =
      imported_whole(with_files(classifier({}), {{"labels.txt", std::string(2'000'000, 'x')}}));
  EXPECT_THAT(large.notes, ElementsAre(HasSubstr("labels.txt is over 1 MiB")));
  const ImportedTflite missing =
      imported_whole(with_files(classifier(metadata({0}, {1}, {{"gone.txt", ""}})), {{"a.txt", ""}}));
  EXPECT_THAT(missing.notes, ElementsAre(HasSubstr("there is no gone.txt")));
}

TEST(TfliteMetadata, DamageBesideTheGraphCostsOnlyWhatItHit) {
  std::string spoilt = metadata({0}, {1}, {});
  std::fill(spoilt.begin(), spoilt.begin() + 4, '\x7f');
  EXPECT_THAT(imported_whole(classifier(spoilt)).notes,
              ElementsAre("the model's metadata is damaged and was left out"));
  const std::vector<File> files{{"labels.txt", "wren\nrobin\n"}};
  kinglet::testing::damage(with_files(classifier(metadata({0}, {1}, files)), files),
                           [](const std::string& bytes) { static_cast<void>(import_tflite(bytes)); });
}

}  // namespace
}  // namespace kinglet::engine
