// SPDX-License-Identifier: Apache-2.0
#include "daemon/backup/tar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace kinglet::daemon::backup {
namespace {

struct File {
  std::string name;
  std::string bytes;
  bool operator==(const File&) const = default;
};

std::string written(const std::vector<File>& files) {
  std::string tar;
  for (const File& file : files) {
    tar += tar_head({.name = file.name, .size = file.bytes.size()}) + file.bytes + tar_padding(file.bytes.size());
  }
  return tar + tar_end();
}

struct Seen {
  std::vector<File> files;
  std::string raw;
  bool at_end = false;
};

// In pieces of this size.
Result<Seen> read(std::string_view tar, std::size_t piece) {
  Seen seen;
  TarReader reader({.begin = [&](const TarEntry& entry) -> Result<void> {
                      seen.files.push_back({.name = entry.name, .bytes = {}});
                      return {};
                    },
                    .bytes = [&](std::string_view bytes) -> Result<void> {
                      seen.files.back().bytes += bytes;
                      return {};
                    },
                    .end = []() -> Result<void> { return {}; },
                    .seen = [&](std::string_view raw) { seen.raw += raw; }});
  for (; !tar.empty(); tar.remove_prefix(std::min(piece, tar.size()))) KINGLET_TRY(reader.take(tar.substr(0, piece)));
  seen.at_end = reader.at_end();
  return seen;
}

TEST(Tar, GivesBackWhatWasWrittenInPiecesOfAnySize) {
  const std::vector<File> files{{"manifest.json", "{}"},
                                {"empty", ""},
                                {"models/" + std::string(180, 'n') + ".onnx", std::string(2000, 'x')},
                                {"block", std::string(512, 'b')}};
  const std::string tar = written(files);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{512}, std::size_t{513}, tar.size()}) {
    const Result<Seen> seen = read(tar, piece);
    ASSERT_TRUE(seen) << describe(seen.error());
    EXPECT_EQ(seen->files, files);
    EXPECT_TRUE(seen->at_end);
    EXPECT_EQ(seen->raw, tar.substr(0, tar.size() - tar_end().size())) << "all of it is there to be digested";
  }
}

TEST(Tar, IsNotAtItsEndWhereTheEndIsMissing) {
  const std::string tar = written({{"a", "1"}});
  EXPECT_FALSE(read(tar.substr(0, 1024), 512)->at_end);
  EXPECT_FALSE(read(tar.substr(0, 600), 512)->at_end);
  EXPECT_TRUE(read(tar + std::string(5000, '\0'), 512)->at_end) << "tapes are filled up";
}

TEST(Tar, TakesNothingButPlainFilesWithAHeadThatIsRight) {
  const std::string tar = written({{"a", "1"}});
  const auto with = [&](std::size_t at, char byte, bool sum_again) {
    std::string changed = tar;
    changed[at] = byte;
    if (sum_again) {
      unsigned sum = 8 * ' ';
      for (std::size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? 0 : static_cast<unsigned char>(changed[i]);
      for (int digit = 5; digit >= 0; --digit, sum /= 8)
        changed[148 + static_cast<std::size_t>(digit)] = static_cast<char>('0' + sum % 8);
    }
    return read(changed, 512).has_value();
  };
  EXPECT_TRUE(with(0, 'b', true));
  EXPECT_FALSE(with(0, 'b', false)) << "the sum";
  EXPECT_FALSE(with(257, 'x', true)) << "the mark";
  EXPECT_FALSE(with(124, '8', true)) << "a size that is no octal number";
  for (const char type : {'1', '2', '3', '4', '5', '6', 'g', 'L', 'S'}) EXPECT_FALSE(with(156, type, true)) << type;
  EXPECT_FALSE(read(tar + "more", 512)) << "behind its end";
}

}  // namespace
}  // namespace kinglet::daemon::backup
