// SPDX-License-Identifier: Apache-2.0
// The folder of packed weights: several processes may make one at once, those that are killed leave nothing, a disk
// that takes nothing is no error of the model's, and files that change meanwhile are found out.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <functional>
#include <memory>

#include "engine/base/file.h"
#include "engine/session/model.h"
#include "tests/unit/engine_session/kept/kept_case.h"

namespace {

int populate_answer = 0;  // errno of each such question while it is not 0

}  // namespace

// Instead of the C library's: a system without MADV_POPULATE_READ, or a disk that cannot give a page.
extern "C" int madvise(void* address, std::size_t bytes, int advice) noexcept {
  if (advice != MADV_POPULATE_READ || populate_answer == 0)
    return static_cast<int>(::syscall(SYS_madvise, address, bytes, advice));
  errno = populate_answer;
  return -1;
}

namespace kinglet::engine {
namespace {

// In a process of its own; true when `body` says so.
bool in_child(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(KeptWeights, MayBeMadeBySeveralProcessesAtOnce) {
  const Answer good = answer_of(model_, {});
  const SessionOptions options = keeping(model_);
  for (int round = 0; round < 5; ++round) {
    for (const fs::path& file : files_of(folder_)) fs::remove(file);
    std::vector<pid_t> children;
    for (int i = 0; i < 6; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        bool right = true;
        for (int load = 0; load < 3; ++load) right = right && answer_of(model_, options).same_bits(good);
        ::_exit(right ? 0 : 1);
      }
      children.push_back(child);
    }
    for (const pid_t child : children) {
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    (void)only_file();
    EXPECT_TRUE(kept_answer().kept.found);
  }
}

// So many bytes of a file, written and not finished.
std::unique_ptr<WrittenWeights> half_written(const KeptFile& kept, WrittenWeights::Unfinished unfinished,
                                             std::size_t bytes) {
  auto weights = std::make_unique<WrittenWeights>(kept, unfinished);
  const std::span<std::byte> room = weights->room(bytes);
  std::ranges::fill(room, std::byte{7});
  (void)weights->keep(1, room);
  return weights;
}

constexpr std::array kUnfinished{WrittenWeights::Unfinished::kNameless, WrittenWeights::Unfinished::kNamed};

TEST_F(KeptWeights, OfProcessesThatAreKilledLeaveNothingBehind) {
  const KeptFile other(folder_, "another model");
  for (const WrittenWeights::Unfinished unfinished : kUnfinished) {
    for (const fs::path& file : files_of(folder_)) fs::remove(file);
    for (int i = 0; i < 2; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        const auto weights = half_written(other, unfinished, 100'000);
        ::raise(SIGKILL);
      }
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      ASSERT_TRUE(WIFSIGNALED(status));
      EXPECT_EQ(files_of(folder_).size(), unfinished == WrittenWeights::Unfinished::kNamed ? 1U : 0U);
    }
    EXPECT_EQ(kept_answer().kept.problem, "");
    EXPECT_TRUE(only_file().native().ends_with(".packed"));
  }
}

TEST_F(KeptWeights, ThatAreStillWrittenAreLeftAlone) {
  const KeptFile other(folder_, "another model");
  for (const WrittenWeights::Unfinished unfinished : kUnfinished) {
    for (const fs::path& file : files_of(folder_)) fs::remove(file);
    const auto writing = half_written(other, unfinished, 1000);
    EXPECT_EQ(kept_answer().kept.problem, "");
    const auto finished = writing->finish();
    EXPECT_TRUE(finished) << describe(finished.error());
    EXPECT_TRUE(FoundWeights::open(other));
    EXPECT_EQ(files_of(folder_).size(), 2U);
  }
}

// So many pieces, written and finished.
Result<void> written(const KeptFile& kept, std::size_t pieces) {
  WrittenWeights weights(kept);
  for (std::size_t i = 0; i < pieces; ++i) (void)weights.keep(1, weights.room(PackedWeights::kAlignment));
  return weights.finish();
}

TEST_F(KeptWeights, WhoseListOfPiecesTakesMuchAreFoundOrNotKept) {
  const KeptFile kept(folder_, "a model of small layers", 150'000);
  bool fitted = false, did_not = false;
  for (std::size_t count = 1300; count < 2000; count += 50) {
    const bool finished = written(kept, count).has_value();
    EXPECT_EQ(FoundWeights::open(kept).has_value(), finished) << count;
    (finished ? fitted : did_not) = true;
    kept.remove();
  }
  EXPECT_TRUE(fitted && did_not);
}

TEST_F(KeptWeights, OfMorePiecesThanWouldBeReadAreNotKept) {
  const KeptFile kept(folder_, "a model of many layers", KeptFile::kMostBytes, 5);
  EXPECT_TRUE(written(kept, 5));
  EXPECT_TRUE(FoundWeights::open(kept));
  kept.remove();
  const auto more = written(kept, 6);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().message, "its weights are more than 5 pieces");
  EXPECT_TRUE(files_of(folder_).empty());
}

TEST_F(KeptWeights, OfManyBytesAreNotKept) {
  constexpr std::uint64_t kMost = 150'000;
  std::vector<KeptFile> files;
  for (const char* key : {"a", "b", "c", "d"}) {
    files.emplace_back(folder_, key, kMost);
    ASSERT_TRUE(half_written(files.back(), kUnfinished[0], 50'000)->finish());
    const auto ago = std::chrono::hours(10 - files.size());
    fs::last_write_time(files.back().path(), fs::file_time_type::clock::now() - ago);
  }
  EXPECT_FALSE(fs::exists(files[0].path()));
  EXPECT_FALSE(fs::exists(files[1].path()));
  EXPECT_TRUE(fs::exists(files[2].path()));
  EXPECT_TRUE(fs::exists(files[3].path()));
  EXPECT_FALSE(half_written(files[0], kUnfinished[0], kMost)->finish());
  EXPECT_EQ(files_of(folder_).size(), 2U);
}

constexpr std::size_t kTooLarge = 40'000'000;

// This process has no room for so many bytes more. False: nobody holds it to that, as where it is emulated.
bool limit_memory() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t most = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + kTooLarge / 2;
  const rlimit limit{.rlim_cur = most, .rlim_max = most};
  return ::setrlimit(RLIMIT_AS, &limit) == 0 &&
         ::mmap(nullptr, kTooLarge, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
}

// They are whole, only there is no room for them in this process.
TEST_F(KeptWeights, ThatCannotBeMappedAreNotCalledDamaged) {
  if (!in_child(limit_memory)) GTEST_SKIP() << "no limit of memory holds here";
  const KeptFile kept(folder_, "key");
  ASSERT_TRUE(half_written(kept, kUnfinished[0], kTooLarge)->finish());
  EXPECT_TRUE(FoundWeights::open(kept));
  EXPECT_TRUE(in_child([&] {
    if (!limit_memory()) return false;
    const auto found = FoundWeights::open(kept);
    return !found && found.error().code == ErrorCode::kUnavailable;
  }));
}

TEST_F(KeptWeights, ThatADiskCannotGiveAreDamaged) {
  const KeptFile kept(folder_, "key");
  ASSERT_TRUE(half_written(kept, kUnfinished[0], 1'000'000)->finish());
  populate_answer = EFAULT;
  const auto found = FoundWeights::open(kept);
  populate_answer = 0;
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kBadData);
  EXPECT_TRUE(FoundWeights::open(kept));
}

TEST_F(KeptWeights, AreFoundOnASystemThatCannotPopulateMemory) {
  (void)kept_answer();
  populate_answer = EINVAL;
  const Answer answer = kept_answer();
  populate_answer = 0;
  EXPECT_TRUE(answer.kept.found);
  EXPECT_TRUE(answer.same_bits(answer_of(model_, {})));
}

// Kilobytes of a mapped file in this process: of all, and this process's share.
std::pair<long, long> mapped_kilobytes(const fs::path& file) {
  std::ifstream maps("/proc/self/smaps");
  bool is_it = false;
  long all = 0;
  long share = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find('-') != std::string::npos && line.find(':') > line.find(' ')) is_it = line.ends_with(file.string());
    if (is_it && line.starts_with("Rss:")) all += std::strtol(line.c_str() + 4, nullptr, 10);
    if (is_it && line.starts_with("Pss:")) share += std::strtol(line.c_str() + 4, nullptr, 10);
  }
  return {all, share};
}

TEST_F(KeptWeights, LieInMemoryThatProcessesShare) {
  (void)kept_answer();
  const SessionOptions options = keeping(model_);
  const fs::path file = only_file();
  auto session = Session::open(model_, options);
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->run());
  if (mapped_kilobytes(file).first == 0) GTEST_SKIP() << "no /proc/self/smaps";
  EXPECT_TRUE(in_child([&] {
    auto other = Session::open(model_, options);
    if (!other || !other->run()) return false;
    const auto [all, share] = mapped_kilobytes(file);
    return all > 0 && share <= all * 2 / 3;
  }));
}

TEST_F(KeptWeights, OnADiskThatIsFullAreNotKept) {
  const Answer good = answer_of(model_, {});
  const SessionOptions options = keeping(model_);
  EXPECT_TRUE(in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 100'000, .rlim_max = 100'000};  // within the pieces
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    const Answer answer = answer_of(model_, options);
    return answer.same_bits(good) && answer.kept.problem.contains("cannot write") && answer.kept.bytes == 0;
  }));
  EXPECT_TRUE(files_of(folder_).empty());
}

TEST_F(KeptWeights, InAFolderThatCannotBeAreNotKept) {
  SessionOptions options = keeping(model_);
  options.weights->folder = scratch_.path() / "missing" / "packed";
  const Answer answer = answer_of(model_, options);
  EXPECT_NE(answer.kept.problem, "");
  EXPECT_TRUE(answer.same_bits(answer_of(model_, {})));
}

TEST_F(KeptWeights, OfFewModelsAreKept) {
  for (int i = 0; i < 9; ++i) {
    std::string other(kLayers);
    other.replace(other.find("#c"), 2, "#c" + std::to_string(i));
    const fs::path model = scratch_.path() / (std::to_string(i) + ".onnx");
    save(other, model);
    EXPECT_FALSE(answer_of(model, keeping(model)).kept.found);
  }
  EXPECT_EQ(files_of(folder_).size(), 6U);
  const fs::path newest = scratch_.path() / "8.onnx";
  EXPECT_TRUE(answer_of(newest, keeping(newest)).kept.found);
}

// Weights are read when they are packed.
TEST_F(KeptWeights, OfAFileThatIsCutMeanwhileAreAnError) {
  LateModel late = open_model_late(model_).value();
  fs::resize_file(model_, 1000);
  bool any = false;
  for (const ValueId id : late.graph.values()) {
    const Tensor* constant = late.graph.constant(id);
    if (constant == nullptr || constant->byte_count() < 4096) continue;
    any = true;
    EXPECT_TRUE(std::ranges::all_of(constant->bytes(), [](std::byte byte) { return byte == std::byte{0}; }));
  }
  EXPECT_TRUE(any);
  const auto outcome = late.numbers->outcome();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kIo);
}

TEST_F(KeptWeights, OfAFileThatIsWrittenToMeanwhileAreAnError) {
  fs::last_write_time(model_, fs::file_time_type::clock::now() - std::chrono::hours(1));
  const LateModel late = open_model_late(model_).value();
  EXPECT_TRUE(late.numbers->outcome());
  std::fstream(model_, std::ios::in | std::ios::out | std::ios::binary).put('x');
  const auto outcome = late.numbers->outcome();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kIo);
}

TEST_F(KeptWeights, OfAFileThatAnotherOneReplacedMeanwhileAreItsOwn) {
  const LateModel late = open_model_late(model_).value();
  const fs::path other = scratch_.path() / "other.onnx";
  std::ofstream(other) << "another model";
  fs::rename(other, model_);
  EXPECT_TRUE(late.numbers->outcome());
}

}  // namespace
}  // namespace kinglet::engine
