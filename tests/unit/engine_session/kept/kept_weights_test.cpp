// SPDX-License-Identifier: Apache-2.0
// Packed weights kept in a file: the same bits with it, without it and while it is made; damage of every kind is found
// out; several processes may make it at once; and a disk that takes nothing is no error of the model's.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <random>

#include "engine/base/file.h"
#include "engine/onnx/save.h"
#include "engine/session/kept_weights.h"
#include "engine/session/model.h"
#include "engine/session/session.h"
#include "tests/support/corpus.h"
#include "tests/support/graph_of.h"
#include "tests/support/graph_text.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::engine {
namespace {

namespace fs = std::filesystem;

// A filter of each kind: Winograd's or strided, of one pixel, depthwise, grouped, shared by two layers, with its scale
// folded into it, a matrix of both orders.
constexpr std::string_view kLayers = R"(
%x = input f32[1,3,32,32]
%1 = Conv(%x, w1:f32[16,3,3,3]#a, b1:f32[16]#b) {kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]}
%2 = Relu(%1)
%3 = Conv(%2, w2:f32[64,16,1,1]#c)
%4 = Conv(%3, w3:f32[64,1,3,3]#d) {group=64, kernel_shape=[3,3], pads=[1,1,1,1]}
%5 = Conv(%4, w4:f32[64,64,3,3]#e, b4:f32[64]#f) {kernel_shape=[3,3], pads=[1,1,1,1]}
%6 = Add(%5, %3)
%7 = Conv(%6, w5:f32[64,16,3,3]#g) {group=4, kernel_shape=[3,3], pads=[1,1,1,1]}
%8 = Conv(%7, w6:f32[64,64,1,1]#h)
%9 = Relu(%8)
%10 = Conv(%9, w6)
%11 = Mul(%10, s:f32[1,64,1,1]#+i)
%12 = GlobalAveragePool(%11)
%13 = Flatten(%12)
%14 = MatMul(%13, m:f32[64,96]#j)
%15 = Gemm(%14, n:f32[40,96]#k, o:f32[40]#l) {transB=1}
%16 = Softmax(%15)
output %16
)";

struct Answer {
  std::vector<Tensor> outputs;
  KeptInfo kept;

  [[nodiscard]] bool same_bits(const Answer& other) const {
    return std::ranges::equal(outputs, other.outputs, [](const Tensor& a, const Tensor& b) { return a.bit_equal(b); });
  }
};

Answer answer_of(const fs::path& model, const SessionOptions& options) {
  auto session = Session::open(model, options);
  if (!session) throw std::runtime_error(describe(session.error()));
  for (std::size_t i = 0; i < session->inputs().size(); ++i) {
    const TensorInfo& input = session->inputs()[i];
    if (!session->set_input(i, seeded_tensor(input.type, input.shape, "picture"))) throw std::runtime_error("input");
  }
  if (!session->run()) throw std::runtime_error("run");
  Answer answer{.outputs = {}, .kept = session->plan().kept};
  for (std::size_t i = 0; i < session->outputs().size(); ++i) answer.outputs.push_back(session->get_output(i));
  return answer;
}

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) files.push_back(entry.path());
  return files;
}

class KeptWeights : public ::testing::Test {
 protected:
  KeptWeights() { save(kLayers, model_); }

  void save(std::string_view text, const fs::path& path) const {
    ASSERT_TRUE(save_model(graph_of(text), path, Overwrite::kReplace));
  }
  [[nodiscard]] SessionOptions keeping(const fs::path& model, SessionOptions options = {}) const {
    options.weights = WeightsFolder::of(folder_, model).value();
    return options;
  }
  [[nodiscard]] Answer kept_answer() const { return answer_of(model_, keeping(model_)); }
  [[nodiscard]] fs::path only_file() const {
    const std::vector<fs::path> files = files_of(folder_);
    EXPECT_EQ(files.size(), 1U);
    return files.at(0);
  }
  void expect_same_bits(const fs::path& model, const SessionOptions& options) const {
    const Answer without = answer_of(model, options);
    const Answer first = answer_of(model, keeping(model, options));
    const Answer second = answer_of(model, keeping(model, options));
    EXPECT_EQ(without.kept.bytes, 0U);
    EXPECT_FALSE(first.kept.found);
    EXPECT_EQ(first.kept.problem, "");
    EXPECT_TRUE(second.kept.found);
    EXPECT_TRUE(first.same_bits(without)) << "while it is made";
    EXPECT_TRUE(second.same_bits(without)) << "found";
  }

  testing::ScratchFolder scratch_;
  fs::path folder_ = scratch_.path() / "packed";
  fs::path model_ = scratch_.path() / "model.onnx";
};

TEST_F(KeptWeights, GiveTheSameBits) {
  expect_same_bits(model_, {});
  expect_same_bits(model_, {.own_kernels = false});
  expect_same_bits(model_, {.threads = 2, .optimize = false});
  expect_same_bits(model_, {.forced_kernels = {"winograd2_f32__scalar"}});
  expect_same_bits(model_, {.forced_kernels = {"woven_f32__scalar"}});
  expect_same_bits(model_, {.forced_kernels = {"panels_f32__scalar"}});
  expect_same_bits(model_, {.disabled_lowerings = {"MatMul", "Add"}});
}

TEST_F(KeptWeights, AreThoseOfOneNumberOfThreads) {
  EXPECT_FALSE(answer_of(model_, keeping(model_, {.threads = 1})).kept.found);
  EXPECT_FALSE(answer_of(model_, keeping(model_, {.threads = 2})).kept.found);
  EXPECT_TRUE(answer_of(model_, keeping(model_, {.threads = 1})).kept.found);
}

TEST_F(KeptWeights, GiveTheSameBitsInFloat16) {
  if (!Session::half_arithmetic()) GTEST_SKIP() << "no float16 arithmetic here";
  expect_same_bits(model_, {.half = true});
  expect_same_bits(model_, {.half = true, .half_everywhere = true});
  expect_same_bits(model_, {.half = true, .forced_kernels = {"woven_f16__scalar"}});
}

TEST_F(KeptWeights, OfRealModelsGiveTheSameBits) {
  KINGLET_NEEDS_CORPUS();
  for (const auto& entry : fs::directory_iterator(testing::corpus() / "models")) {
    if (entry.path().extension() != ".onnx") continue;
    SCOPED_TRACE(entry.path().filename().string());
    expect_same_bits(entry.path(), {});
  }
}

TEST_F(KeptWeights, AreNotThoseOfOtherOptionsOrAnotherModel) {
  (void)kept_answer();
  EXPECT_FALSE(answer_of(model_, keeping(model_, {.own_kernels = false})).kept.found);
  EXPECT_FALSE(answer_of(model_, keeping(model_, {.memory_limit = std::int64_t{1} << 30})).kept.found);
  const Answer before = answer_of(model_, {});
  std::string other(kLayers);
  other.replace(other.find("#c"), 2, "#z");
  save(other, model_);
  const Answer after = kept_answer();
  EXPECT_FALSE(after.kept.found);
  EXPECT_FALSE(after.same_bits(before));
  EXPECT_TRUE(after.same_bits(answer_of(model_, {})));
}

// The digest was of what lay there before.
TEST_F(KeptWeights, AreNotKeptOfAModelThatChangesMeanwhile) {
  SessionOptions options = keeping(model_);
  std::string other(kLayers);
  other.replace(other.find("#c"), 2, "#z");
  save(other, model_);
  const Answer answer = answer_of(model_, options);
  EXPECT_NE(answer.kept.problem.find("changed"), std::string::npos) << answer.kept.problem;
  EXPECT_TRUE(files_of(folder_).empty());
}

// Of the same shapes: the packed weights fit, and what is not packed would be the other model's.
TEST_F(KeptWeights, AreNotUsedWithAModelThatTookTheirsPlaceMeanwhile) {
  (void)kept_answer();
  const SessionOptions options = keeping(model_);
  const fs::path file = only_file();
  std::string other(kLayers);
  other.replace(other.find("#b"), 2, "#z");
  save(other, model_);
  const Answer answer = answer_of(model_, options);
  EXPECT_FALSE(answer.kept.found);
  EXPECT_NE(answer.kept.problem.find("changed"), std::string::npos) << answer.kept.problem;
  EXPECT_TRUE(answer.same_bits(answer_of(model_, {})));
  EXPECT_EQ(only_file(), file);
}

TEST_F(KeptWeights, ThatAreDamagedAreMadeAgain) {
  const Answer good = kept_answer();
  const fs::path file = only_file();
  const std::string bytes = read_file(file, 1U << 30).value();
  std::mt19937 random(36);
  const auto place = [&](std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
  };
  for (int i = 0; i < 60; ++i) {
    std::string wrong = bytes;
    const std::size_t at = i % 3 == 0 ? place(256) : place(wrong.size());  // the head is small
    switch (i % 4) {
      case 0:
      case 1:
        wrong[at] = static_cast<char>(wrong[at] ^ (1 << place(8)));
        break;
      case 2:
        wrong.resize(at);
        break;
      default:
        wrong.replace(at, std::min<std::size_t>(4096, wrong.size() - at),
                      std::min<std::size_t>(4096, wrong.size() - at), '\0');
    }
    if (wrong == bytes) continue;
    SCOPED_TRACE(::testing::Message() << "change " << i << " at " << at);
    ASSERT_TRUE(write_file(file, wrong, Overwrite::kReplace));
    const Answer again = kept_answer();
    // Between the pieces nothing is read.
    EXPECT_TRUE(!again.kept.found || wrong.size() == bytes.size());
    EXPECT_EQ(again.kept.problem, "");
    ASSERT_TRUE(again.same_bits(good));
    ASSERT_TRUE(kept_answer().kept.found);
  }
}

TEST_F(KeptWeights, OfAnotherKeyUnderItsNameAreMadeAgain) {
  const Answer good = kept_answer();
  const fs::path file = only_file();
  const Answer other = answer_of(model_, keeping(model_, {.own_kernels = false}));
  for (const fs::path& found : files_of(folder_)) {
    if (found != file) fs::rename(found, file);
  }
  const Answer again = kept_answer();
  EXPECT_FALSE(again.kept.found);
  EXPECT_TRUE(again.same_bits(good));
}

TEST_F(KeptWeights, AreNoLinksAndNoFolders) {
  const Answer good = kept_answer();
  const fs::path file = only_file();
  fs::rename(file, scratch_.path() / "elsewhere");
  fs::create_symlink(scratch_.path() / "elsewhere", file);
  EXPECT_FALSE(kept_answer().kept.found);
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(file)));
  fs::remove(file);
  fs::create_directories(file / "in it");
  const Answer answer = kept_answer();
  EXPECT_NE(answer.kept.problem, "");
  EXPECT_TRUE(answer.same_bits(good));
  EXPECT_EQ(files_of(folder_).size(), 1U);  // nothing half done
}

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

TEST_F(KeptWeights, OfManyPiecesAreFoundOrNotKept) {
  const KeptFile kept(folder_, "a model of small layers", 150'000);
  constexpr std::size_t kEach = PackedWeights::kAlignment;
  bool fitted = false, did_not = false;
  for (std::size_t count = 1300; count < 2000; count += 50) {
    WrittenWeights weights(kept);
    for (std::size_t i = 0; i < count; ++i) (void)weights.keep(1, weights.room(kEach));
    const bool finished = weights.finish().has_value();
    EXPECT_EQ(FoundWeights::open(kept).has_value(), finished) << count;
    (finished ? fitted : did_not) = true;
    kept.remove();
  }
  EXPECT_TRUE(fitted && did_not);
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

// They are whole, only there is no room for them in this process.
TEST_F(KeptWeights, ThatCannotBeMappedAreNotCalledDamaged) {
  const KeptFile kept(folder_, "key");
  ASSERT_TRUE(half_written(kept, kUnfinished[0], 40'000'000)->finish());
  EXPECT_TRUE(FoundWeights::open(kept));
  EXPECT_TRUE(in_child([&] {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t most = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + 20'000'000;
    const rlimit limit{.rlim_cur = most, .rlim_max = most};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) return false;
    const auto found = FoundWeights::open(kept);
    return !found && found.error().code == ErrorCode::kUnavailable;
  }));
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
