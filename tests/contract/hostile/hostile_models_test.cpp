// SPDX-License-Identifier: Apache-2.0
// A model file is an attack until it is proven to be one model of sane size. Each row: what is wrong, and the line a
// person reads; from the first byte to a session ready to run within 1 s and 256 MB, in a process of its own.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>
#include <unordered_map>

#include "engine/base/check.h"
#include "engine/base/file.h"
#include "engine/onnx/load.h"
#include "engine/onnx/save.h"
#include "engine/passes/runner.h"
#include "engine/session/session.h"
#include "tests/contract/hostile/hostile_rows.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::engine {
namespace {

using testing::HostileRow;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMeasured = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kMeasured = false;
#else
constexpr bool kMeasured = true;
#endif
#else
constexpr bool kMeasured = true;
#endif

// Load, the passes of `kinglet optimize`, writing, and everything a session does before its first run.
Result<void> live(const std::string& bytes, const std::filesystem::path& folder) {
  const Graph graph = KINGLET_TRY(load_model(std::as_bytes(std::span(bytes)), folder));
  Graph optimised = graph;
  KINGLET_TRY(run_passes(optimised, {}));
  KINGLET_TRY(to_onnx_bytes(optimised));
  KINGLET_TRY(Session::create(graph, {}));
  return {};
}

struct Life {
  std::string line;  // of the error, or "runs"
  int status = 0;
  double seconds = 0;  // of the processor: other programs may want it, too
  double megabytes = 0;
};

// What `work` says and costs in a process of its own.
Life alone(const std::function<std::string()>& work) {
  std::array<int, 2> ends{};
  KINGLET_CHECK(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    const std::string line = work();
    const bool told = ::write(ends[1], line.data(), line.size()) == static_cast<ssize_t>(line.size());
    ::_exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  Life life;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = ::read(ends[0], part.data(), part.size())) > 0;) {
    life.line.append(part.data(), static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  rusage used{};
  ::wait4(child, &life.status, 0, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  life.seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
  life.megabytes = static_cast<double>(used.ru_maxrss) / 1000;  // counted in KiB
  return life;
}

// What loading a model is made of: fresh pages and many small strings in tables.
std::string known_work() {
  for (int i = 0; i < 48; ++i) {
    const std::vector<float> page_by_page(1 << 20, 1.0F);
    if (page_by_page[static_cast<std::size_t>(i)] != 1.0F) return "wrong";
  }
  std::unordered_map<std::string, std::string> table;
  for (int i = 0; i < 150'000; ++i) table["a value of a name " + std::to_string(i)] = "of the node before";
  return std::to_string(table.size());
}

// Seconds of the processor that count as the one second of the contract. A machine is slower than another, and a
// virtual one's pages cost several times those of a real one: known work, a sixth of a second where the contract was
// written, says by how much. The least of three, as a neighbour may be at work.
double second_of_this_machine() {
  double least = alone(known_work).seconds;
  for (int i = 0; i < 2; ++i) least = std::min(least, alone(known_work).seconds);
  return std::max(1.0, 6 * least);
}

class HostileModel : public ::testing::TestWithParam<HostileRow> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_file(folder_ / "data.bin", std::string(1 << 20, '\1'), Overwrite::kRefuse));
    std::filesystem::create_symlink("/etc/passwd", folder_ / "link.bin");
    std::filesystem::create_directory(folder_ / "inner");
    ASSERT_EQ(::mkfifo((folder_ / "pipe.bin").c_str(), 0600), 0);
  }

  kinglet::testing::ScratchFolder scratch_;
  const std::filesystem::path& folder_ = scratch_.path();
};

TEST_P(HostileModel, EndsInOneLineWithinASecondAnd256MB) {
  const HostileRow& row = GetParam();
  const std::string bytes = row.make();
  const Life life = alone([&] {
    const Result<void> lived = live(bytes, folder_);
    return lived ? "runs" : describe(lived.error());
  });
  EXPECT_TRUE(WIFEXITED(life.status) && WEXITSTATUS(life.status) == 0) << row.what << ": status " << life.status;
  std::string line = life.line;
  if (const std::size_t at = line.find(folder_.string()); at != std::string::npos) {
    line.replace(at, folder_.string().size(), "FOLDER");
  }
  EXPECT_EQ(line, row.line) << row.what;
  if (!kMeasured) return;
  EXPECT_TRUE(life.seconds < 1.0 || life.seconds < second_of_this_machine())
      << row.what << ": " << life.seconds << " s";
  EXPECT_LT(life.megabytes, 256) << row.what;
}

std::string name_of(const ::testing::TestParamInfo<HostileRow>& info) {
  std::string name;
  for (const char c : info.param.what) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, HostileModel, ::testing::ValuesIn(testing::hostile_files()), name_of);
INSTANTIATE_TEST_SUITE_P(Networks, HostileModel, ::testing::ValuesIn(testing::hostile_networks()), name_of);

}  // namespace
}  // namespace kinglet::engine
