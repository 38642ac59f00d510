// SPDX-License-Identifier: Apache-2.0
// `lower` says no, or agrees with `evaluate`: held at random. Cases run in a child process, since XNNPACK ends the
// process where it asserts; what fails is made smaller and printed with the line that repeats it:
//   KINGLET_LOWERING_SECONDS=N   how long; with a new seed, which is printed (otherwise 4, always with the same cases)
//   KINGLET_LOWERING_SEED=N      the cases of that seed
//   KINGLET_LOWERING_ONLY=NAME   one operator
//   KINGLET_LOWERING_CASE=NAME:1,2,3   one case
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <random>

#include "engine/base/check.h"
#include "engine/ops/op.h"
#include "tests/contract/random_lowering/cases.h"

namespace kinglet::engine::random_cases {
namespace {

using Clock = std::chrono::steady_clock;

std::string name_of(const Row& row) {
  return row.domain.empty() ? std::string(row.op_type) : std::format("{}::{}", row.domain, row.op_type);
}

std::uint64_t case_seed(std::uint64_t seed, std::size_t row, std::uint64_t round) {
  std::seed_seq mixed{seed, seed >> 32, std::uint64_t{row}, round};
  std::array<std::uint32_t, 2> out{};
  mixed.generate(out.begin(), out.end());
  return std::uint64_t{out[0]} << 32 | out[1];
}

// What a child leaves behind, whatever ends it.
struct Report {
  std::size_t row;  // the case at hand
  std::uint64_t seed;
  std::array<int, 128> ran, valid, lowered;
  std::array<char, 2000> fault;
  void tell(const std::string& text) {
    std::memcpy(fault.data(), text.data(), std::min(text.size(), fault.size() - 1));
  }
};

class SharedReport {
 public:
  SharedReport() {
    void* memory = mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    KINGLET_CHECK(memory != MAP_FAILED);
    report_ = new (memory) Report{};
  }
  ~SharedReport() { munmap(report_, sizeof(Report)); }
  SharedReport(const SharedReport&) = delete;
  SharedReport& operator=(const SharedReport&) = delete;
  Report* operator->() { return report_; }

 private:
  Report* report_ = nullptr;
};

// f() in a child; how that ended in words, empty when it ended well.
template <typename F>
std::string in_child(F f, bool quiet) {
  constexpr unsigned kPatienceSeconds = 300;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (quiet && std::freopen("/dev/null", "w", stderr) == nullptr) _exit(3);
    std::signal(SIGABRT, SIG_DFL);
    try {
      f([] { alarm(kPatienceSeconds); });
    } catch (const std::exception& error) {
      std::fprintf(stderr, "thrown: %s\n", error.what());
      _exit(2);
    }
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return "waitpid failed";
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return signal == SIGALRM ? std::format("no end in {} s", kPatienceSeconds)
                             : std::format("ended the process: {}", strsignal(signal));
  }
  if (WEXITSTATUS(status) == 2) return "throws out of the engine";
  return WEXITSTATUS(status) == 0 ? "" : std::format("ended the process with code {}", WEXITSTATUS(status));
}

// The fault of one case; empty when there is none.
std::string fault_of(const Row& row, const Case& made, bool quiet) {
  SharedReport report;
  const std::string end = in_child(
      [&](auto start) {
        start();
        report->tell(row.check(row, made).fault);
      },
      quiet);
  return end.empty() ? std::string(report->fault.data()) : end;
}

// Smaller numbers as long as the case fails.
Tape shrunk(const Row& row, Tape tape, std::string& fault) {
  const auto until = Clock::now() + std::chrono::seconds(30);
  const auto fails = [&](const Tape& smaller) {
    Draw draw(smaller);
    const Case made = row.make(draw);
    const std::string found = fault_of(row, made, true);
    if (found.empty() || found.starts_with("the generator")) return false;
    fault = found;
    tape = draw.tape();
    return true;
  };
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (std::size_t at = 0; at < tape.size(); ++at) {
      for (const std::uint32_t value : {0U, tape[at] / 2, tape[at] - 1}) {
        if (at >= tape.size() || value >= tape[at]) continue;
        if (Clock::now() > until) return tape;
        Tape candidate = tape;
        candidate[at] = value;
        if (fails(candidate)) smaller = true;
      }
    }
  }
  return tape;
}

std::string tape_text(const Tape& tape) {
  std::string out;
  for (const std::uint32_t number : tape) out += std::format("{}{}", out.empty() ? "" : ",", number);
  return out;
}

void report_case(const Row& row, Tape tape, std::string fault, bool shrinks) {
  if (shrinks) tape = shrunk(row, std::move(tape), fault);
  Draw draw(tape);
  const Case made = row.make(draw);
  ADD_FAILURE() << name_of(row) << ": " << fault << '\n'
                << made.text << "inputs in [-" << made.scale << ", " << made.scale << "]"
                << (made.positive ? ", positive" : "") << (made.infinities ? ", infinities" : "")
                << "\nagain: KINGLET_LOWERING_CASE='" << name_of(row) << ":" << tape_text(tape) << "'";
}

struct Plan {
  std::uint64_t seed = 0;
  std::uint64_t least_rounds = 0, most_rounds = UINT64_MAX;
  std::chrono::duration<double> time{};
  std::string only;
};

// The next case in turn, of a round each row once, until one fails: false then.
bool run_rounds(const std::vector<Row>& rows, const Plan& plan, Clock::time_point start, std::uint64_t& next,
                SharedReport& report) {
  const std::uint64_t first = next;
  const std::string end = in_child(
      [&](auto start_case) {
        for (std::uint64_t index = first;; ++index) {
          const std::uint64_t round = index / rows.size();
          report->row = index % rows.size();
          if (round >= plan.most_rounds) return;
          if (round >= plan.least_rounds && Clock::now() - start > plan.time) return;
          const Row& row = rows[report->row];
          report->seed = case_seed(plan.seed, report->row, round);
          next = index;
          start_case();
          Draw draw(report->seed);
          const Verdict verdict = row.check(row, row.make(draw));
          ++report->ran[report->row];
          report->valid[report->row] += verdict.valid ? 1 : 0;
          report->lowered[report->row] += verdict.lowered ? 1 : 0;
          if (verdict.fault.empty()) continue;
          report->tell(verdict.fault);
          _exit(1);
        }
      },
      false);
  return end.empty();
}

const char* given(const char* name) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return text == nullptr || *text == '\0' ? nullptr : text;
}

const Row* row_named(std::span<const Row> rows, std::string_view name) {
  const auto found = std::ranges::find(rows, name, name_of);
  return found == rows.end() ? nullptr : &*found;
}

TEST(RandomLowering, EveryOperatorThatLowersHasARow) {
  const std::span<const Row> rows = all_rows();
  for (const Op& op : all_ops()) {
    const bool has_row =
        std::ranges::any_of(rows, [&](const Row& row) { return row.domain == op.domain && row.op_type == op.op_type; });
    EXPECT_EQ(op.lower != nullptr || op.work_alone != nullptr, has_row) << op.domain << ' ' << op.op_type;
    EXPECT_TRUE(op.work == nullptr || op.lower != nullptr) << op.op_type;
  }
}

TEST(RandomLowering, SaysNoOrAgreesWithEvaluate) {
  std::vector<Row> rows(all_rows().begin(), all_rows().end());
  if (const char* text = given("KINGLET_LOWERING_CASE")) {
    const std::string_view line(text);
    const std::size_t colon = line.rfind(':');
    const Row* row = row_named(rows, line.substr(0, colon));
    ASSERT_NE(row, nullptr) << line;
    Tape tape;
    const char* end = line.data() + line.size();
    for (const char* at = line.data() + colon + 1; at < end; ++at) {
      std::uint32_t number = 0;
      at = std::from_chars(at, end, number).ptr;
      tape.push_back(number);
    }
    Draw draw(tape);
    if (std::string fault = fault_of(*row, row->make(draw), false); !fault.empty()) {
      report_case(*row, tape, std::move(fault), false);
    }
    return;
  }
  const char* seconds = given("KINGLET_LOWERING_SECONDS");
  const char* seed = given("KINGLET_LOWERING_SEED");
  // Every run of the tests judges the change at hand by the same cases; a long run looks for new ones.
  constexpr std::uint64_t kEverydaySeed = 20'241'108;
  const std::uint64_t own_seed = seconds != nullptr ? std::random_device()() : kEverydaySeed;
  Plan plan{.seed = seed != nullptr ? std::strtoull(seed, nullptr, 10) : own_seed,
            .least_rounds = 3,
            .time = std::chrono::duration<double>(seconds != nullptr ? std::strtod(seconds, nullptr) : 4)};
  if (const char* only = given("KINGLET_LOWERING_ONLY")) {
    std::erase_if(rows, [&](const Row& row) { return row.op_type != only && name_of(row) != only; });
    ASSERT_FALSE(rows.empty()) << only;
  }
  std::printf("KINGLET_LOWERING_SEED=%llu\n", static_cast<unsigned long long>(plan.seed));
  RecordProperty("seed", std::to_string(plan.seed));

  constexpr int kMostFaults = 20;
  constexpr int kMostOfARow = 2;
  SharedReport report;
  const auto start = Clock::now();
  std::vector<int> faults(rows.size(), 0);
  std::uint64_t next = 0;
  int left = kMostFaults;
  auto* shared_next = static_cast<std::uint64_t*>(
      mmap(nullptr, sizeof(next), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(shared_next, MAP_FAILED);
  while (!run_rounds(rows, plan, start, *shared_next, report)) {
    const Row& row = rows[report->row];
    std::string fault = report->fault.data();
    report->fault = {};
    if (fault.empty()) fault = "ended the process";
    if (++faults[report->row] <= kMostOfARow) {
      Draw draw(report->seed);
      static_cast<void>(row.make(draw));
      report_case(row, draw.tape(), std::move(fault), true);
      if (--left == 0) break;
    }
    ++*shared_next;
  }
  munmap(shared_next, sizeof(next));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::printf("%-45s ran %6d, valid %6d, lowered %6d, faults %d\n", name_of(rows[i]).c_str(), report->ran[i],
                report->valid[i], report->lowered[i], faults[i]);
  }
}

// A generator whose graphs are all refused would hold nothing.
TEST(RandomLowering, EveryRowMakesCasesThatAreLowered) {
  const std::span<const Row> rows = all_rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].domain.contains(' ')) continue;  // no operator
    bool lowered = false;
    for (std::uint64_t round = 0; round < 60 && !lowered; ++round) {
      SharedReport report;
      static_cast<void>(in_child(
          [&](auto start) {
            start();
            Draw draw(case_seed(1, i, round));
            report->lowered[0] = rows[i].check(rows[i], rows[i].make(draw)).lowered ? 1 : 0;
          },
          true));
      lowered = report->lowered[0] != 0;
    }
    EXPECT_TRUE(lowered) << name_of(rows[i]);
  }
}

}  // namespace
}  // namespace kinglet::engine::random_cases
