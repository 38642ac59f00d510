// SPDX-License-Identifier: Apache-2.0
#include "camera/discovery/markup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace kinglet::camera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> texts_of(std::string_view document) {
  std::vector<std::string> texts;
  const Result<void> read = read_markup(document, [&](MarkupPath path, const std::string& text) {
    std::string line;
    for (const std::string_view name : path) line += std::string(name) + "/";
    texts.push_back(line + text);
  });
  if (!read) return {"error: " + read.error().message};
  return texts;
}

TEST(Markup, GivesTextsWithTheElementsAroundThem) {
  EXPECT_THAT(
      texts_of("\xEF\xBB\xBF<?xml version=\"1.0\"?>\n<s:a x='>'> one <b/><n:b >two</n:b ><!-- <c> --> </s:a>\n"),
      ElementsAre("a/one", "a/b/two"));
}

TEST(Markup, ResolvesTheFiveEntitiesAndNumbers) {
  EXPECT_THAT(texts_of("<a>&lt;&gt;&amp;&quot;&apos;&#65;&#x42;&#xE4;&#x20AC;&#x1F426;</a>"),
              ElementsAre("a/<>&\"'AB\xC3\xA4\xE2\x82\xAC\xF0\x9F\x90\xA6"));
}

TEST(Markup, GivesAttributesWhereTheyAreWished) {
  std::vector<std::string> found;
  const auto take = [&](MarkupPath path, std::string_view name, const std::string& value) {
    found.push_back(std::string(path.back()) + "." + std::string(name) + "=" + value);
  };
  const auto read = [&](std::string_view document) {
    return read_markup(document, [](MarkupPath, std::string) {}, take);
  };
  EXPECT_TRUE(read("<a><t:b x = '1>2' y:token=\"a&amp;b\" z/><c d=\"\"></c></a>"));
  EXPECT_THAT(found, ElementsAre("b.x=1>2", "b.token=a&b", "c.d="));
  found.clear();
  EXPECT_TRUE(read("<a b c=d e='f'/>"));
  EXPECT_THAT(found, ::testing::IsEmpty());
  EXPECT_FALSE(read("<a b='&c;'/>"));
}

TEST(Markup, RefusesWhatIsDangerousOrBroken) {
  for (const char* document : {"",
                               " ",
                               "text",
                               "<a>",
                               "<a></b>",
                               "<a></a></a>",
                               "<a/><b/>",
                               "<a",
                               "<a x='>",
                               "<>",
                               "</a>",
                               "<a/>text",
                               "<!DOCTYPE a><a/>",
                               "<a><![CDATA[x]]></a>",
                               "<!-- ",
                               "<?xml ",
                               "<a>&b;</a>",
                               "<a>&amp</a>",
                               "<a>&#0;</a>",
                               "<a>&#xD800;</a>",
                               "<a>&#x110000;</a>",
                               "<a>&#99999999999;</a>",
                               "<a>&#-1;</a>",
                               "<s:a></t:a>"}) {
    EXPECT_THAT(texts_of(document), ElementsAre(HasSubstr("error: no XML: "))) << document;
  }
}

TEST(Markup, GoesNoDeeperThanItsLimit) {
  const auto nested = [](std::size_t depth) {
    std::string document;
    for (std::size_t i = 0; i < depth; ++i) document += "<a>";
    document += "x";
    for (std::size_t i = 0; i < depth; ++i) document += "</a>";
    return document;
  };
  EXPECT_EQ(texts_of(nested(kDeepestMarkup)).front().front(), 'a');
  EXPECT_THAT(texts_of(nested(kDeepestMarkup + 1)), ElementsAre(HasSubstr("too deep")));
}

}  // namespace
}  // namespace kinglet::camera
